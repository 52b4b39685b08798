"""Half-widths q with P(|Σ c·X| ≤ q) ≥ level, for independent discrete Laplace X of known scales.

The characteristic function of X is 1 / (1 + s(1 − cos t)), s its variance, so that of the sum S is
a product with no closed inverse. It is inverted numerically, always on the safe side:

- S has atoms, and its characteristic function need not decay. A small independent U on [−δ, δ] is
  added whose own does: |S| ≤ |S + U| + δ, so P(|S| ≤ q + δ) ≥ P(|S + U| ≤ q).
- A sum over t = 2πk/P in place of an integral gives the law wrapped around a circle of length P.
  What wraps back is at most P(|S| > P − q), which Chernoff's bound limits.
- Every term left out is at most its bound, and the bounds are added up.

All three are charged to the answer, so that q is never too small. δ is under half a percent of q,
so that q is at most 1 % larger than the least that holds level + (1 − level)/2000. Where S lives
on a coarse lattice (cell counts at a large ε) the law is computed point by point instead, with no
U at all.

Many sums are done at once: a row of classes each, `counts` copies of coefficient × noise of a
scale. Plain numpy, so that a single one need not wait for a compiler.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SMALLEST_TAIL = 1e-10  # beyond what sums of floats can tell from 0
_SLACK = 1 / 4000  # of the tail: charged twice, for what wraps around and for terms left out
_WIDENING = 0.0045  # δ / q
_MOST_TERMS = 1 << 16
_LATTICE_POINTS = 4096
_AT_ONCE = 1 << 17  # terms of all rows together
_FEW = 1 << 13  # terms × classes left: all at once, without looking for more to leave out
_WEAK = 0.03  # scale × coefficient, in deviations of S: the classes that are taken together
_ORDERS = 6  # of their series
_MANY = 8  # rows


def half_width(
    coefficients: npt.ArrayLike, scales: npt.ArrayLike, counts: npt.ArrayLike, level: float
) -> float:
    """The q for which P(|S| ≤ q) ≥ level: never too small, at most 1 % too large.

    >>> half_width([1.0], [10.0], [1.0], 0.95)
    30.0
    """
    c, b, m = (
        np.atleast_2d(np.asarray(part, np.float64)) for part in (coefficients, scales, counts)
    )
    return float(half_widths(c, b, m, np.array([level]))[0])


def half_widths(coefficients: Floats, scales: Floats, counts: Floats, levels: Floats) -> Floats:
    """As `half_width` for many sums: a row each, filled up with counts of 0."""
    found = np.zeros(len(levels))
    if not coefficients.shape[1]:
        return found
    rows = np.arange(len(levels))
    sums = _sums(coefficients, scales, counts)
    moving = sums.variance > 0
    with np.errstate(invalid="ignore"):
        moving &= sums.log_still < np.log(levels)
    sums, rows, levels = sums.rows(moving), rows[moving], levels[moving]
    if not len(rows):
        return found
    tails = 1 - levels
    most, wrapped, far = sums.chernoff(
        np.stack([tails, tails * _SLACK, tails * _SLACK / 1000], axis=1)
    ).T
    beyond = tails < _SMALLEST_TAIL
    found[rows[beyond]] = most[beyond]
    smooth = ~beyond
    step = sums.smallest_step()
    for row in np.flatnonzero(smooth & (most + far <= _LATTICE_POINTS * step)):
        whole = np.rint(sums.c[row] / step[row])
        if np.all(np.abs(sums.c[row] / step[row] - whole) <= 1e-12 * whole):
            smooth[row] = False
            goal = levels[row] + tails[row] * _SLACK / 1000
            span = float((most[row] + far[row]) / step[row])
            points = _on_lattice(whole, sums.s[row], sums.m[row], float(goal), span)
            found[rows[row]] = step[row] * points
    if smooth.any():
        left = sums.rows(smooth)
        q = _smoothed(left, levels[smooth], most[smooth], (most + wrapped)[smooth])
        found[rows[smooth]] = q
    return found


@dataclass(frozen=True)
class _Sums:
    """Rows of classes, the strongest first: they leave the fewest terms to the others.

    The logarithm of a class's characteristic function, −log(1 + s(1 − cos x)), is a power series
    in x² = (ct)² whose k-th coefficient is at most 2b^2k / k: its singularities nearest to 0 lie at
    ±i/b. For the weak classes, from column `strong` on, the series are added up.
    """

    c: Floats  # |coefficient|
    b: Floats  # scale of the noise
    s: Floats  # its variance
    m: Floats  # how many
    variance: Floats
    log_still: Floats  # log P(every X is 0)
    strong: int
    series: Floats  # of the weak classes together, in powers t², t⁴, …
    beyond: Floats  # times t^(2·_ORDERS + 2): at least what the series leaves out

    def rows(self, which: npt.NDArray[Any]) -> _Sums:
        c, b, s, m = self.c[which], self.b[which], self.s[which], self.m[which]
        rest = self.strong, self.series[which], self.beyond[which]
        return _Sums(c, b, s, m, self.variance[which], self.log_still[which], *rest)

    def smallest_step(self) -> Floats:
        return np.where(self.m > 0, self.c, np.inf).min(axis=1)

    def chernoff(self, tails: Floats) -> Floats:
        """Widths that |S| passes with probability at most each of a row's tails."""
        rooms = np.log(2 / tails)
        limit = 0.985 / (self.c * self.b).max(axis=1)
        most = np.minimum(np.sqrt(2 * rooms / self.variance[:, None]), limit[:, None])
        parts = np.linspace(0, 1, 8)
        first, last = 0.5 * most[:, :1], np.minimum(1.15 * most[:, -1:], limit[:, None])
        theta = first + (last - first) * parts
        grown = np.sinh(0.5 * self.c[:, :, None] * theta[:, None, :])
        grown *= grown
        grown *= -2 * self.s[:, :, None]
        cumulant = -np.einsum("ij,ijk->ik", self.m, np.log1p(grown))
        return ((rooms[:, :, None] + cumulant[:, None, :]) / theta[:, None, :]).min(axis=2)


