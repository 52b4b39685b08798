"""A release that is made slab by slab, and goes on where a crash left it.

First pass: count, draw, store; from what was stored, every block goes up. Then the tree above the
blocks. Second pass: every block goes up and down, its cells are summed, rounded and written; beside
whole counts made to be shown, if those were asked for. Only the first pass sees data and noise.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trueup._kernels.threads import cores
from trueup._kernels.tree.binary_grid import grid_for
from trueup._kernels.tree.fused import Noise as Drawn
from trueup._kernels.tree.prefix import BLOCK, sum_on_grid
from trueup._kernels.tree.running_sums import RunningSums
from trueup._kernels.tree.slabs import Slabs
from trueup.arrays import Floats, Ints
from trueup.errors import FileError, InputError, TrueupError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.files.dataset import (
    MANIFEST,
    FolderPart,
    WrittenPart,
    check_new_folder,
    open_dataset,
)
from trueup.files.parts import BYTES_A_CELL
from trueup.infer.model import axis_model
from trueup.measure import new_id
from trueup.saved import load
from trueup.scale.fitted_cells import FittedCells
from trueup.scale.hats import HatSlabs
from trueup.scale.nested import NestedSlabs
from trueup.scale.progress import Progress
from trueup.scale.shown import Roots, ShownTree
from trueup.scale.slabbed import Slabbed, asked_levels, check_slabs, in_slabs
from trueup.scale.store import ABOVE, AnswerStore, not_as_stored
from trueup.scale.stored_nodes import StoredNodes
from trueup.scale.written import described, write_sums

Count = Callable[[int, int], Ints]
"""The true counts of the cells [start, stop)."""

SLAB = 1 << 22  # cells that are in memory together
WINDOW = 1 << 26  # cells that are counted in one pass over a table


@dataclass(frozen=True)
class FolderJob:
    """A release on its way to a folder: planned, drawn and fitted, each step done once."""

    to: Path
    store: AnswerStore
    facts: Facts
    slab: int
    salt: bytes
    key: str
    fresh: bool = False
    """Whether its plan was made by this call."""
    up: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """Of slabs that were drawn here, what is fitted to their blocks, and their steps."""
    steps: list[Floats] = field(default_factory=list)
    """The final step of every block, once they are known here."""

    @staticmethod
    def open(
        to: object,
        facts: Facts,
        key: str | None = None,
        ledger: str = "",
        check: Callable[[FolderJob], None] | None = None,
    ) -> FolderJob:
        """The job of a release: begun, or gone on with where a crash left it.

        All that can be wrong is found here: what is there already, a tree that does not fit, a disk
        without room; or what `check` finds instead. Nothing is charged or drawn. `ledger` is the
        name of the one that pays. `facts.inferred` says whether counts are made to be shown.
        """
        check = FolderJob._check if check is None else check
        place = check_new_folder(to)
        facts = facts.made(facts.inferred or LEAST_SQUARES)
        store = AnswerStore.beside(place)
        plan = store.plan()
        if plan is None:
            _check_free(place)
            facts = replace(facts, id=new_id())
            key = secrets.token_hex(16) if key is None else key
            job = FolderJob(place, store, facts, SLAB, secrets.token_bytes(32), key)
            check(job)
            said = {"facts": facts.to_json(), "slab": SLAB, "salt": job.salt.hex(), "key": job.key}
            store.begin({**said, "ledger": ledger})
            return replace(job, fresh=True)
        begun = Facts.from_json(plan["facts"])
        same = replace(facts, id=begun.id) == begun
        if not same or ledger != plan["ledger"] or key not in (None, plan["key"]):
            raise InputError(
                f"{store.work} holds another release that was begun and not finished. Finish it "
                f"by asking the same again, or give another folder."
            )
        job = FolderJob(place, store, begun, plan["slab"], bytes.fromhex(plan["salt"]), plan["key"])
        if not job.named:
            store.check_there()
            _check_free(place)
            check(job)
        return job

    @staticmethod
    def planned(to: str) -> FolderJob:
        """The job that was planned for a folder, for another machine that works on it."""
        store = AnswerStore.beside(Path(to))
        plan = store.plan()
        if plan is None:
            raise FileError(f"There is no plan in {store.work}: do all machines share this folder?")
        facts, salt = Facts.from_json(plan["facts"]), bytes.fromhex(plan["salt"])
        return FolderJob(Path(to), store, facts, plan["slab"], salt, plan["key"])

    @property
    def named(self) -> bool:
        """Whether the folder has its name already: a crash left only what is to be deleted."""
        try:
            return open_dataset(self.to).facts.id == self.facts.id
        except FileError:
            return False

    def give_up(self) -> None:
        """Deletes what was begun, if nothing was drawn yet and no other process is at work."""
        with suppress(TrueupError), self.store.alone():
            if not self.store.drawn:
                self.store.delete()

    def forget(self) -> None:
        """Deletes the plan that this call made; one that was there may have been charged."""
        if self.fresh:
            self.give_up()

    @property
    def _noised(self) -> Drawn:
        """What adds noise, from streams of its own."""
        return in_slabs(self.facts.noise, self.slab)[1]

    @cached_property
    def slabs(self) -> Slabbed:
        """What is asked, in slabs."""
        return in_slabs(self.facts.noise, self.slab)[0]

    @cached_property
    def shown(self) -> ShownTree | None:
        """The tree by which counts are made to be shown; None where they are not."""
        if self.facts.inferred == LEAST_SQUARES:
            return None
        noise, slabs = self.facts.noise, self.slabs
        if isinstance(slabs, HatSlabs):  # no node has a noisy count of its own
            tree = axis_model(noise).tree
            cells = FittedCells(self).read
            own = {tree.height - 1: 1.0}
            return ShownTree(tree, own, 1.0, cells, self.slab, slabs.threads, projected=True)
        assert isinstance(slabs, (Slabs, NestedSlabs))
        levels = asked_levels(noise)
        weights = dict(zip(levels.asked, noise.relative_weights, strict=True))
        unit = min(noise.variances) ** 0.5
        read = StoredNodes.of(self.store, slabs, levels.radices).read
        return ShownTree(levels.tree, weights, unit, read, self.slab, slabs.threads)

    @property
    def spreads(self) -> bool:
        """Whether it is made on a cluster: from more than one block of sums on."""
        return self.slabs.size > BLOCK

    @property
    def sampling(self) -> str:
        """The key by which rows of a unit are chosen: the same after a crash, or a unit would
        count with some rows in the slabs before it and with others in those after it."""
        return hashlib.sha256(b"rows" + self.salt).hexdigest()

    @property
    def need(self) -> int:
        """The bytes of disk that it takes."""
        each = BYTES_A_CELL if self.shown is None else BYTES_A_CELL + 16
        return 8 * self.facts.noise.question.length + each * self.slabs.size

    def _check(self) -> None:
        self.facts.noise.check_drawable()
        check_slabs(self.slabs)
        self.store.check_room(self.need)

    def windows(self, most: int) -> list[tuple[int, int]]:
        """The cells [start, stop) of slabs that are counted together, at most so many cells."""
        found: list[tuple[int, int]] = []
        for slab in range(self.slabs.number):
            start, stop = self.slabs.counted(slab)
            if found and stop - found[-1][0] <= most:
                found[-1] = (found[-1][0], stop)
            else:
                found.append((start, stop))
        return found

    # The first pass: the only one that sees data and noise.

    def draw(self, count: Count, window: int, drawn: Drawn | None = None) -> bytes:
        """Counts, draws and stores every answer that is not stored yet; what they are, in bytes."""
        if self.named:
            return b""
        drawn = self._noised if drawn is None else drawn
        slabs, totals = self.slabs, list[Ints]()
        words = f"Counting and drawing, {self.need / 1e9:,.1f} GB of disk"
        with self.store.alone(), Progress(words, self.facts.noise.question.size) as progress:
            if not self.store.has(ABOVE):
                slab = 0
                for start, stop in self.windows(window):
                    cells = count(start, stop)
                    while slab < slabs.number and slabs.counted(slab)[1] <= stop:
                        first, last = slabs.counted(slab)
                        own = cells[first - start : last - start]
                        totals.append(self.draw_slab(slab, own, drawn))
                        progress.advance(last - first)
                        slab += 1
                self.draw_above(np.concatenate(totals), drawn)
            return self.answered()

    def draw_above(self, totals: Ints, drawn: Drawn | None = None) -> None:
        """Stores the answers above all slabs, if there are none."""
        drawn = self._noised if drawn is None else drawn
        self.store.put(ABOVE, self.slabs.draw_above(totals, drawn))

    def answered(self) -> bytes:
        """What answers are stored, in bytes."""
        slabs, store = self.slabs, self.store
        parts = [store.part(ABOVE, (0, slabs.size))]
        parts += [store.part(slab, slabs.cells(slab)) for slab in range(slabs.number)]
        said = {"id": self.facts.id, "answers": [part.to_json() for part in parts]}
        return json.dumps(said).encode()

    def draw_slab(self, slab: int, cells: Ints, drawn: Drawn | None = None) -> Ints:
        """Stores the answers of a slab, if there are none; the true totals of its blocks."""
        drawn = self._noised if drawn is None else drawn
        self.store.seen(slab, cells, self.salt)
        if self.store.has(slab):  # drawn once: the counts alone are made again
            return self.slabs.totals(slab, cells)
        answers, totals = self.slabs.draw(slab, cells, drawn)
        if self.store.put(slab, answers):
            self.up[slab] = self.slabs.rise(slab, answers)
        return totals

    # The second pass: from stored answers alone.

    def finish(
        self, answered: bytes, written: Callable[[], Iterable[WrittenPart]] | None = None
    ) -> Any:
        """Fits what was drawn, writes the dataset folder, and opens it.

        `written` fits and writes the parts elsewhere than in this process.
        """
        if self.named:
            self.store.delete()
            return load(self.to)
        parts = [FolderPart.from_json(one) for one in json.loads(answered)["answers"]]
        with self.store.alone():
            self.check_answers(parts)
            wrote = list(self._written() if written is None else written())
            made = [each.part for each in wrote]
            files = described(self.store, self.facts, wrote, parts)
            self.store.finish(self.to, {MANIFEST, *(each.file for each in (*made, *parts, *files))})
        return load(self.to)

    def check_answers(self, parts: list[FolderPart]) -> None:
        """Refuses answers that are not as they were stored."""
        for part in parts:
            path = self.store.public / part.file
            if not path.exists() or path.stat().st_size != part.bytes:
                raise not_as_stored(path)

    def answers(self, slab: int) -> Ints:
        """The stored answers of a slab."""
        return self.store.answers(slab, self.slabs.length(slab))

    def _final_steps(self) -> Floats:
        """The final step of every block's root."""
        slabs, found = self.slabs, list[tuple[Floats, Floats]]()
        with Progress("Fitting", slabs.size) as progress:
            for slab in range(slabs.number):
                found.append(self.up.get(slab) or slabs.rise(slab, self.answers(slab)))
                progress.advance(slabs.cells(slab)[1] - slabs.cells(slab)[0])
        return self.final_steps(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def final_steps(self, roots: Floats, steps: Floats) -> Floats:
        """The final step of every block's root, from what all blocks were fitted to."""
        above = self.store.answers(ABOVE, self.slabs.length_above)
        return self.slabs.final_steps(above, roots, steps)

    def fitted(self, slab: int, steps: Floats, leaves: Floats) -> None:
        """Writes the fitted cells of a slab, from the final steps of all blocks."""
        own = steps.reshape(self.slabs.roots, -1)[self.slabs.blocks(slab)].reshape(-1)
        self.slabs.fall(slab, self.answers(slab), own, leaves)

    def whole_blocks(self, slab: int, steps: Floats) -> tuple[int, Floats]:
        """As `_leaves`, the run of one slab: the number of its first cell, and its fitted cells."""
        slabs = self.slabs
        start, stop = slabs.cells(slab)
        first = start // BLOCK * BLOCK
        end = stop if slab == slabs.number - 1 else max(stop // BLOCK * BLOCK, first)
        parts, own = list[Floats](), slab
        while stop > first:
            start = slabs.cells(own)[0]
            leaves = np.empty(slabs.cells(own)[1] - start)
            self.fitted(own, steps, leaves)
            parts.insert(0, leaves[max(first - start, 0) :])
            stop, own = start, own - 1
        return first, np.concatenate(parts)[: end - first]

    def _leaves(self, steps: Floats, words: str) -> Iterator[tuple[int, Floats]]:
        """The fitted cells with the number of the first, in runs of whole blocks of sums."""
        slabs, kept = self.slabs, np.empty(0)
        with Progress(words, slabs.size) as progress:
            for slab in range(slabs.number):
                start, stop = slabs.cells(slab)
                leaves = np.empty(len(kept) + stop - start)
                leaves[: len(kept)] = kept
                self.fitted(slab, steps, leaves[len(kept) :])
                first = start - len(kept)
                whole = len(leaves) if slab == slabs.number - 1 else len(leaves) // BLOCK * BLOCK
                kept = leaves[whole:].copy()
                if whole:
                    yield first, leaves[:whole]
                progress.advance(stop - start)

    def _written(self) -> Iterator[WrittenPart]:
        """Writes the parts; one is written while the next is fitted."""
        steps, before = self._final_steps(), 0.0
        self.steps.append(steps)
        roots = None if self.shown is None else self._shown_roots(self.shown)
        with ThreadPoolExecutor(1) as writer:
            last: Future[WrittenPart] | None = None
            for number, (first, upto) in enumerate(self._sums(steps)):
                if last is not None:
                    yield last.result()
                last = writer.submit(self.write_part, number, first, upto, before, roots)
                before = float(upto[-1])
            assert last is not None
            yield last.result()

    def _shown_roots(self, tree: ShownTree) -> Roots:
        """The settled and the whole count of every block that is made to be shown."""
        runs = range(tree.runs)
        with Progress("Making counts to be shown", 2 * tree.runs) as progress:

            def each(work: Callable[[int], Any]) -> Any:
                for run in runs:
                    yield work(run)
                    progress.advance(1)

            up = list(each(tree.rise))
            settled = tree.settle_above(*(np.concatenate(part) for part in zip(*up, strict=True)))
            sums = list(each(lambda run: tree.sums(run, settled)))
        return Roots(settled, tree.whole_above(np.concatenate(sums)))

    def write_part(
        self, number: int, first: int, upto: Floats, before: float, roots: Roots | None = None
    ) -> WrittenPart:
        """Writes the part of some cells, from the sums up to each of them.

        `roots` are of the blocks that are made to be shown, if there are any.
        """
        if roots is None or self.shown is None:
            return write_sums(self.store, number, first, upto, before)
        whole, start = self.shown.whole(first, first + len(upto), roots)
        sums = start + np.cumsum(whole)
        return write_sums(self.store, number, first, sums, start, (upto, before))

    def _sums(self, steps: Floats) -> Iterator[tuple[int, Floats]]:
        """The prefix sums of the cells, on the grid that all of them share."""
        if self.slabs.size <= BLOCK:
            ((first, leaves),) = self._leaves(steps, "Writing")
            prefix = np.concatenate([[0.0], leaves])
            sum_on_grid(prefix)
            yield first, prefix[1:]
            return
        sums = RunningSums(BLOCK, cores())
        for _, leaves in self._leaves(steps, "Adding up"):
            sums.add(leaves)
        grid = grid_for(sums.largest)
        again = RunningSums(BLOCK, cores())
        for first, leaves in self._leaves(steps, "Writing"):
            again.round(leaves, again.add(leaves), grid)
            yield first, leaves


def _check_free(place: Path) -> None:
    """Refuses a path at which no folder can be made: that has something, or is a link."""
    taken = place.exists() and (not place.is_dir() or any(place.iterdir()))
    if taken or place.is_symlink():
        raise InputError(f"{place} is there already. Give the path of a new folder.")
