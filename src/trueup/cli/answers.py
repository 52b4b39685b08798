"""Commands that read what was published: free, as often as one likes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import trueup as tu
from trueup.axis import Axis
from trueup.cli.options import ReleaseFile
from trueup.cli.output import AsJson, emit, number, say, table, visible, waiting
from trueup.epsilon import exact
from trueup.errors import InputError
from trueup.pictures.places import row_edges, stretches
from trueup.release.wording import outward

File = Annotated[Path, typer.Argument(help="A saved measurement or release.", show_default=False)]

Level = Annotated[
    float, typer.Option("--level", help="How often the interval holds the true count.")
]
Shown = Annotated[
    bool,
    typer.Option("--nonnegative", help="Show whole counts that are never negative."),
]


def _release(path: Path, nonnegative: bool = False) -> Any:
    """The release in a file; a measurement is inferred on the way."""
    found = tu.load(path)
    if isinstance(found, (tu.KeyMeasurement, tu.KeyRelease)):
        raise InputError(f"{path.name} holds keys: trueup keys show {path.name} shows them.")
    if not isinstance(found, tu.Measurement):
        if nonnegative and "non-negative" not in str(found.facts.inferred):
            raise InputError(
                f"{path.name} is a release of unbiased counts; --nonnegative needs the measurement."
            )
        return found
    with waiting("finding the nearest consistent answers"):
        return tu.infer(found, nonnegative=True, integers=True) if nonnegative else tu.infer(found)


def _counted(path: Path, nonnegative: bool = False) -> Any:
    """A release that has ranges."""
    release = _release(path, nonnegative)
    if not isinstance(release, tu.Release):
        raise InputError(f"{path.name} holds no histogram over an axis; see trueup show.")
    return release


def _estimate(release: Any, text: str) -> Any:
    if len(release.axes) > 1:
        return release.between(*parse_box(release.axes, text))
    return release.between(*release.axis.parse_span(text))


def _save(release: Any, output: Path, as_json: bool, **facts: object) -> None:
    release.save(output)
    said = {"saved": str(output), **facts}
    emit(as_json, said, lambda: say(f"{release!r}\nsaved to {output}"))


def infer_command(
    file: File,
    output: ReleaseFile,
    nonnegative: Shown = False,
    as_json: AsJson = False,
) -> None:
    """Find the nearest consistent answers to a measurement, and save them."""
    release = _release(file, nonnegative)
    _save(release, output, as_json, epsilon=str(release.facts.epsilon))


def query_command(
    file: File,
    ranges: Annotated[list[str], typer.Argument(help="Ranges low:high, labels or periods.")],
    level: Level = 0.95,
    nonnegative: Shown = False,
    as_json: AsJson = False,
) -> None:
    """Answer ranges of a saved histogram, each with its interval.

    Ranges are half open: 18:65 counts 18 to 64. Write .. if values hold a colon. For a grid,
    give one range for each axis: 18:65,2013-01..2013-04.
    """
    release = _counted(file, nonnegative)
    answers = []
    for text in ranges:
        estimate = _estimate(release, text)
        low, high = estimate.interval(level)
        own = estimate.unbiased
        answers.append(
            {
                "range": text,
                "value": estimate.value,
                "std_error": own.std_error if own.told_by_error else None,
                "low": low,
                "high": high,
            }
        )
    shown = release.unbiased is not release
    pooled = any(a["std_error"] is None for a in answers)
    name = ", ".join(axis.name for axis in release.axes)

    def show() -> None:
        rows = [
            [
                a["range"],
                number(a["value"]),
                *([] if pooled else [number(a["std_error"])]),
                *outward(a["low"], a["high"]),
            ]
            for a in answers
        ]
        sure = f"{100 * level:.6g} % sure from"
        table([name, "count", *([] if pooled else ["± std. error"]), sure, "to"], rows)
        if shown:
            say(f"Counts are {release.facts.inferred}; {_of_unbiased(pooled)}.")
        _say_capped(release)

    facts = {
        "axis": name,
        "level": level,
        "inferred": release.facts.how_inferred,
        "intervals_of": f"the {_before_shown(pooled)}" if shown else "these answers",
        **_counted_rows(release),
        "answers": answers,
    }
    emit(as_json, facts, show)


def _before_shown(pooled: bool, what: str = "answers") -> str:
    """The answers that counts were made of to be shown."""
    return f"{what} as inferred" if pooled else f"unbiased {what}"


def _of_unbiased(pooled: bool) -> str:
    """Whose the errors are of counts that were made to be shown."""
    what = "intervals belong" if pooled else "errors and intervals belong"
    return (
        f"{what} to the {_before_shown(pooled)}; intervals are cut to whole numbers from 0 and "
        f"stretched to hold the count"
    )


def quantile_command(
    file: File,
    shares: Annotated[list[float], typer.Argument(help="Shares between 0 and 1, such as 0.5.")],
    level: Level = 0.95,
    nonnegative: Shown = False,
    as_json: AsJson = False,
) -> None:
    """Quantiles with intervals: 0.5 is the median, below which half of the total lies."""
    release = _counted(file, nonnegative)
    values, ends = release.quantile(shares), release.quantile_interval(shares, level)
    found = [
        {"share": share, "value": value, "low": _end(low), "high": _end(high)}
        for share, value, (low, high) in zip(shares, values, ends, strict=True)
    ]

    def show() -> None:
        names = ("value", "low", "high")
        rows = [[f"{each['share']:g}", *(_value(each[name]) for name in names)] for each in found]
        table(["share", release.axis.name, f"{100 * level:.6g} % sure from", "to"], rows)
        _say_capped(release)

    emit(
        as_json,
        {"axis": release.axis.name, "level": level, "quantiles": found, **_counted_rows(release)},
        show,
    )


def equidepth_command(
    file: File,
    bins: Annotated[int, typer.Argument(help="How many bins.", show_default=False)],
    level: Level = 0.95,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw it: a .html, .png or .svg file.")
    ] = None,
    nonnegative: Shown = False,
    as_json: AsJson = False,
) -> None:
    """Cut an axis into bins of nearly equal counts, with intervals on edges and counts."""
    found = _counted(file, nonnegative).equidepth(bins, level)
    if output is not None:
        with waiting("drawing"):
            found.save_plot(output)

    def show() -> None:
        sure = f"{100 * level:.6g} % sure"
        heads = [found.axis.name, "count", f"{sure}, all bins", f"{sure} where it ends"]
        table(heads, [list(line) for line in found.lines()])
        if output is not None:
            say(f"drawn to {output}")

    facts = {
        "axis": found.axis.name,
        "level": level,
        "edges": [_end(edge) for edge in found.edges],
        "counts": found.counts,
        "low": found.low,
        "high": found.high,
        "edge_intervals": found.edge_intervals(),
    }
    emit(as_json, facts, show)


def _say_capped(release: Any) -> None:
    """Says that only some rows of each unit are counted, if that is so."""
    capped = release.facts.capped
    if capped:
        say(f"{capped[0].upper()}{capped[1:]}.")


def _counted_rows(release: Any) -> dict[str, str]:
    return {"counted": release.facts.capped} if release.facts.capped else {}


def _end(end: Any) -> Any:
    """An end of an interval; None where a bin without an end leaves it open."""
    return None if end in (math.inf, -math.inf) else end


def _value(value: Any) -> str:
    if value is None:
        return "no end"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def show_command(
    file: File,
    bars: Annotated[int, typer.Option(help="The largest number of lines.", min=1)] = 24,
    nonnegative: Shown = False,
    as_json: AsJson = False,
) -> None:
    """Draw a saved histogram or sequence in the terminal, with its error."""
    release = _release(file, nonnegative)
    rows = release.lines(bars)
    standard = _by_standard_error(release)
    facts = {
        "about": release.facts.to_json(),
        **_counted_rows(release),
        "error_is": release.error_words,
        "rows": [
            {"what": w, "count": c, "error": e, "std_error": e if standard else None}
            for w, c, e in rows
        ],
    }
    emit(as_json, facts, lambda: _draw(release, rows, bars))


def _by_standard_error(release: Any) -> bool:
    """Whether what stands behind ± is a standard error, and not half an interval or band."""
    return bool(release.error_words == "one standard error")


def _heights(release: Any, rows: list[tuple[str, float, float]], bars: int) -> tuple[Any, str]:
    """How long each bar is drawn, and what that says: equal density has equal length."""
    axes: Any = getattr(release, "axes", ())
    counts = [count for _, count, _ in rows]
    if len(axes) != 1:
        return counts, ""
    drawn = stretches(axes[0], row_edges(axes[0].size, bars))
    told = "" if drawn.label == "count" else f"a bar's length is the {drawn.label}; "
    return [count * times for count, times in zip(counts, drawn.times, strict=True)], told


def _draw(release: Any, rows: list[tuple[str, float, float]], bars: int) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(visible(repr(release)[1:-1]), style="bold"))
    rows = [(visible(name), count, error) for name, count, error in rows]
    wide = max(len(name) for name, _, _ in rows)
    heights, told = _heights(release, rows, bars)
    top = max(map(abs, heights)) or 1.0
    words = [f"{number(count)} ± {number(error)}" for _, count, error in rows]
    room = max(console.width - wide - max(map(len, words)) - 4, 10)
    for (name, count, _), height, word in zip(rows, heights, words, strict=True):
        eighths = round(abs(height) / top * room * 8)
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        line = Text(f"{name:>{wide}} ")
        line.append(bar, style="blue" if count >= 0 else "red")
        line.append(f" {word}")
        console.print(line, soft_wrap=True)
    what = release.error_words
    if release.unbiased is not release:
        whose = _before_shown(not _by_standard_error(release), "counts")
        what += f" of the {whose}; shown are {release.facts.inferred}"
    console.print(Text(f"{told}± is {what}; red is below zero", style="dim"))


def plot_command(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .html, .png or .svg file.")],
    kind: Annotated[
        str | None, typer.Option(help="histogram or cdf; sorted or tail; heatmap or error.")
    ] = None,
    margin: Annotated[
        str | None, typer.Option(help="For a grid: draw only these axes, such as age,sex.")
    ] = None,
    nonnegative: Shown = False,
    as_json: AsJson = False,
) -> None:
    """Draw a saved release: a page to zoom in, or a picture."""
    release = _release(file, nonnegative)
    if margin is not None:
        if not hasattr(release, "margin"):
            raise InputError(f"{file.name} holds no grid, and so no margins.")
        release = release.margin(*(name.strip() for name in margin.split(",")))
    with waiting("drawing"):
        release.save_plot(output, kind)
    emit(as_json, {"saved": str(output)}, lambda: say(f"saved to {output}"))


def export_command(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .csv, .parquet or .json file.")],
    nonnegative: Shown = False,
    as_json: AsJson = False,
) -> None:
    """Write the counts of a saved release as a table, such as CSV, for other programs."""
    release = _release(file, nonnegative)
    release.save(output)
    emit(as_json, {"saved": str(output)}, lambda: say(f"saved to {output}"))


def rows_command(
    file: File,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A .parquet, .csv or .arrow file.")
    ],
    inside: Annotated[
        str, typer.Option(help="Values inside a bin: uniform, or its middle.")
    ] = "uniform",
    as_json: AsJson = False,
) -> None:
    """Make synthetic rows whose tabulations are the published counts; a report stands beside."""
    release = _counted(file, nonnegative=isinstance(tu.load(file), tu.Measurement))
    with waiting("making rows"):
        rows = release.rows(inside)
        rows.save(output)
    report = rows.report
    apart = [" and ".join(pair) for pair in report["invented"]["pairs never measured together"]]

    def show() -> None:
        say(f"{rows!r}\nsaved to {output}, with a report beside it")
        say(f"Safe: {report['safe'][0]}.")
        if apart:
            say(f"Invented: how these go together: {'; '.join(apart)}.")

    emit(as_json, {"saved": str(output), **report}, show)


def combine_command(
    files: Annotated[
        list[Path], typer.Argument(help="Two or more measurements or releases of one axis.")
    ],
    output: ReleaseFile,
    total: Annotated[str | None, typer.Option(help="The total, if everybody knows it.")] = None,
    nonnegative: Shown = False,
    as_json: AsJson = False,
) -> None:
    """Combine several releases of the same data into one that is more accurate."""
    parts = [tu.load(file) for file in files]
    if len(parts) < 2:
        raise InputError("combine needs at least two files.")
    known = None if total is None else {"total": exact(total, "The total")}
    with waiting("finding the answers nearest to all of them"):
        release = tu.reconcile(parts, known=known, nonnegative=nonnegative, integers=nonnegative)
    _save(release, output, as_json, epsilon=str(release.facts.epsilon), parts=len(parts))


def parse_box(axes: Sequence[Axis], typed: str) -> tuple[tuple[int, int], ...]:
    """The cells of "0:20,2013-01..2013-04": a range of each axis, in order; none is all of it."""
    parts = typed.split(",")
    if len(parts) > len(axes):
        names = ", ".join(axis.name for axis in axes)
        raise InputError(f"{typed!r} has {len(parts)} ranges; the axes are {names}.")
    parts += [""] * (len(axes) - len(parts))
    return tuple(
        axis.parse_span(part) if part.strip() else (0, axis.size)
        for axis, part in zip(axes, parts, strict=True)
    )
