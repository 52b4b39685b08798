"""Least squares on a regular tree, block by block in the cache.

A *block* is a node of one level with all its leaves under it. Blocks are first solved as if
their own root were final; then the small tree above them is solved, and what a block's root
gains, each of its leaves gains alike. In a full block all nodes of a level are alike, so the
two passes need one number a level:

    up    S = Σ children z,  d = gain (y − S),  z = S + d     with gain = w t / (1 + w t), t = Σ V
    down  every child gains (what its parent gained + d of the parent) / children.

The last block may be cut short. It goes through the passes for any tree, of `tree.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled, inlined
from trueup._kernels.tree.tree import down, fit, up
from trueup.intervaltree import IntervalTree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]

SPAN = 1 << 16  # leaves solved together: what they need stays in the cache


# The loops below are written once, for a radix given first, and expanded for the radices that are
# common: with the radix a constant they become straight vector code, up to five times faster.
# Other sums of children go in four strands, so that one addition need not wait for the last.


@inlined
def _sum_by(radix: int, below: Numbers, z: Floats) -> None:
    for i in range(z.size):
        total = below[i * radix]
        for child in range(1, radix):
            total += below[i * radix + child]
        z[i] = total


@compiled
def _sum(below: Numbers, radix: int, z: Floats) -> None:
    if radix == 2:
        _sum_by(2, below, z)
    elif radix == 4:
        _sum_by(4, below, z)
    else:
        for i in range(z.size):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            fours = (i + 1) * radix - radix % 4
            for child in range(i * radix, fours, 4):
                a += below[child]
                b += below[child + 1]
                c += below[child + 2]
                d += below[child + 3]
            for child in range(fours, (i + 1) * radix):
                a += below[child]
            z[i] = (a + b) + (c + d)


@compiled
def _copy(values: Numbers, copied: Floats) -> None:
    for i in range(values.size):
        copied[i] = values[i]


@inlined
def _rise_by(radix: int, below: Numbers, y: Numbers, gain: float, z: Floats, d: Floats) -> None:
    for i in range(z.size):
        sum_below = below[i * radix]
        for child in range(1, radix):
            sum_below += below[i * radix + child]
        total = float(sum_below)
        step = gain * (y[i] - total)
        d[i] = step
        z[i] = total + step


@compiled
def _rise(below: Numbers, radix: int, y: Numbers, gain: float, z: Floats, d: Floats) -> None:
    """z becomes the estimates of nodes from the estimates below and their own answers."""
    if radix == 2:
        _rise_by(2, below, y, gain, z, d)
    elif radix == 4:
        _rise_by(4, below, y, gain, z, d)
    else:
        _sum(below, radix, z)
        for i in range(z.size):
            step = gain * (y[i] - z[i])
            d[i] = step
            z[i] += step


@compiled
def _rise_unasked(below: Numbers, radix: int, z: Floats, d: Floats) -> None:
    _sum(below, radix, z)
    for i in range(z.size):
        d[i] = 0.0


@inlined
def _fall_by(radix: int, gained: Floats, share: float, d: Floats) -> None:
    for i in range(gained.size):
        gain = gained[i]
        for child in range(radix):
            d[i * radix + child] = (gain + d[i * radix + child]) * share


@compiled
def _fall(gained: Floats, radix: int, share: float, d: Floats) -> None:
    """d becomes what each child of a node gains, from what the node itself gains."""
    if radix == 2:
        _fall_by(2, gained, share, d)
    elif radix == 4:
        _fall_by(4, gained, share, d)
    elif radix == 16:
        _fall_by(16, gained, share, d)
    else:
        _fall_by(radix, gained, share, d)


@inlined
def _land_by(radix: int, gained: Floats, y: Numbers, leaves: Floats) -> None:
    for i in range(gained.size):
        gain = gained[i]
        for child in range(radix):
            leaves[i * radix + child] = y[i * radix + child] + gain


@compiled
def _land(gained: Floats, radix: int, y: Numbers, leaves: Floats) -> None:
    """Each leaf is its own answer and what it gains."""
    if radix == 2:
        _land_by(2, gained, y, leaves)
    elif radix == 4:
        _land_by(4, gained, y, leaves)
    elif radix == 16:
        _land_by(16, gained, y, leaves)
    else:
        _land_by(radix, gained, y, leaves)


@compiled
def solve(
    y: Numbers,
    starts: Ints,
    radices: Ints,
    gains: Floats,
    leaves: Floats,
    roots: Floats,
    work: Floats,
) -> None:
    """The leaves of full blocks, side by side, each as if its root were final; and the roots.

    Level k of the blocks, 0 their roots, begins at y[starts[k]]; a level of gain 0 is not read.
    `work` has room for three numbers a leaf.
    """
    height = radices.size
    bottom = y[starts[height] : starts[height] + leaves.size]
    if height == 0:
        for i in range(leaves.size):
            leaves[i] = roots[i] = bottom[i]
        return
    z, other, d = work[: leaves.size], work[leaves.size : 2 * leaves.size], work[2 * leaves.size :]
    size = leaves.size // radices[height - 1]
    end = 0  # d holds the levels one after the other, lowest first, up to here
    for k in range(height - 1, -1, -1):
        target = z[:size] if k > 0 else roots[:size]
        answers, own = y[starts[k] : starts[k] + size], d[end : end + size]
        if k == height - 1 and (radices[k] == 2 or radices[k] == 4):
            if gains[k] > 0.0:
                _rise(bottom, radices[k], answers, gains[k], target, own)
            else:
                _rise_unasked(bottom, radices[k], target, own)
        else:
            below = other[: size * radices[k]]
            if k == height - 1:  # whole numbers sum slowly where the radix is no constant
                below = leaves
                _copy(bottom, leaves)
            if gains[k] > 0.0:
                _rise(below, radices[k], answers, gains[k], target, own)
            else:
                _rise_unasked(below, radices[k], target, own)
        z, other = other, z
        end += size
        if k > 0:
            size //= radices[k - 1]
    for i in range(end - size, end):  # the roots are final: they gain nothing
        d[i] /= radices[0]
    for k in range(1, height):
        above = d[end - size : end]
        end -= size
        size *= radices[k - 1]
        _fall(above, radices[k - 1], 1.0 / radices[k], d[end - size : end])
    _land(d[end - size : end], radices[height - 1], bottom, leaves)


@compiled
def _solve_all(
    y: Numbers,
    starts: Ints,
    counts: Ints,
    radices: Ints,
    gains: Floats,
    leaves: Floats,
    roots: Floats,
    together: int,
) -> None:
    """As `solve`, all full blocks in turn, so many together; counts are the nodes of a block."""
    width = counts[-1]
    work = np.empty(3 * together * width)
    for begin in range(0, roots.size, together):
        end = min(begin + together, roots.size)
        own = leaves[begin * width : end * width]
        place = starts + begin * counts
        solve(y, place, radices, gains, own, roots[begin:end], work[: 3 * own.size])


@compiled
def lift(leaves: Floats, width: int, steps: Floats) -> None:
    """Adds a step to each leaf of a block."""
    for block in range(steps.size):
        for i in range(block * width, (block + 1) * width):
            leaves[i] += steps[block]


@dataclass(frozen=True)
class Blocks:
    """A regular tree cut into blocks. `weights` are 1/variance of each level, 0 if not asked."""

    size: int
    radices: tuple[int, ...]
    weights: tuple[float, ...]

    @cached_property
    def level(self) -> int:
        """The level whose nodes are the blocks: the highest whose nodes fit the cache."""
        width, level = 1, len(self.radices)
        while level > 0 and width * self.radices[level - 1] <= SPAN:
            level -= 1
            width *= self.radices[level]
        return level

    @cached_property
    def inside(self) -> tuple[int, ...]:
        """The radices inside a block, top down."""
        return self.radices[self.level :]

    @cached_property
    def width(self) -> int:
        """The leaves of a full block."""
        return int(np.prod(self.inside, dtype=np.int64))

    @property
    def full(self) -> int:
        """How many full blocks there are."""
        return self.size // self.width

    @property
    def rest(self) -> int:
        """The leaves of the last block if it is cut short, else 0."""
        return self.size % self.width

    @property
    def together(self) -> int:
        """How many full blocks are solved together."""
        return SPAN // self.width

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The nodes of each level of a full block, top down."""
        return tuple(int(np.prod(self.inside[:k], dtype=np.int64)) for k in range(self.height))

    @property
    def height(self) -> int:
        """The levels of a block, its root's and its leaves' included."""
        return len(self.inside) + 1

    @cached_property
    def _spreads(self) -> tuple[Floats, float]:
        variance = 1.0 / self.weights[-1]
        gains = np.zeros(len(self.inside))
        for k in reversed(range(len(self.inside))):
            spread = variance * self.inside[k]
            gain = self.weights[self.level + k] * spread
            gains[k] = gain / (1.0 + gain)
            variance = spread / (1.0 + gain)
        return gains, variance

    @property
    def gains(self) -> Floats:
        """For each level but the leaves', how far a node's answer moves its estimate."""
        return self._spreads[0]

    @property
    def variance(self) -> float:
        """The variance of a full block's root, from its own leaves and nodes."""
        return self._spreads[1]

    @cached_property
    def above(self) -> IntervalTree:
        """The tree whose leaves are the blocks."""
        return IntervalTree.regular(self.full + (self.rest > 0), self.radices[: self.level])

    @cached_property
    def last(self) -> IntervalTree:
        """The tree of the block that is cut short."""
        return IntervalTree.regular(self.rest, self.inside)


