from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import trueup as tu
from trueup.facts import Facts, NumberOfGroups
from trueup.files.codec import read
from trueup.record import (
    BUT_FOR,
    Marked,
    highest_confidence,
    highest_loss,
    plain,
    record,
    risk,
    to_fill_in,
    to_yaml,
)

OLD = sorted((Path(__file__).parent / "files_of_0_1").glob("*.parquet"))
AGE = tu.Axis.integers("age", 0, 99)

# The fields of the registry's records, and the words it takes where it takes only some.
FIELDS: dict[str, set[str]] = {
    "basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type",
        "data_product_region", "data_product_sector", "publication_date",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name", "model_name_details", "trust_assumptions", "actors", "release_type",
        "release_type_details", "data_source_type", "data_source_type_details", "access_type",
        "access_type_details",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing",
        "justification", "utility", "additional_information",
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}  # fmt: skip
CHOICES = {
    ("basic", "data_product_type"): {"Summary statistics", "Dataset", "Machine learning model"},
    ("dp_variant", "variant_name"): {"Pure DP", "Approximate DP", "Zero-concentrated DP"},
    ("deployment_model", "model_name"): {"Local", "Central", "Shuffle", "Federated"},
    ("administrative", "status"): {"Draft", "Pending"},
    ("administrative", "tier"): {1, 2, 3},
}


def facts(epsilon: Any = "1/10", **others: Any) -> Facts:
    return Facts.of(tu.TreeCounts(AGE), epsilon, **others)


def odds_after(before: float, epsilon: float) -> float:
    """Bayes' rule, worked out over the two worlds for the likeliest output there can be."""
    with_unit, without = math.exp(epsilon), 1.0
    return before * with_unit / (before * with_unit + (1 - before) * without)


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1, 3, 20])
@pytest.mark.parametrize("before", [0.01, 0.5, 0.9])
def test_the_highest_confidence_is_bayes_rule(epsilon: float, before: float) -> None:
    assert highest_confidence(epsilon, before) == pytest.approx(odds_after(before, epsilon), 1e-12)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_no_guess_about_one_row_beats_the_bound_and_some_guess_reaches_it(epsilon: str) -> None:
    # A count of 10 or 11 and the exact law of its noise; the guess that is best for every output.
    p = math.exp(-float(Fraction(epsilon)))
    outputs = np.arange(-60, 81)
    law = (1 - p) / (1 + p) * p ** np.abs(outputs - 10.0)
    neighbour = (1 - p) / (1 + p) * p ** np.abs(outputs - 11.0)
    best = np.maximum(law, neighbour) / (law + neighbour)
    bound = highest_confidence(Fraction(epsilon))
    assert best.max() <= bound * (1 + 1e-12)
    assert best.max() == pytest.approx(bound, rel=1e-9)


def test_the_sentence_is_never_rounded_below_the_bound() -> None:
    for epsilon in ("1/1000", "1/10", "1/3", "1", "5"):
        words = risk(facts(epsilon))
        told = float(words.split("at most ")[1].split(" %")[0]) / 100
        factor = float(words.split("e^ε = ")[1].rstrip("."))
        assert told >= highest_confidence(Fraction(epsilon))
        assert factor >= math.exp(float(Fraction(epsilon)))
        assert told - highest_confidence(Fraction(epsilon)) < 2e-5


@pytest.mark.parametrize("rho", [0.001, 0.005, 0.1, 1.0])
@pytest.mark.parametrize("but_for", [0.1, 1e-3, BUT_FOR])
def test_odds_seldom_change_by_more_than_rho_allows(rho: float, but_for: float) -> None:
    """Gaussian noise on a count of 0 or 1: the loss is normal, with mean ρ and variance 2ρ."""
    from scipy.stats import norm

    bound = highest_loss(rho, but_for)
    assert norm.sf(bound, rho, math.sqrt(2 * rho)) <= but_for
    assert norm.sf(bound * 0.5, rho, math.sqrt(2 * rho)) > but_for


def test_a_cost_in_rho_is_recorded_as_such() -> None:
    words = risk(facts(None, rho="1/200"))
    assert words.startswith("ρ = 1/200: but for one release in a million, somebody who thinks")
    told = float(words.split("at most ")[1].split(" %")[0]) / 100
    assert told == pytest.approx(highest_confidence(highest_loss(1 / 200)), abs=2e-5)
    assert told >= highest_confidence(highest_loss(1 / 200))
    found = yaml.safe_load(to_yaml(facts(None, rho="1/200")))["deployment"]
    assert found["dp_variant"]["variant_name"] in CHOICES["dp_variant", "variant_name"]
    assert found["privacy_loss"]["privacy_parameters"] == {"rho": 0.005}
    assert (
        "Exactly ρ = 1/200; that is ε = 0.43" in found["privacy_loss"]["privacy_parameters_details"]
    )
    assert "Discrete Gaussian mechanism" in found["implementation"]["mechanisms"]
    assert found["implementation"]["composition"] == "One measurement, ρ = 1/200."
    assert set(found) == set(FIELDS)


def test_every_field_is_one_that_the_registry_has() -> None:
    found = yaml.safe_load(to_yaml(facts()))
    assert set(found) == {"url_slug", "deployment"}
    assert set(found["deployment"]) == set(FIELDS)
    for section, fields in found["deployment"].items():
        assert set(fields) <= FIELDS[section], section
    for (section, field), choices in CHOICES.items():
        assert found["deployment"][section][field] in choices
    assert FIELDS["basic"] <= set(found["deployment"]["basic"])


