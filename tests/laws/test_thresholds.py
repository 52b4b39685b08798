"""Law: what lies on either side of a threshold in the code is the same.

`thresholds.py` lists them all; a number that decides a path and is not there fails. Those whose two
sides should agree bit for bit are moved, one at a time, across what is asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup._kernels import compiled
from trueup._kernels.display import rounding
from trueup._kernels.noise import laplace
from trueup._kernels.noise.laplace_tables import tables
from trueup._kernels.tree import prefix as sums
from trueup._kernels.tree import regular_fit
from trueup.axis import bins
from trueup.infer import axis_model, least_squares, tree
from trueup.owner import placing, tally
from trueup.paper.noise import measure_for_experiment

from .thresholds import THRESHOLDS

SOURCE = Path(tu.__file__).parent
LEFT_OUT = ("paper", "pictures", "cli", "demo.py", "client.py", "audit")  # no data, or none of ours


def numbers_of(path: Path) -> set[str]:
    """The names of module constants that are plain numbers."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = getattr(node.value, "elts", None) or [node.value]
            for name, value in zip(names, values, strict=False):
                if isinstance(name, ast.Name) and _is_number(value):
                    found.add(name.id)
    return found


def _is_number(value: ast.expr | None) -> bool:
    allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.operator, ast.unaryop)
    parts = list(ast.walk(value)) if value is not None else [ast.Pass()]
    if any(isinstance(part, ast.Call) and ast.unparse(part.func) != "Fraction" for part in parts):
        return False
    numbers = [part for part in parts if isinstance(part, ast.Constant)]
    plain = all(type(part.value) in (int, float) for part in numbers)
    return (
        bool(numbers) and plain and all(isinstance(p, (*allowed, ast.expr_context)) for p in parts)
    )


def compared() -> Iterator[tuple[str, str]]:
    """Constants that some comparison looks at: the file that defines each, and its name."""
    defined: dict[str, list[str]] = {}
    paths = [
        path
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in LEFT_OUT
    ]
    for path in paths:
        for name in numbers_of(path):
            defined.setdefault(name, []).append(path.relative_to(SOURCE).as_posix())
    for path in paths:
        own = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Compare):
                continue
            for part in ast.walk(node):
                name = getattr(part, "id", getattr(part, "attr", ""))
                if not name.strip("_").isupper() or len(name.strip("_")) < 3:
                    continue
                homes = defined.get(name, [])
                if own in homes:
                    yield own, name
                elif len(homes) == 1:
                    yield homes[0], name


def test_every_threshold_of_the_code_is_listed() -> None:
    found = {f"{file}:{name}" for file, name in compared()}
    state = {"_kernels/cells/fields.py", "_kernels/hats/hat_tables.py", "axis/dates.py:_NONE"}
    state |= {"intervaltree/worst_range.py:_FULL", "owner/plain.py:UNKNOWN_TIME"}
    state |= {
        "axis/dates.py:UNKNOWN_TIME",
        "owner/stores/sqlite.py:APPLICATION",
        "owner/stores/postgres_server.py:_IDLE",
        "owner/account.py:_READ",
    }
    state |= {"server/file_store.py:_APPLICATION", "_kernels/noise/inversion.py:OPEN"}
    missing = {
        one for one in found if one not in THRESHOLDS and not {one, one.partition(":")[0]} & state
    }
    assert not missing, f"list these in tests/laws/thresholds.py, with their law: {sorted(missing)}"
    assert len(found) > 60


def test_what_is_listed_is_there() -> None:
    for entry, law in THRESHOLDS.items():
        file, name = entry.split(":")
        assert (SOURCE / file).exists(), entry
        assert name in (SOURCE / file).read_text(), entry
        if law.startswith("tests/"):
            assert (SOURCE.parents[1] / law.split(":")[0].split(" ")[0]).exists(), law