class LastBlock:
    """The block that is cut short, solved from below; its leaves follow once its root is known."""

    def __init__(self, blocks: Blocks, noisy: Floats) -> None:
        shape = blocks.last
        lengths = [shape.length(level) for level in range(shape.height)]
        weights = np.repeat(blocks.weights[blocks.level :], lengths)
        self._first = shape.first
        self._fitted, self._variances = np.empty_like(noisy), np.empty_like(noisy)
        up(self._first, noisy, weights, self._fitted, self._variances)
        self.root, self.variance = float(self._fitted[0]), float(self._variances[0])

    def leaves(self, root: float) -> Floats:
        """The leaves, given what the root turned out to be."""
        self._fitted[0] = root
        down(self._first, self._fitted, self._variances)
        return self._fitted[len(self._first) - 1 - self._leaf_count :]

    @property
    def _leaf_count(self) -> int:
        nodes = len(self._first) - 1
        return int(np.count_nonzero(self._first[:nodes] == nodes))


def final_roots(blocks: Blocks, above: Floats, roots: Floats, last: LastBlock | None) -> Floats:
    """The value of every block's root, given the noisy answers above and the roots from below."""
    shape = blocks.above
    if blocks.level == 0:
        return roots.copy()
    lengths = [shape.length(level) for level in range(shape.height)]
    weights = np.repeat((*blocks.weights[: blocks.level], 1.0 / blocks.variance), lengths)
    if last is not None:
        weights[-1] = 1.0 / last.variance
    return fit(shape.first, np.concatenate([above, roots]), weights)[-roots.size :]


