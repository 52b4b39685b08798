"""A table of many trees side by side, made line by line: every block of a nation by attribute.

The question is the product of the cells of one axis and a tree over another. Its least-squares
solution goes line by line, a tree for each cell of the first axis. A line is counted, noised and
stored, then fitted and written; a few lines are in memory at a time, never the table.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trueup._kernels.noise.bits import one_measurement
from trueup._kernels.threads import cores
from trueup._kernels.tree.binary_grid import grid_for
from trueup._kernels.tree.prefix import prefix_on_grid
from trueup.arrays import Floats, Ints
from trueup.ask import TreeCounts
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.files.dataset import MANIFEST, FolderPart, WrittenPart
from trueup.files.parts import BYTES_A_CELL
from trueup.infer.display import Wish
from trueup.infer.model import axis_model
from trueup.infer.tree import by_node
from trueup.infer.unions import tree_of_lines
from trueup.intervaltree.readable import large_first_cells, whole_cells
from trueup.measure import sampler_of
from trueup.noise import Noise
from trueup.saved import load
from trueup.scale.job import Count, FolderJob
from trueup.scale.progress import Progress
from trueup.scale.written import described, write_sums

Add = Callable[[int, Ints], None]
"""Adds noise to the true answers of a line, in place."""

MOST_NODES = 1 << 25  # of the tree: a line of it takes some 100 bytes a node
_SHOWN = Wish(True, True, method="large-first")


@dataclass(frozen=True)
class TableJob:
    """A table on its way to a folder: every line drawn once, then fitted and written."""

    job: FolderJob

    @staticmethod
    def open(
        to: object, facts: Facts, key: str | None = None, ledger: str = "", shown: bool = False
    ) -> TableJob:
        """The job of a release: begun, or gone on with where a crash left it.

        All that can be wrong is found here, before anything is charged or drawn. If it is `shown`,
        counts are made non-negative and whole; the unbiased ones then stand beside them.
        """
        facts = facts.made(_SHOWN.words if shown else LEAST_SQUARES)
        return TableJob(FolderJob.open(to, facts, key, ledger, TableJob._checked))

    @property
    def shown(self) -> bool:
        """Whether its counts are made to be shown."""
        return self.job.facts.inferred != LEAST_SQUARES

    @staticmethod
    def _checked(job: FolderJob) -> None:
        made = TableJob(job)
        job.facts.noise.check_scales()
        if made.tree.shape.level_starts[-1] > MOST_NODES:
            raise InputError(
                f"The tree has {int(made.tree.shape.level_starts[-1]):,} nodes; a table goes to a "
                f"folder line by line, with at most {MOST_NODES:,} nodes in memory."
            )
        job.store.check_room(made.need)

    @property
    def key(self) -> str:
        """The key of the charge."""
        return self.job.key

    @property
    def sampling(self) -> str:
        """The key by which rows of a unit are chosen."""
        return self.job.sampling

    @property
    def spreads(self) -> bool:
        """Whether it is made on a cluster: it never is."""
        return False

    def give_up(self) -> None:
        """Deletes what was begun, if nothing was drawn yet and no other process is at work."""
        self.job.give_up()

    def forget(self) -> None:
        """Deletes the plan that this call made."""
        self.job.forget()

    @property
    def noise(self) -> Noise:
        """The noise of the whole table."""
        return self.job.facts.noise

    @cached_property
    def tree(self) -> TreeCounts:
        """The tree of every line."""
        found = tree_of_lines(self.noise.question)
        assert found is not None
        return found

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return self.noise.question.size // self.tree.size

    @property
    def need(self) -> int:
        """The bytes of disk that it takes."""
        each = BYTES_A_CELL + 16 * self.shown
        return 8 * self.noise.question.length + each * self.noise.question.size

    def cells(self, line: int) -> tuple[int, int]:
        """The cells [start, stop) of a line."""
        return line * self.tree.size, (line + 1) * self.tree.size

    def windows(self, most: int) -> list[tuple[int, int]]:
        """The cells [start, stop) of lines that are counted together, at most so many cells."""
        step = max(1, most // self.tree.size)
        first = range(0, self.lines, step)
        return [(self.cells(a)[0], self.cells(min(a + step, self.lines) - 1)[1]) for a in first]

    # The first pass: the only one that sees data and noise.

    def draw(self, count: Count, window: int, add: Add | None = None) -> bytes:
        """Counts, draws and stores every answer that is not stored yet; what they are, in bytes."""
        if self.job.named:
            return b""
        add = self._noised if add is None else add
        words = f"Counting and drawing, {self.need / 1e9:,.1f} GB of disk"
        store, size = self.job.store, self.tree.size
        with store.alone(), Progress(words, self.noise.question.size) as progress:
            if not all(store.has(line) for line in range(self.lines)):
                for start, stop in self.windows(window):
                    table = count(start, stop).reshape(-1, size)
                    for line, cells in enumerate(table, start // size):
                        self._draw_line(line, cells, add)
                        progress.advance(size)
            return self._answered()

    def _draw_line(self, line: int, cells: Ints, add: Add) -> None:
        """Stores the answers of a line, if there are none."""
        store = self.job.store
        store.seen(line, cells, self.job.salt)
        if not store.has(line):
            answers = self.tree.answers(cells)
            add(line, answers)
            store.put(line, answers)

    def _noised(self, line: int, answers: Ints) -> None:
        lengths = self.tree.block_lengths
        with one_measurement():
            sampler_of(self.noise).add_noise_blocks(answers, lengths, self.noise.scales)

    def _answered(self) -> bytes:
        store = self.job.store
        parts = [store.part(line, self.cells(line)) for line in range(self.lines)]
        said = {"id": self.job.facts.id, "answers": [part.to_json() for part in parts]}
        return json.dumps(said).encode()

    # The second pass: from stored answers alone.

    def finish(self, answered: bytes) -> Any:
        """Fits what was drawn, writes the dataset folder, and opens it."""
        job, store = self.job, self.job.store
        if job.named:
            store.delete()
            return load(job.to)
        answers = [FolderPart.from_json(one) for one in json.loads(answered)["answers"]]
        with store.alone():
            job.check_answers(answers)
            wrote = list(self._written())
            parts = [each.part for each in wrote]
            files = described(store, job.facts, wrote, answers)
            store.finish(job.to, {MANIFEST, *(each.file for each in (*parts, *answers, *files))})
        return load(job.to)

    @cached_property
    def _line(self) -> Any:
        """Least squares along a line, as the table in memory is fitted."""
        return axis_model(Noise.of_unit(self.tree)).line

    def _answers(self, line: int) -> Ints:
        return self.job.store.answers(line, self.tree.length)

    def _prefix(self, line: int) -> Floats:
        """The running sums of a line's least-squares cells, on a grid of its own."""
        noisy = self._answers(line).astype(np.float64)
        return prefix_on_grid(self._line.fit_lines(noisy[None])[0])

    def _shown_cells(self, line: int) -> Ints:
        """The cells of a line, large counts first: non-negative, whole, adding up."""
        shape, weights = self.tree.shape, self.noise.relative_weights
        nodes = by_node(shape, self.tree.asked, weights, self._answers(line))
        unit = min(self.noise.variances) ** 0.5
        return whole_cells(shape, large_first_cells(shape, *nodes, unit), True)

    def _each_line(self, words: str, make: Callable[[int], Any]) -> Iterator[Any]:
        """What is made of every line, in order; a few at a time."""
        waiting = deque[Future[Any]]()
        with (
            Progress(words, self.noise.question.size) as progress,
            ThreadPoolExecutor(cores()) as pool,
        ):
            for line in range(self.lines + cores()):
                if line < self.lines:
                    waiting.append(pool.submit(make, line))
                if line >= cores():
                    yield waiting.popleft().result()
                    progress.advance(self.tree.size)

    def _written(self) -> Iterator[WrittenPart]:
        """Writes the part of every line: its unbiased counts and, if wanted, those to be shown."""

        def measured(line: int) -> tuple[float, float]:
            prefix = self._prefix(line)
            return float(np.abs(prefix).max()), float(prefix[-1])

        found = list(self._each_line("Fitting", measured))
        # A box is a difference of two sums on each of its lines: all of these together are exact.
        grid = grid_for(4 * sum(largest for largest, _ in found))
        totals = np.rint(np.array([total for _, total in found]) * grid) / grid
        before = np.concatenate([[0.0], np.cumsum(totals)])

        def sums(line: int) -> tuple[Floats, Ints | None]:
            prefix = np.rint(self._prefix(line) * grid) / grid + before[line]
            return prefix, self._shown_cells(line) if self.shown else None

        total = 0
        for line, (prefix, cells) in enumerate(self._each_line("Writing", sums)):
            first, upto, start = self.cells(line)[0], prefix[1:], float(prefix[0])
            if cells is None:
                yield write_sums(self.job.store, line, first, upto, start)
            else:
                whole = total + np.cumsum(cells)
                yield write_sums(self.job.store, line, first, whole, total, (upto, start))
                total = int(whole[-1])
