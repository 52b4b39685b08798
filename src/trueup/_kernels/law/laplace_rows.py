"""Half-widths of many sums of discrete Laplace noise at once, compiled.

What `weighted_laplace` finds for one sum, in the same steps and with the same bounds: the two agree
to about a millionth. Sums that need more than those steps (rare jumps at a large ε, levels past
what floats resolve) are left to it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trueup._kernels.compiled import PLAIN_LAWS, compiled
from trueup._kernels.law import laplace_sum
from trueup._kernels.law import weighted_laplace as single
from trueup.arrays import Floats, Ints

_LOGARITHM = np.array(laplace_sum.LOGARITHM)
_ORDERS = laplace_sum.ORDERS
_SLACK, _WIDENING, _WEAK, _DUST = single.SLACK, single.WIDENING, laplace_sum.WEAK, single.DUST
_LEAST_SCALE, _NOTHING = single.LEAST_SCALE, single.NOTHING
_LATTICE_POINTS, _MANY_TERMS = single.LATTICE_POINTS, single.MANY_TERMS
_THETAS = laplace_sum.THETAS
_newton = compiled(single.newton)
_FIRST = 6  # classes that are tried first on far terms


def half_widths(
    coefficients: Floats, scales: Floats, counts: Floats, used: Ints, level: float
) -> Floats:
    """The half-width of each row, of whose entries the first `used` count.

    >>> c, m = np.ones((2, 3)), np.array([[1.0, 0, 0], [1, 2, 0]])
    >>> half_widths(c, 10 * c, m, np.array([1, 2]), 0.95).tolist()
    [30.0, 50.0]
    """
    which, rows = _different(coefficients, scales, counts, used)
    if len(rows) < len(used):
        part = (coefficients[rows], scales[rows], counts[rows], used[rows])
        return half_widths(*part, level)[which]
    found = np.empty(len(used))
    if 1 - level >= single.SMALLEST_TAIL:
        fill_half_widths(coefficients, scales, counts, used, level, single.normal(level), found)
    else:
        found[:] = np.nan
    for row in np.flatnonzero(np.isnan(found)).tolist():
        some = slice(0, int(used[row]))
        law = coefficients[row, some], scales[row, some], counts[row, some]
        found[row] = single.half_width(*law, level)
    return found


def _different(
    coefficients: Floats, scales: Floats, counts: Floats, used: Ints
) -> tuple[Ints, Ints]:
    """Of equal rows the first, and which of those each row is."""
    room = int(used.max(initial=0))
    unused = np.arange(room) >= used[:, None]
    parts = [np.where(unused, 0.0, each[:, :room]) for each in (coefficients, scales, counts)]
    texts = [row.tobytes() for row in np.concatenate(parts, axis=1)]
    first: dict[bytes, int] = {}
    which = [first.setdefault(text, len(first)) for text in texts]
    rows = np.unique(which, return_index=True)[1] if which else np.zeros(0, np.int64)
    return np.array(which, np.int64), rows.astype(np.int64)


@compiled
def _chernoff(
    c: Floats, b: Floats, s: Floats, m: Floats, number: int, weak: Any, deviation: float,
    series: Floats, beyond: float, near: float, tails: Floats, found: Floats,
) -> None:  # fmt: skip
    """Widths that |S| passes with probability at most each of the tails, the largest first."""
    widest = 0.0
    for j in range(number):
        widest = max(widest, c[j] * b[j])
    limit = 0.985 / widest
    first = 0.5 * min(math.sqrt(2 * math.log(2 / tails[0])) / deviation, limit)
    last = min(1.15 * math.sqrt(2 * math.log(2 / tails[-1])) / deviation, limit)
    every = last * deviation > near
    found[:] = np.inf
    for part in _THETAS:
        theta = first + (last - first) * part
        cumulant = 0.0
        for j in range(number):
            if every or not weak[j]:
                grown = math.sinh(0.5 * c[j] * theta)
                cumulant -= m[j] * math.log1p(-2 * s[j] * grown * grown)
        if not every:
            square = (theta * deviation) ** 2
            total = beyond * square
            for order in range(_ORDERS - 1, -1, -1):
                total = (total + (series[order] if order % 2 else -series[order])) * square
            cumulant += total
        for i in range(len(tails)):
            found[i] = min(found[i], (math.log(2 / tails[i]) + cumulant) / theta)


@compiled
def _on_lattice(
    whole: Floats, s: Floats, m: Floats, number: int, level: float, span: float,
    half: Floats, weight: Floats,
) -> float:  # fmt: skip
    """The least whole k with P(|S| ≤ k) ≥ level, on a circle of more than `span` points."""
    points = 1 << max(4, math.ceil(math.log2(span + 2)))
    kept = 0
    for i in range(1, points // 2 + 1):
        angle = i * (np.pi / points)
        log_phi = 0.0
        for j in range(number):
            sine = math.sin(whole[j] * angle)
            log_phi -= m[j] * math.log1p(2 * s[j] * sine * sine)
            if log_phi < _NOTHING:
                break
        if log_phi >= _NOTHING:
            half[kept] = angle
            weight[kept] = math.exp(log_phi) / math.sin(angle) / points
            weight[kept] *= 1.0 if i == points // 2 else 2.0
            kept += 1
    low, high = -1, points // 2 - 1
    while high - low > 1:
        k = (low + high) // 2
        held = (2 * k + 1) / points
        for i in range(kept):
            held += weight[i] * math.sin((2 * k + 1) * half[i])
        if held >= level - 1e-14:
            high = k
        else:
            low = k
    return float(high)


@compiled
def _solve(
    t: Floats, phi: Floats, number: int, around: float, level: float, start: float, most: float
) -> float:
    """The q at which the wrapped law holds its level: Newton's steps inside a bracket."""
    low, high, q = 0.0, most, start
    for _ in range(60):
        sines, cosines = 0.0, 0.0
        for i in range(number):
            sines += math.sin(q * t[i]) * phi[i] / t[i]
            cosines += math.cos(q * t[i]) * phi[i]
        held, slope = (2 / around) * (q + 2 * sines), (2 / around) * (1 + 2 * cosines)
        q, low, high, done = _newton(q, held - level, slope, low, high)
        if done:
            break
    return q * (1 + 1e-8)


