"""A release that is drawn and fitted on a Spark cluster, slab by slab, one stage after the other.

Every slab is a task. Its answers are stored, in a folder that all machines share, before anything
is made of them, and only once: a task that is run again, or twice at a time, reads what the first
one stored. The driver has a few numbers for each block of cells, and never a cell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from trueup._kernels.tree.binary_grid import grid_for
from trueup._kernels.tree.prefix import BLOCK
from trueup._kernels.tree.running_sums import block_steps, block_totals, round_blocks, run_from
from trueup.arrays import Floats
from trueup.errors import FileError
from trueup.files.dataset import FolderPart, WrittenPart
from trueup.scale.job import FolderJob
from trueup.scale.shown import Roots
from trueup.scale.store import ABOVE

Row = Mapping[str, Any]
Own = tuple[str, str]
"""The folder of a release, and the release's id."""


@dataclass(frozen=True)
class SparkStages:
    """The stages of a release on a cluster: each is done slab by slab, in any order, once."""

    job: FolderJob
    session: Any

    @property
    def _own(self) -> Own:
        return str(self.job.to), self.job.facts.id or ""

    # Before any charge.

    def rehearse(self) -> None:
        """Runs a stage that makes nothing: a worker without trueup, or the folder, fails here.

        It has as many tasks as the cluster has cores, so that every worker gets some.
        """
        cores = max(1, int(self.session.sparkContext.defaultParallelism))
        self._each("rehearse", [{} for _ in range(cores)], {})

    # The first stage: the only one that sees data and noise.

    def draw(self, counted: Any) -> bytes:
        """Draws and stores every answer that is not stored yet; what they are, in bytes.

        `counted` is a frame of `cell` and `rows`.
        """
        job, slabs = self.job, self.job.slabs
        if job.named:
            return b""
        with job.store.alone():
            if not job.store.has(ABOVE):
                starts = [slabs.counted(slab)[0] for slab in range(slabs.number)]
                rows = counted.selectExpr("cell", "rows").mapInArrow(
                    lambda batches: _with_slabs(starts, batches), "cell long, rows long, slab long"
                )
                every = self.session.range(slabs.number).selectExpr(
                    "-1L cell", "0L rows", "id slab"
                )
                own, schema = self._own, "slab long, totals binary, sha256 string"
                found = (
                    rows.unionByName(every)  # slabs without a row have answers, too
                    .groupBy("slab")
                    .applyInArrow(lambda table: _drawn(own, table), schema)
                    .collect()
                )
                totals = {row["slab"]: np.frombuffer(row["totals"], np.int64) for row in found}
                job.store.hashes.update({row["slab"]: row["sha256"] for row in found})
                job.draw_above(np.concatenate([totals[slab] for slab in range(slabs.number)]))
            else:
                job.store.hashes.update(self._hashes())
            return job.answered()

    def _hashes(self) -> dict[int, str]:
        found = self._each("hash", [{} for _ in range(self.job.slabs.number)], {"sha256": "string"})
        return {slab: row["sha256"] for slab, row in enumerate(found)}

    # The other stages: from stored answers alone.

    def finish(self, answered: bytes) -> Any:
        """Fits what was drawn, writes the dataset folder, and opens it."""
        return self.job.finish(answered, self._written)

    def _written(self) -> list[WrittenPart]:
        job, slabs = self.job, self.job.slabs
        nothing: list[Row] = [{} for _ in range(slabs.number)]
        up = self._each("rise", nothing, {"roots": "binary", "steps": "binary"})
        roots, steps = (np.concatenate([_floats(row[name]) for row in up]) for name in up[0])
        job.store.keep("steps", job.final_steps(roots, steps))
        self._show()
        summed = self._each("totals", nothing, {"totals": "binary"})
        totals = [_floats(row["totals"]) for row in summed]
        starts = np.cumsum(np.concatenate([[0.0], *totals]))
        ends = np.cumsum([0, *map(len, totals)])
        given: list[Row] = [{"starts": starts[a:b].tobytes()} for a, b in pairwise(ends)]
        ran = self._each("sums", given, {"found": "binary"})
        found = np.concatenate([_floats(row["found"]).reshape(2, -1) for row in ran], axis=1)
        moved, _ = block_steps(found, starts, 0.0)
        grid = grid_for(float((found[1] + np.abs(moved)).max()))
        last = (np.rint((found[0] + moved) * grid) + 0.0) * (1.0 / grid)  # the last of each block
        before = np.concatenate([[0.0], last])
        given = [
            {**row, "moved": moved[a:b].tobytes(), "rest": np.array([grid, before[a]]).tobytes()}
            for row, a, b in zip(given, ends[:-1], ends[1:], strict=True)
        ]
        kinds = {"part": "string", "blocks": "binary", "unbiased": "binary"}
        wrote = self._each("write", given, kinds)
        return [
            WrittenPart(
                FolderPart.from_json(json.loads(row["part"])),
                _floats(row["blocks"]).reshape(-1, 4),
                _floats(row["unbiased"]).reshape(-1, 4) if row["unbiased"] else None,
            )
            for row in wrote
            if row["part"]
        ]

    def _show(self) -> None:
        """Keeps of every block made to be shown its settled and its whole count."""
        store, tree = self.job.store, self.job.shown
        if tree is None:
            return
        nothing: list[Row] = [{} for _ in range(tree.runs)]
        up = self._each("shown up", nothing, {"found": "binary", "variance": "binary"})
        each = (np.concatenate([_floats(row[name]) for row in up]) for name in up[0])
        store.keep("settled", tree.settle_above(*each))
        sums = self._each("shown sums", nothing, {"sums": "binary"})
        whole = tree.whole_above(np.concatenate([_floats(row["sums"]) for row in sums]))
        store.keep("whole", whole)

    def _each(self, stage: str, given: Sequence[Row], kinds: Mapping[str, str]) -> list[Row]:
        """What a stage makes of every slab, in order; `given` has what each slab needs for it."""
        own, names = self._own, sorted(given[0])
        rows = [(slab, *(bytearray(row[name]) for name in names)) for slab, row in enumerate(given)]
        schema = ", ".join(["slab long", *(f"{name} binary" for name in names)])
        frame = self.session.createDataFrame(rows, schema).repartition(len(rows), "slab")
        made = ", ".join(["slab long", *(f"{name} {kind}" for name, kind in kinds.items())])
        found = frame.mapInArrow(lambda batches: _staged(own, stage, batches), made).collect()
        by_slab = {row["slab"]: row.asDict() for row in found}
        return [{name: by_slab[slab][name] for name in kinds} for slab in range(len(rows))]


