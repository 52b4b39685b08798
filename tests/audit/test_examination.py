"""Whatever lets itself be run can be examined: functions, OpenDP, models, command lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.audit import (
    Claim,
    Effort,
    Pair,
    Target,
    audit_in_bulk,
    examine,
    neighbours_of_counts,
    neighbours_of_records,
    of_command,
    of_object,
    page,
    target,
    write_page,
)
from trueup.audit.claim import _divergences
from trueup.errors import InputError, SourceError

ONE_MORE = [Pair(10, 11, "one more")]


def laplace(scale: float, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    return lambda count, times: count + rng.laplace(0, scale, times)


def test_rho_is_bounded_as_gauss_has_it() -> None:
    """Noise of deviation σ on a move of d costs d²/(2σ²): the bound is never above.

    The noise is rounded, which is free where the answers are whole: floats would be caught by
    their last bits, and rightly.
    """
    rng = np.random.default_rng(2)
    found = audit_in_bulk(
        lambda x, n: x + np.rint(rng.normal(0, 8, n)), 0, 8, rho="1/2", draws=400_000
    )
    assert found.passed
    assert found.bound > 0.25
    lies = audit_in_bulk(
        lambda x, n: x + np.rint(rng.normal(0, 4, n)), 0, 8, rho="1/2", draws=100_000
    )
    assert not lies.passed
    assert "rho" in str(lies)


def test_divergences_are_renyis() -> None:
    from mpmath import log, mp

    mp.dps = 40
    p, q = 0.3, 0.1
    for order, found in _divergences(np.array([p]), np.array([q])):
        if order == 1:
            expected = p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))
        else:
            expected = log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order))
            expected /= order - 1
        assert found[0] == pytest.approx(float(expected))


def test_delta_is_granted_and_no_more() -> None:
    """Told outright in one of a hundred runs: fine for δ = 1/50, not for δ = 1/1000."""
    rng = np.random.default_rng(3)

    def mechanism(x: int, n: int) -> np.ndarray:
        return np.where(rng.random(n) < 0.01, 100.0 + x, 0.0)

    assert audit_in_bulk(mechanism, 0, 1, 1, 50_000, delta="0.02").passed
    assert not audit_in_bulk(mechanism, 0, 1, 1, 50_000, delta="0.001").passed


def test_independent_outputs_add_up_on_one_side_only() -> None:
    """One output is likelier on the first input, the other on the second: ε is that of one.

    Each tells yes with chance 1/2 or 1/2 · e^-1, and no with the rest: in all 1 + ln 1.63.
    """
    rng = np.random.default_rng(4)
    few = 0.5 * np.exp(-1)

    def mechanism(x: int, n: int) -> np.ndarray:
        first, second = (0.5, few) if x == 0 else (few, 0.5)
        return np.stack([rng.random(n) < first, rng.random(n) < second], axis=1).astype(float)

    found = audit_in_bulk(mechanism, 0, 1, 2, 200_000, independent=True)
    true = 1 + np.log((1 - few) / 0.5)
    assert 1.3 < found.bound <= true


@pytest.mark.parametrize("wrong", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 1, "delta": 1}])
def test_a_claim_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Claim.of(**wrong)


def test_neighbours_are_one_record_apart() -> None:
    for pair in neighbours_of_counts([2, 0, 5]):
        assert abs(np.subtract(pair.second, pair.first)).sum() == 1
        assert min(pair.second) >= 0
    for pair in neighbours_of_counts([2, 0, 5], "replace"):
        assert sorted(np.subtract(pair.second, pair.first).tolist()) == [-1, 0, 1]
    for pair in neighbours_of_records(["a", "b", "c"]):
        assert len(pair.first) - len(pair.second) == 1
    for pair in neighbours_of_records(["a", "b", "c"], "replace"):
        assert sum(a != b for a, b in zip(pair.first, pair.second, strict=True)) == 1


def test_the_pair_that_tells_is_found_among_many() -> None:
    """A mechanism that forgets the noise of one cell alone."""
    rng = np.random.default_rng(5)

    def forgets(counts: Any, times: int) -> np.ndarray:
        noise = rng.laplace(0, 1, (times, len(counts)))
        noise[:, 3] = rng.laplace(0, 0.1, times)
        return np.asarray(counts) + noise

    found = examine(Target("x", forgets), neighbours_of_counts([5] * 6), Claim.of(1), Effort(5000))
    assert "cell 3" in found.pair.words
    assert not found.passed


def test_a_python_function_is_named_by_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "import random\n"
        "def noisy(counts):\n"
        "    return [c + random.gauss(0, 1) for c in counts]\n"
        "def twice(counts):\n"
        "    return [2 * c + random.gauss(0, 1) for c in counts]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    pairs = neighbours_of_counts([3, 4])
    wanted = Effort(500, sensitivity=1)
    good = examine(target("mine:noisy"), pairs, Claim.of(rho="1/2"), wanted)
    assert good.passed
    assert any("declared 1" in one.result and one.passed for one in good.findings)
    bad = examine(target("mine:twice"), pairs, Claim.of(rho="1/2"), wanted)
    assert [one.what for one in bad.findings if one.passed is False][-1].startswith("moves")
    for wrong in ("mine", "mine:nothing", "nowhere:at_all", ":x"):
        with pytest.raises(InputError):
            target(wrong)


def test_an_opendp_measurement_is_examined() -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    honest = of_object(dp.m.make_laplace(*space, scale=1.0), "opendp laplace")
    found = examine(honest, ONE_MORE, Claim.of(1), Effort(400, scale=1))
    assert found.passed, found.verdict
    short = of_object(dp.m.make_laplace(*space, scale=0.2), "opendp laplace")
    assert not examine(short, ONE_MORE, Claim.of(1), Effort(2000)).passed


class Model:
    """As diffprivlib's: parameters without, what was learnt with a last underscore."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def fit(self, rows: Any) -> None:
        rng = np.random.default_rng()
        self.mean_ = np.mean(rows) * len(rows) + rng.laplace(0, self.scale)
        self.name_ = "text is left out"


