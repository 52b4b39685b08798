"""One noise is never taken for two: what is reconciled tells which measurement it came from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.onepass import release_in_one_pass
from trueup.paper.noise import measure_for_experiment as measured


def test_one_noise_is_not_taken_for_two(tmp_path):
    axis = tu.Axis.integers("a", 0, 7)
    for question in (tu.TreeCounts(axis, branching=2), tu.HatCounts(axis, [2])):
        # At this ε the noise is mostly 0: equal answers are no sign of one measurement.
        one, two = (tu.measure(range(8), question, 1000) for _ in range(2))
        one.save(tmp_path / "m.parquet")
        tu.infer(one).save(tmp_path / "r.json")
        again, released = tu.load(tmp_path / "m.parquet"), tu.load(tmp_path / "r.json")
        whole = tu.infer(one, nonnegative=True, integers=True)
        assert tu.reconcile([one, two]).facts.epsilon == Fraction("2000")
        assert tu.reconcile([released, tu.infer(two)]).axis == axis
        for pair in ((one, one), (one, again), (one, released), (again, whole), (whole, released)):
            for parts in (pair, pair[::-1], [two, *pair]):
                with pytest.raises(tu.InputError, match="noise would be counted twice"):
                    tu.reconcile(list(parts))
    facts = Facts.of(tu.CellCounts(axis), 1)
    streamed = release_in_one_pass(range(8), facts)
    with pytest.raises(tu.InputError, match="come from one measurement"):
        tu.reconcile([streamed, streamed.unbiased, release_in_one_pass(range(8), facts)])


def test_one_noise_of_named_counts_is_not_taken_for_two():
    question = tu.NamedCounts(2, {"all": slice(None), "last": [1]})
    one, two = (tu.measure([3, 4], question, 1000) for _ in range(2))
    agreed = tu.reconcile([one, tu.infer(two)])
    for parts in ([one, tu.infer(one)], [tu.infer(one), tu.infer(one)], [agreed, two]):
        with pytest.raises(tu.InputError, match="noise would be counted twice"):
            tu.reconcile(parts)


def test_estimates_of_one_noise_are_no_better_than_one_of_them(tmp_path):
    axis = tu.Axis.integers("a", 0, 7)
    one, two = (tu.measure(range(8), tu.TreeCounts(axis, branching=2), 1) for _ in range(2))
    here, again, there = tu.infer(one), tu.infer(one, nonnegative=True), tu.infer(two)
    agreed = tu.reconcile({"x": [here.range(0, 4), there.range(0, 4)], "y": here.range(2, 8)})
    assert agreed.names == ("x", "y")
    both = tu.reconcile([one, two])
    grid = tu.infer(tu.measure(np.ones((3, 4), int), tu.GridCounts(3, 4), 1))
    for pair in (
        [here.range(0, 4), again.range(0, 4)],
        [here.range(0, 2) + here.range(2, 4), again.range(0, 4)],
        [grid.margin("axis 0").total(), grid.margin("axis 1").total()],
    ):
        found = tu.reconcile({"x": pair})["x"]
        assert found.std_error == pytest.approx(pair[0].std_error, rel=1e-6)
        assert found.value == pytest.approx(pair[0].value, abs=1e-6)
    with pytest.raises(tu.InputError, match="noise would be counted twice"):
        tu.reconcile({"x": [there.range(0, 4), both.range(0, 4)]})


def test_measurements_of_before_ids_are_combined_as_ever(tmp_path):
    here, there = (measured([1, 2], tu.CellCounts(2), 1, seed) for seed in (1, 2))
    assert here.id is None
    assert "id" not in here.facts.to_json()
    here.save(tmp_path / "m.json")
    assert tu.load(tmp_path / "m.json").id is None
    assert tu.reconcile([here, there]).axis.size == 2
    with pytest.raises(tu.InputError, match="noise would be counted twice"):
        tu.reconcile([here, here])
