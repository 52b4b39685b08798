"""Sixty wrong inputs, each with its message in tests/golden/wrong_inputs.txt, to be read.

    python tests/test_wrong_inputs.py     writes the file anew

Every mistake is told in a sentence or two: what was given, what is wrong, what to do. None is a
traceback, and none repeats data.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import trueup as tu

GOLDEN = Path(__file__).parent / "golden" / "wrong_inputs.txt"
SECRET = 73_911  # is among the data, and may be in no message

MISTAKES = """
# An axis
tu.Axis.integers("age", 99, 0)
tu.Axis.integers("age", 0, "99")
tu.Axis.regular("fare", 0, 128, bins=0)
tu.Axis.regular("fare", 0, float("inf"), bins=10)
tu.Axis.edges("income", [0, 10, 5])
tu.Axis.categories("grade", ["A", "B", "A"])
tu.Axis.categories("grade", frame["age"] / 2)
tu.Axis.dates("day", "2013-02-30", "2013-12-31")
tu.Axis.dates("day", "2013-12-31", "2013-01-01")
tu.Axis.dates("day", "2013-01-01", "2013-12-31", unit="fortnight")
tu.Axis.ipv4("host", "10.0.0.1/8")
# Values
age.count(frame)
age.count(frame[["age", "town"]].to_numpy())
age.count(frame["town"])
age.count(frame["town"].astype("category"))
age.count(frame["member"])
age.count(frame["joined"])
age.count(pd.Series(["2013-01"], dtype="period[M]"))
age.count(n for n in [SECRET])
age.count({"a": SECRET})
age.count([[1, 2], [SECRET]])
age.count(pl.LazyFrame({"age": [SECRET]}))
day.count(np.array(["31/12/2013"]))
day.count(frame["age"])
grade.count(frame["age"])
tu.Axis.categories("town", [1, 2]).count(frame["town"])
# Histograms, frequencies, graphs
tu.histogram(frame["age"], bins=10, epsilon=1)
tu.histogram(frame[["age", "age"]], bins=10, range=(0, 100), epsilon=1)
tu.histogram(frame["age"], bins=10, range=(100, 0), epsilon=1)
tu.frequency_list(frame, groups=10, epsilon=1)
tu.frequency_list(frame["town"], groups=0, epsilon=1)
tu.degree_sequence([(0, 1), (1, 2, 3)], nodes=4, epsilon=1)
# Publishing
tu.publish(frame, "age", epsilon=1)
tu.publish(frame, tu.Axis.integers("Age", 0, 99), epsilon=1)
tu.publish(frame, tu.Axis.integers("town", 0, 99), epsilon=1)
tu.publish(frame, age, epsilon=0)
tu.publish(frame, age, epsilon="a lot")
tu.publish(frame, age, epsilon=frame["age"])
tu.publish(frame, age, epsilon=1, unit="town")
tu.publish(frame, age, epsilon=1, neighbours="swap")
# Measuring
tu.measure(question, counts, epsilon=1)
tu.measure(counts, age, epsilon=1)
tu.measure(frame["age"].to_numpy(), question, epsilon=1)
tu.measure(counts / 2, question, epsilon=1)
tu.measure(-counts, question, epsilon=1)
tu.measure(counts, question, epsilon=float("nan"))
tu.measure(pd.Series([1, 2], index=["a", "b"]), question, epsilon=1)
tu.infer(counts)
tu.TreeCounts(age, branching=1)
tu.NamedCounts(age, {"young": (0, 18, 30)})
tu.NamedCounts(age, {"old": [150]})
# Reading a release
release.range(18)
release.range(18, 200)
release.range(65, 18)
fares.range(0, 20.05)
release.range(18, 65).interval(95)
release.range("young", "old")
# Owning a table
owner(frame, ledger="no ledger")
owner("people.xlsx")
owner("nowhere.parquet")
owner("mysql://me:secret-word@host/people")
owner("postgresql://me:secret-word@nowhere.invalid/people", table="people")
owner([1, 2, SECRET])
owner(frame, unit="user").measure(question, epsilon=1)
owner(frame).measure(tu.CellCounts(tu.Axis.integers("height", 0, 99)), epsilon=1)
owner(frame).measure(question, epsilon=1, where="town = ")
owner(frame).measure(question, epsilon=1, where="joined > 7")
owner(frame).measure(question, epsilon=2)
# The command line
trueup("query release.parquet 18:650")
trueup("query nowhere.parquet 18:65")
trueup("measure people.csv --column age --integers 0 99 --epsilon 1 --ledger l --limit 1 -y -o m.csv.gz")
trueup("measure people.csv --column Age --integers 0 99 --epsilon 1 --ledger l --limit 1 -y -o m.parquet")
trueup("measure people.csv --column age --integers 0 99 --epsilon 1 --ledger l --limit 1 -y -o m.parquet --where town='X'")
trueup("plot release.parquet -o picture.gif")
"""  # noqa: E501


def names(folder: Path) -> dict[str, Any]:
    """What the mistakes are made with."""
    rows = 30
    frame = pd.DataFrame(
        {
            "age": np.r_[SECRET, np.arange(rows - 1)],
            "town": [f"town {SECRET}"] * rows,
            "member": pd.array([True, None] * (rows // 2), dtype="boolean"),
            "joined": pd.date_range("2013-01-01", periods=rows),
        }
    )
    age = tu.Axis.integers("age", 0, 99)
    fare = tu.Axis.regular("fare", 0, 128, bins=1024)
    question = tu.CellCounts(age)
    counts = np.full(100, SECRET)
    release = tu.publish(np.arange(50), age, epsilon=1)
    release.save(folder / "release.parquet")
    frame.to_csv(folder / "people.csv", index=False)
    ledgers = iter(range(1000))

    def owner(source: Any, **options: Any) -> tu.Owner:
        ledger = tu.Ledger(folder / f"{next(ledgers)}.ledger", limit=1)
        return tu.Owner(source, options.pop("ledger", ledger), **options)

    return {
        "tu": tu, "np": np, "pd": pd, "pl": pl, "pa": pa, "SECRET": SECRET, "frame": frame,
        "age": age, "day": tu.Axis.dates("day", "2013-01-01", "2013-12-31"),
        "grade": tu.Axis.categories("grade", ["A", "B"]), "question": question, "counts": counts,
        "release": release, "fares": tu.publish([3.5], fare, epsilon=1), "owner": owner,
        "trueup": run,
    }  # fmt: skip


def run(command: str) -> None:
    """A command, its error raised as it would be printed."""
    import shlex

    from trueup.cli import app

    app(shlex.split(command), standalone_mode=False)


def told() -> str:
    """Every mistake with what is said to it."""
    with tempfile.TemporaryDirectory() as place:
        before = Path.cwd()
        os.chdir(place)
        try:
            known = names(Path(place))
            lines = []
            for line in MISTAKES.strip().splitlines():
                if line.startswith("#"):
                    lines += [line, ""]
                    continue
                lines += [f">>> {line}", *said(line, known), ""]
        finally:
            os.chdir(before)
    return "\n".join(lines)


def said(line: str, known: dict[str, Any]) -> list[str]:
    import contextlib
    import io

    try:
        with contextlib.redirect_stdout(io.StringIO()):
            eval(line, known)
    except tu.TrueupError as error:
        return [f"{type(error).__name__}: {error}"]
    except Exception as error:  # a traceback, to be seen in the file
        return [f"TRACEBACK {type(error).__name__}: {error}"]
    return ["NOTHING WAS SAID"]


def test_every_message_is_the_one_in_the_golden_file() -> None:
    assert told() == GOLDEN.read_text(), "read the difference; then run this file to write it anew"


def test_the_golden_file_has_sixty_mistakes_no_traceback_and_no_data() -> None:
    text = GOLDEN.read_text()
    messages = [line for line in text.splitlines() if not line.startswith((">>>", "#")) and line]
    assert len(messages) >= 60
    for line in messages:
        assert not line.startswith(("TRACEBACK", "NOTHING")), line
        assert str(SECRET) not in line
        assert "secret-word" not in line
        assert line.rstrip().endswith((".", ")", "”")), line


if __name__ == "__main__":
    GOLDEN.write_text(told())
    sys.stdout.write(GOLDEN.read_text())
