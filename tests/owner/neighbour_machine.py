"""The neighbour machine: one record, or one unit, must not change what an engine does.

It draws tables of odd values, adds or replaces one record or one whole unit, puts the tables into
an engine, asks the owner the same of each, and holds two laws on every pair of neighbours:

1. the exact answers that go to the noise move by no more than the declared price, each block
   counted by its weight, in exact fractions, with the choice of rows fixed;
2. the outcome is the same: an answer on both, or the same error in the same bytes; and the same
   charge. What was charged is answered.

Tables come in families. Under "add-remove" each member has one record more than the first; under
"replace" all members differ from each other in one record.

`neighbour_run.py` runs it, by the family or by the million.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import neighbour_draw
import numpy as np
from neighbour_draw import Ask, CellCounts, Family, GridCounts
from neighbour_stores import ENGINES, spark_union
from neighbour_tables import Job, Placed, Servers

import trueup as tu
import trueup.owner.owner as door

_SPENDS_PER_LEDGER = 400
_FIXED = "5eed" * 16


@dataclass(frozen=True)
class Outcome:
    """What came of one question: the counts handed to the noise, or an error; and the charge."""

    counts: tuple[int, ...] | None
    error: str
    charge: Fraction
    price: Fraction = Fraction(0)
    answers: Any = field(default=None, compare=False)
    weights: tuple[tuple[int, Fraction], ...] = ()


@dataclass(frozen=True)
class Violation:
    """A pair of neighbours that told itself, and how to see it again."""

    engine: str
    seed: int
    ask: int
    pair: tuple[int, int]
    words: str
    case: str = ""

    def __str__(self) -> str:
        return (
            f"VIOLATION {self.engine} seed {self.seed} question {self.ask} tables {self.pair}: "
            f"{self.words}\n{self.case}"
        )


@dataclass
class Tally:
    """What a run has seen; a machine whose questions all fail would find nothing."""

    pairs: int = 0
    answered: int = 0
    moved: int = 0
    unwritable: int = 0
    families: int = 0
    violations: list[Violation] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Take in what another run has seen."""
        for name in ("pairs", "answered", "moved", "unwritable", "families"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.violations += other.violations
        self.errors += other.errors

    def __str__(self) -> str:
        return (
            f"{self.pairs:,} pairs ({self.answered:,} answered, {self.moved:,} moved) of "
            f"{self.families:,} families, {len(self.violations)} violations"
        )


class Ledgers:
    """Real ledgers in memory's own file system: one for each table of a family and each notion.

    A ledger that has grown long is thrown away for a new one.
    """

    def __init__(self) -> None:
        shared = Path("/dev/shm")
        self._folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
        self._open: dict[tuple[object, ...], tuple[tu.Ledger, Path]] = {}
        self._spends: Counter[tuple[object, ...]] = Counter()

    def get(self, *notion: object) -> tu.Ledger:
        """The ledger of a table's number, protected unit and neighbour relation."""
        if self._spends[notion] % _SPENDS_PER_LEDGER == 0:
            if notion in self._open:
                shutil.rmtree(self._open.pop(notion)[1])
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            self._open[notion] = tu.Ledger(folder / "ledger", limit=10**9), folder
        self._spends[notion] += 1
        return self._open[notion][0]

    def close(self) -> None:
        """Throw all of them away."""
        shutil.rmtree(self._folder)


@contextlib.contextmanager
def watched() -> Iterator[list[tuple[Any, ...]]]:
    """What the owner hands to the noise step, with the choice of rows fixed."""
    seen: list[tuple[Any, ...]] = []
    real = door.measure_all

    def recording(counts: Any, question: Any, *rest: Any, **named: Any) -> Any:
        seen.append((np.array(counts), question, named["rows_per_unit"]))
        return real(counts, question, *rest, **named)

    def fixed(size: int = 32) -> str:
        return (_FIXED * size)[: 2 * size]

    with (
        mock.patch.object(door, "measure_all", recording),
        mock.patch.object(secrets, "token_hex", fixed),
        mock.patch.object(secrets, "token_bytes", lambda size=32: bytes.fromhex(fixed(size))),
    ):
        yield seen


def asked(owner: tu.Owner | str, ask: Ask, family: Family, ledger: tu.Ledger) -> Outcome:
    """Put one question to one table."""
    if isinstance(owner, str):
        return Outcome(None, owner, Fraction(0))
    before = ledger.spent
    error = ""
    with watched() as seen:
        try:
            # The owner is opened once for all questions, whatever their relation.
            owner.ledger = ledger
            options = {"where": ask.where, "neighbours": family.relation, "key": ask.key}
            if ask.groups is not False:
                owner.count_groups(ask.groups, 1, **options)
            elif ask.people:
                owner.people(**ask.people).measure(ask.question, 1, **options)
            else:
                owner.measure(ask.question, 1, **options)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    charge = ledger.spent - before
    if not seen:
        return Outcome(None, error or "nothing was measured", charge)
    counts, question, rows = seen[0]
    price = question.price(family.relation) * rows
    answers = question.answers(counts)
    return Outcome(tuple(counts.tolist()), error, charge, price, answers, question.blocks)


def moved(one: Outcome, other: Outcome) -> Fraction:
    """How far the exact answers move, each block counted by its weight."""
    total, start = Fraction(0), 0
    for length, weight in one.weights:
        stop = start + length
        pairs = zip(
            one.answers[start:stop].tolist(), other.answers[start:stop].tolist(), strict=True
        )
        total += weight * sum(abs(a - b) for a, b in pairs)
        start = stop
    return total


def judged(one: Outcome, other: Outcome) -> str | None:
    """What is wrong between two neighbours, None if nothing is."""
    for outcome in (one, other):
        if outcome.error and outcome.charge:
            return f"charged {outcome.charge} and not answered: {outcome.error}"
    if (one.counts is None, one.error) != (other.counts is None, other.error):
        said = [o.error or f"answered, counts {_short(o.counts)}" for o in (one, other)]
        return f"another outcome: {said[0]} | {said[1]}"
    if one.charge != other.charge:
        return f"another charge: {one.charge} | {other.charge}"
    if one.counts is None or other.counts is None:
        return None
    if (move := moved(one, other)) > one.price:
        return (
            f"answers moved by {move}, the price is {one.price}: "
            f"{_short(one.counts)} | {_short(other.counts)}"
        )
    return None


def _short(counts: tuple[int, ...] | None) -> str:
    text = str(list(counts or ()))
    return text if len(text) < 200 else text[:200] + "…"


class Machine:
    """Draws families, puts them into engines, asks, and judges."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.ledgers = Ledgers()
        self._asked = 0  # families so far: their keys are the same on all tables, and new
        shared = Path("/dev/shm")
        self._folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))

    def close(self) -> None:
        """Throw everything away that was written."""
        self.ledgers.close()
        shutil.rmtree(self._folder)

    def run(self, engine: str, seed: int, members: int, shrink: bool = True) -> Tally:
        """All pairs of one family under all its questions."""
        family = neighbour_draw.family(engine, seed, members)
        tally = Tally(families=1)
        try:
            outcomes = self.outcomes(family)
        except UnwritableError as failed:
            return Tally(unwritable=1, errors=Counter({f"unwritable: {failed}"[:150]: 1}))
        last = range(len(family.tables))
        pairs = list(combinations(last, 2))
        if family.relation == "add-remove":
            pairs = [(0, other) for other in last if other]
        for number, ask in enumerate(family.asks):
            found = 0
            for a, b in pairs:
                one, other = outcomes[a][number], outcomes[b][number]
                tally.pairs += 1
                tally.answered += one.counts is not None and not one.error
                tally.moved += one.counts != other.counts
                if one.error:
                    tally.errors[one.error[:70]] += 1
                words = judged(one, other)
                if words is not None:
                    found += 1
                    if found == 1:  # one is enough: the others of a family are like it
                        case = self.shrunk(family, ask, a, b) if shrink else ""
                        made = Violation(engine, seed, number, (a, b), words, case)
                        tally.violations.append(made)
        return tally

    def outcomes(self, family: Family) -> list[list[Outcome]]:
        """For each table, what came of each question."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        placed: list[Placed] = []
        self._asked += 1
        try:
            random = Random(family.writing)
            job = Job(family.columns, family.tables, folder, family.named, random, self.servers)
            try:
                placed = [spark_union(job)] if family.together else ENGINES[family.engine](job)
            except Exception as failed:  # the writer's, not the owner's
                raise UnwritableError(repr(failed)) from failed
            if family.together:
                return self._together(family, placed[0])
            return [self._table(family, one, n, folder) for n, one in enumerate(placed)]
        finally:
            for one in placed:
                one.close()
            shutil.rmtree(folder)

    def _table(self, family: Family, one: Placed, number: int, folder: Path) -> list[Outcome]:
        protects = "edge" if "edges" in family.options else family.options.get("unit")
        ledger = self.ledgers.get(number, protects, family.relation)
        owner: tu.Owner | str
        try:
            owner = tu.Owner(one.source, ledger, **{**family.options, **one.options})
        except Exception as raised:
            words = str(raised).replace(str(folder / str(number)), "…")
            owner = f"{type(raised).__name__}: {words}"
        found = []
        for ask in family.asks:
            ledger = self.ledgers.get(number, protects, family.relation)
            keyed = replace(ask, key=f"{self._asked} {len(found)}")
            found.append(asked(owner, keyed, family, ledger))
        return found

    def _together(self, family: Family, union: Placed) -> list[list[Outcome]]:
        """For each table, what came of each question, all tables counted by one query each."""
        owner = tu.Owner(union.source, self.ledgers.get(0, "row", family.relation))
        size = len(family.tables)
        which = CellCounts(tu.Axis.integers("which", 0, size - 1))
        found: list[list[Outcome]] = [[] for _ in family.tables]
        for number, ask in enumerate(family.asks):
            grid = GridCounts(which, CellCounts(ask.question.axis))
            keyed = replace(ask, question=grid, key=f"{self._asked} {number}")
            ledger = self.ledgers.get(0, "row", family.relation)
            whole = asked(owner, keyed, family, ledger)
            if whole.counts is None or whole.error:  # one of them, or all: each by itself will tell
                alone = replace(family, together=False, asks=[ask])
                for outcomes, (outcome,) in zip(found, self.outcomes(alone), strict=True):
                    outcomes.append(outcome)
                continue
            price = ask.question.price(family.relation)
            for outcomes, counts in zip(
                found, np.array(whole.counts).reshape(size, -1), strict=True
            ):
                answers = ask.question.answers(counts)
                blocks = ask.question.blocks
                outcomes.append(
                    Outcome(tuple(counts.tolist()), "", whole.charge, price, answers, blocks)
                )
        return found

    def shrunk(self, family: Family, ask: Ask, a: int, b: int) -> str:
        """A small family that still tells itself, as text."""
        small = replace(
            family, together=False, asks=[ask], extras=[family.extras[a], family.extras[b]]
        )

        def bad(case: Family) -> str | None:
            with contextlib.suppress(UnwritableError):
                one, other = self.outcomes(case)
                return judged(one[0], other[0])
            return None

        words = bad(small)
        step = max(1, len(small.base) // 2)
        tries = 0
        while words and step and tries < 80:
            start = 0
            while start < len(small.base) and tries < 80:
                fewer = replace(small, base=small.base[:start] + small.base[start + step :])
                tries += 1
                if (worse := bad(fewer)) is not None:
                    small, words = fewer, worse
                else:
                    start += step
            step //= 2
        return small.told() + f"\n  {words or 'not seen again alone'}"


class UnwritableError(Exception):
    """The writer, not the owner, refused these values."""
