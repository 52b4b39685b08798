"""Whether a sampler's noise follows the exact discrete Laplace or Gaussian law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from trueup.arrays import Ints
from trueup.epsilon import positive

_CHUNK = 1 << 20


def noise_fit(sampler: Callable[[int], Ints], scale: object, draws: int = 10_000_000) -> float:
    """The chance that exact discrete Laplace noise fits as badly as this sampler's, at most.

    `sampler(size)` gives that many int64 samples. They are compared with the law of the
    scale value by value, in 1,024 and in 64 groups of equal chance, at the one worst value,
    and digit by digit. The least of those p-values is given, times how many there are.

    >>> from trueup._kernels.noise import laplace
    >>> noise_fit(lambda size: laplace.draw(size, 3), 3, draws=100_000) > 1e-9
    True
    >>> noise_fit(lambda size: laplace.draw(size, "2.8"), 3, draws=100_000) < 1e-9
    True
    """
    from trueup._kernels.noise.tally import SampleTally

    return _fit(sampler, SampleTally(positive(scale, "scale")), draws)


def gaussian_fit(
    sampler: Callable[[int], Ints], variance: object, draws: int = 10_000_000
) -> float:
    """As `noise_fit`, for discrete Gaussian noise: P(x) in proportion to exp(−x²/(2·variance)).

    >>> from trueup._kernels.noise import gauss
    >>> gaussian_fit(lambda size: gauss.draw(size, 9), 9, draws=100_000) > 1e-9
    True
    >>> gaussian_fit(lambda size: gauss.draw(size, "8"), 9, draws=100_000) < 1e-9
    True
    """
    from trueup._kernels.noise.gauss_tally import GaussTally

    return _fit(sampler, GaussTally(positive(variance, "variance")), draws)


class _Counting(Protocol):
    def add(self, samples: Ints) -> None: ...

    def p_value(self) -> float: ...


def _fit(sampler: Callable[[int], Ints], tally: _Counting, draws: int) -> float:
    left = draws
    while left > 0:
        tally.add(sampler(min(left, _CHUNK)))
        left -= _CHUNK
    return tally.p_value()