@compiled
def _terms(
    c: Floats, s: Floats, m: Floats, number: int, weak: Any, deviation: float, series: Floats,
    near: float, step: float, terms: int, taper: float, slack: float,
    order: Ints, t: Floats, phi: Floats,
) -> int:  # fmt: skip
    """How many terms matter; their t and the characteristic function of S + U are written."""
    least = math.log(slack / 4 / math.log(terms + 2))
    # The class that alone leaves the fewest terms: windows around the multiples of its period.
    fewest, half, period = 2.0 * terms, 0.0, 0.0
    for j in range(number):
        threshold = math.expm1(-least / m[j]) / (2 * s[j])
        if threshold <= 0.9:
            each = 2 * np.pi / (c[j] * step)
            left = math.sqrt(threshold) * each * (1 + 2 * math.floor(terms / each + 0.5))
            if left < fewest:
                fewest, period = left, each
                half = 2 * math.asin(math.sqrt(threshold)) / (c[j] * step)
    windows = math.floor(terms / period + 0.5) + 1 if period else 1
    # Those first that empty the far terms most.
    for place in range(min(_FIRST, number)):
        best, strength = place, -1.0
        for i in range(place, number):
            j = order[i]
            each = m[j] * math.log1p(s[j] * min(1.0, (2 * c[j] * near) ** 2))
            if each > strength:
                best, strength = i, each
        order[place], order[best] = order[best], order[place]
    kept = 0
    for window in range(windows):
        first, last = 1, terms
        if period:
            first = max(first, math.ceil(window * period - half))
            last = min(last, math.floor(window * period + half))
        for k in range(first, last + 1):
            here, share = k * step, k * (1 / terms)
            root = math.sqrt(max(1 - share * share, 1e-15))
            log_phi = taper * (root - 1) + math.log((1 - math.exp(-2 * taper * root)) / root)
            cut = max(math.log(share) + math.log(slack / 4), least)
            by_series = here < near
            if by_series:
                square, total = (here * deviation) ** 2, 0.0
                for power in range(_ORDERS - 1, -1, -1):
                    total = (total + series[power]) * square
                log_phi += total
            for i in range(number):
                if log_phi <= cut:
                    break
                j = order[i]
                if not (by_series and weak[j]):
                    sine = math.sin(0.5 * c[j] * here)
                    log_phi -= m[j] * math.log1p(2 * s[j] * sine * sine)
            if log_phi > cut:
                t[kept], phi[kept] = here, math.exp(log_phi)
                kept += 1
    return kept


