"""Facts: what was asked, what it cost, whom it protects and where it comes from.

A frozen record that everything published carries. Files keep it as plain values (`to_json`); what
is read back is checked, and noise scales in a file must follow from the question and its cost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from trueup.ask import question_from_json
from trueup.ask.pooled import PooledQuestion
from trueup.ask.question import Neighbours, Question, check_neighbours
from trueup.axis.labels import text
from trueup.axis.numbers import finite_number, whole_number
from trueup.cost import Cost
from trueup.epsilon import positive
from trueup.errors import FileError, InputError, shown
from trueup.noise import Law, Noise, check_law, check_rows_per_unit, law_for
from trueup.period import Covered
from trueup.rows_bound import ChosenBound

LEAST_SQUARES = "least squares"
_FROM_THE_TOP = "from the top down, siblings moved alike until they sum to their parent"
_MEAN = "a mean, by weights that noise has no say in"
_ID = re.compile(r"[0-9a-f]{32}")
Span = tuple[int, int] | None
Features = tuple[tuple[str, str], ...]
"""What each person was counted by: the name of an axis, and how it was made from their rows."""


@dataclass(frozen=True)
class NumberOfGroups:
    """How many groups were estimated where that is not public, and the ε that went to it."""

    estimated: int
    epsilon: Fraction


@dataclass(frozen=True)
class Facts:
    """The public facts about a measurement, a release, or several put together.

    `question`, `epsilon` or `rho`, `neighbours`, `unit` and `rows_per_unit` are those of one
    measurement; of several `combined` over an axis, or `sources` of named counts, the cost is the
    sum, and there is no question. Of counts typed in by hand nothing is known. `inferred` says in
    words how the answers were made; None for the noisy answers themselves. `private` is False for
    experiments.

    >>> from trueup.ask import CellCounts
    >>> facts = Facts.of(CellCounts(3), Fraction(1, 2))
    >>> facts.noise.scales, facts.paid, facts.stamp
    ((Fraction(2, 1),), '1/2', '')
    """

    question: Question | None = None
    epsilon: Fraction | None = None
    neighbours: str | None = None
    unit: str | None = None
    rows_per_unit: int | None = None
    law: Law = "discrete"
    private: bool = True
    id: str | None = None
    inferred: str | None = None
    combined: tuple[Facts, ...] = ()
    sources: tuple[Facts, ...] = ()
    known_total: float | None = None
    constraints: tuple[str, ...] | None = None
    slice: tuple[Span, ...] | None = None
    number_of_groups: NumberOfGroups | None = None
    rho: Fraction | None = None
    period: Covered | None = None
    features: Features = ()
    bound: ChosenBound | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.private, bool):
            raise InputError(f"private must be True or False, got {shown(self.private)}.")
        if check_law(self.law) in ("continuous", "normal") and self.private:
            raise InputError("Continuous noise is for experiments: it is never private.")
        if self.id is not None and not (isinstance(self.id, str) and _ID.fullmatch(self.id)):
            raise InputError(
                f"The id of a measurement is 32 hexadecimal digits, got {shown(self.id)}."
            )
        if self.unit is not None:
            check_unit(self.unit)
        if self.bound is not None and self.rows > self.bound.at_most:
            raise InputError("A bound that was chosen is not above the most rows of anybody.")
        if self.bound is not None and (self.bound.rho is None) != (self.rho is None):
            raise InputError("A bound is chosen for a part of the cost, in the same notion.")

    @staticmethod
    def of(
        question: Question,
        epsilon: object = None,
        neighbours: Neighbours = "add-remove",
        unit: str = "row",
        rows_per_unit: int = 1,
        *,
        rho: object = None,
        law: Law = "discrete",
        **others: Any,
    ) -> Facts:
        """The facts of one measurement, each checked."""
        cost = Cost.of(epsilon, rho)
        return Facts(
            question,
            cost.epsilon,
            check_neighbours(neighbours),
            check_unit(unit),
            check_rows_per_unit(rows_per_unit),
            law=law_for(law, cost.rho is not None),
            rho=cost.rho,
            **others,
        )

    @cached_property
    def noise(self) -> Noise:
        """The noise of the answers that were measured; refused where there are none."""
        if self.question is None or (self.epsilon is None and self.rho is None):
            raise InputError(
                "These counts come from no single measurement: their noise has no law."
            )
        rows = self.rows_per_unit or 1
        neighbours = check_neighbours(str(self.neighbours))
        return Noise(self.question, self.epsilon, neighbours, rows, self.law, self.rho)

    def made(self, inferred: str) -> Facts:
        """The same facts about answers that were made in this way."""
        return replace(self, inferred=inferred)

    @property
    def measured(self) -> tuple[str, ...]:
        """The ids of the measurements whose noise is in the answers, as far as they have one."""
        if self.id is not None:
            return (self.id,)
        return tuple(name for part in self.combined or self.sources for name in part.measured)

    @property
    def capped(self) -> str:
        """Of which periods the counts are, and that only some rows of each unit are counted.

        Nothing where neither is so. Of people each is counted, by all rows of theirs.
        """
        parts = self.combined or self.sources
        said = [part.capped for part in parts]
        if not parts and not self.features:
            said = [counted_rows(self.unit, self.rows)]
        if self.bound is not None:
            said = [self._left_out(self.bound)]
        if self.period is not None:
            said[:0] = [f"of {self.period}", self.period.sampled]
        return "; ".join(dict.fromkeys(each for each in said if each))

    def _left_out(self, bound: ChosenBound) -> str:
        """How many rows of a unit count, chosen privately, and what that leaves out."""
        left = 100 * bound.share_left_out(self.rows, check_neighbours(str(self.neighbours)))
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return (
            f"at most {rows} of each {self.unit} {'is' if self.rows == 1 else 'are'} counted, "
            f"chosen privately: about {left:.2g} % of rows are left out if nobody has more than "
            f"{bound.at_most:,}"
        )

    @property
    def rows(self) -> int:
        """How many rows of a unit count at most."""
        return self.rows_per_unit or 1

    @property
    def also(self) -> str:
        """What is to be said of every number beside the number: `capped`, after a comma."""
        return f", {self.capped}" if self.capped else ""

    @property
    def traced(self) -> bool:
        """Whether every measurement whose noise is in the answers has an id."""
        parts = self.combined or self.sources
        return self.id is not None or (bool(parts) and all(part.traced for part in parts))

    def same_noise(self, other: Facts) -> bool:
        """Whether the answers are of one measurement, or of the same ones combined in one way."""
        if not self.traced or self.measured != other.measured or self.sources or other.sources:
            return False
        return replace(self, inferred=None, slice=None) == replace(other, inferred=None, slice=None)

    @property
    def how_inferred(self) -> str | None:
        """How the answers were made, for people; files keep `inferred`.

        Where noise had a say in what was asked, nothing is the nearest by least squares.
        """
        if self.inferred == LEAST_SQUARES:
            if isinstance(self.question, PooledQuestion):
                return _FROM_THE_TOP
            if any(isinstance(part.question, PooledQuestion) for part in self.combined):
                return _MEAN
        return self.inferred

    @property
    def never_negative(self) -> bool:
        """Whether the true numbers are: counts of records, or so they were said to be."""
        return self._counted or "non-negative" in str(self.inferred)

    @property
    def always_whole(self) -> bool:
        """Whether the true numbers are: counts of records, or so they were said to be."""
        return self._counted or "whole" in str(self.inferred)

    @property
    def _counted(self) -> bool:
        return self.question is not None or bool(self.combined)

    @property
    def paid(self) -> str:
        """The ε or ρ of the answers, and what else it cost to learn how many groups there are."""
        extra = self.number_of_groups
        more = f" + {extra.epsilon} for the number of groups" if extra else ""
        if self.bound is not None:
            more += f" + {self.bound.cost.amount} for the bound"
        return f"{self.epsilon if self.rho is None else self.rho}{more}"

    @property
    def whole_epsilon(self) -> Fraction | None:
        """The ε of the answers, of the number of groups and of the bound; None where it is ρ."""
        if self.epsilon is None:
            return None
        beside = (self.number_of_groups, self.bound)
        return self.epsilon + sum((each.epsilon or 0 for each in beside if each), Fraction(0))

    @property
    def whole_rho(self) -> Fraction | None:
        """The ρ of the answers and of the bound; None where it is ε."""
        if self.rho is None or self.bound is None or self.bound.rho is None:
            return self.rho
        return self.rho + self.bound.rho

    @property
    def cost(self) -> str:
        """What was paid, with its name: epsilon=1/10 or rho=1/200."""
        return f"{'epsilon' if self.rho is None else 'rho'}={self.paid}"

    @property
    def stamp(self) -> str:
        """NOT PRIVATE for experiments, with a space before it; else nothing."""
        return "" if self.private else " NOT PRIVATE"

    @staticmethod
    def together(parts: Sequence[Facts], **others: Any) -> Facts:
        """What several things cost in all, whom they protect, and whether they do.

        Of counts typed in by hand only the stamp is known. Where some cost ρ, the sum is in ρ: an ε
        counts as ε²/2, which it is never more than.
        """
        private = all(part.private for part in parts)
        costs = [each for part in parts if (each := part.whole_epsilon) is not None]
        squares = [each for part in parts if (each := part.whole_rho) is not None]
        if not parts or len(costs) + len(squares) < len(parts):
            return Facts(private=private, **others)
        return Facts(
            epsilon=None if squares else sum(costs, Fraction(0)),
            rho=sum((cost * cost / 2 for cost in costs), sum(squares, Fraction(0)))
            if squares
            else None,
            neighbours=" and ".join(dict.fromkeys(str(part.neighbours) for part in parts)),
            unit=" and ".join(dict.fromkeys(str(part.unit) for part in parts)),
            private=private,
            **others,
        )

    def to_json(self) -> dict[str, Any]:
        """The facts as plain values, for a file's metadata."""
        said: dict[str, Any] = {}
        if self.question is not None:
            said |= {
                "question": self.question.to_json(),
                "rows_per_unit": self.rows_per_unit,
                _scales(self): [str(scale) for scale in self.noise.scales],
                "law": self.law,
            }
        if self.capped:
            said["counted"] = self.capped
        if self.epsilon is not None or self.rho is not None:
            name, cost = ("epsilon", self.epsilon) if self.rho is None else ("rho", self.rho)
            said |= {
                name: str(cost),
                "neighbours": self.neighbours,
                "unit": self.unit,
            }
        if self.combined:
            said |= {
                "combined": [part.to_json() for part in self.combined],
                "known_total": self.known_total,
            }
        if self.sources:
            said["sources"] = [part.to_json() for part in self.sources]
        if self.question is not None or self.combined or self.sources or not self.private:
            said["private"] = self.private
        if self.constraints is not None:
            said["constraints"] = list(self.constraints)
        if self.slice is not None:
            said["slice"] = [None if span is None else list(span) for span in self.slice]
        if self.number_of_groups is not None:
            number = self.number_of_groups
            said["number_of_groups"] = {
                "estimated": number.estimated,
                "epsilon": str(number.epsilon),
            }
        if self.period is not None:
            said["period"] = self.period.to_json()
        if self.bound is not None:
            said["bound"] = self.bound.to_json()
        if self.features:
            said["features"] = dict(self.features)
        for name in ("id", "inferred"):
            if getattr(self, name) is not None:
                said[name] = getattr(self, name)
        return said

    @staticmethod
    def from_json(said: Any) -> Facts:
        """The facts that `to_json` wrote, checked; a file whose facts disagree is refused."""
        try:
            return _read(said)
        except FileError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as wrong:
            raise FileError(f"The file's facts make no sense: {wrong}") from None


