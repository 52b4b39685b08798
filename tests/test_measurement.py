"""A measurement carries its question, its noisy answers and its noise law, and checks them."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import trueup as tu
from trueup import (
    Axis,
    CellCounts,
    FileError,
    InputError,
    Measurement,
    NamedCounts,
    SortedCounts,
    TreeCounts,
)
from trueup.facts import Facts
from trueup.noise import Noise


def exact_variance(scale):
    """Σ x² P(x) of the discrete law, summed term by term."""
    with mpmath.workdps(40):
        p = mpmath.exp(-1 / mpmath.mpf(scale.numerator) * scale.denominator)
        return mpmath.nsum(lambda x: 2 * x**2 * p**x, [1, mpmath.inf]) * (1 - p) / (1 + p)


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(5, 2), Fraction(40)])
def test_variances_are_those_of_the_discrete_law(scale):
    m = Measurement(CellCounts(3), [1, 2, 3], epsilon=1 / scale)
    assert m.scales.tolist() == [float(scale)] * 3
    np.testing.assert_allclose(m.variances, float(exact_variance(scale)), rtol=1e-13)
    np.testing.assert_allclose(m.std_errors**2, m.variances, rtol=1e-14)


def test_the_error_of_noisy_cell_counts_is_two_n_over_epsilon_squared():
    for epsilon in (Fraction(1), Fraction(1, 10), Fraction(1, 100)):
        n = 1000
        zeros = np.zeros(n)
        paper = Measurement(CellCounts(n), zeros, epsilon, private=False, law="continuous")
        assert paper.variances.sum() == pytest.approx(float(2 * n / epsilon**2), rel=1e-13)
        ours = Measurement(CellCounts(n), zeros.astype(int), epsilon).variances.sum()
        assert ours == pytest.approx(n * float(exact_variance(1 / epsilon)), rel=1e-12)
        assert ours < paper.variances.sum()


def test_each_level_s_scale_is_its_price_over_its_share_of_epsilon():
    question = TreeCounts(8, radices=[2, 4], shares=["1/2", 0, "1/2"])
    m = Measurement(question, range(9), "1/10", rows_per_unit=3)
    assert m.noise.scales == (Fraction(60), Fraction(60))
    uneven = TreeCounts(8, radices=[2, 4], shares=["0.2", "0.3", "0.5"])
    m = Measurement(uneven, range(11), 1)
    assert m.noise.scales == (Fraction(5), Fraction(10, 3), Fraction(2))
    assert m.scales.tolist() == [5.0] + [10 / 3] * 2 + [2.0] * 8
    replaced = Measurement(uneven, range(11), 1, "replace")
    assert replaced.noise.scales == tuple(Fraction(8, 5) * s for s in m.noise.scales)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_privacy_loss_of_one_record_is_epsilon_and_no_more(neighbours):
    # The loss of moving answer i by d at scale b is d/b: added up over the worst record.
    rng = np.random.default_rng(3)
    for shares in (["1/3", "1/3", "1/3"], ["0", "1/4", "3/4"], ["1/2", "0", "1/2"]):
        question = TreeCounts(7, radices=[3, 3], shares=shares)
        m = Measurement(question, np.zeros(question.length, int), "3/7", neighbours)
        scales = [s for s, (n, _) in zip(m.noise.scales, question.blocks, strict=True) for _ in range(n)]  # fmt: skip  # noqa: E501
        counts = rng.integers(1, 5, 7)
        losses = []
        for cell in range(7):
            for other in range(8) if neighbours == "replace" else [7]:
                moved = counts.copy()
                moved[cell] -= 1
                if other < 7:
                    moved[other] += 1
                difference = np.abs(question.answers(moved) - question.answers(counts))
                losses.append(sum(int(d) / s for d, s in zip(difference, scales, strict=True)))
        assert max(losses) == m.epsilon


def relative_weights(scales, law):
    """Of answers with noise of these scales: one block each, weighed by 1/scale."""
    question = NamedCounts(1, {"one": [0]})
    blocks = tuple((1, 1 / Fraction(scale)) for scale in scales)
    return noise_of(question, blocks, law).relative_weights


def noise_of(question, blocks, law):
    """Noise of blocks that a question does not have."""
    noise = Noise(question, 1, law=law)
    vars(noise)["scales"] = tuple(1 / weight for _, weight in blocks)
    return noise


def test_relative_weights_are_inverse_variances_even_where_those_underflow():
    scales = (Fraction(5), Fraction(1, 3), Fraction(40))
    exact = np.array([float(1 / exact_variance(s)) for s in scales])
    np.testing.assert_allclose(
        relative_weights(scales, "discrete"), exact / exact.max(), rtol=1e-12
    )
    assert relative_weights(scales, "continuous") == pytest.approx([1 / 225, 1.0, 1 / 14400])
    tiny = relative_weights((Fraction(1, 900), Fraction(1, 1000)), "discrete")
    with mpmath.workdps(30):
        p, q = mpmath.exp(-900), mpmath.exp(-1000)
        ratio = (q / (1 - q) ** 2) / (p / (1 - p) ** 2)
    assert tiny[1] == 1.0
    assert tiny[0] == pytest.approx(float(ratio), rel=1e-9)


def test_the_noisy_answers_are_a_copy_and_cannot_be_changed():
    noisy = np.array([1, 2, 3])
    m = Measurement(CellCounts(3), noisy, 1)
    noisy[0] = 99
    assert m.noisy.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        m.noisy[0] = 99


def test_epsilon_is_kept_exactly_as_typed():
    for typed, meant in ((0.1, Fraction(1, 10)), ("1/3", Fraction(1, 3)), (2, Fraction(2))):
        assert Measurement(CellCounts(1), [0], typed).epsilon == meant


def test_measurements_are_equal_when_all_they_say_is():
    queries = {"a": [0], "b": [0, 1]}
    m = Measurement(NamedCounts(2, queries), [1, 2], 1)
    assert m == Measurement(NamedCounts(2, queries), [1, 2], 1)
    assert m != Measurement(NamedCounts(2, {"b": [0, 1], "a": [0]}), [1, 2], 1)
    assert m != Measurement(NamedCounts(2, queries), [1, 3], 1)
    assert m != Measurement(NamedCounts(2, queries), [1, 2], 2)
    assert m != Measurement(NamedCounts(2, queries), [1, 2], 1, private=False)
    assert m != "m"


def test_an_experiment_is_stamped_wherever_it_is_shown():
    m = Measurement(CellCounts(2), [0.5, 1.5], 1, private=False, law="continuous")
    assert "NOT PRIVATE" in repr(m)
    assert m.facts.private is False
    assert "NOT PRIVATE" not in repr(Measurement(CellCounts(2), [0, 1], 1))


def test_the_table_says_what_each_answer_counts():
    tree = Measurement(TreeCounts(Axis.integers("age", 10, 13), 2), range(7), 1).columns()
    assert tree["level"].tolist() == [0, 1, 1, 2, 2, 2, 2]
    assert tree["low"].tolist() == [10, 10, 12, 10, 11, 12, 13]
    assert tree["high"].tolist() == [14, 12, 14, 11, 12, 13, 14]
    assert tree["noisy"].tolist() == list(range(7))
    place = Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": []}, ["state", "county"])
    table = Measurement(TreeCounts(place, levels=["state", "county"]), range(6), 1).columns()
    assert table["level"].tolist() == [0, 1, 1, 2, 2, 2]
    assert table["state"] == [None, "CA", "NV", "CA", "CA", "NV"]
    assert table["county"] == [None, None, None, "Kern", "Napa", None]
    named = Measurement(NamedCounts(2, {"a": [0], "b": [0, 1]}), [1, 2], 1).columns()
    assert named["query"] == ["a", "b"]
    ranked = Measurement(SortedCounts(3, adaptive=False), [1, 2, 3], 1).columns()
    assert ranked["rank"].tolist() == [3, 2, 1]  # 1 is the largest


GOOD = {"question": CellCounts(2), "noisy": [1, 2], "epsilon": 1}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"question": "ages"}, "A question such as TreeCounts(axis) is needed, got 'ages'"),
        ({"question": CellCounts}, "A question such as TreeCounts(axis) is needed"),
        ({"noisy": [1]}, "The question has 2 answers, but 1 were given"),
        ({"noisy": [[1, 2]]}, "The question has 2 answers"),
        ({"noisy": [[1], [1, 2]]}, "must be a flat array of numbers"),
        ({"noisy": [1.0, 2.0]}, "must be whole numbers in int64, got float64"),
        ({"noisy": [1, None]}, "got object"),
        ({"noisy": ["1", "2"]}, "got <U1"),
        ({"noisy": np.array([0, 2**63], np.uint64)}, "must be whole numbers in int64, got uint64"),
        ({"noisy": [0, 2**64]}, "must be whole numbers in int64"),
        ({"epsilon": 0}, "epsilon must be positive, got 0"),
        ({"epsilon": -1}, "epsilon must be positive, got -1"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number, got nan"),
        ({"epsilon": float("inf")}, "epsilon must be a finite number, got inf"),
        ({"epsilon": True}, "epsilon must be a number, got True"),
        ({"epsilon": "much"}, "got 'much'"),
        ({"neighbours": "swap"}, 'must be "add-remove" or "replace", got \'swap\''),
        ({"unit": ""}, "unit, what one noise protects, must be text, got ''"),
        ({"unit": None}, "must be text, got None"),
        ({"rows_per_unit": 0}, "must lie between 1 and 1,000,000,000, got 0"),
        ({"rows_per_unit": 1.5}, "rows_per_unit must be a whole number, got 1.5"),
        ({"rows_per_unit": 10**400}, "rows_per_unit must lie between 1 and"),
        ({"private": "no"}, "private must be True or False, got 'no'"),
        ({"private": None}, "private must be True or False, got None"),
        ({"law": "gaussian"}, "law gaussian goes with rho=, not with epsilon="),
        ({"law": "continuous"}, "Continuous noise is for experiments: it is never private"),
        ({"law": "continuous", "private": False, "noisy": [1.0, np.nan]}, "must be finite"),
        ({"law": "continuous", "private": False, "noisy": [1.0, np.inf]}, "must be finite"),
    ],
)
def test_a_measurement_that_makes_no_sense_is_refused(wrong, told):
    with pytest.raises(InputError) as refusal:
        Measurement(**{**GOOD, **wrong})
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "2"},
        {"epsilon": "1e999999999"},
        {"epsilon": 1.5},
        {"scales": ["2"]},
        {"scales": ["1", "1"]},
        {"scales": "1"},
        {"scales": ["1e999999999"]},
        {"law": "none"},
        {"private": "false"},
        {"private": 0},
        {"neighbours": None},
        {"unit": 5},
        {"rows_per_unit": 2},
        {"rows_per_unit": "1"},
        {"question": None},
        {"question": {"kind": "unit"}},
        {"question": {"kind": "unit", "axis": None}},
        {"question": {"kind": "unit", "axis": {"kind": "integers", "name": "x"}}},
        {"question": {"kind": "unit", "axis": {"kind": "edges", "name": "x", "edges": [1, 0]}}},
        {"question": {"kind": "magic"}},
        {"question": {"kind": "sorted", "groups": 10**12, "by": None, "ends": 1}},
    ],
    ids=str,
)  # fmt: skip
def test_facts_that_do_not_fit_together_are_no_measurement(change):
    m = Measurement(CellCounts(2), [1, 2], 1)
    assert Measurement.from_facts(Facts.from_json(m.facts.to_json()), m.noisy) == m
    with pytest.raises(FileError):
        Facts.from_json({**m.facts.to_json(), **change})
    for key in m.facts.to_json():
        said = {k: v for k, v in m.facts.to_json().items() if k != key}
        with pytest.raises(FileError):
            Measurement.from_facts(Facts.from_json(said), m.noisy)


@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_a_measurement_at_a_rho_is_saved_with_its_variances(tmp_path, ending):
    m = tu.measure([3, 1, 4, 1], tu.TreeCounts(4, branching=2), rho="1/200", neighbours="replace")
    assert (m.epsilon, m.rho, m.law) == (None, Fraction(1, 200), "gaussian")
    assert m.noise.scales == (Fraction(400),) * 3  # 2 · 2/9 / (2 · 1/9 · 1/200)
    assert m.scales[0] == pytest.approx(20)
    assert m.std_errors[0] == pytest.approx(20)
    assert "rho=1/200" in repr(m)
    path = tmp_path / f"m.{ending}"
    m.save(path)
    again = tu.load(path)
    assert again == m
    about = m.facts.to_json()
    assert about["rho"] == "1/200"
    assert about["variances"] == ["400", "400", "400"]
    assert not {"epsilon", "scales"} & set(about)


def test_a_file_whose_variances_are_not_those_of_its_rho_is_refused():
    said = tu.measure([3, 1], tu.CellCounts(2), rho="1/2").facts.to_json()
    assert Facts.from_json(said).rho == Fraction(1, 2)
    for wrong in (
        {**said, "rho": "2"},
        {**said, "variances": ["2"]},
        {**said, "epsilon": "1"},
        {**said, "law": "discrete"},
        {**{name: each for name, each in said.items() if name != "rho"}, "epsilon": "1/2"},
    ):
        with pytest.raises(tu.FileError):
            Facts.from_json(wrong)
