"""Trees of prefixes, measured and released: consistent, whole, saved, and never made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.errors import FileError, InputError
from trueup.files.codec import encode
from trueup.keys.prefix_release import PrefixMeasurement, measure_all_prefixes, measure_prefixes
from trueup.keys.prefixes import PrefixCounts, PrefixTerms

HOSTS = {f"10.0.{a}.{b}": 40 * (a + 1) for a in range(4) for b in range(30)} | {"8.8.8.8": 3}
ASKED = PrefixCounts(tu.Universe.ipv4(), step=8)


@pytest.fixture(scope="module")
def measured() -> PrefixMeasurement:
    return measure_prefixes(HOSTS, ASKED, 1)


def test_children_sum_to_their_parents_and_none_is_below_zero(measured: PrefixMeasurement) -> None:
    release = measured.infer()
    assert (release.nodes >= 0).all()
    assert release.nodes.dtype == np.int64
    for label in release.labels:
        below = release.children(label)
        assert not below or sum(below.values()) == release.count(label)
    assert sum(release.children().values()) == release.total()
    assert release.total() == pytest.approx(sum(HOSTS.values()), abs=200)
    assert release.count("10.0.0.0/8") == pytest.approx(12_000, abs=200)
    with pytest.raises(InputError, match="others"):
        release.count("10.9.0.0/16")
    assert repr(release).startswith("<PrefixRelease")


def test_nothing_is_asked_below_what_is_empty(measured: PrefixMeasurement) -> None:
    """Nodes are those of the data and of the rare noise that passes, not of the universe."""
    shown = [label for label in measured.infer().labels if not label.endswith("(others)")]
    inside = [label for label in shown if label == "all" or label.startswith("10.")]
    assert len(shown) - len(inside) < 10
    assert len(shown) < 200


def test_a_large_epsilon_gives_the_truth() -> None:
    release = measure_prefixes(HOSTS, ASKED, 1000).infer()
    for label, count in HOSTS.items():
        assert release.count(f"{label}/32") == count
    assert release.total() == sum(HOSTS.values())


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_trees_are_saved_and_loaded(
    measured: PrefixMeasurement, tmp_path: Path, ending: str
) -> None:
    measured.save(tmp_path / f"tree{ending}")
    assert tu.load(tmp_path / f"tree{ending}", PrefixMeasurement) == measured
    assert PrefixMeasurement.from_bytes(measured.to_bytes()) == measured
    measured.infer().save(tmp_path / "tree.csv")
    assert "10.0.0.0/8" in (tmp_path / "tree.csv").read_text()


def test_a_tree_that_its_counts_do_not_lead_to_is_refused(measured: PrefixMeasurement) -> None:
    parents, digits, noisy = measured.parents, measured.digits, measured.noisy
    low = noisy.copy()
    low[digits >= 0] = -1
    for changed in (
        {"noisy": low},
        {"parents": parents[::-1].copy()},
        {"digits": np.where(digits < 0, 5, digits)},
        {"digits": np.where(digits == 10, 300, digits)},
        {"parents": parents[:-1], "digits": digits[:-1], "noisy": noisy[:-1]},
        {"parents": parents[:0], "digits": digits[:0], "noisy": noisy[:0]},
        {"noisy": noisy.astype(float)},
    ):
        with pytest.raises(InputError):
            replace(measured, **changed)
    with pytest.raises(FileError):
        PrefixMeasurement.from_bytes(
            encode("prefix measurement", {**measured.columns(), "noisy": low}, measured.to_json())
        )
    with pytest.raises(FileError):
        PrefixMeasurement.from_bytes(encode("release", measured.columns(), measured.to_json()))


def test_the_others_of_a_node_are_unbiased_but_for_selection() -> None:
    """The mean of the noisy counts of the largest branch over many draws is its true count."""
    asked = PrefixCounts(tu.Universe.integers(0, 255), step=4)
    terms = PrefixTerms.of(asked, 1)
    keys, counts = np.arange(256), np.where(np.arange(256) < 16, 500, 0)
    found = []
    for _ in range(60):
        tree = measure_all_prefixes(keys, counts, terms)
        assert tree.digits[0] == 0
        found.append(tree.noisy[0] - 8000)
    spread = float(terms.scale(asked.shares[0])) * 2**0.5
    assert abs(np.mean(found)) < 5 * spread / 60**0.5
    assert len(set(found)) > 5