@compiled(most=PLAIN_LAWS, work=3)
def fill_half_widths(
    coefficients: Floats, scales: Floats, counts: Floats, used: Ints, level: float,
    quantile: float, found: Floats,
) -> None:  # fmt: skip
    """Writes the half-width of each row; NaN where `weighted_laplace` is needed.

    `quantile` is that of the normal curve for the level.
    """
    room = coefficients.shape[1]
    c, b, m = np.zeros(room), np.zeros(room), np.zeros(room)
    s, whole = np.zeros(room), np.zeros(room)
    weak, order = np.zeros(room, np.bool_), np.zeros(room, np.int64)
    t, phi = np.zeros(_MANY_TERMS + 1), np.zeros(_MANY_TERMS + 1)
    series, bounds = np.zeros(_ORDERS), np.zeros(3)
    tail = 1 - level
    slack = tail * _SLACK
    taper = 4 - math.log(slack)
    tails = np.array([tail, slack, slack / 1000])
    for row in range(len(used)):
        number, largest, least = 0, 0.0, np.inf
        variance, fourth, log_still, scale, each, still = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(used[row]):
            a = abs(coefficients[row, j])
            if a == 0 or counts[row, j] <= 0 or scales[row, j] <= _LEAST_SCALE:
                continue
            if scales[row, j] != scale:
                scale = scales[row, j]
                each = 2 * math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2
                still = math.log(math.tanh(0.5 / scale))
            c[number], b[number], m[number], s[number] = a, scale, counts[row, j], each
            largest, least = max(largest, a), min(least, a * max(scale, 1.0))
            variance += m[number] * a * a * each
            fourth += m[number] * a**4 * each * (1 + 3 * each)
            log_still += m[number] * still
            number += 1
        if number == 0 or (least > _DUST * largest and log_still >= math.log(level)):
            found[row] = 0.0
            continue
        found[row] = np.nan
        if least <= _DUST * largest:
            continue
        deviation = math.sqrt(variance)
        # The series of the weak classes together.
        series[:] = 0.0
        beyond, near = 0.0, 0.0
        for j in range(number):
            order[j] = j
            weak[j] = c[j] <= min(_WEAK / b[j], 1.0) * deviation
            if weak[j]:
                # m·(c²s)^d · c^2(k − d), none of which overflows.
                square = (c[j] / deviation) ** 2
                power = m[j]
                for d in range(_ORDERS):
                    power *= square * s[j]
                    each = power
                    for k in range(d, _ORDERS):
                        series[k] -= _LOGARITHM[k, d] * each
                        each *= square
                reach = b[j] * c[j] / deviation
                beyond += m[j] * reach ** (2 * _ORDERS + 2) * (16 / 3 / (_ORDERS + 1))
                near = max(near, reach)
        near = 0.5 / near if near else np.inf
        _chernoff(
            c, b, s, m, number, weak, deviation, series, beyond, near, tails, bounds
        )  # fmt: skip
        most, around, far = bounds[0], bounds[0] + bounds[1], bounds[2]
        step = c[:number].min()
        if most + far <= _LATTICE_POINTS * step:
            lattice = True
            for j in range(number):
                whole[j] = np.rint(c[j] / step)
                lattice = lattice and abs(c[j] - whole[j] * step) <= 1e-11 * c[j]
            if lattice:
                goal, span = level + slack / 1000, (most + far) / step
                found[row] = step * _on_lattice(whole, s, m, number, goal, span, t, phi)
                continue
        if beyond:
            near = min(near, (slack / 1000 / beyond) ** (1 / (2 * _ORDERS + 2)))
        bent = quantile + (quantile**3 - 3 * quantile) / 24 * fourth / variance**2
        guess = min(max(bent * deviation, 0.3 * most), most)
        best = most
        for _ in range(16):
            terms = math.ceil(taper * around / (2 * np.pi * _WIDENING * guess))
            if terms > _MANY_TERMS:
                best = np.nan
                break
            delta = taper * around / (2 * np.pi * terms)
            kept = _terms(
                c, s, m, number, weak, deviation, series, near / deviation,
                2 * np.pi / around, terms, taper, slack, order, t, phi,
            )  # fmt: skip
            goal = level + 2 * slack
            q = _solve(t, phi, kept, around, goal, min(guess, most), most)
            best = min(best, q + delta)
            if delta <= 1.1 * _WIDENING * q:
                break
            guess = max(q, 1e-9 * most)
        found[row] = best