def _read(said: Any) -> Facts:
    others = _others(said)
    if "question" in said:
        facts = Facts.of(
            question_from_json(said["question"]),
            said.get("epsilon"),
            said["neighbours"],
            said["unit"],
            said["rows_per_unit"],
            rho=said.get("rho"),
            law=said["law"],
            private=said["private"],
            **others,
        )
        if facts.law != said["law"]:
            raise FileError("The file's noise law is not that of its cost.")
        if said[_scales(facts)] != [str(scale) for scale in facts.noise.scales]:
            raise FileError("The file's noise scales do not follow from its question and its cost.")
        return facts
    parts = [_read(part) for part in said.get("combined") or said.get("sources") or ()]
    if "combined" in said:
        if not parts:
            raise FileError("The file's release is combined of no parts.")
        total = said["known_total"]
        others["combined"] = tuple(parts)
        others["known_total"] = None if total is None else finite_number(total, "The known total")
    else:
        others["sources"] = tuple(parts)
    facts = Facts.together(parts, **others)
    if not parts:
        # Typed in by hand: only an experiment says what it is.
        return replace(facts, private=bool(said.get("private", True)))
    again = facts.to_json()
    for name in ("epsilon", "rho", "unit", "neighbours", "private"):
        # Named counts of before have no stamp of their own.
        if (name in said or "combined" in said) and again.get(name) != said.get(name):
            raise FileError("The file's facts, or its stamp, do not follow from its parts.")
    return facts