@pytest.mark.parametrize("size", [9, 64, 300])
def test_trees_are_fitted_alike_below_and_above(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    question = tu.TreeCounts(size, radices=(4, 3, 30), shares=("1/10", "2/5", "1/5", "3/10"))
    measured = measure_for_experiment(np.arange(size), question, 1, seed=2)
    found = []
    for many in (1, 1 << 30):
        monkeypatch.setattr(tree, "_MANY_CELLS", many)
        monkeypatch.setattr(regular_fit, "MANY", many)
        monkeypatch.setattr(sums, "BLOCK", 16 if many == 1 else 1 << 30)
        release = tu.infer(measured)
        shown = tu.infer(measured, nonnegative=True, integers=True)
        cells = axis_model(measured.noise).fit(measured.noisy)
        found.append((release.prefix, shown.unbiased.prefix, release.counts(), cells))
    for low, high in zip(*found, strict=True):
        assert np.allclose(low, high, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("length", [1, 15, 16, 17, 100])
def test_sums_of_blocks_are_sums(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(length).normal(0, 100, length)
    plain = sums.prefix_on_grid(values)
    monkeypatch.setattr(sums, "BLOCK", 16)
    assert np.allclose(sums.prefix_on_grid(values), plain, rtol=0, atol=1e-9)
    assert np.allclose(plain, np.concatenate([[0], np.cumsum(values)]), atol=1e-9)


def test_least_squares_of_any_size_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    question = tu.HatCounts(60, [3, 6])
    measured = measure_for_experiment(np.arange(60), question, 1, seed=2)
    starts, stops = np.array([0, 5, 7]), np.array([60, 6, 40])
    found = []
    for dense in (1, 1 << 20):
        monkeypatch.setattr(least_squares, "_DENSE", dense)
        release = tu.infer(measured)
        found.append((release.counts(), release.errors.range_variances(starts, stops)))
    for low, high in zip(*found, strict=True):
        assert np.allclose(low, high, rtol=1e-6)


@pytest.mark.parametrize("children", [63, 64, 65, 200])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_few_and_many_children_are_rounded_by_one_rule(children: int, nonnegative: bool) -> None:
    """Every child its floor or one more, the ones more to the largest fractions; none below 0."""
    rng = np.random.default_rng(children)
    for _ in range(20):
        values = rng.exponential(0.7, children) if nonnegative else rng.normal(0, 2, children)
        total = int(np.floor(values.sum() + 0.5))
        first = np.array([1, *[children + 1] * (children + 1)])
        whole = rounding.whole_numbers(first, np.append(values.sum(), values), total, nonnegative)
        floors, fractions = np.floor(values), values - np.floor(values)
        assert whole[0] == total == whole[1:].sum()
        up = whole[1:] > floors
        assert ((whole[1:] == floors) | (whole[1:] == floors + 1)).all()
        if up.any() and not up.all():
            assert fractions[up].min() >= fractions[~up].max()
        assert whole.min() >= 0 or not nonnegative


@pytest.mark.parametrize("children", [63, 65, 200])
def test_a_unit_too_many_is_taken_from_a_child_that_has_one(children: int) -> None:
    """Values a hair below 1 are 1, one more than the total holds: no empty child pays for it."""
    half = children // 2
    values = np.append(np.zeros(half), np.full(children - half, 1 - 4e-10))
    first = np.array([1, *[children + 1] * (children + 1)])
    total = children - half - 1
    whole = rounding.whole_numbers(first, np.append(values.sum(), values), total, True)
    assert whole[1:].sum() == total
    assert whole.min() >= 0


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_values_are_placed_alike_by_compiled_code(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    axis = tu.Axis.regular("x", -1, 2, bins=7)
    rng = np.random.default_rng(rows)
    edges = axis.edges_at(np.arange(8)) if hasattr(axis, "edges_at") else np.linspace(-1, 2, 8)
    near = np.concatenate(
        [np.asarray(edges, float), np.nextafter(edges, 9), np.nextafter(edges, -9)]
    )
    values = np.concatenate([rng.uniform(-2, 3, rows), near, [np.nan, np.inf, -np.inf, 0.0, -0.0]])
    found = []
    monkeypatch.setattr(compiled, "WORTH_ELEMENTS", 0)
    for many in (1, 1 << 30):
        monkeypatch.setattr(bins, "COMPILED", many)
        monkeypatch.setattr(placing, "COMPILED", many)
        cells = axis.place(values)
        counts = placing.CellTally(7)
        counts.add(np.concatenate([cells, [-1, 7, 8, -(1 << 62)]]))
        found.append((cells.tolist(), counts.cells.tolist()))
    assert found[0] == found[1]
    assert found[0][1] == np.histogram(values[values < 2], np.asarray(edges, float))[0].tolist()


def test_names_are_counted_alike_in_small_parts_and_large(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    names = {
        "unit": pa.array([f"{k}".encode() for k in rng.integers(0, 9, 500)], pa.large_binary()),
        "value": pa.array(rng.integers(0, 30, 500)),
    }
    found = []
    for at_once, short in ((3, 0), (1 << 20, 1 << 30)):
        monkeypatch.setattr(tally, "_AT_ONCE", at_once)
        monkeypatch.setattr(tally, "_SHORT", short)
        counted = tally.Tally()
        for begin in range(0, 500, 50):
            counted.add({name: column.slice(begin, 50) for name, column in names.items()})
        table = tally.bounded(counted.table, 7, "ab")
        rows = zip(*(table[name].to_pylist() for name in ("unit", "value", "rows")), strict=True)
        found.append(sorted(rows))
    assert found[0] == found[1]
    per_unit: dict[Any, int] = {}
    for unit, _, rows in found[0]:
        per_unit[unit] = per_unit.get(unit, 0) + rows
    assert set(per_unit.values()) == {7}


@pytest.mark.parametrize("scale", ["1/3", "47", "1000", "1000000"])
def test_a_batch_of_the_sampler_more_or_less_is_the_same_noise(
    scale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch is drawn from bits of its own: two short batches are two draws of that size."""
    from fractions import Fraction

    law = tables(Fraction(scale))

    def drawn(sizes: list[int], batch: int) -> list[int]:
        stream = np.random.default_rng(9)

        def bits(buffer: np.ndarray) -> None:
            buffer[:] = np.frombuffer(stream.bytes(len(buffer)), np.uint8)

        monkeypatch.setattr(laplace, "BATCH", batch)
        found = []
        for size in sizes:
            values = np.zeros(size, np.int64)
            laplace.sample_into(values, law, bits)
            found += values.tolist()
        return found

    assert drawn([256], 64) == drawn([64] * 4, 1 << 17)
