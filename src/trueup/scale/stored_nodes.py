"""The stored answers of a release, found by level and node wherever they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup._kernels.tree.fused import refined
from trueup._kernels.tree.slabs import Slabs
from trueup.arrays import Ints
from trueup.scale.nested import NestedSlabs
from trueup.scale.store import ABOVE, AnswerStore

ByLevel = dict[int, tuple[int, Ints]]


@dataclass(frozen=True, eq=False)
class StoredNodes:
    """Reads the noisy answers of a tree, which lie slab by slab; keeps the two read last.

    `places` says which level of the slabs each level of the question is.
    """

    store: AnswerStore
    slabs: Slabs | NestedSlabs
    places: dict[int, int]
    _kept: list[tuple[int, ByLevel]] = field(default_factory=list)

    @staticmethod
    def of(store: AnswerStore, slabs: Slabs | NestedSlabs, radices: Sequence[int]) -> StoredNodes:
        """Of a question with these radices, if it has some; the slabs may have levels put in."""
        if isinstance(slabs, NestedSlabs):
            return StoredNodes(store, slabs, {level: level for level in slabs.weights})
        origin: Sequence[int | None] = range(len(radices) + 1)
        if slabs.tree.radices != tuple(radices):
            _, origin = refined(radices)
        places = {level: place for place, level in enumerate(origin) if level is not None}
        return StoredNodes(store, slabs, places)

    def read(self, level: int, first: int, stop: int) -> Ints:
        """The answers of nodes first … stop − 1 of a level of the question."""
        place = self.places[level]
        if place < self.slabs.top:
            return self._slab(ABOVE)[place][1][first:stop]
        ends = (self.slabs.first_cell(place, node) for node in (first, stop - 1))
        begin, last = map(self.slabs.slab_of, ends)
        found = []
        for slab in range(begin, last + 1):
            node, answers = self._slab(slab)[place]
            found.append(answers[max(first - node, 0) : stop - node])
        return np.concatenate(found) if len(found) > 1 else found[0]

    def _slab(self, slab: int) -> ByLevel:
        for kept, answers in list(self._kept):
            if kept == slab:
                return answers
        if slab == ABOVE:
            stored = self.store.answers(ABOVE, self.slabs.length_above)
            found = self.slabs.above_by_level(stored)
        else:
            found = self.slabs.by_level(slab, self.store.answers(slab, self.slabs.length(slab)))
        self._kept[:] = [*self._kept[-1:], (slab, found)]
        return found
