"""The fitted cells of a release, made again slab by slab wherever they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trueup.arrays import Floats

if TYPE_CHECKING:
    from trueup.scale.job import FolderJob


@dataclass(frozen=True, eq=False)
class FittedCells:
    """Reads the least-squares cells of a job whose blocks are final; keeps two slabs."""

    job: FolderJob
    _kept: list[tuple[int, Floats]] = field(default_factory=list)

    def read(self, level: int, first: int, stop: int) -> Floats:
        """The cells first … stop − 1, which are the lowest level."""
        slabs = self.job.slabs
        found = []
        for slab in range(slabs.slab_of(first), slabs.slab_of(stop - 1) + 1):
            begin = slabs.cells(slab)[0]
            found.append(self._slab(slab)[max(first - begin, 0) : stop - begin])
        return np.concatenate(found) if len(found) > 1 else found[0]

    def _slab(self, slab: int) -> Floats:
        for kept, cells in list(self._kept):
            if kept == slab:
                return cells
        job = self.job
        start, stop = job.slabs.cells(slab)
        steps = job.steps[0] if job.steps else job.store.kept("steps")
        cells = np.empty(stop - start)
        job.fitted(slab, steps, cells)
        self._kept[:] = [*self._kept[-1:], (slab, cells)]
        return cells
