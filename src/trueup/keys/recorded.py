"""The public record of a release of keys: as `record.record`, with what is known of keys alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trueup.axis.labels import text
from trueup.cost import LETTERS, Cost
from trueup.errors import FileError
from trueup.facts import Facts
from trueup.keys.prefixes import PrefixTerms
from trueup.keys.terms import KeyTerms
from trueup.noise import noise_variance
from trueup.record import Marked, record, unit_words
from trueup.version import __version__

_DOMAIN = "What is no key of the universe is not counted."


def terms_in(said: Mapping[str, Any]) -> KeyTerms | PrefixTerms | None:
    """The terms of the keys that a file's facts tell of; None if it is about other counts."""
    try:
        if "keys" in said:
            return KeyTerms.from_json(said["keys"]["terms"])
        if "prefixes" in said:
            return PrefixTerms.from_json(said["prefixes"]["terms"])
    except (LookupError, TypeError, ValueError) as wrong:
        raise FileError(f"The file holds no keys that make sense: {wrong}") from None
    return None


def facts_in(said: Mapping[str, Any], terms: KeyTerms | PrefixTerms) -> Facts:
    """The facts of a file about keys: those of its terms, and how its counts were inferred."""
    inferred = said.get("inferred")
    words = None if inferred is None else text(inferred, "inferred")
    return replace(terms.facts, private=said.get("private") is True, inferred=words)


def keys_record(terms: KeyTerms | PrefixTerms, facts: Facts) -> dict[str, Any]:
    """The record of a release of keys as nested fields; those that need a person are marked."""
    fields = record(facts)
    question, parts = terms.question, fields["deployment"]
    if terms.cost.delta:
        _tell_delta(parts, terms.cost, facts)
    columns = " and ".join(repr(column) for column in question.columns) if question.by else "a key"
    cost = LETTERS[terms.cost.notion] + (" and δ" if terms.cost.delta else "")
    public = f"The universe, {cost} and the noise's law are public choices, not read from the data."
    parts["dp_variant"] |= {
        "data_domain": f"Tables with the column {columns}, whose values are keys of the universe "
        f"{question.universe}. {_DOMAIN}",
        "unprotected_quantities": Marked("add whatever else was published without noise", public),
    }
    counted = getattr(terms, "counted", "")  # a tree counts as its facts say
    counted = "".join(c if c.isprintable() else " " for c in counted)
    if counted:
        words = parts["privacy_loss"]["privacy_unit_details"]
        said = f"{words.value.partition(chr(10))[0]}\n- {counted[0].upper()}{counted[1:]}."
        parts["privacy_loss"]["privacy_unit_details"] = Marked(words.note, said)
    sampled = (
        "The noise is sampled exactly, in whole numbers, from a cryptographic random stream "
        "(AES-256 in counter mode); no floating-point number decides a sample."
    )
    software = f"Software: trueup {__version__}, which also wrote this record."
    lines = [*_mechanism(terms), sampled, software]
    parts["implementation"] |= {
        "preprocessing_and_hyperparameter_tuning": Marked(
            f"say how {cost}, the universe and the bound on keys were chosen, and whether the data "
            f"were looked at",
            "Values become keys by a function of each value alone; nothing else is done to them.",
        ),
        "mechanisms": "\n".join(f"- {line}" for line in lines),
        "utility": _utility(terms),
    }
    return fields


