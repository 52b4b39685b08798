"""A question of prefixes: its shares, its noise, what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import trueup as tu
from trueup._kernels.noise import bits, laplace_tables
from trueup.errors import InputError, NoiseError
from trueup.files import codec
from trueup.keys.prefixes import PrefixCounts, PrefixTerms

ASKED = PrefixCounts(tu.Universe.ipv4(), "host", 8)


@pytest.mark.parametrize(
    "asked",
    [ASKED, PrefixCounts(tu.Universe.ipv6()), PrefixCounts(tu.Universe.places("45/8"), finer=1)],
)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_path_costs_epsilon_wherever_it_ends(asked: PrefixCounts, neighbours: str) -> None:
    """A unit's rows are in one node of each level, and at the end among the others."""
    terms = PrefixTerms.of(asked, "1/3", neighbours, "user", 2)  # type: ignore[arg-type]
    moved = 2 * (2 if neighbours == "replace" else 1)
    for level, left in enumerate(terms.left):
        shares = [*asked.shares[: level + 1], *([left] if left else [])]
        assert sum(moved / terms.scale(share) for share in shares) == Fraction(1, 3)
    assert sum(asked.shares) == 1


@pytest.mark.parametrize("asked", [ASKED, PrefixCounts(tu.Universe.text("a-z", 4))])
def test_thresholds_are_the_least_that_noise_seldom_reaches(asked: PrefixCounts) -> None:
    """On average a fiftieth of a child of an empty node is taken for a large one, at most."""
    terms = PrefixTerms.of(asked, "1/3", unit="user", rows_per_unit=2)
    for fan, share, least in zip(asked.paths.fans, asked.shares, terms.thresholds, strict=True):
        each = math.exp(-1 / float(terms.scale(share)))
        strays = [fan * each**count / (1 + each) for count in (least, least - 1)]
        assert strays[0] <= 1 / 50 < strays[1]


def test_terms_are_written_and_read_and_no_others_are_taken() -> None:
    terms = PrefixTerms.of(ASKED, "1/2")
    said = terms.to_json()
    assert PrefixTerms.from_json(said) == terms
    assert PrefixCounts.from_json(ASKED.to_json()) == ASKED
    for name, other in (("thresholds", [1] * 4), ("shares", ["1/4"] * 4), ("epsilon", "1")):
        with pytest.raises(InputError):
            PrefixTerms.from_json({**said, name: other})
    assert "levels" in terms.lines()["tree"]


@pytest.mark.parametrize("cost", [tu.Cost.of(rho=1), tu.Cost.of(1, delta="1e-6"), 0, 10**9])
def test_only_a_pure_epsilon_that_can_be_drawn_is_taken(cost: object) -> None:
    with pytest.raises(InputError):
        PrefixTerms.of(ASKED, cost)


@pytest.mark.parametrize("wrong", [{"universe": 7}, {"finer": 9}, {"finer": 0}, {"step": 3}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        PrefixCounts(**{"universe": tu.Universe.ipv4(), **wrong})  # type: ignore[arg-type]


def test_small_children_are_a_crowd_from_three_standard_errors_of_their_sum_on() -> None:
    terms = PrefixTerms.of(ASKED, "1/3", unit="user", rows_per_unit=2)
    for share, least, (threshold, crowds) in zip(
        ASKED.shares, terms.thresholds, terms.rule, strict=True
    ):
        each = math.exp(-1 / float(terms.scale(share)))
        error = math.sqrt(2 * each) / (1 - each)
        assert threshold == least
        assert crowds.tolist() == [math.ceil(3 * error * math.sqrt(many)) for many in range(257)]


def fails(*_: object, **__: object) -> Any:
    raise NoiseError("There is none.")


@pytest.mark.parametrize("cost", ["1/3", 2])
def test_noise_of_every_scale_is_tried_before_the_charge(
    cost: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise of each level, and of what is left for the others at each."""
    terms = PrefixTerms.of(ASKED, cost)
    terms.rehearse()
    real, drawn = laplace_tables.tables, {*ASKED.shares, *terms.left} - {0}
    assert len(drawn) > len(ASKED.shares)
    for missing in [terms.scale(share) for share in drawn]:

        def made(scale: Fraction, missing: Fraction = missing) -> Any:
            return fails() if scale == missing else real(scale)

        monkeypatch.setattr(laplace_tables, "tables", made)
        with pytest.raises(NoiseError):
            terms.rehearse()


@pytest.mark.parametrize("universe", [tu.Universe.ipv4(), tu.Universe.text("a-z", 4)])
def test_whatever_can_fail_is_tried_before_the_charge(
    universe: tu.Universe, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = PrefixTerms.of(PrefixCounts(universe), 1)
    for place, name in (
        (bits, "Keystream"),
        (codec, "encode"),
        (type(terms.question.paths), "digits"),
    ):
        with monkeypatch.context() as broken:
            broken.setattr(place, name, fails)
            with pytest.raises(NoiseError):
                terms.rehearse()
    terms.rehearse()


def test_what_is_told_of_the_noise_is_that_of_the_others_of_the_first_level() -> None:
    terms = PrefixTerms.of(ASKED, "1/3")
    scale = float(1 / (Fraction(1, 3) * sum(ASKED.shares[1:])))
    p = math.exp(-1 / scale)
    told = terms.lines()
    assert float(told["noise"].split()[-1]) == pytest.approx(math.sqrt(2 * p) / (1 - p), rel=0.01)
    assert f"{terms.thresholds[0]:,} (first" in told["threshold"]
    assert f"{terms.thresholds[-1]:,} (last" in told["threshold"]


def test_a_question_of_another_kind_is_not_read_as_one_of_prefixes() -> None:
    with pytest.raises(InputError, match="does not ask for prefixes"):
        PrefixCounts.from_json({**ASKED.to_json(), "kind": "keys"})
