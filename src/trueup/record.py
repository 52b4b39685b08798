"""The public record of a release: what a registry of deployments of differential privacy asks for.

The fields are those of the Differential Privacy Deployments Registry (registry.opendp.org). What
follows from the facts of a release is filled in. What needs a person's judgement is left blank and
marked. Nothing is read but the facts: no count, and so nothing that costs privacy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from trueup.axis import Axis
from trueup.cost import Cost
from trueup.errors import InputError, shown
from trueup.facts import Facts
from trueup.version import __version__

TO_FILL_IN = "TO FILL IN"
CHECK = "CHECK"
BUT_FOR = 1e-6
"""The part of releases of which what a cost in ρ means for the odds may not hold."""
_MOST_BLOCKS = 12
_PAPER = {
    "author": "Michael Hay and Vibhor Rastogi and Gerome Miklau and Dan Suciu",
    "title": "Boosting the Accuracy of Differentially Private Histograms Through Consistency",
    "journal": "Proceedings of the VLDB Endowment",
    "volume": 3,
    "number": 1,
    "pages": "1021-1032",
    "year": 2010,
    "doi": "10.14778/1920841.1920970",
}


@dataclass(frozen=True)
class Marked:
    """A field that a person has to look at: left blank to be filled in, or to be checked."""

    note: str
    value: str = ""

    @property
    def mark(self) -> str:
        """What is to be done, in front of the note."""
        return f"{CHECK if self.value else TO_FILL_IN}: {self.note}"


def highest_confidence(epsilon: Fraction | float, before: float = 0.5) -> float:
    """How sure anybody can be of one unit after the release, who was `before` sure before it.

    For every output, ε-differential privacy bounds the ratio of its probabilities with and without
    the unit by e^ε. By Bayes' rule a guess held with probability p is held with at most
    p·e^ε / (1 − p + p·e^ε) afterwards; e^ε / (1 + e^ε) for a guess of 50 to 50.

    >>> round(highest_confidence(Fraction(1, 10)), 4), highest_confidence(0)
    (0.525, 0.5)
    """
    if not 0 < before < 1:
        raise InputError(f"A probability must lie between 0 and 1, got {shown(before)}.")
    return 1 / (1 + (1 - before) / before * math.exp(-float(epsilon)))


def highest_loss(rho: Fraction | float, but_for: float = BUT_FOR) -> float:
    """The ε within which the odds of any guess stay, but for so small a part of all releases.

    Rényi's divergence of order α is at most ρ·α. By Markov's inequality the odds then change by
    more than e^ε with a chance of at most exp((α − 1)(α·ρ − ε)), least at α = (ε + ρ)/2ρ: so by
    more than ε = ρ + 2·√(ρ·ln(1/p)) with a chance of at most p.

    >>> round(highest_loss(Fraction(1, 200)), 4)
    0.5307
    """
    if not 0 < but_for < 1:
        raise InputError(f"A probability must lie between 0 and 1, got {shown(but_for)}.")
    return float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / but_for))


def total_cost(facts: Facts) -> Cost:
    """What the release cost in all; refused where that is not known, or where it is not private."""
    if not facts.private:
        raise InputError("This is an experiment, NOT PRIVATE: it has no place in a record.")
    if facts.epsilon is None and facts.rho is None:
        raise InputError("These counts do not say what they cost, so there is nothing to record.")
    if len({(part.unit, part.neighbours) for part in _parts(facts)}) > 1:
        raise InputError(
            "This release is made of parts that protect different units, or under different "
            "neighbour relations: their costs do not add up. Record each part by itself."
        )
    if facts.epsilon is None:
        return Cost.of(rho=facts.whole_rho)
    return Cost.of(facts.whole_epsilon)


def risk(facts: Facts) -> str:
    """One sentence that explains the cost as a risk to one unit, with the exact bound.

    Of ρ it is the bound that holds but for one release in a million.

    >>> from trueup.ask import CellCounts
    >>> print(risk(Facts.of(CellCounts(3), "1/10")))
    ε = 1/10: somebody who thinks it equally likely that one row is in the data or not, and who \
