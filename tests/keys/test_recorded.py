"""The public record of keys: what the file says of them, and nothing that it counts."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

import trueup as tu
from trueup.errors import FileError, InputError
from trueup.keys import KeyTerms, PrefixTerms
from trueup.keys.recorded import facts_in, keys_record, keys_risk, terms_in
from trueup.record import plain, risk, to_fill_in, to_yaml

WORDS = tu.KeyCounts(tu.Universe.text("a-z", 6), by="word", number="1/10")
HOSTS = tu.PrefixCounts(tu.Universe.ipv4(), by="host", step=8)


def test_the_record_has_the_terms_of_the_file() -> None:
    measured = tu.measure_keys({"fig": 500}, WORDS, epsilon=1, unit="user", keys_per_unit=2)
    for kept in (measured, measured.infer()):
        about = kept.to_json()
        terms = terms_in(about)
        assert terms == measured.terms
        facts = facts_in(about, measured.terms)
        parts = plain(keys_record(measured.terms, facts))["deployment"]
        assert parts["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
        assert "at most 2 keys" in parts["privacy_loss"]["privacy_unit_details"]
        assert "321,272,407 keys" in parts["dp_variant"]["data_domain"]
        said = parts["implementation"]["mechanisms"]
        assert f"b = {measured.terms.count_scale}" in said
        assert f"at least {measured.terms.threshold:,} are shown" in said
        assert ("non-negative" in parts["implementation"]["post_processing"]) == (
            kept is not measured
        )
    yaml = to_yaml(facts, keys_record(measured.terms, facts))
    assert "fig" not in yaml  # no key is looked at
    assert dict(to_fill_in(keys_record(measured.terms, facts)))["deployment.basic.name"]


def test_a_tree_is_recorded_too() -> None:
    measured = tu.measure_prefixes({"10.0.0.1": 900}, HOSTS, epsilon=1)
    terms = terms_in(measured.to_json())
    assert isinstance(terms, PrefixTerms)
    parts = plain(keys_record(terms, facts_in(measured.to_json(), terms)))["deployment"]
    assert "level by level: 4 levels" in parts["implementation"]["mechanisms"]
    assert "standard error" in parts["implementation"]["utility"]


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "1/8"}])
def test_keys_that_are_shown_by_a_delta_are_recorded_with_it(price: dict[str, Any]) -> None:
    cost = tu.Cost.of(**price, delta="1e-6")
    words = tu.KeyCounts(tu.Universe.text("a-z", 6), by="word")
    terms = KeyTerms.of(words, cost)
    facts = facts_in({"private": True}, terms)
    fields = keys_record(terms, facts)
    parts = plain(fields)["deployment"]
    assert parts["dp_variant"]["variant_name"].startswith("Approximate")
    told = parts["privacy_loss"]["privacy_parameters"]
    assert told == {cost.notion: float(cost.amount), "delta": 1e-6}
    details = parts["privacy_loss"]["privacy_parameters_details"]
    assert "δ = 1/1000000." in details
    assert keys_risk(cost, facts) in details
    said = parts["implementation"]["mechanisms"]
    assert f"{'s2' if terms.gaussian else 'b'} = {terms.count_scale}." in said
    assert "that somebody has" in said
    assert "those that nobody has too" not in said
    assert "δ = 1e-6" in parts["implementation"]["composition"]
    yaml = to_yaml(facts, fields, keys_risk(cost, facts))
    assert "fig" not in yaml
    assert risk(facts) not in yaml  # which is of a pure ε, or of ρ alone


def test_the_risk_of_an_epsilon_and_a_delta_is_that_of_the_worst_mechanism() -> None:
    """The worst under (ε, δ): tells all with chance δ, and else answers at random as under ε."""
    for epsilon, delta in ((1, "1e-3"), ("1/10", "1e-2"), (3, "1e-5")):
        cost = tu.Cost.of(epsilon, delta=delta)
        odds, small = math.exp(float(cost.amount)), float(cost.delta)
        right = small + (1 - small) * odds / (1 + odds)
        found = re.search("at most ([0-9.]+) %", keys_risk(cost, KeyTerms.of(WORDS, cost).facts))
        assert found is not None
        assert 100 * right <= float(found[1]) + 1e-9
        assert float(found[1]) - 100 * right < 0.0011


def test_rho_with_a_delta_is_told_as_an_epsilon_with_both_deltas() -> None:
    cost = tu.Cost.of(rho="1/8", delta="1e-2")
    meant = cost.shown_at()
    assert meant.delta > cost.delta
    right = 1 - (1 - float(meant.delta)) / (1 + math.exp(float(meant.amount)))
    told = keys_risk(cost, KeyTerms.of(WORDS, cost).facts)
    assert f"at most {math.ceil(100_000 * right) / 1000:g} %" in told


def test_an_experiment_and_a_broken_file_are_refused() -> None:
    pure = KeyTerms.of(WORDS, 1)
    with pytest.raises(InputError, match="NOT PRIVATE"):
        keys_record(pure, replace(pure.facts, private=False))
    assert terms_in({"epsilon": "1"}) is None
    broken: Any
    for broken in ({"keys": {}}, {"keys": 3}, {"prefixes": {"terms": {"question": 1}}}):
        with pytest.raises(FileError):
            terms_in(broken)


def test_a_file_that_does_not_say_private_is_told_as_not_private() -> None:
    terms = KeyTerms.of(WORDS, 1)
    for said in ({}, {"private": False}, {"private": "yes"}, {"private": 1}):
        assert not facts_in(said, terms).private
    assert facts_in({"private": True}, terms).private