class Mechanism:
    """As diffprivlib's mechanisms: a value in, a value out."""

    def randomise(self, value: float) -> float:
        return value + np.random.default_rng().laplace(0, 0.2)


def test_models_and_mechanisms_of_diffprivlib_s_shape_are_examined() -> None:
    pairs = neighbours_of_records([1.0, 1.0, 1.0])
    assert examine(of_object(Model(1.0), "m"), pairs, Claim.of(1), Effort(400)).passed
    assert not examine(of_object(Model(0.1), "m"), pairs, Claim.of(1), Effort(2000)).passed
    assert not examine(of_object(Mechanism(), "m"), ONE_MORE, Claim.of(1), Effort(2000)).passed
    with pytest.raises(InputError, match="no mechanism"):
        of_object(3, "three")


SCRIPT = """
import json, random, sys
count, times, seed = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
if seed != "0":
    random.seed(seed)
for _ in range(times):
    print("noisy:", count * int(sys.argv[4]) + random.gauss(0, 1))
"""


def test_a_command_line_is_examined(tmp_path: Path) -> None:
    script = tmp_path / "noisy.py"
    script.write_text(SCRIPT)
    words = [sys.executable, str(script), "{input}", "{times}", "{seed}"]
    wanted = Effort(2000, sensitivity=1, trial=100)
    good = examine(of_command([*words, "1"]), ONE_MORE, Claim.of(rho="1/2"), wanted)
    assert good.passed, good.verdict
    bad = examine(of_command([*words, "3"]), ONE_MORE, Claim.of(rho="1/2"), wanted)
    assert len([one for one in bad.findings if one.passed is False]) == 2
    alone = of_command([sys.executable, "-c", "print(input())"])
    assert alone.run(7, 2).tolist() == [[7.0], [7.0]]
    with pytest.raises(SourceError):
        of_command([str(tmp_path / "nothing")]).run(1, 1)
    with pytest.raises(SourceError, match="code 3"):
        of_command([sys.executable, "-c", "raise SystemExit(3)"]).run(1, 1)


def test_a_number_of_outputs_that_a_record_changes_is_caught() -> None:
    found = examine(
        Target("x", lambda x, n: np.zeros((n, x))), [Pair(1, 2, "more")], Claim.of(1), Effort(100)
    )
    assert not found.passed
    assert "as many outputs" in found.verdict


def test_our_own_measurements_stand() -> None:
    def ours(counts: Any) -> Any:
        return tu.measure(counts, tu.TreeCounts(4, branching=2), 1)

    pairs = neighbours_of_counts([2, 0, 10, 2])[:4]
    assert examine(of_object(ours, "trueup"), pairs, Claim.of(1), Effort(300, scale=3)).passed


def test_the_page_says_it_all_and_fetches_nothing(tmp_path: Path) -> None:
    named = Target("<script>alert(1)</script>", lambda x, n: laplace(0.2)(x, n)[:, None])
    found = examine(named, ONE_MORE, Claim.of(1), Effort(4000))
    write_page(found, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    assert html == page(found)
    assert "<script" not in html
    assert "http" not in html
    assert "FALSE" in html
    for word in ("certified lower bound", "one more", "Clopper", "never\nclear it"):
        assert word in html
