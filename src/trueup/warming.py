"""Warming: every kernel compiled ahead, so that nobody waits for one later."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from trueup._kernels.beside import beside
from trueup._kernels.compiled import machine_code_only
from trueup.ask import CellCounts, GridCounts, HatCounts, SortedCounts, TreeCounts, WaveletCounts
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.facts import Facts
from trueup.infer import infer
from trueup.infer.display import METHODS
from trueup.measure import measure
from trueup.plan import plan

__all__ = ["families", "machine_code_only", "warm"]

Family = tuple[str, Callable[[], object]]

_MANY = 1 << 17  # cells of a tree that is fitted in blocks
_LATER = ("intervals", "sorted counts", "plans")  # half of the work: a second process does it
_PATIENCE = 600.0  # seconds
_CELLS = Axis.integers("x", 0, 63)


def families() -> Iterator[Family]:
    """The kernels by what they do: a name, and work that calls them all."""
    yield "noise", _noise
    yield "trees", _trees
    yield "adaptive trees", _adaptive_trees
    yield "hats", _hats
    yield "counts to be shown", _shown
    yield "large trees", _large_trees
    yield "several axes", _several
    yield "reading tables", _tables
    yield "intervals", _intervals
    yield "sorted counts", _sorted
    yield "plans", lambda: plan(_CELLS, 1)


def warm(
    told: Callable[[str], object] = lambda _: None, only: Collection[str] | None = None
) -> None:
    """Compiles every kernel, family by family, and keeps the code on disk where that can be.

    `only` names the families to compile; without it, all are, by two processes.
    """
    known = dict(families())
    for name in only or ():
        if name not in known:
            raise InputError(
                f"There is no family of kernels {name!r}. Choose from: {', '.join(known)}."
            )
    machine_code_only()
    command = f"from trueup.warming import warm; warm(only={_LATER})"
    with nullcontext() if only else beside(command, _PATIENCE):
        for name, work in known.items():
            if name in (only or set(known) - set(_LATER)):
                told(name)
                work()
    for name in () if only else _LATER:  # on disk by now, or compiled here
        told(name)
        known[name]()


def _noise() -> None:
    from trueup._kernels.noise.laplace import draw

    for scale in (1, 100, 10**6):
        draw(8, scale)


def _trees() -> None:
    nothing = np.zeros(64, np.int64)
    for question in (CellCounts(_CELLS), TreeCounts(_CELLS, 2), WaveletCounts(_CELLS)):
        infer(measure(nothing, question, 1))
    infer(measure(np.zeros(_MANY, np.int64), TreeCounts(_MANY, 2), 1))


def _adaptive_trees() -> None:
    question = TreeCounts(_CELLS, 4, root=False, adaptive=True)
    full, empty = np.full(64, 10**6), np.zeros(64, np.int64)
    for counted in (full, empty, np.where(np.arange(64) < 16, full, empty)):
        found = infer(measure(counted, question, 1), nonnegative=True, integers=True)
        found.range(3, 40).interval(0.95)
        found.unbiased.std_errors()


def _hats() -> None:
    found = infer(measure(np.zeros(64, np.int64), HatCounts(_CELLS), 1))
    found.range(3, 40).interval(0.95)


def _shown() -> None:
    counted = np.arange(64)
    measured = measure(counted, TreeCounts(_CELLS, 2), "1/10")
    for method in METHODS:
        infer(measured, nonnegative=True, integers=True, method=method)
    infer(measure(counted, HatCounts(_CELLS), 1), nonnegative=True, integers=True)


def _intervals() -> None:
    found = infer(measure(np.zeros(64, np.int64), TreeCounts(_CELLS, 4), 1))
    many = np.resize(np.arange(60), 2000)
    found.intervals(many, many + 3, 0.95)
    found.range(3, 40).interval(0.95)


def _large_trees() -> None:
    from trueup._kernels.tree.running_sums import block_totals
    from trueup.onepass import release_in_one_pass

    question = TreeCounts(_MANY, 16)
    facts = Facts.of(question, 1, "add-remove", "row", 1)
    release_in_one_pass(np.zeros(_MANY, np.int64), facts, threads=1)
    block_totals(np.zeros(64), 16, threads=1)  # which only two threads that meet call otherwise


def _several() -> None:
    other = Axis.integers("y", 0, 15)
    grid = GridCounts(TreeCounts(_CELLS, 4), HatCounts(other))
    infer(measure(np.zeros(64 * 16, np.int64), grid, 1), nonnegative=True, integers=True)


def _sorted() -> None:
    counted = np.arange(200) % 37
    release = infer(measure(counted, SortedCounts(200), 1))
    release.band(0.95)
    infer(measure(counted, SortedCounts(200, adaptive=False), 1)).band(0.95)
    infer(measure(counted, SortedCounts(200, ends=2), 1), graphical=True)


def _tables() -> None:
    from trueup.publishing import publish

    rows = np.linspace(0, 1, 1 << 15)
    Axis.regular("x", 0, 1, 64).count(rows)
    with tempfile.TemporaryDirectory() as folder:
        from trueup.owner.columns import Columns
        from trueup.owner.request import Request
        from trueup.owner.source import open_source

        path = Path(folder) / "rows.csv"
        path.write_text("x\n" + "7\n" * (1 << 15))
        source = open_source(str(path))
        wanted = Columns(source.schema, None).counted(_CELLS, "value")
        source.prepare(Request(64, (wanted,), (_CELLS,)))()
    publish(rows, Axis.regular("x", 0, 1, 64), 1)
    _texts()


def _texts() -> None:
    import pyarrow as pa

    from trueup.owner.texts import TextTable

    table = TextTable()
    table.add(pa.array([str(number).encode() for number in range(1 << 12)], pa.binary()))
    table.whole()
