"""Figure 7: where along the sorted sequence the error of S̄ lies."""

from __future__ import annotations

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.ask import SortedCounts
from trueup.infer import infer
from trueup.noise import noise_variance
from trueup.paper.claims import STAMP, Figure, PaperClaim
from trueup.paper.datasets import PaperDataset
from trueup.paper.draws import Setting, each_draw
from trueup.paper.noise import measure_for_experiment
from trueup.pictures.sheet import Sheet
from trueup.pictures.svg import Curve, Panel, stairs, svg
from trueup.pictures.theme import BLACK, GRAY

Row = tuple[str, int, float, float, float, float]

TITLE = "Figure 7: error by position along the sorted sequence, ε = 1"


def by_position(setting: Setting, data: PaperDataset) -> tuple[Ints, Floats, Floats]:
    """The counts in descending order, and at each the average squared error of S̃ and of S̄."""
    truth = np.sort(data.counts)
    question = SortedCounts(len(truth), adaptive=False)

    def work(generator: np.random.Generator) -> Floats:
        measurement = measure_for_experiment(truth, question, 1, generator, setting.law)
        both = np.array([measurement.noisy, infer(measurement).counts()], np.float64)
        return (both - truth) ** 2

    name = f"figure 7, {data.name}"
    noisy, inferred = each_draw(setting, name, setting.size(200, 40), work).mean(axis=0)
    return truth[::-1], noisy[::-1], inferred[::-1]


def runs(descending: Ints) -> tuple[Ints, Ints]:
    """The first position of each run of equal counts, and its length."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(descending)) + 1])
    return starts, np.diff(np.append(starts, len(descending)))


def by_run_length(descending: Ints, noisy: Floats, inferred: Floats) -> list[Row]:
    """Rows: run lengths, positions, error of S̃, of S̄, of S̄ at the runs' ends and middles."""
    starts, lengths = runs(descending)
    length = np.repeat(lengths, lengths)
    place = np.arange(len(descending)) - np.repeat(starts, lengths)
    edge = np.minimum(place, length - 1 - place)
    middle = (4 * place >= length) & (4 * place < 3 * length)
    rows: list[Row] = []
    bands = ((1, 1), (2, 9), (10, 99), (100, 999), (1_000, len(descending)))
    for low, high in bands:
        inside = (length >= low) & (length <= high)
        if inside.any():
            label = "1" if high == 1 else f"{low:,}–{high:,}" if high < 1_000 else f"≥ {low:,}"
            ends, middles = inferred[inside & (edge == 0)], inferred[inside & middle]
            both = _mean(noisy[inside]), _mean(inferred[inside])
            rows.append((label, int(inside.sum()), *both, _mean(ends), _mean(middles)))
    return rows


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def run(setting: Setting) -> Figure:
    """Error by position on the first dataset, the paper's network trace by default."""
    data = setting.datasets.unattributed[0]
    descending, noisy, inferred = by_position(setting, data)
    rows = by_run_length(descending, noisy, inferred)
    expected = noise_variance(SortedCounts(1, adaptive=False).price(), setting.law)
    columns = ("run length", "positions", "S̃", "S̄", "S̄ at run ends", "S̄ in run middles")
    table = Sheet(f"Average squared error a position, {data.name}", columns, tuple(rows))
    short, long = rows[0], rows[-1]
    falling = [row[3] for row in rows]
    claims = (
        PaperClaim(
            "The error is reduced to zero in the middle of long runs of equal counts.",
            f"{long[5]:.2g} of S̃'s {long[2]:.2f} in the middle halves of runs {long[0]}",
            long[5] < 0.01 * long[2],
        ),
        PaperClaim(
            "It is larger where each count occurs once or a few times.",
            f"{short[3]:.2f} in runs of {short[0]}, {long[3]:.2g} in runs {long[0]}",
            falling == sorted(falling, reverse=True),
        ),
        PaperClaim(
            "Some error remains around the points where the count changes.",
            f"{long[4]:.2f} at the ends of runs {long[0]}, {long[5]:.2g} in their middles",
            long[4] > 10 * long[5],
        ),
    )
    return Figure("figure7", TITLE, (table,), claims, _picture(descending, expected, inferred))


def _picture(descending: Ints, expected: float, inferred: Floats) -> str:
    """The middle portion, its beginning and its end enlarged, and the error alone."""
    starts, lengths = runs(descending)
    # The middle portion: from where counts are small enough to see steps to a little into the
    # longest run.
    longest = int(np.argmax(lengths))
    last = int(starts[longest] + min(lengths[longest], max(starts[longest] // 8, 10)))
    first = int(np.argmax(descending <= descending[last - 1] + 25))
    if last - first < 50:
        first, last = 0, len(descending)
    width = min(60, last - first)
    # The enlarged end shows the last change but one.
    changes = starts[(starts > first) & (starts < last)]
    late = int(changes[-2]) if len(changes) > 1 else last - width
    show = [
        _band("middle portion", first, last, descending, expected, inferred, 2),
        _band("its beginning", first, first + width, descending, expected, inferred, 1),
        _band("its end", late - width, late + width, descending, expected, inferred, 1),
    ]
    return svg(TITLE, [show[:1], show[1:], [_errors(expected, inferred)]], STAMP)


def _band(
    title: str,
    first: int,
    last: int,
    descending: Ints,
    expected: float,
    inferred: Floats,
    columns: int,
) -> Panel:
    """The counts, and above and below them the root of the average squared error."""
    part = slice(max(first, 0), min(last, len(descending)))
    x = np.arange(part.start, part.stop) + 1.0
    counts, error = descending[part].astype(float), np.sqrt(inferred[part])
    noise = np.sqrt(expected)
    lines = [Curve("S(I)", *stairs(x.tolist(), counts.tolist()), GRAY, width=2.2)]
    for sign, label in ((1, "± error of S̃, expected"), (-1, "")):
        band = (counts + sign * noise).tolist()
        lines.append(Curve(label, x.tolist(), band, GRAY, dash="1 3", width=1.2))
    for sign, label in ((1, "± error of S̄"), (-1, "")):
        lines.append(Curve(label, x.tolist(), (counts + sign * error).tolist(), BLACK, width=0.9))
    label = "position, largest count first"
    return Panel(title, label, "count", tuple(lines), columns=columns)


def _errors(expected: float, inferred: Floats) -> Panel:
    """The error alone, over the whole sequence; both axes logarithmic."""
    # Means over stretches that grow with the position: no more points than can be seen.
    edges = np.unique(np.rint(np.geomspace(1, len(inferred) + 1, 400)).astype(np.int64)) - 1
    means = np.add.reduceat(inferred, edges[:-1]) / np.diff(edges)
    middle = np.sqrt((edges[:-1] + 1.0) * edges[1:])
    x = middle.tolist()
    lines = (
        Curve("", [x[0], x[-1]], [expected, expected], GRAY, dash="1 3", width=1.2),
        Curve("", x, np.maximum(means, 1e-7).tolist(), BLACK, width=0.9),
    )
    title = "squared error, the whole sequence"
    label = "position, largest count first"
    return Panel(title, label, "squared error", lines, log_x=True, log_y=True, columns=2)