knows everything else, can be at most 52.498 % sure after seeing this release; the odds of any \
guess about one row change by a factor of at most e^ε = 1.106.
    """
    cost, unit = total_cost(facts), unit_words(facts)
    said, epsilon = f"ε = {cost.amount}: ", float(cost.amount)
    if cost.rho is not None:
        said, epsilon = f"ρ = {cost.amount}: but for one release in a million, ", _lost(cost.amount)
    guess = f"one {unit} is in the data or not"
    if facts.neighbours == "replace":
        guess = f"one {unit} has the one or the other of two values"
    sure = math.ceil(100_000 * highest_confidence(epsilon)) / 1000
    least = f"at most {sure:g} %" if sure < 100 else "nearly 100 %"
    factor = math.exp(float(epsilon)) if epsilon < 700 else math.inf
    return (
        f"{said}somebody who thinks it equally likely that {guess}, and who knows "
        f"everything else, can be {least} sure after seeing this release; the odds of any guess "
        f"about one {unit} change by a factor of at most "
        f"{'e^ε = ' if cost.rho is None else ''}{_upward(factor)}."
    )


def citation() -> str:
    """How to cite the software and the method."""
    return (
        f"trueup {__version__} (Apache-2.0), after M. Hay, V. Rastogi, G. Miklau and D. Suciu: "
        f"{_PAPER['title']}. PVLDB 3(1), 1021-1032, 2010. doi:{_PAPER['doi']}"
    )


def record(facts: Facts) -> dict[str, Any]:
    """The record of a release as nested fields; those that need a person are `Marked`."""
    total_cost(facts)
    return {
        "url_slug": Marked("a short name for the address of this record, such as ages-2026"),
        "deployment": {
            "basic": _basic(),
            "dp_variant": _variant(facts),
            "privacy_loss": _loss(facts),
            "deployment_model": _model(),
            "implementation": _implementation(facts),
            "administrative": _administrative(),
        },
    }


def _basic() -> dict[str, Any]:
    return {
        "name": Marked("what the release is called"),
        "data_curators": [
            {
                "data_curator_name": Marked("who publishes it"),
                "data_curator_type": Marked("Government, Industry or Nonprofit"),
            }
        ],
        "description": Marked("what was published, in two or three sentences"),
        "intended_use": Marked("what it is for"),
        "data_product_type": "Summary statistics",
        "data_product_region": Marked("which region the data describe"),
        "data_product_sector": Marked(
            "Technology, Healthcare, Education, Government, Energy or Finance"
        ),
        "publication_date": Marked("YYYY-MM-DD, in quotes"),
    }


def _variant(facts: Facts) -> dict[str, Any]:
    name = "ε" if facts.rho is None else "ρ"
    public = [f"The axes, {name} and the noise's law are public choices, not read from the data."]
    for part in _parts(facts):
        space = part.question.space if part.question else None
        if space is not None and space.kind == "ranks" and part.number_of_groups is None:
            public.append(f"The number of groups, {space.groups:,}, was declared as public.")
    if facts.known_total is not None:
        public.append(f"The total, {facts.known_total:,g}, was declared as public.")
    return {
        "variant_name": "Pure DP" if facts.rho is None else "Zero-concentrated DP",
        "data_domain": _lines(_domain(part) for part in _parts(facts)),
        "unprotected_quantities": Marked(
            "add whatever else was published without noise", _lines(public)
        ),
    }


def _domain(facts: Facts) -> str:
    """What tables the guarantee is about, from what the question counts over."""
    space = facts.question.space if facts.question else None
    if space is None:
        return "Not known."
    if space.kind == "ranks":
        by = f", the values of the column '{_printable(space.by)}'" if space.by else ""
        return f"Tables of records in at most {space.groups:,} groups{by}."
    described = " and ".join(_axis_words(axis) for axis in space.axes)
    return (
        f"Tables with the column {described}. Values that are missing or off the axis are not "
        f"counted."
    )


def _axis_words(axis: Axis) -> str:
    return f"'{_printable(axis.name)}' ({_printable(axis.describe())}, {axis.size:,} cells)"


def _loss(facts: Facts) -> dict[str, Any]:
    cost, unit = total_cost(facts), unit_words(facts)
    neighbours = f"two tables are neighbours if one has one {unit} more"
    if facts.neighbours == "replace":
        neighbours = f"two tables are neighbours if one {unit} of the one is replaced in the other"
    bounds = [
        f"{_printable(part.capped[0].upper() + part.capped[1:])}."
        for part in _parts(facts)
        if part.capped
    ]
    return {
        "privacy_unit": f"{_printable(str(facts.unit))}-level",
        "privacy_unit_details": Marked(
            "say who or what one unit is in real life, and whether somebody may be several",
            _lines([f"Neighbours: {facts.neighbours}; {neighbours}.", *dict.fromkeys(bounds)]),
        ),
        "privacy_parameters": {cost.notion: float(cost.amount)},
        "privacy_parameters_details": _lines([_exactly(cost), risk(facts)]),
    }


def _model() -> dict[str, Any]:
    return {
        "model_name": "Central",
        "trust_assumptions": Marked("who sees the records before noise is added, and why they may"),
        "actors": Marked("who receives the release, and what they may know besides"),
        "release_type": Marked("One release or Many releases"),
        "release_type_details": Marked("whether more is to be published from the same records"),
        "data_source_type": Marked("Static or Dynamic"),
        "access_type": Marked("Non-interactive; Interactive if analysts ask through trueup serve"),
    }


def _implementation(facts: Facts) -> dict[str, Any]:
    name = "ε" if facts.rho is None else "ρ"
    each = [Cost.of(part.epsilon, part.rho) for part in _parts(facts)]
    notion = total_cost(facts).notion
    costs = " + ".join(str(cost.counted_in(notion).amount) for cost in each)
    composition = f"One measurement, {name} = {facts.paid}."
    if len(each) > 1:
        composition = f"{len(each)} measurements of the same records; {name} adds up: {costs}."
    noise = [
        *dict.fromkeys(words for part in _parts(facts) for words in _mechanism(part)),
        "The noise is sampled exactly, in whole numbers, from a cryptographic random stream "
        "(AES-256 in counter mode); no floating-point number decides a sample.",
        f"Software: trueup {__version__}, which also wrote this record.",
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": Marked(
            f"say how {name}, the axes and the bound on rows were chosen, and whether the data "
            f"were looked at",
            "Rows are counted in declared cells; nothing else is done to them.",
        ),
        "mechanisms": _lines(noise),
        "composition": Marked(
            "add what else was published from the same records; trueup ledger show lists it",
            composition,
        ),
        "post_processing": _inferred(facts),
        "justification": Marked(f"why this {name}, this unit and these axes"),
        "utility": _lines(words for part in _parts(facts) for words in _deviations(part)),
    }


def _inferred(facts: Facts) -> str:
    how = facts.how_inferred
    if how is None:
        return "None: these are the noisy answers as they were drawn."
    what = "The nearest answers" if how == facts.inferred else "Answers"
    return (
        f"{what} that agree with each other ({_printable(how)}), found from the noisy answers "
        f"alone."
    )


def _mechanism(facts: Facts) -> list[str]:
    """The mechanism of one measurement: its law, its scales and its sensitivity."""
    if facts.question is None:
        return ["The mechanism of one part is not known."]
    noise = facts.noise
    asked = facts.question
    rows = "1 row counts" if noise.rows_per_unit == 1 else f"{noise.rows_per_unit:,} rows count"
    letter = "s2" if noise.gaussian else "b"
    scales = [
        f"{letter} = {scale} in {f'{length:,} answers' if length > 1 else '1 answer'}"
        for scale, length in zip(noise.scales, noise.lengths, strict=True)
    ]
    more = len(scales) - _MOST_BLOCKS
    shown = "; ".join(scales[:_MOST_BLOCKS]) + (f"; and {more} blocks more" if more > 0 else "")
    law, moved = (
        "Laplace mechanism, P(z) proportional to exp(-|z|/b)",
        (f"by at most {asked.sensitivity(noise.neighbours)} in all (L1 sensitivity)"),
    )
    if noise.gaussian:
        law = "Gaussian mechanism, P(z) proportional to exp(-z^2/(2 s2))"
        moved = (
            f"so that the weighted squares add up to at most "
            f"{asked.square_price(noise.neighbours)} (L2 sensitivity, squared)"
        )
    return [
        f"Discrete {law}: {shown}.",
        f"Question: {type(asked).__name__}, {asked.length:,} answers. One row moves them {moved}; "
        f"of one unit at most {rows}.",
    ]


def _deviations(facts: Facts) -> list[str]:
    if facts.question is None:
        return []
    spread = sorted({math.sqrt(variance) for variance in facts.noise.variances})
    if len(spread) == 1:
        return [f"The noise of one answer has standard deviation {spread[0]:.4g}."]
    return [
        f"The noise of one answer has standard deviation {spread[0]:.4g} to {spread[-1]:.4g}, "
        f"before the answers are made to agree."
    ]


def _administrative() -> dict[str, Any]:
    software = {"title": "trueup", "note": f"Version {__version__}, Apache-2.0"}
    return {
        "evidence_sources": {
            "software": {"evidence_source_type": "Other public source", "misc": software},
            "method": {"evidence_source_type": "Peer-reviewed publication", "article": _PAPER},
        },
        "status": "Draft",
        "registry_authors": [Marked("who fills in this record")],
        "tier": 2,
    }


def _parts(facts: Facts) -> tuple[Facts, ...]:
    """The measurements that the release was made of: itself, or those put together."""
    parts = facts.combined or facts.sources
    return tuple(deep for part in parts for deep in _parts(part)) if parts else (facts,)


def unit_words(facts: Facts) -> str:
    """What one unit is called: a row, an edge, or the column that tells units apart."""
    if facts.unit in ("row", "edge"):
        return str(facts.unit)
    return f"unit ('{_printable(str(facts.unit))}')"


def _printable(name: str) -> str:
    """A name that ends no line and starts no comment: it may come from a stranger's file."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def _lines(words: Iterable[str]) -> str:
    """The sentences, as a list if there are several."""
    found = list(dict.fromkeys(words))
    return "\n".join(f"- {line}" for line in found) if len(found) > 1 else "".join(found)


