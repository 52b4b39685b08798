"""Quantiles of counts on the disk are those of the same counts in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup._kernels.sorted.isotonic import isotonic
from trueup.facts import Facts
from trueup.files import dataset, parts
from trueup.release import Release, rising
from trueup.release.distribution import RisingInMemory
from trueup.release.distribution import rising as in_memory
from trueup.release.rising import BlockedRun, on_disk
from trueup.scale import FolderJob, job


def blocked(values: Any, width: int) -> tuple[BlockedRun, list[int]]:
    """The numbers in blocks of a width, and the numbers of the blocks that were read."""
    cuts, was_read = np.arange(0, len(values), width), list[int]()
    before = np.concatenate([[0.0], values[cuts[1:] - 1]])
    lengths = np.diff(np.append(cuts, len(values)))

    def read(block: int) -> Any:
        was_read.append(block)
        return values[cuts[block] : cuts[block] + lengths[block]]

    run = BlockedRun(
        lengths,
        before,
        np.add.reduceat(values - np.repeat(before, lengths), cuts),
        np.minimum.reduceat(values, cuts),
        np.maximum.reduceat(values, cuts),
        read,
    )
    return run, was_read


def nested(values: Any, width: int, wide: int) -> tuple[BlockedRun, list[int]]:
    """As `blocked`, these blocks being in larger ones, so many in each."""
    large, _ = blocked(values, width * wide)
    was_read = list[int]()

    def read(block: int) -> BlockedRun:
        first = block * width * wide
        small, _ = blocked(values[first : first + width * wide], width)
        shifted = np.array(values[np.maximum(first + np.cumsum([0, *small.lengths])[:-1] - 1, 0)])

        def numbers(own: int) -> Any:
            was_read.append(block * wide + own)
            return small.read(own)

        return replace(
            small,
            before=shifted,
            above=small.above - small.lengths * (shifted - small.before),
            read=numbers,
        )

    return replace(large, read=read), was_read


SHAPES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "noise": lambda rng, n: rng.integers(-50, 50, n),
    "rising": lambda rng, n: np.cumsum(rng.integers(0, 9, n)),
    "rising, noisy": lambda rng, n: np.cumsum(rng.integers(0, 3, n)) + rng.integers(-30, 30, n),
    "a walk": lambda rng, n: np.cumsum(rng.integers(-5, 6, n)),
    "falling": lambda rng, n: -np.cumsum(rng.integers(0, 9, n)),
    "flat": lambda rng, n: np.full(n, 7),
    "steps": lambda rng, n: np.repeat(np.cumsum(rng.integers(0, 99, n)), 1 + n // 3)[:n],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [1, 3, 16, 1000])
@pytest.mark.parametrize("wide", [0, 1, 2, 5])
def test_it_finds_what_the_whole_fit_has(shape: str, width: int, wide: int) -> None:
    rng = np.random.default_rng([width, len(shape)])
    for size in (1, 2, 15, 16, 17, 60):
        values = SHAPES[shape](rng, size).astype(np.float64)
        fit = isotonic(values)
        run, _ = nested(values, width, wide) if wide else blocked(values, width)
        goals = [*(fit[::5] + 0.25), *(fit[:3] - 0.25), fit[0] - 9, fit[-1] + 9]
        for goal in goals:
            cut = run.first(goal)
            assert cut == np.searchsorted(fit, goal)
            if cut < size:
                assert run.after(cut) == pytest.approx(fit[cut], rel=1e-13, abs=1e-12)
            if cut:
                left = -run.mirrored().after(size - cut)
                assert left == pytest.approx(fit[cut - 1], rel=1e-13, abs=1e-12)


def test_a_quantile_that_would_read_many_blocks_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the number of blocks that it takes it is answered, one below it is refused."""
    rng = np.random.default_rng(1)
    values = rng.integers(-50, 50, 4_000).astype(np.float64)
    run, was_read = blocked(values, 16)
    cut = run.first(0.0)
    needed = len(was_read)
    assert needed > 3
    monkeypatch.setattr(rising, "MOST_READ", needed)
    assert run.first(0.0) == cut
    monkeypatch.setattr(rising, "MOST_READ", needed - 1)
    with pytest.raises(tu.InputError, match="Ask ranges instead"):
        run.first(0.0)
    monkeypatch.setattr(rising, "MOST_READ", 1 << 12)
    for cut in range(4_000):
        was_read.clear()
        value, needed = run.after(cut), len(was_read)
        if needed > 2:
            break
    assert needed > 2
    monkeypatch.setattr(rising, "MOST_READ", needed - 1)
    assert run.after(cut) == value
    monkeypatch.setattr(rising, "MOST_READ", needed - 2)
    with pytest.raises(tu.InputError, match="Ask ranges instead"):
        run.after(cut)