# On the executors.


@cache
def _job(own: Own) -> FolderJob:
    """The job whose plan is in the folder that all machines share.

    A worker outlives a release. Another one that goes to the same folder has another id, so that
    its noise is never that of the one before.
    """
    found = FolderJob.planned(own[0])
    if found.facts.id != own[1]:
        raise FileError(f"The plan in {found.store.work} is that of another release.")
    return found


def _with_slabs(starts: Sequence[int], batches: Iterator[Any]) -> Iterator[Any]:
    """Rows beside the number of the slab that their cell is in, by the first cells of all slabs."""
    import pyarrow as pa

    for batch in batches:
        cells = batch.column("cell").to_numpy(zero_copy_only=False)
        slabs = np.searchsorted(starts, cells, side="right") - 1
        columns = {name: batch.column(name).cast(pa.int64()) for name in ("cell", "rows")}
        yield pa.RecordBatch.from_pydict({**columns, "slab": slabs.astype(np.int64)})


def _drawn(own: Own, table: Any) -> Any:
    """Stores the answers of a slab, unless they are; the true totals of its blocks."""
    import pyarrow as pa

    job = _job(own)
    slab = table["slab"][0].as_py()
    start, stop = job.slabs.counted(slab)
    cells, rows = (np.array(table[name].to_pylist(), np.int64) for name in ("cell", "rows"))
    counts = np.zeros(stop - start, np.int64)
    inside = (cells >= start) & (cells < stop)
    np.add.at(counts, cells[inside] - start, rows[inside])
    totals = job.draw_slab(slab, counts)
    said = {"slab": slab, "totals": totals.tobytes(), **_hash(job, slab)}
    return pa.table({name: [value] for name, value in said.items()})


def _staged(own: Own, stage: str, batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    job = _job(own)
    for batch in batches:
        for row in batch.to_pylist():
            slab = row.pop("slab")
            made = _STAGES[stage](job, slab, **row)
            columns = {name: [value] for name, value in {"slab": slab, **made}.items()}
            yield pa.RecordBatch.from_pydict(columns)


def _hash(job: FolderJob, slab: int) -> Row:
    return {"sha256": job.store.part(slab, job.slabs.cells(slab)).sha256}


def _rise(job: FolderJob, slab: int) -> Row:
    roots, steps = job.slabs.rise(slab, job.answers(slab))
    return {"roots": roots.tobytes(), "steps": steps.tobytes()}


def _totals(job: FolderJob, slab: int) -> Row:
    _, leaves = job.whole_blocks(slab, job.store.kept("steps"))
    return {"totals": block_totals(leaves, BLOCK, job.slabs.threads).tobytes()}


def _sums(job: FolderJob, slab: int, starts: bytes) -> Row:
    _, leaves = job.whole_blocks(slab, job.store.kept("steps"))
    return {"found": run_from(leaves, BLOCK, _floats(starts), job.slabs.threads).tobytes()}


def _shown_up(job: FolderJob, run: int) -> Row:
    assert job.shown is not None
    found, variance = job.shown.rise(run)
    return {"found": found.tobytes(), "variance": variance.tobytes()}


def _shown_sums(job: FolderJob, run: int) -> Row:
    assert job.shown is not None
    return {"sums": job.shown.sums(run, job.store.kept("settled")).tobytes()}


def _write(job: FolderJob, slab: int, starts: bytes, moved: bytes, rest: bytes) -> Row:
    first, leaves = job.whole_blocks(slab, job.store.kept("steps"))
    if not len(leaves):
        return {"part": "", "blocks": b"", "unbiased": b""}
    grid, before = _floats(rest).tolist()
    run_from(leaves, BLOCK, _floats(starts), job.slabs.threads)
    round_blocks(leaves, BLOCK, _floats(moved), grid, job.slabs.threads)
    roots = None
    if job.shown is not None:
        roots = Roots(job.store.kept("settled"), job.store.kept("whole", "int64"))
    wrote = job.write_part(slab, first, leaves, before, roots)
    beside = b"" if wrote.unbiased is None else wrote.unbiased.tobytes()
    said = json.dumps(wrote.part.to_json())
    return {"part": said, "blocks": wrote.blocks.tobytes(), "unbiased": beside}


_STAGES: dict[str, Callable[..., Row]] = {
    "rehearse": lambda job, slab: {},
    "hash": _hash,
    "rise": _rise,
    "totals": _totals,
    "sums": _sums,
    "shown up": _shown_up,
    "shown sums": _shown_sums,
    "write": _write,
}


def _floats(data: bytes) -> Floats:
    return np.frombuffer(data, np.float64)
