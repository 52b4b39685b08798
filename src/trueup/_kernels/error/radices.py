"""The tree that answers a workload best: its radices and each level's share of ε.

Expected error here is that of continuous Laplace noise at ε = 1, where a level of share p has
variance 2/p². For given radices the best shares follow by a descent: with the present estimator
held fixed the error is Σ S_l·2/p_l², least at p_l ∝ S_l^⅓; the estimator is then made the best
again, which can only help. Radices are improved one at a time until no change of one helps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from trueup._kernels.error.tree_error import mean_over_ranges

Widths = tuple[int, ...]
Error = Callable[[Widths, Sequence[float]], float]  # of widths and weights, root first

_PARTS = 100  # shares are whole hundredths: within 0.1 % of the best, and short to read
_ROUNDS = 40


def weights_of(shares: Sequence[float]) -> list[float]:
    """The weight 1/variance of each level's answers, at ε = 1."""
    return [p * p / 2 for p in shares]


def widths_of(size: int, radices: Sequence[int]) -> Widths:
    """Cells under a full node of each level for the given radices below the first; root first."""
    widths = [1]
    for radix in reversed(radices):
        widths.append(widths[-1] * radix)
    top = max(2, -(-size // widths[-1]))
    return (widths[-1] * top, *reversed(widths))


def best_shares(
    error: Error, widths: Widths, shares: Sequence[float], rounds: int = _ROUNDS
) -> tuple[list[float], float]:
    """Shares that sum to 1 at which the error is least, and that error; zeros stay zero."""
    p = list(shares)
    least = error(widths, weights_of(p))
    for _ in range(rounds):
        pulls = []
        for level, share in enumerate(p):
            if not share:
                pulls.append(0.0)
                continue
            # With S_l = ∂error/∂variance: S_l^⅓ from a small step in the variance.
            step = 1e-5
            moved = p.copy()
            moved[level] = share / math.sqrt(1 + step)
            slope = (error(widths, weights_of(moved)) - least) / (step * 2 / share**2)
            pulls.append(max(slope, 1e-12) ** (1 / 3))
        total = sum(pulls)
        new = [pull / total for pull in pulls]
        now = error(widths, weights_of(new))
        if now >= least * (1 - 1e-7):
            break
        p, least = new, now
    return p, least


def whole_parts(error: Error, widths: Widths, shares: Sequence[float]) -> tuple[Fraction, ...]:
    """The shares in whole hundredths that add up to 1, moved one at a time while that helps."""
    parts = [max(1, round(share * _PARTS)) if share else 0 for share in shares]
    asked = [level for level, share in enumerate(shares) if share]
    while sum(parts) != _PARTS:
        step = 1 if sum(parts) < _PARTS else -1
        able = [level for level in asked if parts[level] + step > 0]
        level = max(able, key=lambda lv: step * (shares[lv] * _PARTS - parts[lv]))
        parts[level] += step

    def cost(of: Sequence[int]) -> float:
        return error(widths, weights_of([part / _PARTS for part in of]))

    least, moved = cost(parts), True
    while moved:
        moved = False
        for giver in asked:
            for taker in asked:
                if giver == taker or parts[giver] < 2:
                    continue
                trial = parts.copy()
                trial[giver] -= 1
                trial[taker] += 1
                if (now := cost(trial)) < least * (1 - 1e-12):
                    parts, least, moved = trial, now, True
    return tuple(Fraction(part, _PARTS) for part in parts)


def _first_shares(widths: Widths) -> list[float]:
    """Near the best for all ranges: in proportion to the cube root of each radix less one."""
    pulls = [0.0] + [max(width // below - 1, 1) ** (1 / 3) for width, below in pairwise(widths)]
    return [pull / sum(pulls) for pull in pulls]


def _steps(radix: int, size: int) -> list[int]:
    far = max(3, radix // 4)
    near = (radix - 1, radix + 1, radix - 2, radix + 2, radix - far, radix + far)
    power = 1 << round(math.log2(radix))
    return [step for step in (*near, power) if 2 <= step <= size and step != radix]


def _improved(error: Error, size: int, levels: int) -> tuple[float, Widths, list[float]]:
    """The best tree of that many levels below the root that single changes of radices find."""
    radix = max(2, round(size ** (1 / levels)))
    radices = [radix] * (levels - 1)
    widths = widths_of(size, radices)
    shares, least = best_shares(error, widths, _first_shares(widths), 3)
    moved = True
    while moved:
        moved = False
        for level in range(levels - 1):
            for step in _steps(radices[level], size):
                trial = radices.copy()
                trial[level] = step
                widths = widths_of(size, trial)
                if widths[1] >= 2 * size:
                    continue
                now = error(widths, weights_of(shares))
                if now < least * (1 - 1e-6):
                    radices, moved = trial, True
                    shares, least = best_shares(error, widths, shares, 2)
    widths = widths_of(size, radices)
    shares, least = best_shares(error, widths, shares)
    return least, widths, shares


def best_tree(error: Error, size: int) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """Radices and shares, root first, of least error; never worse than asking the cells alone."""
    if size == 1:
        return (), (Fraction(1),)
    flat: Widths = (size, 1)
    alone = [0.0, 1.0]
    best = (error(flat, weights_of(alone)), flat, alone)
    worse = 0
    for levels in range(2, size.bit_length()):
        found = _improved(error, size, levels)
        worse = 0 if found[0] < best[0] else worse + 1
        best = min(best, found, key=lambda tree: tree[0])
        if worse == 2:
            break
    least, widths, shares = best
    with_root, now = best_shares(error, widths, [0.05, *(0.95 * p for p in shares[1:])])
    if now < least * (1 - 1e-3) and with_root[0] > 0.5 / _PARTS:
        shares = with_root
    parts = whole_parts(error, widths, shares)
    radices = tuple(width // below for width, below in pairwise(widths))
    if error(widths, weights_of([float(part) for part in parts])) >= error(flat, [0.0, 0.5]):
        return (size,), (Fraction(0), Fraction(1))
    return radices, parts


@lru_cache(maxsize=256)
def best_for_ranges(size: int) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """The radices and shares that answer all ranges best."""
    return best_tree(lambda widths, weights: mean_over_ranges(size, widths, weights), size)
