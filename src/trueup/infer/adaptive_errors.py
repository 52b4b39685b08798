"""The error of every range of a tree that was asked adaptively: honest, though nodes were chosen.

Which nodes were asked depends on their own noise, so that given what was asked the answers are not
unbiased. Two bounds hold nevertheless, both at once with the probability that is told, because the
chance to fail is shared between them; a range has the narrower one.

*Paths.* Counts go down the tree, the children of a node moved alike until they sum to it. What an
answer counts for in a range then depends on the noise only by how deep the paths to its two ends
go. There are few ways in which they can end, and each has a law of its own, known before anything
is asked: a quarter of the chance to fail is for paths that go all the way down, half is shared by
the other ways, a quarter is for runs. A path that ends in a pooled node leaves open how the node's
cells share its count. Of that count two things tell, and each counts as a way of its own: what the
fit says of the node, and the total of its run.

*Clear paths.* Where every node of the paths is so far above what is small that noise did not decide
that it was split, all of the chance to fail is theirs. Take any true counts. Either each node of
the paths is split but for a tiny chance; then paths go all the way, and have one law. Or one of the
nodes is likely enough to be small; then it does not look clear, but for a tiny chance. SLIP is
twice the larger of the two: on each side of an interval it may be all of it. Where SLIP is more
than half of the chance to fail, no path is taken to be clear. Runs keep their quarter where they
may have a say though no path ends in a pooled node.

*Many ends.* Of a sum of several ranges there would be too many ways. Had everything been asked, its
noise would have one law. What was left out is symmetric whatever was asked, so that it takes that
noise nearer to zero at most half of the time (Lévy): the noise of what was asked is beyond t with
at most twice the chance. Three quarters of the chance to fail are for that, where paths are not
clear; a quarter is for the noise of the totals of runs, which tell what lies inside pooled nodes.

*Runs.* The totals of runs chose nothing, so that they are unbiased whatever was asked. A range
whose every cell was pooled holds the runs inside it, and at most the runs that it cuts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import AdaptiveTreeCounts
from trueup.coefficient_classes import law_of
from trueup.law import Combination, NoiseLaw, RangeErrors, steps
from trueup.noise import GAUSSIAN, noise_variance

ALL_THE_WAY = 4.0  # the part of the chance to fail for paths that go all the way: one in so many
OTHER_WAYS = 2  # the part that all other ways of paths share
RUNS = 4.0  # the part that is for runs
SLIP = 1e-6  # half: noise makes a node look clearly split. Half: one is small that hardly ever is
MOST_NODES = 64  # on the paths: with more, none is taken to be clear
FEW_ENDS = 16  # of ranges: of more, ways of paths are not counted
TWICE = 2.0  # what is asked is as far off as all with at most so many times the chance
_REACH = 5.0  # scales of noise by which an interval is about wider for a noise more


@dataclass(frozen=True, eq=False)
class PathErrors(RangeErrors):
    """The error of ranges of the counts with these prefix sums; without them, of the paths alone.

    `levels` are those whose answers the counts are made of, coarsest first; `scales` the noise
    scales of their nodes, then those of their runs. From `split_from` on a noisy count of each
    level but the last is never small.
    """

    question: AdaptiveTreeCounts
    levels: tuple[int, ...]
    scales: tuple[Fraction, ...]
    split_from: tuple[float, ...]
    law: str = "discrete"
    prefix: Floats | None = None
    alike = False
    pooled = True

    @cached_property
    def _runs(self) -> _AllRuns:
        return _AllRuns.of(self.question, self.levels)

    @cached_property
    def tree(self) -> tuple[Ints, Ints, Ints]:
        """The tree for the kernel: begins, offsets, runs."""
        from trueup._kernels.error.pooled_paths import NOT_REACHED, SPLIT

        shape, question, number = self.question.shape, self.question, 0
        begins, runs, offsets = [], [], [0]
        for level in self.levels[:-1]:
            length = shape.length(level)
            own = np.full(length, SPLIT)
            if question.pooled is not None:
                own[:] = NOT_REACHED
                own[question.reached.nodes[level]] = SPLIT
                starts, stops = question.pooled.runs[level]
                lengths = stops - starts
                inside = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
                own[inside + np.arange(lengths.sum())] = np.repeat(
                    number + np.arange(len(starts)), lengths
                )
                number += len(starts)
            begins += [shape.starts(level), np.array([shape.size])]
            runs += [own, np.array([NOT_REACHED])]
            offsets.append(offsets[-1] + length + 1)
        if not begins:  # for the number of cells alone
            begins, runs = [np.array([shape.size])], [np.array([NOT_REACHED])]
        return np.concatenate(begins), np.array(offsets), np.concatenate(runs)

    @cached_property
    def _scales(self) -> Floats:
        return np.array([float(scale) for scale in self.scales])

    @cached_property
    def clear_from(self) -> Floats:
        """From which count of the fit on a node of each level but the last was clearly split.

        Its noisy count was below `split_from` with a chance of at most p / V, where p is half of
        SLIP and V nodes are on the paths. If that chance is larger, the true count is less than q
        above `split_from`, where P(noise ≥ q) = p / V: by its law, q ≤ b ln(V / p). The fit of a
        node is off by Z, the sum of its own noise and of parts, of a half at most, of its siblings'
        and its ancestors'. By Chernoff's bound at 0.8 / b, b being the largest scale above,
        P(Z ≥ z) ≤ 4.5 exp(−0.8 z / b), which is p at z = b ln(4.5 / p) / 0.8. So the fit is q + z
        above `split_from` with a chance of at most p.
        """
        widest = np.maximum.accumulate(self._widths[: len(self.levels) - 1])
        scales = math.log(MOST_NODES / (SLIP / 2)) + math.log(4.5 / (SLIP / 2)) / 0.8
        return np.array(self.split_from) + scales * widest

    @cached_property
    def _widths(self) -> Floats:
        """How wide the noise of each scale is: its scale, and of Gaussian noise σ."""
        return np.sqrt(self._scales) if self.law in GAUSSIAN else self._scales

    @cached_property
    def _known(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What tells of paths, for the kernel."""
        upper = len(self.levels) - 1
        better = _REACH * (self._widths[:upper] - self._widths[upper + 1 :])
        prefix = np.zeros(0) if self.prefix is None else np.asarray(self.prefix, np.float64)
        return self._runs.totals, prefix, self.clear_from, better

    def given(self, prefix: Floats) -> PathErrors:
        """The errors of counts with these prefix sums."""
        return replace(self, prefix=prefix)

    def variance(self, combination: Combination) -> float:
        """The variance of the noise in a combination of ranges."""
        from trueup._kernels.error.pooled_paths import COEFFICIENT, LEVEL, MANY, classes_of

        cuts, values = steps(combination, self.question.shape.size)
        rows, _ = classes_of(self.tree, np.array(cuts), np.array(values), self._known)
        rows = rows[rows[:, LEVEL] < len(self.levels)]
        each = self._variances[rows[:, LEVEL].astype(int)]
        return float(np.sum(rows[:, MANY] * rows[:, COEFFICIENT] ** 2 * each))

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of ranges, with what makes it honest."""
        cuts, values = steps(combination, self.question.shape.size)
        if self.prefix is not None and len(cuts) - 2 > FEW_ENDS:
            return self._of_many_ends(cuts, values)
        paths, _ = self.by_paths(combination)
        runs = self._by_runs(combination) if paths.slip else None
        return paths if runs is None or rough_reach(paths) < rough_reach(runs) else runs

    def by_paths(self, combination: Combination) -> tuple[NoiseLaw, bool]:
        """The law of the error by the paths to the ends of its ranges; whether one ends in a pooled
        node."""
        from trueup._kernels.error import pooled_paths as paths_of

        cuts, values = steps(combination, self.question.shape.size)
        rows, told = paths_of.classes_of(self.tree, np.array(cuts), np.array(values), self._known)
        sizes = np.abs(rows[:, paths_of.COEFFICIENT]) + rows[:, paths_of.SLACK]
        rows, sizes = rows[sizes != 0], sizes[sizes != 0]
        ways, stopped = told[paths_of.WAYS].item(), bool(told[paths_of.STOPPED])
        if ways >= paths_of.MANY_WAYS:  # on each level by its count, by a run, or by one before
            ways = (1 + 3 * (len(self.levels) - 1)) ** (len(cuts) - 2)
        unclear = OTHER_WAYS * (ways - 1) if stopped else ALL_THE_WAY if ways > 1 else 1.0
        clear = ways > 1 and self._all_clear(cuts, told)
        law = NoiseLaw(
            sizes,
            self._scales[rows[:, paths_of.LEVEL].astype(np.int64)],
            rows[:, paths_of.MANY].copy(),
            self.law,
            among=self._clear(cuts[1:-1]) if clear else unclear,
            unclear=unclear,
            slip=SLIP if ways > 1 else 0.0,
            left_open=float(told[paths_of.OPEN]),
        )
        return law, stopped

    def _all_clear(self, cuts: list[int], told: Floats) -> bool:
        """Whether all paths to these cuts go all the way, through nodes that are clear.

        Of a question that was not asked it is so: a plan is made for counts that are not small.
        """
        from trueup._kernels.error.pooled_paths import STOPPED, UNCLEAR

        few = (len(self.levels) - 1) * (len(cuts) - 2) <= MOST_NODES
        clear = self.question.pooled is None or not told[UNCLEAR]
        return few and clear and not told[STOPPED]

    def _of_many_ends(self, cuts: list[int], values: list[float]) -> NoiseLaw:
        """The law of the error of a sum of ranges, by what its noise had been with nothing pooled.

        What lies inside runs is told by their totals alone: their noise chose nothing, and has a
        part of the chance to fail of its own.
        """
        from trueup._kernels.error import pooled_paths as paths_of

        ends = np.array(cuts), np.array(values)
        rows, told = paths_of.classes_if_all_were_asked(self.tree, *ends, self._known)
        levels = [rows[rows[:, paths_of.LEVEL] == level] for level in range(len(self.levels))]
        coefficients = [own[:, paths_of.COEFFICIENT] for own in levels]
        counts = [own[:, paths_of.MANY] for own in levels]
        law = law_of(coefficients, self.scales[: len(levels)], self.law, counts)
        if told[paths_of.WAYS] == 1:
            return law
        among = TWICE / (1 - 1 / RUNS)
        own = 1.0 if self._all_clear(cuts, told) else among
        law = replace(law, among=own, unclear=among, slip=SLIP)
        if not told[paths_of.STOPPED]:
            return law
        runs = rows[rows[:, paths_of.LEVEL] >= len(levels)]
        inside = NoiseLaw(
            runs[:, paths_of.COEFFICIENT].copy(),
            self._scales[runs[:, paths_of.LEVEL].astype(np.int64)],
            np.ones(len(runs)),
            self.law,
            among=RUNS,
        )
        return replace(law, left_open=float(told[paths_of.OPEN]), open_noise=inside)

    def _clear(self, cuts: list[int]) -> float:
        """One among how many laws that of clear paths to these cuts is.

        A cut inside a node of the lowest level that can be pooled has a path that ends there, if
        the cells beside it are pooled; where no cut does, runs have their part all the same.
        """
        begins, offsets, _ = self.tree
        lowest = begins[offsets[-2] : offsets[-1]]
        between = lowest[np.searchsorted(lowest, cuts)] == cuts
        return RUNS / (RUNS - 1) if between.all() else 1.0

    def by_runs(self, start: int, stop: int) -> tuple[float, float, NoiseLaw] | None:
        """Between what the runs say that the count of [start, stop) lies, and the law of their
        noise; None unless every cell of it was pooled."""
        found = self._runs.inside(start, stop)
        if found is None:
            return None
        whole, cut = found
        least = float(self._runs.totals[whole].sum())
        most = least + float(np.maximum(self._runs.totals[cut], 0).sum())
        both = np.concatenate(found)
        each = self._scales[len(self.levels) + self._runs.levels[both]]
        return least, most, NoiseLaw(np.ones(len(both)), each, np.ones(len(both)), self.law)

    def _by_runs(self, combination: Combination) -> NoiseLaw | None:
        """The law of the error of a range that was pooled as a whole; None for any other."""
        if self.prefix is None or len(combination) != 1:
            return None
        ((start, stop), factor) = combination[0]
        found = self.by_runs(start, stop)
        if found is None:
            return None
        least, most, law = found
        shown = float(self.prefix[stop] - self.prefix[start])
        return replace(
            law,
            coefficients=abs(factor) * law.coefficients,
            among=RUNS,
            unclear=RUNS,
            slip=SLIP,
            left_open=abs(factor) * max(shown - least, most - shown, 0.0),
        )

    @cached_property
    def _variances(self) -> Floats:
        own = self.scales[: len(self.levels)]
        return np.array([noise_variance(scale, self.law) for scale in own])

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of the noise in each range [start, stop) of cells."""
        from trueup._kernels.error.pooled_paths import range_variances

        first, end = (np.atleast_1d(np.asarray(ends, np.int64)) for ends in (starts, stops))
        return range_variances(self.tree, first, end, self._known, self._variances)


