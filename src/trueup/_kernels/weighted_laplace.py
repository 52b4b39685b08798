"""Half-widths q with P(|Σ c·X| ≤ q) ≥ level, for independent discrete Laplace X of known scales.

The characteristic function of X is 1 / (1 + s(1 − cos t)), s its variance, so that of the sum is
a product with no closed inverse. It is inverted numerically, always on the safe side:

- The sum S has atoms, and its characteristic function need not decay. A small independent U on
  [−δ, δ] is added whose own does: |S| ≤ |S + U| + δ, so P(|S| ≤ q + δ) ≥ P(|S + U| ≤ q).
- A sum over t = 2πk/P in place of an integral gives the law wrapped around a circle of length P.
  What wraps back is at most P(|S| > P − q), which Chernoff's bound limits.
- Every term left out is at most its bound, and the bounds are added up.

All three are charged to the answer, so that q is never too small. δ is under half a percent of q,
so that q is at most 1 % larger than the least that holds level + (1 − level)/2000. Where S lives
on a coarse lattice (cell counts at a large ε) the law is computed point by point instead, with no
U at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LATTICE_POINTS = 4096
_WIDENING = 0.0045  # δ / q
_MOST_TERMS = 1 << 16


def _variance(scales: Floats) -> Floats:
    p = np.exp(-1 / scales)
    return np.asarray(2 * p / np.square(np.expm1(-1 / scales)), np.float64)


class WeightedLaplace:
    """The law of Σ c·X over classes: `counts` copies each of a coefficient times noise of a scale.

    >>> law = WeightedLaplace([1.0], [10.0])
    >>> law.half_width(0.95)
    30.0
    """

    def __init__(
        self,
        coefficients: npt.ArrayLike,
        scales: npt.ArrayLike,
        counts: npt.ArrayLike = 1.0,
    ) -> None:
        c = np.abs(np.asarray(coefficients, np.float64)).ravel()
        b = np.broadcast_to(np.asarray(scales, np.float64), c.shape)
        m = np.broadcast_to(np.asarray(counts, np.float64), c.shape)
        present = (c > 0) & (m > 0)
        c, b, m = c[present], b[present], m[present]
        s = _variance(b)
        parts = m * c * c * s
        self.variance = float(parts.sum())
        # The strongest first: they empty the far terms soonest.
        edge = np.minimum(1.0, 16 * parts / (m * s * self.variance)) if len(c) else c
        order = np.argsort(-m * np.log1p(s * edge))
        self._c, self._b, self._m, self._s = c[order], b[order], m[order], s[order]

    def _chernoff(self, tails: Sequence[float]) -> list[float]:
        """Widths that |S| passes with probability at most each of `tails`, by Chernoff's bound."""
        rooms = [math.log(2 / tail) for tail in tails]
        limit = 0.985 / float((self._c * self._b).max())
        near, far = (
            min(math.sqrt(2 * room / self.variance), limit) for room in (rooms[0], rooms[-1])
        )
        theta = np.linspace(0.5 * near, min(1.15 * far, limit), 8)
        grown = np.sinh(np.multiply.outer(self._c, theta / 2))
        cumulant = -self._m @ np.log1p(-2 * self._s[:, None] * grown * grown)
        return [float(((room + cumulant) / theta).min()) for room in rooms]

    def half_width(self, level: float) -> float:
        """The q for which P(|S| ≤ q) ≥ level: never too small, at most 1 % too large."""
        if not len(self._c):
            return 0.0
        tail = 1 - level
        still = float(self._m @ np.log(np.tanh(0.5 / self._b)))  # log P(every X is 0)
        if still >= math.log(level):
            return 0.0
        if tail < 1e-10:  # beyond what sums of floats can tell from 0
            return self._chernoff([tail])[0]
        slack = tail / 4000
        most, wrapped, far = self._chernoff([tail, slack, slack / 1000])
        step = float(self._c.min())
        if most + far <= _LATTICE_POINTS * step:
            ratio = self._c / step
            whole = np.rint(ratio)
            if np.all(np.abs(ratio - whole) <= 1e-12 * whole):
                return step * self._on_lattice(whole, level + slack / 1000, (most + far) / step)
        return self._smoothed(level, slack, most, wrapped)

    def _on_lattice(self, whole: Floats, level: float, span: float) -> float:
        """The least whole k with P(|S| ≤ k) ≥ level, on a circle of more than `span` points."""
        points = 1 << max(4, math.ceil(math.log2(span + 2)))
        t = np.arange(points // 2 + 1) * (2 * np.pi / points)
        log_phi = np.zeros(len(t))
        for r, s, m in zip(whole.tolist(), self._s.tolist(), self._m.tolist(), strict=True):
            log_phi -= m * np.log1p(s * (1 - np.cos(r * t)))
        law = np.fft.irfft(np.exp(log_phi), points)
        within = law[0] + 2 * np.cumsum(law[1 : points // 2])
        reached = np.concatenate([[law[0]], within]) >= level - 1e-14
        return float(np.argmax(reached)) if reached.any() else span

    def _smoothed(self, level: float, slack: float, most: float, wrapped: float) -> float:
        around = most + wrapped
        # U is such that all terms past t = taper / δ together are below a tenth of the slack.
        taper = 4 - math.log(slack)
        guess = min(NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(self.variance), most)
        for _ in range(6):
            delta = max(_WIDENING * guess, taper * around / (2 * np.pi * _MOST_TERMS))
            terms = math.ceil(taper * around / (2 * np.pi * delta))
            t, phi = self._terms(2 * np.pi / around, terms, taper, slack)
            # The slack is charged twice: for what wraps around, and for the terms left out.
            q = _solve(t, phi, around, level + 2 * slack, guess, most)
            if delta <= 1.1 * _WIDENING * q or terms >= _MOST_TERMS:
                break
            guess = q
        return min(q + delta, most)

    def _terms(self, step: float, terms: int, taper: float, slack: float) -> tuple[Floats, Floats]:
        """The t whose terms matter, and the characteristic function of S + U there.

        Terms enter as φ/k, so those left out, each below `cut`, add up to less than the slack.
        """
        k = np.arange(1.0, terms + 1)
        t = k * step
        cut = np.maximum(slack / (4 * math.log(terms + 2)), k * (slack / (4 * terms)))
        phi = _bump(k * (taper / terms), taper)
        classes = list(zip(self._c.tolist(), self._s.tolist(), self._m.tolist(), strict=True))
        for number, (c, s, m) in enumerate(classes):
            factor = np.cos(t * c)
            factor *= -s
            factor += 1 + s
            phi = phi / (factor if m == 1 else factor**m)
            keep = phi > cut
            left = np.count_nonzero(keep)
            if left < 0.8 * len(t):
                t, phi, cut = t[keep], phi[keep], cut[keep]
            if left < 200:
                return t, self._rest(number + 1, t, phi)
        return t, phi

    def _rest(self, first: int, t: Floats, phi: Floats) -> Floats:
        """The characteristic function with the classes from `first` on taken in at once."""
        c, s, m = self._c[first:], self._s[first:], self._m[first:]
        if not len(c):
            return phi
        half = np.sin(np.multiply.outer(c / 2, t))
        return phi * np.exp(-m @ np.log1p(2 * s[:, None] * half * half))


def _bump(x: Floats, taper: float) -> Floats:
    """The characteristic function of U on [−1, 1] with density ∝ I₀(taper·√(1 − u²))."""
    root = np.sqrt(np.maximum(taper * taper - x * x, 1e-12))
    return np.exp(root - taper) * (1 - np.exp(-2 * root)) * (taper / root)


def _solve(t: Floats, phi: Floats, around: float, level: float, start: float, most: float) -> float:
    """The q at which the wrapped law holds `level`: Newton's steps inside a bracket."""
    low, high = 0.0, most
    ratio = phi / t
    q = start
    for _ in range(60):
        held = (2 / around) * (q + 2 * float(np.sin(q * t) @ ratio))
        slope = (2 / around) * (1 + 2 * float(np.cos(q * t) @ phi))
        if held < level:
            low = q
        else:
            high = q
        new = q - (held - level) / slope if slope > 0 else math.inf
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - q) <= 1e-7 * q or high - low <= 1e-9 * high:
            break
        q = new
    return max(new, low)