def test_yaml_and_json_say_the_same() -> None:
    assert yaml.safe_load(to_yaml(facts())) == plain(record(facts()))


def test_what_needs_judgement_is_blank_and_marked_and_nothing_else_is() -> None:
    text = to_yaml(facts())
    blank = {path for path, mark in to_fill_in(record(facts())) if mark.startswith("TO FILL IN")}
    assert {"deployment.basic.intended_use", "deployment.implementation.justification"} <= blank
    assert text.count("# TO FILL IN: ") == len(blank)

    def empty(fields: Any, path: str = "") -> Any:
        if isinstance(fields, dict):
            for name, value in fields.items():
                yield from empty(value, f"{path}.{name}".lstrip("."))
        elif isinstance(fields, list):
            for value in fields:
                yield from empty(value, path)
        elif fields == "":
            yield path

    assert set(empty(plain(record(facts())))) == blank


def test_mechanism_unit_epsilon_neighbours_and_bounds_follow_from_the_facts() -> None:
    found = plain(record(facts("1/7", neighbours="replace", unit="user", rows_per_unit=3)))
    loss, how = found["deployment"]["privacy_loss"], found["deployment"]["implementation"]
    assert loss["privacy_unit"] == "user-level"
    assert loss["privacy_parameters"] == {"epsilon": pytest.approx(1 / 7)}
    assert "ε = 1/7" in loss["privacy_parameters_details"]
    assert "replace" in loss["privacy_unit_details"]
    assert "At most 3 rows" in loss["privacy_unit_details"]
    law = facts("1/7", neighbours="replace", rows_per_unit=3).noise
    for scale, length in zip(law.scales, law.lengths, strict=True):
        assert f"b = {scale} in {length} answers" in how["mechanisms"]
    assert f"trueup {tu.__version__}" in how["mechanisms"]
    domain = found["deployment"]["dp_variant"]["data_domain"]
    assert "the column 'age' (whole numbers from 0 to 99, 100 cells)" in domain


def test_costs_of_parts_and_of_the_number_of_groups_are_in_the_sum() -> None:
    two = Facts.together([facts("1/10"), facts("1/5")], combined=(facts("1/10"), facts("1/5")))
    found = plain(record(two))["deployment"]
    assert found["privacy_loss"]["privacy_parameters"]["epsilon"] == pytest.approx(0.3)
    assert "ε adds up: 1/10 + 1/5" in found["implementation"]["composition"]
    sizes = Facts.of(
        tu.SortedCounts(9), "9/10", number_of_groups=NumberOfGroups(9, Fraction(1, 10))
    )
    assert "Exactly ε = 1;" in plain(record(sizes))["deployment"]["privacy_loss"][
        "privacy_parameters_details"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (Facts(), "do not say what they cost"),
        (facts(private=False), "NOT PRIVATE"),
        (
            Facts.together(
                [facts(), facts(unit="user")], combined=(facts(), facts(unit="user"))
            ),
            "different units",
        ),
    ],
)  # fmt: skip
def test_what_has_no_guarantee_has_no_record(refused: Facts, why: str) -> None:
    with pytest.raises(tu.InputError, match=why):
        record(refused)
    with pytest.raises(tu.InputError, match=why):
        to_yaml(refused)


@pytest.mark.parametrize("name", ["a\nb: 1", 'x"\n# y', "u\u2028v", "t\tz\x85", "- #", "{x: &a"])
def test_a_name_from_a_stranger_cannot_write_into_the_record(name: str) -> None:
    axis = tu.Axis.integers(name, 0, 3)
    about = Facts.of(tu.CellCounts(axis), 1, unit=name, rows_per_unit=2)
    about = about.made(f"least squares {name}")
    found = yaml.safe_load(to_yaml(about))
    assert found == plain(record(about))
    assert set(found) == {"url_slug", "deployment"}


@pytest.mark.parametrize("file", OLD, ids=lambda file: file.stem)
def test_every_file_that_was_ever_saved_has_a_record_or_says_why_not(file: Path) -> None:
    about = Facts.from_json(read(file)[2])
    if about.epsilon is None or not about.private:
        with pytest.raises(tu.InputError):
            to_yaml(about)
        return
    found = yaml.safe_load(to_yaml(about))
    assert found == plain(record(about))
    told = found["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"]
    extra = about.number_of_groups.epsilon if about.number_of_groups else 0
    assert told == float(about.epsilon + extra)


@pytest.mark.parametrize("before", [0, 1, -1, 2])
def test_a_probability_lies_between_0_and_1(before: float) -> None:
    with pytest.raises(tu.InputError, match="between 0 and 1"):
        highest_confidence(1, before)


def test_a_mark_says_whether_to_fill_in_or_to_check() -> None:
    assert Marked("who").mark == "TO FILL IN: who"
    assert Marked("who", "somebody").mark == "CHECK: who"


def test_the_record_says_how_pooled_counts_were_found() -> None:
    """They are not the nearest by least squares: noise had a say in what was asked."""
    asked = tu.measure(np.zeros(60, int), tu.TreeCounts(60, adaptive=True), epsilon=1)
    done = record(tu.infer(asked).facts)["deployment"]["implementation"]["post_processing"]
    assert "from the top down" in done
    assert "least squares" not in done
    assert "nearest" not in done
    at_once = tu.infer(tu.measure(np.zeros(60, int), tu.TreeCounts(60), epsilon=1))
    found = record(at_once.facts)["deployment"]["implementation"]["post_processing"]
    assert found.startswith("The nearest answers that agree with each other (least squares)")
