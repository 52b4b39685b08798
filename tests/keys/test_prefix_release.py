"""Trees of prefixes, measured and released: consistent, whole, saved, and never made up."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.errors import FileError, InputError
from trueup.files.codec import encode, read, write
from trueup.keys.prefix_release import PrefixMeasurement, measure_all_prefixes, measure_prefixes
from trueup.keys.prefixes import PrefixCounts, PrefixTerms
from trueup.period import Covered

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
    every = (f"{first}.{second}.0.0/16" for first in range(256) for second in range(256))
    hidden = next(label for label in every if label not in release.labels)
    with pytest.raises(InputError, match="others"):  # whatever noise brought to light
        release.count(hidden)
    assert repr(release).startswith("<PrefixRelease")


def test_nothing_is_asked_below_what_is_empty(measured: PrefixMeasurement) -> None:
    """Nodes are those of the data and of the rare noise that passes, not of the universe.

    One measurement in a few hundred splits an empty prefix, which then has up to 256 children; four
    such splits in one are less likely than 10^-8. Level 16 alone of the universe has 65,536 nodes.
    """
    shown = [label for label in measured.infer().labels if not label.endswith("(others)")]
    assert len(shown) < 150 + 4 * 256


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
    release = measured.infer()
    release.save(tmp_path / f"release{ending}")
    again = tu.load(tmp_path / f"release{ending}")
    assert (again.measured, again.facts) == (measured, release.facts)
    assert (again.nodes == release.nodes).all()
    kind, columns, said = read(tmp_path / f"release{ending}")
    for wrong in ("count", "noisy", "parent"):
        changed = np.array(columns[wrong], np.int64)
        changed[1] += 1_000
        write(tmp_path / "wrong.json", kind, {**columns, wrong: changed}, said)
        with pytest.raises(FileError):
            tu.load(tmp_path / "wrong.json")
    release.save(tmp_path / "tree.csv")
    assert "10.0.0.0/8" in (tmp_path / "tree.csv").read_text()


TREES = {
    "small families": PrefixCounts(tu.Universe.integers(0, 4095), step=4),
    "large families": PrefixCounts(tu.Universe.integers(0, (1 << 16) - 1), step=8),
    "the largest family told one by one": PrefixCounts(
        tu.Universe.integers(0, 64 * 256 - 1), step=8
    ),
    "the smallest that is not": PrefixCounts(tu.Universe.integers(0, 65 * 256 - 1), step=8),
}


@pytest.mark.parametrize("name", TREES)
def test_every_node_has_the_error_of_its_own_answer(name: str) -> None:
    """The share of a prefix is that of its level, of others all that is left of the path.

    Others of the last level are a sum of answers: as many variances, and no interval. All else has
    an interval about its noisy answer, whose reach is added up here, stretched to what is shown. Of
    a large family only large answers are shown: each has so small a part of the chance to fail that
    all children, shown or not, hold together.
    """
    asked = TREES[name]
    terms = PrefixTerms.of(asked, "1/2", "replace", "user", 3)
    keys = np.arange(0, asked.universe.size, 5)
    release = measure_all_prefixes(keys, 3000 // (1 + keys // 20), terms).infer()
    tree, fans = release.measured, asked.paths.fans
    x = np.arange(-3000, 3001)
    seen = set()
    for node in range(1, len(tree.levels)):
        level, others = int(tree.levels[node]) - 1, tree.digits[node - 1] == -1
        share = sum(asked.shares[level + 1 :]) if others else asked.shares[level]
        apart = bool(tree.in_rest[node - 1])
        label, kind = release.labels[node], (level, bool(others), apart)
        if (others and not share) or kind in seen:
            continue
        seen.add(kind)
        scale = 3 * 2 / (float(share) / 2)  # rows of a unit, two cells of one replaced, epsilon
        law = np.exp(-abs(x) / scale) / np.exp(-abs(x) / scale).sum()
        assert float(tree.scale(node)) == pytest.approx(scale)
        assert tree.variances[node - 1] == pytest.approx(law @ x**2, rel=1e-6)
        family = 1 if others or fans[level] <= 64 else fans[level]
        level_of_one = 1 - 0.1 / family
        half = next(r for r in range(3000) if law[abs(x) <= r].sum() >= level_of_one)
        noisy = int(tree.noisy[node - 1])
        ends, value = (max(noisy - half, 0), max(noisy + half, 0)), release.count(label)
        assert release.interval(label, 0.9) == (min(ends[0], value), max(ends[1], value))
    assert len(seen) >= 2 * (len(fans) - 1) + 1
    last = [
        node
        for node in range(1, len(tree.levels))
        if tree.digits[node - 1] == -1 and tree.levels[node] == len(fans)
    ]
    own = float(terms.scale(asked.shares[-1]))
    for node in last[:3]:
        kept = int((tree.parents == tree.parents[node - 1]).sum()) - 1
        variance = (fans[-1] - kept) * 2 * np.exp(-1 / own) / (1 - np.exp(-1 / own)) ** 2
        assert tree.variances[node - 1] == pytest.approx(variance, rel=1e-6)
        with pytest.raises(InputError, match="is a sum"):
            release.interval(release.labels[node])
    assert bool(last) == (fans[-1] > 64)
    with pytest.raises(InputError, match="is a sum"):
        release.interval("all")
    with pytest.raises(InputError, match="not shown"):
        release.interval("nothing")


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


def test_a_child_is_told_once_and_the_others_of_a_large_family_have_no_children(
    measured: PrefixMeasurement,
) -> None:
    parents, digits, noisy = measured.parents, measured.digits, measured.noisy
    twin = int(np.flatnonzero((np.diff(parents) == 0) & (digits[1:] >= 0))[0])
    same = digits.copy()
    same[twin + 1] = same[twin]
    with pytest.raises(InputError, match="noisy counts lead to"):
        replace(measured, digits=same)
    rest = int(np.flatnonzero(digits == -1)[-1]) + 1  # its number; families have 256 children
    below = {"parents": np.append(parents, rest), "digits": np.append(digits, 7)}
    with pytest.raises(InputError):
        replace(measured, **below, noisy=np.append(noisy, 3))


@pytest.mark.parametrize("step", [4, 8])
def test_every_answer_has_the_noise_of_its_share(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded where noise is drawn: children of each level, then the others of their families."""
    terms = PrefixTerms.of(PrefixCounts(tu.Universe.ipv4(), step=step), "1/3", "replace", "user", 2)
    drawn: list[tuple[int, Fraction]] = []

    def recorded(size: int, scale: Fraction) -> np.ndarray:
        drawn.append((size, scale))
        return np.zeros(size, np.int64)

    monkeypatch.setattr("trueup._kernels.noise.laplace.draw", recorded)
    found = measure_all_prefixes(np.array([5]), np.array([10**6]), terms)
    shares, left, fans = terms.question.shares, terms.left, terms.question.paths.fans
    expected = []
    for level, fan in enumerate(fans):
        expected += [(fan, terms.scale(shares[level]))]
        expected += [(1, terms.scale(left[level]))] if left[level] else []
    assert drawn == expected
    assert [4 / scale for _, scale in drawn] == [
        share / 3 for each in zip(shares, left, strict=True) for share in each if share
    ]
    assert found.noisy.max() == 10**6