def keys_risk(cost: Cost, facts: Facts) -> str:
    """One sentence that explains a cost with a δ as a risk to one unit, with the exact bound.

    A test of two tables that is right with chances t and u has t + u ≤ 1 + (e^ε − 1 + 2δ)/(e^ε + 1)
    under (ε, δ), so a guess between two equally likely ones is right at most (e^ε + δ)/(e^ε + 1).
    ρ is first told as an (ε, δ).

    >>> print(keys_risk(Cost.of(1, delta="1e-6"), Facts(epsilon=1, unit="row")))
    ε = 1, δ = 1e-6: somebody who thinks it equally likely that one row is in the data or not, and \
who knows everything else, guesses right in at most 73.106 % of all releases.
    """
    meant = cost.shown_at()
    epsilon, unit = float(meant.amount), unit_words(facts)
    right = 1 - (1 - float(meant.delta)) / (1 + math.exp(min(epsilon, 700.0)))
    shown = math.ceil(100_000 * right) / 1000
    guess = f"one {unit} is in the data or not"
    if facts.neighbours == "replace":
        guess = f"one {unit} has the one or the other of two values"
    most = f"at most {shown:g} %" if shown < 100 else "nearly all"
    told = f"{cost}" if cost.rho is None else f"{cost}, that is {meant.rounded}"
    return (
        f"{told}: somebody who thinks it equally likely that {guess}, and who knows everything "
        f"else, guesses right in {most} of all releases."
    )


def _tell_delta(parts: dict[str, Any], cost: Cost, facts: Facts) -> None:
    """Writes a cost that has a δ where the record has that of a pure ε, or of ρ."""
    pure = cost.rho is None
    parts["dp_variant"]["variant_name"] = (
        "Approximate DP" if pure else "Approximate zero-concentrated DP"
    )
    exactly = f"Exactly {LETTERS[cost.notion]} = {cost.amount}, δ = {cost.delta}."
    parts["privacy_loss"] |= {
        "privacy_parameters": {cost.notion: float(cost.amount), "delta": float(cost.delta)},
        "privacy_parameters_details": f"- {exactly}\n- {keys_risk(cost, facts)}",
    }
    paid = parts["implementation"]["composition"]
    parts["implementation"]["composition"] = Marked(paid.note, f"One measurement, {cost}.")


def _mechanism(terms: KeyTerms | PrefixTerms) -> list[str]:
    if isinstance(terms, PrefixTerms):
        said = terms.lines()
        return [
            "Discrete Laplace mechanism on the counts of prefixes, level by level: "
            f"{said['tree']}; the shares of ε on every path add up to one.",
            f"Which prefixes are split follows from the noisy counts alone: {said['threshold']}.",
        ]
    letter, law = "b", "Laplace mechanism, P(z) proportional to exp(-|z|/b)"
    if terms.gaussian:
        letter, law = "s2", "Gaussian mechanism, P(z) proportional to exp(-z^2/(2 s2))"
    rest = [
        f"The {name} is one more count, with {letter} = {scale}."
        for name, scale in (
            ("total", terms.total_scale),
            ("number of different keys", terms.number_scale),
        )
        if scale is not None
    ]
    if terms.cost.delta:
        cut = "" if terms.cut is None else f", cut off beyond {terms.cut:,} either way"
        chance = terms.lines()["chance"]
        return [
            f"Discrete {law}{cut}, on the count of every key that somebody has: "
            f"{letter} = {terms.count_scale}.",
            f"Keys whose noisy count is at least {terms.threshold:,} are shown, so that {chance}; "
            f"no key is shown that nobody has.",
            *rest,
        ]
    return [
        f"Discrete {law}, on the count of every key "
        f"of the universe, those that nobody has too: b = {terms.count_scale}.",
        f"Keys whose noisy count is at least {terms.threshold:,} are shown; "
        f"{terms.lines()['false keys']}.",
        *rest,
    ]


def _utility(terms: KeyTerms | PrefixTerms) -> str:
    if isinstance(terms, PrefixTerms):
        return f"{terms.lines()['noise'][0].upper()}{terms.lines()['noise'][1:]}."
    variance = float(terms.count_scale) if terms.gaussian else noise_variance(terms.count_scale)
    spread = math.sqrt(variance)
    finds = terms.lines()["finds"]
    return (
        f"The noise of the count of a key has standard deviation {spread:.4g}; {finds}. Intervals "
        f"of keys hold among keys that are shown."
    )
