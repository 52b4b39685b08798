"""Questions of every kind, small and on both sides of sizes at which the code takes other paths.

Beside those written out here, every question that some model would have a plan compare: a new
question is covered as soon as it is registered with candidates of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueup import (
    Axis,
    BoxCounts,
    CellCounts,
    GridCounts,
    HatCounts,
    NamedCounts,
    PastCounts,
    SortedCounts,
    TreeCounts,
    WaveletCounts,
    WeightedCounts,
    WindowCounts,
)
from trueup.ask import AdaptiveBoxCounts, AdaptiveTreeCounts, Question
from trueup.ask.pooled import Pooled
from trueup.infer import models
from trueup.workload import Workload

PLACE = Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": {"Clark": ["East"]}, "DC": []})
LARGEST = 1 << 17  # a batch of the sampler


def written_out() -> Iterator[Question]:
    for size in (1, 2, 5, 12):
        yield CellCounts(size)
        yield SortedCounts(size, adaptive=False)
        yield TreeCounts(size, branching=2)
        yield HatCounts(size, [2])
        yield WaveletCounts(size)
        yield WindowCounts(size)
        yield WindowCounts(size, "prefixes")
        yield PastCounts(size, first=3)
    yield TreeCounts(11, radices=(3, 2, 2), shares=("1/2", 0, "1/3", "1/6"))
    yield TreeCounts(PLACE)
    yield settled(TreeCounts(24, radices=(4, 3, 2), shares=("1/2", "1/4", "1/4")))
    yield HatCounts(12, [1, 2], ["1/2", "1/8", "3/8"])
    yield HatCounts(60, [3, 6])
    yield WaveletCounts(6, ["1/2", "1/4", "1/8", "1/8"])
    yield WaveletCounts(6, ["1/10", "1/20", "1/2", "7/20"])  # two cells of a full node cost most
    yield SortedCounts(7, ends=2, adaptive=False)
    yield NamedCounts(5, {"all": slice(None), "low": [0, 1], "odd": [1, 3], "last": [4]})
    same = {f"first {k}": [0] for k in range(3)} | {f"second {k}": [1] for k in range(3)}
    yield NamedCounts(2, {"all": slice(None), **same})  # all pairs of cells share a query
    yield WeightedCounts(3, [[1, 0, 0], [0, "1/2", 0], [0, 0, 1], ["1/3", "-2/3", 0]])
    # Weights that fit 64 bits one by one, and not added up.
    yield WeightedCounts(2, [[2**60, 0], [0, 2**60]] * 10)
    yield GridCounts(TreeCounts(Axis.integers("a", 0, 1), branching=2), 3)
    yield GridCounts(
        HatCounts(Axis.integers("a", 0, 4), [1]), HatCounts(Axis.integers("b", 0, 2), [2])
    )
    yield GridCounts(HatCounts(Axis.integers("a", 0, 11), [1, 2]), 2)
    yield BoxCounts.marginals(2, 3, marginals=[("axis 0",), ("axis 1",), ()])
    yield BoxCounts.marginals(2, 3, marginals=[("axis 0", "axis 1")], gaussian=True)
    yield BoxCounts.quadtree(4, 4, branching=2)
    yield AdaptiveBoxCounts(BoxCounts.quadtree(4, 4, branching=2), ONE_RUN)
    yield BoxCounts(2, 4, radices=[(2,), (2, 2)], shares={(1, 2): "1/3", (0, 1): "2/3"})


NONE = np.zeros(0, np.int64)
ONE_RUN = Pooled(
    ((NONE, NONE), (np.array([1]), np.array([3])), (NONE, NONE)), (NONE, np.array([4]), NONE)
)


def settled(tree: TreeCounts) -> AdaptiveTreeCounts:
    """An adaptive tree of which two runs were pooled."""
    none = np.zeros(0, np.int64)
    runs = (none, none), (np.array([0]), np.array([2])), (np.array([7]), np.array([9]))
    totals = none, np.array([3]), np.array([-1]), none
    return AdaptiveTreeCounts(tree, Pooled((*runs, (none, none)), totals))


def large() -> Iterator[Question]:
    """Questions with more answers than the sampler draws at once, and than one span of a tree."""
    yield CellCounts(LARGEST + 1)
    yield TreeCounts(LARGEST + 3, radices=(9, 120, 130), shares=("1/2", 0, "1/3", "1/6"))
    yield SortedCounts(LARGEST + 1, adaptive=False)
    yield HatCounts(LARGEST)
    yield GridCounts(400, 400)


def offered() -> Iterator[Question]:
    """What models would have a plan compare over some axes."""
    one, two = Axis.integers("one", 0, 39), Axis.integers("two", 0, 5)
    for axes in ([one], [two, Axis.integers("three", 0, 3)], [PLACE]):
        workloads = [Workload.all_ranges()] * len(axes)
        for model in models():
            for candidate in model.candidates(axes, workloads, True):
                asked = candidate.ask()
                if asked is not None:
                    yield asked


def examples() -> list[Question]:
    """Small questions of every kind, each once."""
    found: list[Question] = []
    for question in (*written_out(), *offered()):
        if question not in found:
            found.append(question)
    return found


def named(question: Question) -> str:
    return f"{type(question).__name__}{question.size}"
