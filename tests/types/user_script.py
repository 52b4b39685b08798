"""What a user writes, for `mypy --strict`: each call gives the type that its question says.

`assert_type` is checked by mypy; run as a program, the script shows that the types are also true.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from tempfile import mkdtemp
from typing import assert_type

import numpy as np

import trueup as tu


def in_one_call(ages: list[int], age: tu.Axis, hour: tu.Axis) -> tu.Release:
    release = tu.publish(ages, age, epsilon=0.5)
    assert_type(release, tu.Release)
    assert_type(release.range(0, 5), tu.Estimate)
    assert_type(release.range(0, 5) / release.total(), tu.Ratio)
    assert_type((release.range(0, 5) - release.range(5, 10)) / 2, tu.Estimate)
    low, high = release.range(0, 5).interval(0.95)
    assert_type(low, float)
    print(low, high, release.total().value, release.counts().sum())
    sizes = tu.publish(np.array([3, 1, 2]), tu.SortedCounts(3), epsilon=1)
    assert_type(sizes, tu.SortedRelease)
    return release


def in_three_steps(counts: list[int], age: tu.Axis) -> None:
    measured = tu.measure(counts, tu.TreeCounts(age), epsilon="1/10")
    assert_type(measured, tu.Measurement[tu.TreeCounts])
    assert_type(measured.epsilon, Fraction | None)
    assert_type(tu.infer(measured), tu.Release)
    sizes = tu.measure(counts, tu.SortedCounts(len(counts)), epsilon=1)
    assert_type(tu.infer(sizes), tu.SortedRelease)
    named = tu.measure(counts, tu.NamedCounts(age, {"few": [0, 1]}), epsilon=1)
    assert_type(tu.infer(named), tu.NamedRelease)
    assert_type(tu.infer(named)["few"], tu.Estimate)
    agreed = tu.reconcile({"all": (9, 4), "few": (5, 4), "many": (5, 4)}, "all = few + many")
    assert_type(agreed, tu.NamedRelease)
    again = tu.measure(counts, tu.TreeCounts(age), epsilon="1/10")
    assert_type(tu.reconcile([measured, again]), tu.Release)
    best = tu.plan(age, epsilon=1).best
    assert_type(tu.infer(tu.measure(counts, best, epsilon=1)), tu.Release)


def with_files(folder: Path, release: tu.Release) -> None:
    release.save(folder / "release.parquet")
    assert_type(tu.load(folder / "release.parquet", tu.Release), tu.Release)
    anything: tu.Measurement | tu.Release = tu.load(folder / "release.parquet")
    print(anything.facts.epsilon)


def with_an_account(folder: Path, age: tu.Axis) -> None:
    table = folder / "table.csv"
    table.write_text("age\n1\n2\n3\n", encoding="utf-8")
    owner = tu.Owner(table, tu.Ledger(folder / "table.ledger", limit=1))
    assert_type(owner.publish(age, epsilon="1/10"), tu.Release)
    measured = owner.measure(tu.CellCounts(age), epsilon="1/10")
    assert_type(measured, tu.Measurement[tu.CellCounts])
    assert_type(owner.ledger.remaining, Fraction)


def refused(age: tu.Axis) -> str:
    try:
        tu.publish([1], age, epsilon=-1)
    except tu.InputError as wrong:
        return str(wrong)
    raise AssertionError


def main() -> None:
    age, hour = tu.Axis.integers("age", 0, 9), tu.Axis.integers("hour", 0, 23)
    folder = Path(mkdtemp())
    release = in_one_call([1, 2, 3], age, hour)
    in_three_steps([5] * 10, age)
    with_files(folder, release)
    with_an_account(folder, age)
    print(refused(age))


if __name__ == "__main__":
    main()