def test_the_others_of_a_node_are_unbiased_but_for_selection() -> None:
    """The mean of the noisy counts of the largest branch over many draws is its true count."""
    asked = PrefixCounts(tu.Universe.integers(0, 255), step=2)
    terms = PrefixTerms.of(asked, 1)
    keys, counts = np.arange(256), np.where(np.arange(256) < 16, 500, 0)
    found = []
    for _ in range(154):
        tree = measure_all_prefixes(keys, counts, terms)
        assert tree.digits[0] == 0
        found.append(tree.noisy[0] - 8000)
    spread = float(terms.scale(asked.shares[0])) * 2**0.5
    assert abs(np.mean(found)) < 8 * spread / 154**0.5
    assert len(set(found)) > 5


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("unit", ["row", "user"])
def test_a_tree_has_the_terms_that_were_asked_and_keeps_them(neighbours: str, unit: str) -> None:
    tree = measure_prefixes(HOSTS, ASKED, "1/2", neighbours, unit=unit, rows_per_unit=3)  # type: ignore[arg-type]
    assert tree.terms == PrefixTerms(ASKED, tu.Cost.of("1/2"), neighbours, unit, 3)  # type: ignore[arg-type]
    moved = 3 * (2 if neighbours == "replace" else 1)
    assert tree.terms.scale(Fraction(1, 7)) == moved * 7 * 2
    dated = replace(tree, period=Covered("day", "UTC", ("2026-03-01",)))
    for each in (tree, dated):
        facts = each.facts
        assert (facts.epsilon, facts.neighbours) == (Fraction(1, 2), neighbours)
        assert (facts.unit, facts.rows_per_unit) == (unit, 3)
        assert (facts.id, facts.period) == (tree.id, each.period)
        assert PrefixMeasurement.from_bytes(each.to_bytes()).facts == facts


def test_large_counts_are_those_of_weighted_least_squares() -> None:
    """By dense algebra: answers that disagree by far more than a record, none of them small."""
    asked = PrefixCounts(tu.Universe.integers(0, 255), step=2)
    measured = measure_prefixes(dict.fromkeys(range(256), 10**6), asked, epsilon="1/10")
    nodes = len(measured.noisy) + 1
    leaves = sorted(set(range(nodes)) - set(measured.parents.tolist()))
    above = np.zeros((nodes, len(leaves)))
    above[0] = 1.0
    for place, leaf in enumerate(leaves):
        node = leaf
        while node:
            above[node, place] = 1.0
            node = int(measured.parents[node - 1])
    off = np.random.default_rng(5).integers(-90_000, 90_000, nodes - 1)
    measured = replace(measured, noisy=above[1:].sum(axis=1).astype(np.int64) * 10**6 + off)
    heavy = 1.0 / np.sqrt(measured.variances)  # rows of the least-squares system
    system = above[1:] * heavy[:, None], measured.noisy * heavy
    fitted = above @ np.linalg.lstsq(*system, rcond=None)[0]
    assert len(set(measured.variances.tolist())) > 2  # levels, and what is pooled
    assert fitted.min() > 0
    assert np.abs(measured.infer().nodes - fitted).max() < 2
