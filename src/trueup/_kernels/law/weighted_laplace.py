"""Half-widths q with P(|Σ c·X| ≤ q) ≥ level, for independent discrete Laplace X of known scales.

The characteristic function of X is 1 / (1 + s(1 − cos t)), s its variance, so that of the sum S is
a product with no closed inverse. It is inverted numerically, always on the safe side:

- S has atoms, and its characteristic function need not decay. A small independent U on [−δ, δ] is
  added whose own does: |S| ≤ |S + U| + δ, so P(|S| ≤ q + δ) ≥ P(|S + U| ≤ q).
- A sum over t = 2πk/P in place of an integral gives the law wrapped around a circle of length P.
  What wraps back is at most P(|S| > P − q), which Chernoff's bound limits.
- Every term left out is at most its bound, and the bounds are added up.

All three are charged to the answer, so that q is never too small. 2δ is under one percent of q, so
that q is at most 1 % larger than the least that holds level + (1 − level)/2000, at levels of one
half and more. Where S lives on a coarse lattice (cell counts at a large ε) the law is computed
point by point instead, with no U.

At a large ε the noise of most answers is 0 nearly always, and a wide circle would be needed for
jumps that are rare. Those are taken out: see `rare_jumps`.

Plain numpy, so that a single interval need not wait for a compiler.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from trueup._kernels.law import rare_jumps
from trueup._kernels.law.laplace_sum import ORDERS, LaplaceSum
from trueup.arrays import Floats

SMALLEST_TAIL = 1e-10  # beyond what sums of floats can tell from 0
SLACK = 1 / 4000  # of the tail: charged twice, for what wraps around and for terms left out
WIDENING = 0.0045  # δ / q
_MOST_TERMS = 1 << 20
MANY_TERMS = 1 << 12  # from here on rare jumps are looked for
LATTICE_POINTS = 4096
LEAST_SCALE = 1 / 600  # below it noise is 0: e^−600 is never
NOTHING = -45.0  # the logarithm of what is lost in rounding
_AT_ONCE = 1 << 11  # terms × classes, between looks for terms to leave out
DUST = 1e-12  # of the largest coefficient: what rounding leaves where one is 0
_FURTHEST = 300  # in powers of two: of the largest coefficient from 1, of others from the largest
_NORMAL = NormalDist()
_JUMPING = (0.999, 0.3, 0.02)  # how likely rare jumps are, of 1 − level: tried from the last on
_LEAST_LEVEL = 0.3  # from which on what is still so often moves no further than a short circle


def half_width(
    coefficients: npt.ArrayLike, scales: npt.ArrayLike, counts: npt.ArrayLike, level: float
) -> float:
    """The q for which P(|S| ≤ q) ≥ level: never too small, at most 1 % too large.

    S has `counts` copies of each coefficient times noise of its scale.

    >>> half_width([1.0], [10.0], [1.0], 0.95)
    30.0
    """
    c, b, m = (np.asarray(part, np.float64) for part in (coefficients, scales, counts))
    c = np.abs(c)
    largest = float(c.max(initial=0.0))
    if largest != 0.0 and abs(math.log2(largest)) > _FURTHEST:  # their squares would not be floats
        moved = math.frexp(largest)[1]
        found = half_width(np.ldexp(c, -moved), b, m, level)
        return math.ldexp(found, moved)
    moving = (c > 2.0**-_FURTHEST * largest) & (m > 0) & (b > LEAST_SCALE)
    if not moving.all():
        c, b, m = c[moving], b[moving], m[moving]
    if not len(c):
        return 0.0
    real = np.maximum(b, 1.0) * c > DUST * c.max()
    dust = 0.0
    if not real.all():
        law = LaplaceSum(c[~real], b[~real], m[~real])
        dust = law.chernoff((1 - level) * SLACK)[0]
        c, b, m = c[real], b[real], m[real]
    found = _half_width(LaplaceSum(c, b, m), level)
    return found + dust if dust > 1e-10 * found else found


def chernoff_width(
    coefficients: npt.ArrayLike, scales: npt.ArrayLike, counts: npt.ArrayLike, room: float
) -> float:
    """The q that |S| passes with probability 2·exp(−room) at most, by Chernoff's bound.

    >>> round(chernoff_width([1.0], [10.0], [1.0], 1000.0))
    10188
    """
    c, b, m = (np.asarray(part, np.float64) for part in (coefficients, scales, counts))
    moving = (c != 0) & (m > 0) & (b > LEAST_SCALE)
    if not moving.any():
        return 0.0
    largest = float(np.abs(c[moving]).max())
    law = LaplaceSum(np.abs(c[moving]) / largest, b[moving], m[moving])
    return law.passed_by_logs(room)[0] * largest


def normal(level: float) -> float:
    """The half-width of a normal curve, in deviations."""
    return _NORMAL.inv_cdf(0.5 + level / 2)


def _half_width(law: LaplaceSum, level: float) -> float:
    if law.log_still >= math.log(level):
        return 0.0
    tail = 1 - level
    most, wrapped, far = law.chernoff(tail, tail * SLACK, tail * SLACK / 1000)
    if tail < SMALLEST_TAIL:
        return most
    step = float(law.c.min())
    if most + far <= LATTICE_POINTS * step:
        whole = np.rint(law.c / step)
        if np.all(np.abs(law.c - whole * step) <= 1e-11 * law.c):
            goal = level + tail * SLACK / 1000
            return step * _on_lattice(whole, law.s, law.m, goal, (most + far) / step)
    return _smoothed(law, level, most, most + wrapped)


def _on_lattice(whole: Floats, s: Floats, m: Floats, level: float, span: float) -> float:
    """The least whole k with P(|S| ≤ k) ≥ level, on a circle of more than `span` points.

    P(|S| ≤ k) is the mean of φ(t) · sin((k + 1/2) t) / sin(t/2) over the points t of the circle.
    """
    points, half = circle(span)
    log_phi = np.zeros(len(half))
    for step, variance, number in zip(whole.tolist(), s.tolist(), m.tolist(), strict=True):
        log_phi -= number * np.log1p(2 * variance * np.square(np.sin(step * half)))
        if number > 1 and len(half) > 64:
            keep = log_phi > NOTHING
            half, log_phi = half[keep], log_phi[keep]
    return least_on_circle(points, half, log_phi, level)


def circle(span: float) -> tuple[int, Floats]:
    """A number of points on a circle, more than `span`, and half the angle of each up to π."""
    points = 1 << max(4, math.ceil(math.log2(span + 2)))
    return points, np.arange(1.0, points // 2 + 1) * (np.pi / points)


def least_on_circle(points: int, half: Floats, log_phi: Floats, level: float) -> float:
    """The least whole k with P(|S| ≤ k) ≥ level, from the characteristic function on a circle."""
    once = half > (np.pi / 2) * (1 - 0.5 / points)  # the point opposite to 0; all others twice
    weight = np.exp(log_phi) / np.sin(half) * np.where(once, 1 / points, 2 / points)
    low, high = -1, points // 2 - 1
    while high - low > 1:
        k = (low + high) // 2
        held = (2 * k + 1) / points + float(np.dot(weight, np.sin((2 * k + 1) * half)))
        low, high = (low, k) if held >= level - 1e-14 else (k, high)
    return float(high)


def _smoothed(law: LaplaceSum, level: float, most: float, around: float) -> float:
    tail = 1 - level
    slack = tail * SLACK
    # U is such that all terms past t = taper / δ together are below a tenth of the slack.
    taper = 4 - math.log(slack)
    per_width = taper / (2 * math.pi * WIDENING)
    rare, found = rare_jumps.NONE, most
    z = normal(level)
    fourth = float(np.dot(law.m, np.square(law.c * law.c) * law.s * (1 + 3 * law.s)))
    bent = z + (z**3 - 3 * z) / 24 * fourth / law.deviation**4
    guess = min(max(bent * law.deviation, 0.3 * most), most)
    whole, shares = law, list(_JUMPING) if level >= _LEAST_LEVEL else []
    for _ in range(16):
        while per_width * around / guess > MANY_TERMS and shares:
            big, others = rare_jumps.split(whole, tail * shares.pop())
            near, wrapped = others.chernoff(1 - level / math.exp(big.log_still), slack)
            if 2 * (near + wrapped) < 0.7 * around:
                law, around = others, 2 * (near + wrapped)
                rare = rare_jumps.likely(big, near + wrapped, slack / 1000)
                most, found, guess = min(near, most), min(near, found), min(near, guess)
        terms = min(math.ceil(per_width * around / guess), _MOST_TERMS)
        delta = taper * around / (2 * math.pi * terms)
        t, phi = _terms(law, 2 * math.pi / around, terms, taper, slack)
        if rare is not rare_jumps.NONE:
            phi = phi * rare.characteristic(t)
        q = solve(t, phi, around, rare.mass, level + 2 * slack, min(guess, most), most)
        found = min(found, q + delta)
        if delta <= 1.1 * WIDENING * q or terms == _MOST_TERMS:
            break
        at_zero = q < 0.01 * float(law.c.min()) and level >= _LEAST_LEVEL
        if at_zero and rare_jumps.cancelling(whole) >= level:
            return 0.0
        guess = max(q, 1e-9 * most)
    return found


def _terms(
    law: LaplaceSum, step: float, terms: int, taper: float, slack: float
) -> tuple[Floats, Floats]:
    """The t of the terms that matter, and the characteristic function of S + U there.

    Terms enter as φ/k, so those left out, each below its `cut`, add up to less than the slack.
    """
    least = math.log(slack / 4 / math.log(terms + 2))
    k = _unscreened(law, step, terms, -least)
    t = k * step
    share = k * (1 / terms)
    log_phi = tapered(share, taper)
    cut = np.maximum(np.log(share) + math.log(slack / 4), least)
    # Near 0 the weak classes by their series: what that leaves out is far below the slack.
    series, beyond, near = law.series
    reach = (slack / 1000 / beyond) ** (1 / (2 * ORDERS + 2)) if beyond else math.inf
    end = int(np.searchsorted(t, min(near, reach) / law.deviation))
    square = np.square(t[:end] * law.deviation)
    total = np.zeros(end)
    for power in reversed(series):
        total = (total + power) * square
    parts = [_further(law.strong, t[:end], log_phi[:end] + total, cut[:end])]
    if end < len(t):
        by_strength = law.by_strength(2 * float(t[end]))
        parts.append(_further(by_strength, t[end:], log_phi[end:], cut[end:]))
    return np.concatenate([t for t, _ in parts]), np.exp(np.concatenate([phi for _, phi in parts]))


def tapered(share: Floats, taper: float) -> Floats:
    """The logarithm of U's characteristic function, at shares of where it ends: t = taper / δ.

    U has the density ∝ I₀(taper·√(1 − (u/δ)²)) on [−δ, δ].
    """
    root = np.sqrt(np.maximum(1 - share * share, 1e-15))
    found: Floats = taper * (root - 1) + np.log((1 - np.exp(-2 * taper * root)) / root)
    return found


def _unscreened(law: LaplaceSum, step: float, terms: int, room: float) -> Floats:
    """The numbers k ≤ terms, rising, but for those that one class alone makes negligible.

    A class of m noises is below e^−room wherever sin²(ct/2) exceeds a threshold: what is left are
    windows around the multiples of 2π/c. Taken is the class that leaves the fewest.
    """
    threshold = np.expm1(room / law.m) / (2 * law.s)
    c = law.c * step
    period = 2 * np.pi / c
    left = np.sqrt(threshold) * period * (1 + 2 * np.floor(terms / period + 0.5))
    left[threshold > 0.9] = np.inf
    best = int(np.argmin(left))
    if left[best] > 2 * terms:
        return np.arange(1.0, terms + 1)
    half = 2 * math.asin(math.sqrt(threshold[best])) / c[best]
    middle = np.arange(math.floor(terms / period[best] + 0.5) + 1) * period[best]
    first = np.maximum(np.ceil(middle - half), 1.0)
    number = np.minimum(np.floor(middle + half), float(terms)) - first + 1
    number = np.maximum(number, 0).astype(np.int64)
    before = np.cumsum(number) - number
    return np.repeat(first - before, number) + np.arange(float(number.sum()))


def _further(
    classes: tuple[Floats, Floats, Floats], t: Floats, log_phi: Floats, cut: Floats
) -> tuple[Floats, Floats]:
    """The terms with these classes taken in too, without those that fall below their cut."""
    c, s, m = classes
    done = 0
    while done < len(c) and len(t):
        some = slice(done, done + max(1, _AT_ONCE // len(t)))
        half = np.sin(np.multiply.outer(t, 0.5 * c[some]))
        half *= half
        half *= 2 * s[some]
        log_phi = log_phi - np.log1p(half, out=half) @ m[some]
        keep = log_phi > cut
        if np.count_nonzero(keep) < 0.9 * len(t):
            t, log_phi, cut = t[keep], log_phi[keep], cut[keep]
        done = some.stop
    keep = log_phi > cut
    return t[keep], log_phi[keep]


def newton(
    q: float, over: float, slope: float, low: float, high: float
) -> tuple[float, float, float, bool]:
    """The next q and its bracket, where the law holds `over` more than its level; whether it is it.

    A step that leaves the bracket is one to its middle. Compiled too, where there are many.
    """
    if over < 0:
        low = q
    else:
        high = q
    new = q - over / slope if slope > 0 else -1.0
    if not low < new < high:
        new = (low + high) / 2
    return new, low, high, abs(new - q) <= 1e-9 * q or high - low <= 1e-9 * high


def solve(
    t: Floats, phi: Floats, around: float, mass: float, level: float, start: float, most: float
) -> float:
    """The q at which the wrapped law holds its level: Newton's steps inside a bracket."""
    low, high, q = 0.0, most, start
    ratio = phi / t
    for _ in range(60):
        angle = q * t
        held = (2 / around) * (mass * q + 2 * float(np.dot(np.sin(angle), ratio)))
        slope = (2 / around) * (mass + 2 * float(np.dot(np.cos(angle), phi)))
        q, low, high, done = newton(q, held - level, slope, low, high)
        if done:
            break
    return q * (1 + 1e-8)