def _sums(coefficients: Floats, scales: Floats, counts: Floats) -> _Sums:
    c = np.where(counts > 0, np.abs(coefficients), 0.0)
    m = np.where(c > 0, counts, 0.0)
    b = np.where(m > 0, scales, 1.0)
    p = np.exp(-1 / b)
    s = 2 * p / np.square(1 - p)
    parts = m * c * c * s
    variance = parts.sum(axis=1)
    # First the class that empties the far terms, t near 100 deviations⁻¹; then those that empty
    # the near ones.
    relative = c * c / np.maximum(variance, 1e-300)[:, None]
    strength = m * np.log1p(s * np.minimum(1.0, 16 * relative))
    far = np.argmax(m * np.log1p(s * np.minimum(1.0, 10_000 * relative)), axis=1)
    strength[np.arange(len(c)), far] = np.inf
    # Series pay for themselves where there are many rows.
    weak = (b >= 1) & (b * c <= _WEAK * np.sqrt(variance)[:, None]) & (len(c) >= _MANY)
    strength = np.where(weak, strength - 1e300, strength)
    order = np.argsort(-strength, axis=1)
    at = np.arange(len(c))[:, None]
    c, b, s, m = c[at, order], b[at, order], s[at, order], m[at, order]
    used = max(1, int(np.count_nonzero(m.any(axis=0))))
    log_still = (m * np.log(np.tanh(0.5 / b))).sum(axis=1)
    c, b, s, m = c[:, :used], b[:, :used], s[:, :used], m[:, :used]
    strong = min(max(1, int(np.count_nonzero(~weak, axis=1).max(initial=0))), used)
    rest = slice(strong, None)
    series, beyond = _series(c[:, rest], b[:, rest], s[:, rest], m[:, rest])
    return _Sums(c, b, s, m, variance, log_still, strong, series, beyond)