def _lost(rho: Fraction) -> float:
    """`highest_loss`, a little more: floating point does not make it less."""
    return highest_loss(rho) * (1 + 1e-9)


def _exactly(cost: Cost) -> str:
    """The cost in exact numbers; of ρ also what it is as (ε, δ)."""
    if cost.rho is None:
        return f"Exactly ε = {cost.amount}; δ = 0."
    return f"Exactly ρ = {cost.amount}; that is {cost.shown_at().rounded}."


def _upward(factor: float) -> str:
    """A factor to three decimals, rounded up: the bound that is told holds."""
    if factor < 1000:
        return f"{math.ceil(1000 * factor) / 1000:g}"
    return f"{factor * 1.0005:.3e}" if math.isfinite(factor) else f"more than {1e300:g}"


def to_fill_in(fields: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The path of every field that needs a person, and what is to be done."""
    if isinstance(fields, Marked):
        yield path, fields.mark
    elif isinstance(fields, dict):
        for name, value in fields.items():
            yield from to_fill_in(value, f"{path}.{name}" if path else name)
    elif isinstance(fields, list):
        for value in fields:
            yield from to_fill_in(value, path)


def plain(fields: Any) -> Any:
    """The same fields without marks, for JSON."""
    if isinstance(fields, Marked):
        return fields.value
    if isinstance(fields, dict):
        return {name: plain(value) for name, value in fields.items()}
    return [plain(value) for value in fields] if isinstance(fields, list) else fields


def to_yaml(facts: Facts, fields: dict[str, Any] | None = None, told: str | None = None) -> str:
    """The record as YAML, each field that needs a person marked by a comment.

    `told` is the risk in words, where it is not the one of the facts.
    """
    head = [
        "# A record of this release for a registry of deployments of differential privacy.",
        f'# Fields marked "{TO_FILL_IN}" or "{CHECK}" need your judgement.',
        f"# The risk: {risk(facts) if told is None else told}",
        f"# To cite: {citation()}",
    ]
    return "\n".join([*head, *_yaml(record(facts) if fields is None else fields, 0)]) + "\n"


def _yaml(fields: dict[str, Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for name, value in fields.items():
        if isinstance(value, Marked):
            yield f"{indent}# {value.mark}"
            value = value.value
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _yaml(value, depth + 1)
        elif isinstance(value, list):
            yield f"{indent}{name}:"
            yield from _items(value, depth + 1)
        elif isinstance(value, str) and "\n" in value:
            yield f"{indent}{name}: |-"
            yield from (f"{indent}  {line}" for line in value.split("\n"))
        else:
            # A JSON scalar is a YAML scalar; text in double quotes is never read as anything else.
            yield f"{indent}{name}: {json.dumps(value, ensure_ascii=False)}"


def _items(values: list[Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for value in values:
        if isinstance(value, dict):
            yield f"{indent}-"
            yield from _yaml(value, depth + 1)
        else:
            note = f"  # {value.mark}" if isinstance(value, Marked) else ""
            yield f"{indent}- {json.dumps(plain(value), ensure_ascii=False)}{note}"
