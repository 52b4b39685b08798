"""The benchmarks' own parts: the collector, and the peers' reference code."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import trueup as tu

BENCH = Path(__file__).parents[1] / "bench"
sys.path.append(str(BENCH))  # as when a script is run: they share _timing.py


def script(name: str) -> ModuleType:
    """A script of the folder as a module."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_benchmark_is_collected_and_has_a_heading() -> None:
    run = script("run")
    found = run.scripts()
    names = {path.stem for path in BENCH.glob("*.py") if not path.stem.startswith("_")}
    assert set(found) == names - {"run", *run.LONG}
    assert list(found)[:2] == ["peers", "scaling"]
    assert all(len(run.title(path)) > 20 for path in found.values())


def test_the_page_names_machine_and_versions() -> None:
    page = "\n".join(script("run").machine())
    assert f"numpy {np.__version__}" in page
    assert "cores" in page


def test_a_crash_is_told_from_a_target_missed(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text('"""A benchmark that always fails."""\nraise ValueError("no luck")\n')
    text = script("run").section("broken", broken)
    assert "**Failed to run.** ValueError: no luck" in text
    slow = tmp_path / "slow.py"
    slow.write_text('"""A benchmark that is slow today."""\nprint("FAIL")\nraise SystemExit(1)\n')
    text = script("run").section("slow", slow)
    assert "*A target was missed.*" in text
    assert "Failed to run" not in text


def test_long_output_is_folded_and_none_is_lost(tmp_path: Path) -> None:
    chatty = tmp_path / "chatty.py"
    chatty.write_text('"""A chatty benchmark."""\nprint("\\n".join(map(str, range(100))))\n')
    text = script("run").section("chatty", chatty)
    assert "<details>" in text
    assert all(f"\n{i}\n" in text for i in range(100))


@pytest.mark.parametrize(("branching", "height"), [(2, 5), (3, 3), (16, 3)])
def test_the_recurrence_of_the_peers_is_least_squares(branching: int, height: int) -> None:
    tree = tu.TreeCounts(branching ** (height - 1), branching=branching)
    noisy = np.random.default_rng(1).normal(0, 10, tree.length)
    dense, *_ = np.linalg.lstsq(tree.matrix().toarray(), noisy, rcond=None)
    assert script("peers").recurrence(noisy, branching, height) == pytest.approx(dense)


def test_exponents_are_fitted_on_large_sizes() -> None:
    exponent = script("scaling").exponent
    points = [(1 << i, 3.0 * (1 << i) ** 1.5) for i in range(12, 24)]
    assert exponent(points) == pytest.approx(1.5)
    assert np.isnan(exponent(points[:5]))


def test_two_versions_are_timed_in_turns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = script("versions")
    took = iter([3.0, 2.0, 1.0, 1.2])
    monkeypatch.setattr(versions, "run", lambda source, work, first: next(took))
    monkeypatch.setattr(sys, "argv", ["versions.py", "old", "--rounds", "2", "--only", "import"])
    assert versions.main() == 1
    assert "| import | 1,000.0 | 1,200.0 | 1.20 |" in capsys.readouterr().out


def test_a_work_of_two_versions_runs_in_this_one() -> None:
    versions = script("versions")
    assert 0 < versions.run(versions.SOURCE, "import") < 60
    assert 0 < versions.run(versions.SOURCE, "one exact interval of a tree") < 60


def test_dawa_finds_the_cheapest_partition_and_the_counts_where_noise_is_small() -> None:
    baselines = script("baselines")
    g = np.random.default_rng(3)
    costs = [g.random(8 - (1 << power) + 1) for power in range(4)]

    def all_of(start: int) -> list[list[int]]:
        steps = [start + (1 << power) for power in range(4) if start + (1 << power) <= 8]
        return [[start, *rest] for step in steps for rest in all_of(step)] if start < 8 else [[8]]

    def cost(cuts: list[int]) -> float:
        pairs = itertools.pairwise(cuts)
        return sum(costs[(b - a).bit_length() - 1][a] for a, b in pairs)

    assert baselines.least_partition(costs) == min(all_of(0), key=cost)
    counts = g.integers(0, 100, 64)
    np.testing.assert_allclose(baselines.dawa()(counts, 1e4, g), counts, atol=1e-6)
    flat = baselines.dawa()(np.full(256, 50), 0.1, g)
    assert len(np.unique(flat)) < 128  # neighbours that are alike share a bucket
    assert flat.sum() == pytest.approx(256 * 50, rel=0.3)
    four = counts[5:9]
    assert baselines.deviations(counts)[2][5] == pytest.approx(abs(four - four.mean()).sum())


@pytest.mark.parametrize("shape", [(50,), (13, 16)])
def test_privtree_splits_what_is_full_and_leaves_what_is_empty(shape: tuple[int, ...]) -> None:
    privtree = script("baselines").privtree
    g = np.random.default_rng(4)
    counts = g.integers(1, 100, shape)
    np.testing.assert_allclose(privtree(counts, 1e7, g), counts, atol=1e-4)
    assert len(np.unique(privtree(np.zeros(shape, int), 1.0, g))) < 12


@pytest.mark.parametrize("name", ["uniform_grid", "adaptive_grid"])
def test_grids_are_as_fine_as_noise_allows(name: str) -> None:
    grid = getattr(script("baselines"), name)
    g = np.random.default_rng(5)
    counts = g.integers(50, 100, (24, 20))
    np.testing.assert_allclose(grid(counts, 1e7, g), counts, atol=1e-3)
    coarse = grid(counts, 0.01, g)
    assert len(np.unique(coarse)) < counts.size / 3
    assert coarse.sum() == pytest.approx(counts.sum(), rel=0.5)


def test_mwem_comes_nearer_with_every_round() -> None:
    mwem = script("baselines").mwem
    counts = np.array([0, 400, 0, 0, 900, 10, 10, 300])
    far, near = (
        np.square(mwem(rounds, 40)(counts, 1e5, np.random.default_rng(1)) - counts).sum()
        for rounds in (1, 40)
    )
    assert near < far / 20