def _series(c: Floats, b: Floats, s: Floats, m: Floats) -> tuple[Floats, Floats]:
    """The coefficients of t², t⁴, … in Σ −m log(1 + s(1 − cos ct)), and of what is left out.

    With 1 + s(1 − cos x) = 1 + Σ h_k x^2k, the logarithm's coefficients are
    a_k = h_k − Σ_{j<k} (j/k) a_j h_{k−j}. Where bct ≤ 1/2, those from order K on add up to at
    most 2(bct)^2K / K · 4/3.
    """
    found = np.zeros((len(c), _ORDERS))
    if not c.shape[1]:
        return found, np.zeros(len(c))
    square = c * c
    h = [s * ((-1) ** (k + 1) / math.factorial(2 * k)) for k in range(1, _ORDERS + 1)]
    a: list[Floats] = []
    power = m
    for k in range(_ORDERS):
        each = h[k].copy()
        for j in range(k):
            each -= (j + 1) / (k + 1) * a[j] * h[k - j - 1]
        a.append(each)
        power = power * square
        found[:, k] = -np.einsum("ij,ij->i", power, each)
    order = _ORDERS + 1
    beyond = np.einsum("ij,ij->i", m, np.square(b * c) ** order) * (8 / 3 / order)
    return found, beyond


