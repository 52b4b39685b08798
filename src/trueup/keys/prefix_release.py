"""Prefixes measured and released: a tree whose children sum to their parents, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup._kernels.tree.prefixes import DETAILED
from trueup.arrays import Bools, Floats, Ints
from trueup.ask.question import Neighbours
from trueup.errors import FileError, InputError, TrueupError, shown
from trueup.facts import Facts
from trueup.files.codec import decode, encode, write
from trueup.files.load import Saved
from trueup.infer.adaptive_tree import EVENED
from trueup.keys.measurement import keys_of
from trueup.keys.prefixes import PrefixCounts, PrefixTerms
from trueup.measure import new_id
from trueup.noise import noise_variance
from trueup.period import Covered
from trueup.pictures.keyed import TreeKind, tree_picture
from trueup.release.reweighted import half_width
from trueup.release.wording import check_level

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_MEASURED, _RELEASED = "prefix measurement", "prefix release"
_LEAST = 1e-30  # a variance where noise is almost surely 0
OTHERS = " (others)"
"""What the label of a node's other children ends in."""


@dataclass(frozen=True, eq=False)
class PrefixMeasurement:
    """The nodes that were asked and their noisy counts; node 0 is everything, and not asked.

    `parents` and `digits` are those of the nodes from 1 on, the children of a node together; a
    digit of −1 is all other children of the parent.
    """

    terms: PrefixTerms
    parents: Ints
    digits: Ints
    noisy: Ints
    id: str | None = None
    period: Covered | None = None

    def __post_init__(self) -> None:
        for name in ("parents", "digits", "noisy"):
            column = np.asarray(getattr(self, name))
            if column.dtype != np.int64 or column.ndim != 1 or len(column) != len(self.noisy):
                raise InputError("A tree has a parent, a digit and a noisy count for each node.")
            column = column.copy()
            column.setflags(write=False)
            object.__setattr__(self, name, column)
        self._check()

    def _check(self) -> None:
        """Refuses a tree that the rule cannot have made of these noisy counts."""
        paths, parents, digits = self.terms.question.paths, self.parents, self.digits
        below = np.arange(1, len(parents) + 1)
        if not len(parents) or (parents >= below).any() or (np.diff(parents) < 0).any():
            raise InputError("The nodes of the tree are not in order.")
        fans, levels = np.array([*paths.fans, 0]), self.levels
        if (parents < 0).any() or (levels > len(paths.fans)).any() or (digits < -1).any():
            raise InputError("The tree is deeper than its universe.")
        rests, pooled = np.append(False, digits == -1), np.append(False, self.in_rest)
        last = levels == len(paths.fans)
        few = fans[levels - 1] <= DETAILED
        kept = ~rests & ~pooled & ~(last & few)
        split = kept & ~last
        if paths.ends:
            split &= np.append(True, digits != 0)
        split[0] = True
        number = np.bincount(parents, minlength=len(levels))
        has_rest = np.bincount(parents[digits == -1], minlength=len(levels))
        inner = levels + 1 < len(paths.fans)
        alike = (np.diff(parents) == 0) & (np.diff(digits) <= 0) & (digits[1:] >= 0)
        wide = fans[np.minimum(levels, len(paths.fans))]
        under = np.zeros(len(levels), np.int64)
        np.add.at(under, parents[digits == -1], number[1:][digits == -1])
        whole = np.where(has_rest > 0, number - 1 + under, number)
        if (
            (digits >= fans[levels[1:] - 1]).any()
            or (self.noisy < 0)[kept[1:]].any()
            or ((number > 0) & ~split & ~rests).any()
            or (number[split] == 0).any()
            or (has_rest[split] != (inner | (wide > DETAILED))[split]).any()
            or (whole != wide)[split & (wide <= DETAILED)].any()
            or (number > 0)[rests & ~few].any()
            or alike.any()
        ):
            raise InputError("The tree is not the one that its noisy counts lead to.")

    @cached_property
    def in_rest(self) -> Bools:
        """Of the nodes from 1 on: whether they are pooled with others of their family."""
        return (self.parents > 0) & (np.append(0, self.digits)[self.parents] == -1)

    @cached_property
    def levels(self) -> Ints:
        """How many digits lead to each node, the root's none; others count as one of them."""
        found = np.zeros(len(self.parents) + 1, np.int64)
        deeper = np.append(0, ~self.in_rest)
        for node, parent in enumerate(self.parents.tolist(), start=1):
            found[node] = found[parent] + deeper[node]
        return found

    @property
    def facts(self) -> Facts:
        """What it cost and whom it protects."""
        return replace(self.terms.facts, id=self.id, period=self.period)

    @cached_property
    def variances(self) -> Floats:
        """The noise variance of each node from 1 on."""
        shares, left = self.terms.question.shares, self.terms.left
        own = np.array([float(noise_variance(self.terms.scale(each))) for each in shares])
        rest = np.append([float(noise_variance(self.terms.scale(each))) for each in left[:-1]], 0)
        level, rests = self.levels[1:] - 1, self.digits == -1
        found = np.where(rests, rest[level], own[level])
        # Others of the last level are added up: as many answers as there are children not kept.
        last = rests & (level + 1 == len(left))
        kept = np.bincount(self.parents, minlength=len(self.levels))[self.parents[last]] - 1
        found[last] = np.maximum(self.terms.question.paths.fans[-1] - kept, 1) * own[-1]
        return np.maximum(found, _LEAST)

    def scale(self, node: int) -> Fraction:
        """The scale of the noise of a node that was asked by itself."""
        level = int(self.levels[node]) - 1
        shares = self.terms.left if self.digits[node - 1] == -1 else self.terms.question.shares
        return self.terms.scale(shares[level])

    def infer(self) -> PrefixRelease:
        """The counts as they are published: whole, not below 0, children summing to parents."""
        from trueup._kernels.display.rounding import whole_numbers
        from trueup._kernels.display.topdown import settle_nodes
        from trueup._kernels.tree.prefixes import first_children

        first = first_children(self.parents)
        unit = float(self.variances.min()) ** 0.5
        settled = np.concatenate([[0.0], self.noisy.astype(np.float64)])
        weights = np.concatenate([[0.0], unit**2 / self.variances])
        settle_nodes(first, settled, weights, unit, EVENED)
        counts = whole_numbers(first, settled, round(settled[0]), True)
        facts = replace(self.facts, inferred="non-negative whole numbers, large-first")
        return PrefixRelease(self, facts, counts)

    def columns(self) -> dict[str, Any]:
        """The nodes as a table."""
        return {"parent": self.parents, "digit": self.digits, "noisy": self.noisy}

    def to_json(self) -> dict[str, Any]:
        """What a file says beside the table."""
        said: dict[str, Any] = {"prefixes": {"terms": self.terms.to_json()}, "private": True}
        if self.period is not None:
            said |= {"period": self.period.to_json(), "counted": f"of {self.period}"}
        return {**said, **({"id": self.id} if self.id else {})}

    def save(self, path: str | Path) -> None:
        """Writes one file by its ending: .parquet or .json, which `load` reads, or .csv."""
        write(path, _MEASURED, self.columns(), self.to_json())

    def to_bytes(self) -> bytes:
        """The bytes of its Parquet file."""
        return encode(_MEASURED, self.columns(), self.to_json())

    @staticmethod
    def from_bytes(data: bytes) -> PrefixMeasurement:
        """The measurement that `to_bytes` wrote, verified."""
        found, columns, said = decode(data, "The measurement")
        if found != _MEASURED:
            raise FileError(f"A {_MEASURED} was expected, not a {found}.")
        return PrefixMeasurement.from_saved(Saved(columns, Facts.from_json(said), said))

    @staticmethod
    def from_saved(saved: Saved) -> PrefixMeasurement:
        """The measurement that a file holds: its tree must be the one that its counts lead to."""
        try:
            terms = PrefixTerms.from_json(saved.beside["prefixes"]["terms"])
            size = len(saved.columns["noisy"])
            parents, digits, noisy = (
                saved.numbers(name, size).astype(np.int64) for name in _COLUMNS
            )
            facts = saved.facts
            return PrefixMeasurement(terms, parents, digits, noisy, facts.id, facts.period)
        except FileError:
            raise
        except (TrueupError, LookupError, TypeError, ValueError) as wrong:
            raise FileError(f"The file holds no tree that makes sense: {wrong}") from None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PrefixMeasurement)
            and (self.terms, self.id, self.period) == (other.terms, other.id, other.period)
            and all(np.array_equal(getattr(self, n), getattr(other, n)) for n in _NAMES)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<PrefixMeasurement: {len(self.noisy):,} nodes, {self.terms.cost}>"


