"""The paper's own numbers, and what inference reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trueup as tu

from .dense_answers import noisy


def test_figure_2_of_the_paper():
    tree = tu.TreeCounts(4, branching=2)
    release = tu.infer(tu.Measurement(tree, [13, 3, 11, 4, 1, 12, 1], epsilon=1))
    nodes = [release.total(), release.range(0, 2), release.range(2, 4)]
    assert [node.value for node in nodes] == [14, 3, 11]
    assert release.counts().tolist() == [3, 0, 11, 0]
    ordered = tu.infer(tu.Measurement(tu.SortedCounts(4, adaptive=False), [1, 2, 0, 11], epsilon=1))
    assert ordered.counts().tolist() == [1, 1, 1, 11]
    plain = tu.infer(tu.Measurement(tu.CellCounts(4), [3, 1, 11, 1], epsilon=1))
    assert plain.counts().tolist() == [3, 1, 11, 1]
    assert plain.total().value == 16


@pytest.mark.parametrize("wrong", [None, "m", [1, 2, 3], tu.CellCounts(3), tu.Measurement])
def test_only_a_measurement_is_inferred_from(wrong):
    with pytest.raises(tu.InputError, match="infer needs a Measurement, got"):
        tu.infer(wrong)


def test_inference_is_a_function_of_the_measurement_alone():
    rng = np.random.default_rng(9)
    for question in (tu.CellCounts(9), tu.TreeCounts(9, 2), tu.SortedCounts(9, adaptive=False)):
        m = tu.Measurement(question, noisy(rng, question.length), epsilon="1/3")
        first, second = tu.infer(m), tu.infer(m)
        assert np.array_equal(first.counts(), second.counts())
        assert first.facts.inferred == "least squares"
        assert replace(first.facts, inferred=None) == m.facts