def _on_lattice(whole: Floats, s: Floats, m: Floats, level: float, span: float) -> float:
    """The least whole k with P(|S| ≤ k) ≥ level, on a circle of more than `span` points."""
    points = 1 << max(4, math.ceil(math.log2(span + 2)))
    t = np.arange(points // 2 + 1) * (2 * np.pi / points)
    log_phi = np.zeros(len(t))
    for step, variance, number in zip(whole.tolist(), s.tolist(), m.tolist(), strict=True):
        if number:
            log_phi -= number * np.log1p(variance * (1 - np.cos(step * t)))
    law = np.fft.irfft(np.exp(log_phi), points)
    within = law[0] + 2 * np.cumsum(law[1 : points // 2])
    reached = np.concatenate([[law[0]], within]) >= level - 1e-14
    return float(np.argmax(reached)) if reached.any() else span


def _smoothed(sums: _Sums, levels: Floats, most: Floats, around: Floats) -> Floats:
    slack = (1 - levels) * _SLACK
    # U is such that all terms past t = taper / δ together are below a tenth of the slack.
    taper = 4 - np.log(slack)
    normal = NormalDist()
    z = {level: normal.inv_cdf(0.5 + level / 2) for level in set(levels.tolist())}
    guess = np.array([z[level] for level in levels.tolist()]) * np.sqrt(sums.variance)
    guess = np.minimum(guess, most)
    found = np.empty(len(levels))
    rows = np.arange(len(levels))
    for _ in range(6):
        least = taper[rows] * around[rows] / (2 * np.pi * _MOST_TERMS)
        delta = np.maximum(_WIDENING * guess[rows], least)
        terms = np.ceil(taper[rows] * around[rows] / (2 * np.pi * delta)).astype(np.int64)
        order = np.argsort(terms)
        rows, least, delta, terms = rows[order], least[order], delta[order], terms[order]
        q = np.empty(len(rows))
        first = 0
        while first < len(rows):
            # Rows of about as many terms, and as many rows as keep the arrays in cache.
            alike = int(np.searchsorted(terms, 1.3 * terms[first], side="right"))
            part = slice(first, max(first + 1, min(alike, first + _AT_ONCE // int(terms[first]))))
            at = rows[part]
            kept = _terms(
                sums.rows(at),
                2 * np.pi / around[at],
                int(terms[part].max()),
                float(taper[at].max()),
                float(slack[at].min()),
            )
            q[part] = _solve(*kept, around[at], levels[at] + 2 * slack[at], guess[at], most[at])
            first = part.stop
        found[rows] = np.minimum(q + delta, most[rows])
        guess[rows] = np.maximum(q, 1e-300)
        rows = rows[(delta > 1.1 * _WIDENING * q) & (delta > least)]
        if not len(rows):
            break
    return found


def _terms(
    sums: _Sums, step: Floats, terms: int, taper: float, slack: float
) -> tuple[Ints, Floats, Floats]:
    """The terms that matter: their row, their t, and the characteristic function of S + U there.

    Terms enter as φ/k, so those left out, each below its `cut`, add up to less than the slack.
    """
    k = np.arange(1.0, terms + 1)
    share = k / terms
    # The characteristic function of the density ∝ I₀(taper·√(1 − (u/δ)²)) on [−δ, δ].
    root = np.sqrt(np.maximum(1 - share * share, 1e-15))
    bump = taper * (root - 1) + np.log((1 - np.exp(-2 * taper * root)) / root)
    cut = np.log(np.maximum(share, 1 / math.log(terms + 2)) * (slack / 4))
    # The first class for all terms of all rows; the others where something is left.
    # 1 − cos t as 2 sin²(t/2): with noise of a large scale the difference would cancel.
    grid = k * step[:, None]
    log_phi = np.sin(grid * (0.5 * sums.c[:, :1]))
    log_phi *= log_phi
    log_phi *= 2 * sums.s[:, :1]
    log_phi += 1
    np.log(log_phi, out=log_phi)
    log_phi *= -sums.m[:, :1]
    log_phi += bump
    row, column = np.nonzero(log_phi > cut)
    left = row, grid[row, column], log_phi[row, column], cut[column]
    row, t, log_phi, cut = _further(sums, range(1, sums.strong), *left)
    if sums.strong < sums.c.shape[1]:
        # Near 0 the weak classes by their series: what that leaves out is far below the slack.
        widest = (sums.b * sums.c)[:, sums.strong :].max(axis=1)
        near = sums.beyond[row] * t ** (2 * _ORDERS + 2) <= slack / 1000
        near &= widest[row] * t <= 0.5
        rest, far = range(sums.strong, sums.c.shape[1]), ~near
        others = _further(sums, rest, row[far], t[far], log_phi[far], cut[far])
        row, t, log_phi = row[near], t[near], log_phi[near]
        square, total = t * t, np.zeros(len(t))
        for order in reversed(range(_ORDERS)):
            total = (total + sums.series[row, order]) * square
        row, t = np.concatenate([row, others[0]]), np.concatenate([t, others[1]])
        log_phi = np.concatenate([log_phi + total, others[2]])
    return row, t, np.exp(log_phi)


def _further(
    sums: _Sums, columns: range, row: Ints, t: Floats, log_phi: Floats, cut: Floats
) -> tuple[Ints, Floats, Floats, Floats]:
    """The terms with these classes taken in too, without those that fall below their cut."""
    for j in columns:
        if len(t) * (columns.stop - j) <= _FEW:
            some = slice(j, columns.stop)
            half = np.sin(0.5 * sums.c[row, some] * t[:, None])
            half *= half
            half *= 2 * sums.s[row, some]
            log_phi = log_phi - np.einsum("ij,ij->i", np.log1p(half), sums.m[row, some])
            break
        half = np.sin(0.5 * sums.c[row, j] * t)
        log_phi = log_phi - sums.m[row, j] * np.log(1 + 2 * sums.s[row, j] * half * half)
        keep = log_phi > cut
        if np.count_nonzero(keep) < 0.9 * len(t):
            row, t, log_phi, cut = row[keep], t[keep], log_phi[keep], cut[keep]
    return row, t, log_phi, cut


def _solve(
    row: Ints, t: Floats, phi: Floats, around: Floats, level: Floats, start: Floats, most: Floats
) -> Floats:
    """The q at which each wrapped law holds its level: Newton's steps inside a bracket."""
    number = len(start)
    low, high, q = np.zeros(number), most.copy(), start.copy()
    ratio = phi / t
    for _ in range(60):
        angle = q[row] * t
        held = (2 / around) * (q + 2 * np.bincount(row, np.sin(angle) * ratio, number))
        slope = (2 / around) * (1 + 2 * np.bincount(row, np.cos(angle) * phi, number))
        short = held < level
        low, high = np.where(short, q, low), np.where(short, high, q)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = q - (held - level) / slope
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        done = (np.abs(new - q) <= 1e-7 * q) | (high - low <= 1e-9 * high)
        q = new
        if done.all():
            break
    return q * (1 + 1e-7)
