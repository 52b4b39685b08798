"""Rows: synthetic microdata whose tabulations are the published counts."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trueup._kernels.display.boxes import cells_of
from trueup._kernels.rows.attach import Cells, alone
from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.axis.inside import invented, label_values, values_inside
from trueup.errors import FileError, InputError, shown
from trueup.facts import LEAST_SQUARES, Facts
from trueup.files.atomic import write_whole
from trueup.release.joint import largest_margins, row_cells
from trueup.release.published import in_library

if TYPE_CHECKING:
    from trueup.release.cells import Release

Inside = Literal["uniform", "middle"]

MOST_ROWS = 1 << 30
_BATCH = 1 << 20
_ENDINGS = (".parquet", ".csv", ".arrow")


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Synthetic rows: a table that anyone can feed to their own tools, whose sums are published.

    No row is a person. Every tabulation over axes that were published together equals the
    published whole counts with `==`; `report` says what was measured and what was invented. The
    same release gives the same rows, and rows cost nothing.
    """

    axes: tuple[Axis, ...]
    cells: tuple[Cells, ...]
    inside: Inside
    facts: Facts
    report: dict[str, Any]
    key: int

    def __len__(self) -> int:
        return len(self.cells[0]) if self.cells else 0

    def tabulate(self, *names: str) -> Ints:
        """How many rows lie in each cell of these axes; of all axes if none is named."""
        known = [axis.name for axis in self.axes]
        for name in names:
            if name not in known:
                raise InputError(f"The rows have no axis {name!r}. Axes: {', '.join(known)}.")
        own = [known.index(name) for name in names or known]
        sizes = [self.axes[n].size for n in own]
        flat = np.ravel_multi_index(tuple(self.cells[n] for n in own), tuple(sizes))
        return np.bincount(flat, minlength=int(np.prod(sizes))).reshape(sizes).astype(np.int64)

    def to_frame(self, library: str = "pyarrow") -> Any:
        """The rows as a table of pyarrow, pandas or Polars: a column for each axis."""
        import pyarrow as pa

        return in_library(pa.Table.from_batches(self.batches(), self._schema), library)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_frame().__arrow_c_stream__(requested_schema)

    def batches(self) -> Iterator[Any]:
        """The rows as batches of Arrow, a million each."""
        import pyarrow as pa

        for number, start in enumerate(range(0, len(self), _BATCH)):
            columns = []
            for place, (axis, cells) in enumerate(zip(self.axes, self.cells, strict=True)):
                draws = None
                if self.inside == "uniform":
                    draws = np.random.Generator(np.random.SFC64([self.key, number, place]))
                columns.append(
                    values_inside(axis, cells[start : start + _BATCH].astype(np.int64), draws)
                )
            yield pa.RecordBatch.from_arrays(columns, schema=self._schema)

    @cached_property
    def _schema(self) -> Any:
        import pyarrow as pa

        none = np.zeros(0, np.int64)
        kinds = [(axis.name, values_inside(axis, none, None).type) for axis in self.axes]
        said = {"synthetic": self.stamp, "trueup rows": json.dumps(self.report, ensure_ascii=False)}
        return pa.schema(kinds, metadata=said)

    @property
    def stamp(self) -> str:
        """What is said of the rows wherever they go: synthetic, from what, at what cost."""
        ids = ", ".join(self.facts.measured) or "without an id"
        cost = self.facts.cost if self.facts.epsilon or self.facts.rho else "of unknown cost"
        return f"synthetic: no row is a person; from the release {ids}, {cost}{self.facts.stamp}"

    def save(self, path: str | Path) -> None:
        """Writes .parquet, .csv or .arrow, and the report beside it as .report.json.

        In a CSV file a column `synthetic` says what the rows are, for it has no other place.
        """
        target = Path(path) if isinstance(path, (str, os.PathLike)) else None
        if target is None or target.suffix not in _ENDINGS:
            given = str(path) if target is not None else path
            raise InputError(f"Rows go to a .parquet, .csv or .arrow file, got {shown(given)}.")
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            self._write(draft, target.suffix)
            os.replace(draft, target)
            said = json.dumps(self.report, indent=2, ensure_ascii=False) + "\n"
            write_whole(target.with_name(f"{target.stem}.report.json"), said.encode(), 0o666)
        except OSError as wrong:
            raise FileError(f"Cannot write {target}: {wrong.strerror or wrong}.") from None
        finally:
            draft.unlink(missing_ok=True)

    def _write(self, draft: Path, ending: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq
        from pyarrow import csv

        if ending == ".csv":
            plain = pa.schema([*self._plain, pa.field("synthetic", pa.string())])
            with csv.CSVWriter(draft, plain) as writer:
                for batch in self.batches():
                    stamped = pa.array(np.zeros(len(batch), np.int8))
                    marks = pa.DictionaryArray.from_arrays(stamped, pa.array([self.stamp]))
                    columns = [
                        column.cast(field.type)
                        for column, field in zip([*batch.columns, marks], plain, strict=True)
                    ]
                    writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=plain))
            return
        opened = (
            pa.ipc.new_file(str(draft), self._schema)
            if ending == ".arrow"
            else pq.ParquetWriter(
                draft,
                self._schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=[axis.name for axis in self.axes if not invented(axis)],
            )
        )
        with opened as writer:
            for batch in self.batches():
                writer.write_batch(batch)

    @property
    def _plain(self) -> list[Any]:
        """The columns without dictionaries, which CSV has none of."""
        import pyarrow as pa

        kinds = [(field.name, field.type) for field in self._schema]
        return [
            pa.field(name, kind.value_type if pa.types.is_dictionary(kind) else kind)
            for name, kind in kinds
        ]

    def __repr__(self) -> str:
        names = ", ".join(axis.name for axis in self.axes)
        names = names if len(names) <= 60 else f"{names[:57]}…"
        return (
            f"<Rows{self.facts.stamp}: {len(self):,} synthetic rows of {names}, {self.facts.cost}>"
        )


