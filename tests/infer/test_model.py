"""The list of models, and what a model tells to expect: against draws and dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

import trueup as tu
from trueup.infer import MODELS, axis_model, model_of, models, register, table_model
from trueup.infer.cells import CellModel
from trueup.noise import Noise
from trueup.paper.noise import measure_for_experiment

AXES = tu.Axis.integers("a", 0, 7), tu.Axis.integers("b", 0, 3)


def expected_boxes(question):
    """The cells inside each box of which a model says what to expect."""
    sizes = [axis.size for axis in question.space.axes]
    whole = np.ones(sizes)
    middle = np.zeros(sizes)
    middle[tuple(size // 2 for size in sizes)] = 1
    found = {"one cell": middle, "the total": whole}
    if len(sizes) > 1:
        half = np.zeros(sizes)
        half[tuple(slice(size // 4, 3 * size // 4) for size in sizes)] = 1
        found["half of each axis"] = half
    return found


@pytest.mark.parametrize(
    "question",
    [
        tu.CellCounts(AXES[0]),
        tu.TreeCounts(AXES[0], branching=2),
        tu.HatCounts(AXES[0], [2]),
        tu.WaveletCounts(AXES[0]),
        tu.GridCounts(*(tu.CellCounts(axis) for axis in AXES)),
        tu.BoxCounts.quadtree(*AXES, branching=2),
    ],
    ids=lambda q: type(q).__name__,
)
def test_what_is_expected_holds_95_of_100_draws_and_not_all(question):
    noise = Noise(question, Fraction(1, 5))
    matrix = question.matrix().toarray()
    scales = np.repeat([float(scale) for scale in noise.scales], noise.lengths)
    success = -np.expm1(-1 / scales)
    weighed = matrix * ((success**2) / (2 * (1 - success)))[:, None]
    inverse = np.linalg.solve(matrix.T @ weighed, weighed.T)
    rng = np.random.default_rng(1)
    shape = (40_000, len(scales))
    drawn = rng.geometric(success, shape) - rng.geometric(success, shape)
    told = dict(model_of(noise).expected())
    boxes = expected_boxes(question)
    assert boxes.keys() <= told.keys()
    for what, inside in boxes.items():
        off = np.abs(drawn @ (inside.ravel() @ inverse))
        covered = int((off <= told[what] * (1 + 1e-9)).sum())
        assert binomtest(covered, len(off), 0.95, alternative="less").pvalue > 1e-5
        assert covered / len(off) < 0.96


def test_every_model_answers_its_own_type_and_no_other():
    assert [model.asks for model in models()][: len(MODELS)] == list(MODELS)
    for model in models():
        register(model)  # a second time changes nothing

    class Other(CellModel):
        asks = tu.TreeCounts

    before = models()
    with pytest.raises(ValueError, match="TreeCounts is answered by another model"):
        register(Other)
    assert models() == before


def test_a_question_that_no_model_answers_is_refused():
    class Unknown(tu.CellCounts):
        pass

    with pytest.raises(tu.InputError, match="No model answers Unknown: register one"):
        model_of(Noise(Unknown(3), 1))


def test_ranges_and_boxes_are_refused_where_there_are_none():
    grid = Noise(tu.GridCounts(*AXES), 1)
    ordered = Noise(tu.SortedCounts(3, adaptive=False), 1)
    for noise in (grid, ordered):
        with pytest.raises(tu.InputError, match="has no ranges"):
            axis_model(noise)
    for noise in (Noise(tu.CellCounts(3), 1), ordered):
        with pytest.raises(tu.InputError, match="is not over several axes"):
            table_model(noise)
    assert table_model(grid).noise is grid


def test_whole_margins_are_near_the_fitted_ones_and_so_are_those_of_single_axes():
    """Rounding cell by cell would add up: a count of an axis has many more cells in it."""
    sizes = {"age": 12, "sex": 10, "town": 14}
    axes = [tu.Axis.integers(name, 0, size - 1) for name, size in sizes.items()]
    question = tu.BoxCounts.marginals(*axes, marginals=[("age", "town"), ("sex", "town")])
    generator = np.random.default_rng(1)
    for seed in range(3):
        counts = generator.poisson(0.3, question.sizes)
        measured = measure_for_experiment(counts, question, Fraction(1, 2), seed=seed)
        fitted = table_model(measured.noise).fit_nonnegative(measured.noisy)
        shown = tu.infer(measured, nonnegative=True, integers=True)
        for names in (("age", "town"), ("sex", "town"), ("age",), ("sex",), ("town",)):
            others = tuple(n for n, name in enumerate(sizes) if name not in names)
            margin = shown.margin(*names).counts()
            assert np.abs(margin - fitted.sum(axis=others)).max() < 1.5