def rough_reach(law: NoiseLaw) -> float:
    """About how far an interval reaches, to tell the narrower of two: both hold at once."""
    return float(np.sqrt(law.variance) * (1.5 + np.log(law.among))) + law.left_open


@dataclass(frozen=True, eq=False)
class _AllRuns:
    """All runs of a question, in the order of the levels: their cells, their levels, totals."""

    starts: Ints
    stops: Ints
    levels: Ints
    totals: Floats

    @staticmethod
    def of(question: AdaptiveTreeCounts, levels: tuple[int, ...]) -> _AllRuns:
        none = np.zeros(0, np.int64)
        spans, own, totals = [(none, none)], [none], [np.zeros(0)]
        if question.pooled is not None:
            for number, level in enumerate(levels[:-1]):
                spans.append(question.reached.run_spans(level))
                own.append(np.full(len(spans[-1][0]), number))
                totals.append(question.pooled.totals[level].astype(np.float64))
        starts, stops = (np.concatenate(ends) for ends in zip(*spans, strict=True))
        return _AllRuns(starts, stops, np.concatenate(own), np.concatenate(totals))

    @cached_property
    def _in_order(self) -> Ints:
        return np.argsort(self.starts)

    def inside(self, start: int, stop: int) -> tuple[Ints, Ints] | None:
        """The runs that lie inside [start, stop) and those it cuts; None if some cells are in no
        run."""
        order = self._in_order
        first = int(np.searchsorted(self.starts[order], start, side="right")) - 1
        end = int(np.searchsorted(self.starts[order], stop))
        if first < 0 or start >= stop:
            return None
        some = order[first:end]
        begins, ends = self.starts[some], self.stops[some]
        if ends[-1] < stop or ends[0] <= start or (begins[1:] != ends[:-1]).any():
            return None
        whole = (begins >= start) & (ends <= stop)
        return some[whole], some[~whole]