def rows_of(release: Release, inside: object) -> Rows:
    """The rows of a release; refused where its counts are not whole, or below zero."""
    if inside not in ("uniform", "middle"):
        raise InputError(f'inside must be "uniform" or "middle", got {shown(inside)}.')
    whole = release.prefix.dtype.kind == "i"
    if not whole or cells_of(release.prefix).min() < 0:
        raise InputError(
            f"Rows need whole counts that are never negative, and these are "
            f"{release.facts.how_inferred or LEAST_SQUARES}. Infer the measurement with "
            f"infer(m, nonnegative=True, integers=True)."
        )
    total = int(release.prefix[(-1,) * len(release.axes)])
    if total > MOST_ROWS:
        raise InputError(
            f"The release counts {total:,} records; rows() makes {MOST_ROWS:,} at most."
        )
    for axis in release.axes:
        if axis.traits.labelled:
            label_values(axis)  # refuses labels that no column can tell apart
    key = _key(release)
    cells, cycle = row_cells(release, np.random.Generator(np.random.SFC64([key])))
    axes = tuple(axis for axis in release.axes if axis.name in cells)
    kept = tuple(cells[axis.name] for axis in axes)
    report = _report(release, axes, kept, cycle, str(inside))
    return Rows(axes, kept, inside, release.facts, report, key)


def _key(release: Release) -> int:
    """A number that follows from the counts alone: the same release gives the same rows."""
    told = hashlib.sha256(np.ascontiguousarray(release.prefix).data)
    told.update(json.dumps([axis.to_json() for axis in release.axes]).encode())
    return int.from_bytes(told.digest()[:16], "big")


def _report(
    release: Release,
    axes: tuple[Axis, ...],
    cells: tuple[Cells, ...],
    cycle: list[str],
    inside: str,
) -> dict[str, Any]:
    """What was measured and what was invented."""
    names = [axis.name for axis in axes]
    margins = [sorted(each, key=names.index) for each in largest_margins(release.asked)] or [names]
    together = {pair for margin in margins for pair in itertools.combinations(margin, 2)}
    apart = [list(pair) for pair in itertools.combinations(names, 2) if pair not in together]
    made = [axis.name for axis in axes if invented(axis)]
    facts = release.facts
    unique = alone(list(cells), [axis.size for axis in axes])
    return {
        "synthetic": True,
        "rows": len(cells[0]) if cells else 0,
        "source": {
            "ids": list(facts.measured),
            "epsilon": None if facts.epsilon is None else str(facts.epsilon),
            "rho": None if facts.rho is None else str(facts.rho),
            "unit": facts.unit,
            "private": facts.private,
            "inferred": facts.inferred,
        },
        "cost": "none: rows are made from what was published",
        "measured": margins,
        "distance": [_distance(release, margin) for margin in margins],
        "invented": {
            "inside cells": {"columns": made, "values": inside},
            "pairs never measured together": apart,
            "combinations": _combinations(margins, cycle),
            "order of rows": "random",
        },
        "left out": [axis.name for axis in release.axes if axis.name not in names],
        "unique combinations": unique,
        "safe": [
            "counts, shares and sums over " + "; ".join(" × ".join(m) for m in margins)
            + ": they are the published ones; take their errors from the release",
        ],
        "unsafe": [
            "looking for a person: no row is one, and a unique combination says nothing",
            "counting distinct or unique combinations",
            "errors computed from the rows as if they were a sample",
            *(["values inside cells of " + ", ".join(made)] if made else []),
            *(["correlations between pairs never measured together"] if apart else []),
        ],
    }  # fmt: skip


def _combinations(margins: list[list[str]], cycle: list[str]) -> str:
    if len(margins) == 1:
        return "none: all columns were measured together"
    if cycle:
        return (
            f"the margins {', '.join(cycle)} form a cycle: a table with exactly these margins, "
            f"moved at random towards the largest entropy"
        )
    return "given the columns that margins share, the others are independent: the largest entropy"


def _distance(release: Release, margin: list[str]) -> dict[str, Any]:
    """How far the whole counts of a margin are from the unbiased ones that were fitted."""
    own = release if len(margin) == len(release.axes) else release.margin(*margin)
    far = np.abs(own.counts() - own.unbiased.counts())
    return {"margin": margin, "largest": float(far.max()), "mean": float(far.mean())}