_COLUMNS = ("parent", "digit", "noisy")
_NAMES = ("parents", "digits", "noisy")


@dataclass(frozen=True, eq=False)
class PrefixRelease:
    """The published tree: every count is the sum of its children's, with ==."""

    measured: PrefixMeasurement
    facts: Facts
    nodes: Ints

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The nodes in words, everything first."""
        paths = self.measured.terms.question.paths
        prefixes: list[tuple[int, ...]] = [()]
        found = [paths.label(())]
        for parent, digit in zip(
            self.measured.parents.tolist(), self.measured.digits.tolist(), strict=True
        ):
            if digit < 0:
                prefixes.append(prefixes[parent])
                found.append(found[parent] + OTHERS)
                continue
            prefixes.append((*prefixes[parent], digit))
            found.append(paths.label(prefixes[-1]))
        return tuple(found)

    def total(self) -> int:
        """How many there are in all."""
        return int(self.nodes[0])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def count(self, label: str) -> int:
        """The count of a prefix that is shown, or of the others of one."""
        place = self._places.get(label)
        if place is None:
            raise InputError(
                f"{shown(label)} is not shown. It is among the others of a prefix above it."
            )
        return int(self.nodes[place])

    def interval(self, label: str, level: float = 0.95) -> tuple[int, int]:
        """Where the true count of a prefix that is shown lies, from its own noisy answer.

        A family of at most 64 children is asked for all of them, whatever they answer, so that the
        interval holds at its level. Of a larger one only large answers are kept; its intervals are
        wider, and hold for all children of the family together, shown or not. Counts that no single
        answer stands for have none: everything, and others that were added up. Each is stretched to
        hold the count shown.
        """
        value = self.count(label)
        node, fans = self._places[label], self.measured.terms.question.paths.fans
        depth = int(self.measured.levels[node]) - 1
        others = node > 0 and self.measured.digits[node - 1] == -1
        if node == 0 or (others and depth + 1 == len(fans)):
            raise InputError(
                f"{shown(label)} was not asked by itself but is a sum: it has no interval. Those "
                f"of its parts are in interval()."
            )
        family = 1 if others or fans[depth] <= DETAILED else fans[depth]
        each = 1 - (1 - check_level(level)) / family
        noisy = int(self.measured.noisy[node - 1])
        wide = half_width(float(self.measured.scale(node)), each)
        return min(max(noisy - wide, 0), value), max(noisy + wide, 0, value)

    @cached_property
    def _above(self) -> Ints:
        """The prefix above each node; −1 for all, and for others that are told one by one."""
        parents = np.append(-1, self.measured.parents)
        pooled = np.append(False, self.measured.in_rest)
        parents[pooled] = parents[parents[pooled]]
        hidden = np.unique(self.measured.parents[self.measured.in_rest])
        parents[hidden] = -1
        return parents

    def children(self, label: str = "all") -> dict[str, int]:
        """What a prefix is made of: they sum to it exactly. Nothing where it is not split.

        Where a prefix has few children each is told; else those that are large, and the others.
        """
        self.count(label)
        below = np.flatnonzero(self._above == self._places[label])
        return {self.labels[node]: int(self.nodes[node]) for node in below.tolist()}

    def plot(self, kind: TreeKind = "treemap") -> Figure:
        """The tree as a plotly figure: treemap or sunburst."""
        told = np.append(True, self._above[1:] >= 0)
        counts = np.where(told, self.nodes, 0)
        return tree_picture(self.facts, self.labels, self._above, counts, kind)

    def columns(self) -> dict[str, Any]:
        """The tree as a table: prefix, the prefix above it, depth and count; 0s are left out."""
        told = np.flatnonzero((self._above >= 0) & (self.nodes > 0)).tolist()
        told = [0, *told]
        above = [self.labels[self._above[node]] if node else "" for node in told]
        said = {"prefix": [self.labels[node] for node in told], "above": above}
        return {**said, "count": self.nodes[told], "depth": self.measured.levels[told]}

    def save(self, path: str | Path) -> None:
        """Writes one file by its ending: .parquet or .json, which `load` reads, or .csv.

        What can be read again has a row for every node, and its noisy answer; a .csv file those
        that are told and not 0.
        """
        found = self.columns() if Path(path).suffix == ".csv" else self._every()
        write(path, _RELEASED, found, self.measured.to_json())

    def _every(self) -> dict[str, Any]:
        """All nodes as a table, everything first, which was not asked."""
        above = np.where(self._above >= 0, self._above, 0).tolist()
        said = {"prefix": list(self.labels), "above": ["", *(self.labels[n] for n in above[1:])]}
        told = {"count": self.nodes, "depth": self.measured.levels}
        asked = {name: np.append(-1, each) for name, each in self.measured.columns().items()}
        return {**said, **told, **asked}

    @staticmethod
    def from_saved(saved: Saved) -> PrefixRelease:
        """The release that a file holds; refused where its counts do not follow from its answers.

        Its answers are everything: the counts are inferred from them again.
        """
        try:
            below = {name: saved.columns[name][1:] for name in _COLUMNS}
            found = PrefixMeasurement.from_saved(replace(saved, columns=below)).infer()
            counts = saved.numbers("count", len(found.nodes))
        except FileError:
            raise
        except (TrueupError, LookupError, TypeError, ValueError) as wrong:
            raise FileError(f"The file holds no tree that makes sense: {wrong}") from None
        if (counts != found.nodes).any():
            raise FileError("The file's counts do not follow from its noisy answers.")
        return found

    def __repr__(self) -> str:
        return f"<PrefixRelease: {len(self.nodes):,} nodes, total {self.total():,}>"


def measure_prefixes(
    counts: Mapping[str, int],
    question: PrefixCounts,
    epsilon: object = None,
    neighbours: Neighbours = "add-remove",
    *,
    unit: str = "row",
    rows_per_unit: int | None = None,
) -> PrefixMeasurement:
    """The tree of prefixes of counts in memory: a mapping of keys to how often they occur.

    >>> from trueup.keys.universe import Universe
    >>> hosts = {"10.0.0.1": 9000, "10.0.0.2": 4000, "192.168.7.7": 700}
    >>> tree = measure_prefixes(hosts, PrefixCounts(Universe.ipv4(), step=8), epsilon=1).infer()
    >>> sum(tree.children().values()) == tree.total()
    True
    """
    terms = PrefixTerms.of(question, epsilon, neighbours, unit, rows_per_unit)
    return measure_all_prefixes(*keys_of(counts, question.universe), terms)


def measure_all_prefixes(keys: Any, counts: Ints, terms: PrefixTerms) -> PrefixMeasurement:
    """The measurement of the keys present, each once, and their counts."""
    from trueup._kernels.noise.bits import one_measurement
    from trueup._kernels.noise.laplace import draw
    from trueup._kernels.tree.prefixes import asked_nodes

    paths = terms.question.paths
    with one_measurement():
        found = asked_nodes(
            paths.digits(keys),
            counts,
            paths.fans,
            terms.question.shares,
            terms.rule,
            paths.ends,
            lambda size, share: draw(size, terms.scale(share)),
        )
        name = new_id()
    return PrefixMeasurement(terms, *found, name)