def fit_leaves(blocks: Blocks, noisy: Numbers, starts: Ints) -> Floats:
    """The least-squares leaves of a regular tree from its noisy nodes.

    Level l begins at noisy[starts[l]]; levels of weight 0 are not read.
    """
    leaves = np.empty(blocks.size)
    top = blocks.level
    roots = np.empty(blocks.full + (blocks.rest > 0))
    counts = np.array(blocks.counts, np.int64)
    _solve_all(
        noisy,
        starts[top:],
        counts,
        np.array(blocks.inside, np.int64),
        blocks.gains,
        leaves[: blocks.full * blocks.width],
        roots[: blocks.full],
        blocks.together,
    )
    last = None
    if blocks.rest:
        shape = blocks.last
        parts = [
            _level(noisy, int(starts[top + k] + blocks.full * counts[k]), shape.length(k), weight)
            for k, weight in enumerate(blocks.weights[top:])
        ]
        last = LastBlock(blocks, np.concatenate(parts))
        roots[-1] = last.root
    above = [
        _level(noisy, int(starts[level]), blocks.above.length(level), blocks.weights[level])
        for level in range(top)
    ]
    final = final_roots(blocks, np.concatenate([np.empty(0), *above]), roots, last)
    if last is not None:
        leaves[blocks.full * blocks.width :] = last.leaves(float(final[-1]))
    lift(leaves, blocks.width, (final - roots)[: blocks.full] / blocks.width)
    return leaves


def _level(noisy: Numbers, start: int, length: int, weight: float) -> Floats:
    """The noisy answers of a level, or of its last nodes, as floats; zeros if not asked."""
    if weight == 0.0:
        return np.zeros(length)
    return noisy[start : start + length].astype(np.float64)