def _scales(facts: Facts) -> str:
    """The word for what noise is drawn by: Laplace noise has scales, Gaussian noise variances."""
    return "scales" if facts.rho is None else "variances"


def _others(said: Any) -> dict[str, Any]:
    """What may be said beside a question: how answers were made, of which part, under which id."""
    found: dict[str, Any] = {"id": said.get("id"), "inferred": said.get("inferred")}
    if found["inferred"] is not None and not isinstance(found["inferred"], str):
        raise FileError("The file does not say how its answers were inferred.")
    if "features" in said:
        found["features"] = tuple((str(name), str(made)) for name, made in said["features"].items())
    if "constraints" in said:
        found["constraints"] = tuple(str(words) for words in said["constraints"])
    if "slice" in said:
        found["slice"] = tuple(
            None if span is None else (int(span[0]), int(span[1])) for span in said["slice"]
        )
    if "period" in said:
        found["period"] = Covered.from_json(said["period"])
    if "bound" in said:
        found["bound"] = ChosenBound.from_json(said["bound"])
    if "number_of_groups" in said:
        number = said["number_of_groups"]
        estimated = whole_number(number["estimated"], "The number of groups")
        found["number_of_groups"] = NumberOfGroups(estimated, positive(number["epsilon"]))
    return found


def counted_rows(unit: str | None, rows_per_unit: int) -> str:
    """The sentence that goes with every number that may leave out rows of a unit.

    >>> counted_rows("user", 3)
    'at most 3 rows of each user are counted: true totals may be higher'
    >>> counted_rows("row", 1)
    ''
    """
    if unit in (None, "row", "edge"):
        return ""
    rows = "1 row" if rows_per_unit == 1 else f"{rows_per_unit:,} rows"
    verb = "is" if rows_per_unit == 1 else "are"
    return f"at most {rows} of each {unit} {verb} counted: true totals may be higher"


def rows_for(unit: str | None, rows_per_unit: int | None) -> int:
    """How many rows of a unit count; refused if a unit is named and they are not."""
    if isinstance(rows_per_unit, str):
        raise InputError(
            f"rows_per_unit is a whole number here, got {rows_per_unit!r}. Owner(…), tu.publish(…) "
            f"and --rows-per-unit take 'auto', with at_most=, the most rows that anybody has."
        )
    if rows_per_unit is None:
        if unit in (None, "row", "edge"):
            return 1
        raise InputError(
            f"unit={unit!r} goes with rows_per_unit=, the most rows of each {unit} that are "
            f"counted. More of them lose fewer rows and need more noise; choose the number from "
            f"what is public."
        )
    return check_rows_per_unit(rows_per_unit)


def check_unit(unit: object) -> str:
    """What is protected, as text."""
    return text(unit, "unit, what one noise protects,")
