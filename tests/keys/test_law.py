"""Intervals of shown counts hold as often as they say, by the exact law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trueup.keys.law import GaussTails, LaplaceTails, ShownLaw


def exact(scale: float, threshold: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy counts from the threshold on, and their law given that they are shown."""
    shown = np.arange(threshold, threshold + math.ceil(60 * scale) + count)
    law = np.exp(-np.abs(shown - count) / scale)
    return shown, law / law.sum()


@pytest.mark.parametrize(("scale", "threshold"), [(1.0, 45), (0.3, 5), (7.0, 60), (2.0, 1)])
def test_intervals_hold_among_keys_shown_whatever_the_count(scale: float, threshold: int) -> None:
    law = ShownLaw(LaplaceTails(scale), threshold)
    for level in (0.5, 0.95):
        for count in {0, 1, threshold // 2, threshold, threshold + 1, threshold + round(9 * scale)}:
            shown, chances = exact(scale, threshold, count)
            low, high = law.intervals(shown, level)
            held = chances[(low <= count) & (count <= high)].sum()
            assert held >= level - 1e-9
            if count > threshold + 8 * scale and scale > 5:  # far off it is no wider than needed
                assert held < level + 0.06


def test_a_key_just_above_the_threshold_may_be_one_that_nobody_has() -> None:
    low, high = ShownLaw(LaplaceTails(1.0), 45).intervals(np.array([45, 48, 49, 500]), 0.95)
    assert low.tolist() == [0, 0, 46, 497]
    assert high.tolist() == [47, 51, 52, 503]


def test_a_count_that_is_surely_shown_is_the_least_one() -> None:
    for scale, threshold in ((1.0, 45), (10.0, 3)):
        law = ShownLaw(LaplaceTails(scale), threshold)
        x = np.arange(-3000, 3001)
        noise = np.exp(-np.abs(x) / scale) / np.exp(-np.abs(x) / scale).sum()
        chance = [noise[x >= threshold - c].sum() for c in range(threshold + 200)]
        least = law.surely_shown(0.95)
        assert chance[least] >= 0.95 > chance[least - 1]
        assert law.chance(2) == pytest.approx(chance[2], rel=1e-9)
        assert law.chance(least) == pytest.approx(chance[least], rel=1e-9)
        assert law.std_error == pytest.approx(math.sqrt((noise * x**2).sum()), rel=1e-9)
        for low, high in ((-40, -3), (-5, 9), (2, 2), (0, 30)):
            asked = noise[(x >= low) & (x <= high)].sum()
            assert law.noise.within(low, high) == pytest.approx(asked, rel=1e-9)


def noise_of(tails: LaplaceTails | GaussTails) -> tuple[np.ndarray, np.ndarray]:
    """The law of the noise, point by point."""
    x = np.arange(-2000, 2001)
    if isinstance(tails, GaussTails):
        law = np.exp(-(x.astype(float) ** 2) / (2 * tails.variance))
    else:
        law = np.where(np.abs(x) <= (tails.cut or 9999), np.exp(-np.abs(x) / tails.scale), 0)
    return x, law / law.sum()


@pytest.mark.parametrize(
    "tails", [LaplaceTails(2.0, 9), LaplaceTails(0.5, 3), GaussTails(0.7), GaussTails(300.0)]
)
def test_laws_with_a_delta_are_those_added_up(tails: LaplaceTails | GaussTails) -> None:
    x, law = noise_of(tails)
    for least in (-70, -9, -3, -1, 0, 1, 2, 3, 4, 9, 10, 60):
        assert tails.survival(least) == pytest.approx(law[x >= least].sum(), rel=1e-9, abs=1e-300)
        for most in (-9, -2, 0, 5, 61):
            asked = law[(x >= least) & (x <= most)].sum()
            assert tails.within(least, most) == pytest.approx(asked, rel=1e-6, abs=1e-16)
    assert tails.std_error == pytest.approx(math.sqrt((law * x**2).sum()), rel=1e-9)
    shown_law = ShownLaw(tails, 10)
    for count in (1, 5, 10, 14):
        y = x + count
        shown = y[(y >= 10) & (law > 0)]
        chances = law[(y >= 10) & (law > 0)]
        if chances.sum() > 1e-12:
            low, high = shown_law.intervals(shown, 0.9)
            held = chances[(low <= count) & (count <= high)].sum() / chances.sum()
            assert held >= 0.9 - 1e-9


def test_far_out_a_gaussian_law_is_the_normal_one() -> None:
    below, above = GaussTails(float(1 << 34) - 1), GaussTails(float(1 << 34) + 1)
    for least in (-300_000, 0, 1, 5, 250_000):
        assert above.survival(least) == pytest.approx(float(below.survival(least)), rel=1e-6)


@pytest.mark.parametrize(
    "noise", [LaplaceTails(1.5), LaplaceTails(1.5, 20), LaplaceTails(0.4, 3), GaussTails(9.0)]
)
def test_a_count_is_surely_shown_from_the_first_on_that_has_the_chance(noise: object) -> None:
    """Count by count, up to levels at which the noise's last values decide."""
    law = ShownLaw(noise, 21)  # type: ignore[arg-type]
    for level in (0.3, 0.95, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12):
        first = next(count for count in range(1, 200) if law.chance(count) >= level)
        assert law.surely_shown(level) == first