@pytest.mark.parametrize("wide", [0, 8])
def test_few_blocks_are_read_even_where_nothing_rises(wide: int) -> None:
    rng = np.random.default_rng(3)
    noise = rng.laplace(0, 30, (12, 1 << 15))
    # Prefix sums of noisy tree answers: noise of every level, the coarse ones alike for long.
    wander = sum(np.repeat(noise[level, : 1 << 15 >> level], 1 << level) for level in range(12))
    for truth in (np.zeros(1 << 15), np.cumsum(rng.random(1 << 15) < 0.01), np.arange(1 << 15)):
        values = truth + wander
        fit = isotonic(values)
        width = 1 << 6  # 512 blocks
        run, was_read = nested(values, width, wide) if wide else blocked(values, width)
        for goal in np.quantile(fit, [0.1, 0.5, 0.9]) + 1e-3:
            cut = run.first(goal)
            assert cut == np.searchsorted(fit, goal)
            if 0 < cut < len(fit):
                assert run.after(cut) == pytest.approx(fit[cut], rel=1e-12)
        assert len(was_read) <= 3 * 40


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Release, Release]]:
    """Releases in folders, of small blocks, and the same counts in memory."""
    found = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts, "BLOCK", 1 << 5)
        patched.setattr(parts, "ROWS", 1 << 7)
        patched.setattr(job, "SLAB", 1_000)
        place = tmp_path_factory.mktemp("folders")
        rng = np.random.default_rng(1)
        axes = [
            tu.Axis.integers("place", 0, 2_999),
            tu.Axis.regular("fare", 0, 10, bins=2_999),
            tu.Axis.regular("fare", 0, 10, bins=32),
            tu.Axis.regular("fare", 0, 10, bins=1),
        ]
        for number, axis in enumerate(axes):
            counts = rng.poisson(0.5, axis.size) + 40 * (np.arange(axis.size) == axis.size // 2)
            made = FolderJob.open(place / str(number), Facts.of(tu.TreeCounts(axis), 1))
            stored = made.finish(made.draw(lambda start, stop: counts[start:stop], axis.size))  # noqa: B023
            memory = Release(stored.axes, stored.prefix[:], stored.errors, stored.facts)
            found.append((stored, memory))
    return found


@pytest.mark.parametrize("number", range(4))
def test_quantiles_are_those_in_memory(both: list[tuple[Release, Release]], number: int) -> None:
    stored, memory = both[number]
    assert on_disk(stored.prefix)
    assert not on_disk(memory.prefix)
    shares = np.linspace(0, 1, 41)
    if memory.total().value <= 0:
        with pytest.raises(tu.InputError, match="too noisy"):
            stored.quantile(0.5)
        return
    # Sums are rounded: a share may differ by that, and at a step of the fit the value by the step.
    found = np.array(stored.quantile(shares), np.float64)
    low, high = (
        np.array(memory.quantile(np.clip(shares + by, 0, 1)), np.float64) for by in (-1e-13, 1e-13)
    )
    assert (found >= low - 1e-9).all()
    assert (found <= high + 1e-9).all()
    assert "_rising" not in vars(stored)  # the whole was not read


def test_shares_of_a_picture_rise_over_its_edges(
    both: list[tuple[Release, Release]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, memory = both[0]
    cuts = np.arange(0, 3_001, 50)
    assert stored.cdf_at(cuts).tolist() == memory.cdf()[cuts].tolist()
    monkeypatch.setattr(rising, "READ", 1 << 11)  # both sides of the constant
    some = stored.cdf_at(cuts)
    assert (some[0], some[-1]) == (0, 1)
    assert (np.diff(some) >= 0).all()
    plain = memory.prefix[cuts[1:-1]]
    assert some[1:-1] * stored.total().value == pytest.approx(
        np.clip(isotonic(plain), 0, stored.total().value)
    )


def test_a_damaged_file_of_blocks_is_refused(tmp_path: Path) -> None:
    counts = np.full(3_000, 3)
    made = FolderJob.open(tmp_path / "out", Facts.of(tu.TreeCounts(3_000), 1))
    made.finish(made.draw(lambda start, stop: counts[start:stop], 3_000))
    file = tmp_path / "out" / dataset.BLOCKS
    data = bytearray(file.read_bytes())
    data[3] ^= 1
    file.write_bytes(bytes(data))
    found = tu.load(tmp_path / "out", tu.Release)
    assert found.range(0, 3_000).value
    with pytest.raises(tu.FileError, match="damaged"):
        found.quantile(0.5)


class Stored:
    """Prefix sums in memory that look like those on a disk."""

    def __init__(self, prefix: Any, width: int) -> None:
        self.prefix, size = prefix, len(prefix) - 1
        cuts = range(0, size, 2 * width)
        inside = [self._some(first, min(first + 2 * width, size), width) for first in cuts]
        large = self._some(0, size, 2 * width)
        self.blocks = SimpleNamespace(parts=large, inside=lambda part: inside[part])

    def _some(self, first: int, stop: int, width: int) -> Any:
        cuts = np.arange(first, stop, width)
        lengths, own = np.diff(np.append(cuts, stop)), self.prefix[first + 1 : stop + 1]
        before, at = self.prefix[cuts], cuts - first
        return SimpleNamespace(
            starts=cuts,
            lengths=lengths,
            before=before,
            above=np.add.reduceat(own - np.repeat(before, lengths), at),
            least=np.minimum.reduceat(own, at),
            most=np.maximum.reduceat(own, at),
        )

    def __getitem__(self, at: Any) -> Any:
        return self.prefix[at]

    def __len__(self) -> int:
        return len(self.prefix)


@pytest.mark.parametrize("width", [1, 3, 7, 100])
def test_a_goal_that_is_met_exactly_is_met_in_the_cell_of_the_release_in_memory(width: int) -> None:
    """Small whole numbers: sums tie, cells are empty, and what is below 0 counts as nothing."""
    rng = np.random.default_rng(width)
    for _ in range(300):
        size = int(rng.integers(2, 25))
        counts = rng.integers(-2, 4, size) * rng.integers(0, 2, size)
        prefix = np.append(0, np.cumsum(counts)).astype(np.float64)
        if prefix[-1] <= 0:
            continue
        axis = tu.Axis.regular("x", 0, size, bins=size)
        stored = rising.RisingOnDisk.of(axis, Stored(prefix, width))
        memory = RisingInMemory(in_memory(axis, prefix))
        for goal in [*range(int(prefix[-1]) + 1), *(rng.random(4) * prefix[-1])]:
            cell = stored.cell(goal)
            assert cell == memory.cell(goal)
            assert stored.around(cell) == pytest.approx(memory.around(cell), abs=1e-12)


def test_as_many_numbers_as_a_picture_may_read_are_read_and_not_one_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prefix = Stored(np.arange(9.0), 3)
    monkeypatch.setattr(rising, "READ", 9)
    assert not rising.too_many(prefix)
    monkeypatch.setattr(rising, "READ", 8)
    assert rising.too_many(prefix)
    assert not rising.too_many(prefix.prefix)  # in memory
