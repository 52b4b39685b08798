"""Samples a second on one core: our exact noise, numpy's floating-point one, OpenDP's exact one.

Laplace noise first, then Gaussian.

Run: python bench/noise.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from trueup._kernels.noise import gauss, laplace
from trueup._kernels.noise.laplace_tables import tables

SCALES = (1, 10, 100, 1_000, 1_000_000)
DEVIATIONS = (1, 100, 100_000, 10_000_000)
SIZE = 1 << 21


def rate(work: Callable[[], object], size: int, repeats: int) -> float:
    """Samples a second of CPU time, the best of several runs."""
    work()
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return size / best


def opendp_sampler(scale: int, size: int) -> Callable[[], object]:
    """OpenDP's discrete Laplace on a vector of integers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    mechanism = dp.m.make_laplace(*space, scale=float(scale))
    zeros = [0] * size
    return lambda: mechanism(zeros)


def table_time(scale: int) -> float:
    """Seconds to build the tables of a scale not seen before."""
    tables.cache_clear()
    begin = time.process_time()
    tables(Fraction(scale))
    return time.process_time() - begin


def opendp_gaussian(deviation: int, size: int) -> Callable[[], object]:
    """OpenDP's discrete Gaussian on a vector of integers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    mechanism = dp.m.make_gaussian(*space, scale=float(deviation))
    zeros = [0] * size
    return lambda: mechanism(zeros)


def gaussian_rates() -> bool:
    """Gaussian noise: 60 M/s or 0.6 of numpy's normal up to σ = 10^5, and 300 times OpenDP."""
    values, generator, passed = np.zeros(SIZE, np.int64), np.random.default_rng(), True
    heads = f"{'numpy':>10} {'OpenDP':>10} {'x numpy':>8} {'x OpenDP':>9}"
    print(f"\n{'sigma':>9} {'trueup':>10} {heads}")
    for deviation in DEVIATIONS:
        ours = rate(partial(gauss.add_gaussian_noise, values, deviation**2), SIZE, 20)
        numpys = rate(partial(generator.normal, 0.0, deviation, SIZE), SIZE, 10)
        theirs = rate(opendp_gaussian(deviation, 5_000), 5_000, 3)
        held = ours >= 60e6 or ours >= 0.6 * numpys or deviation > 10**5
        good = held and ours >= 300 * theirs
        passed = passed and good
        print(
            f"{deviation:>9} {ours / 1e6:>7.0f} M/s {numpys / 1e6:>6.1f} M/s"
            f" {theirs / 1e6:>6.3f} M/s {ours / numpys:>8.1f} {ours / theirs:>9.0f}"
            f" {'' if good else 'FAIL'}"
        )
    print("PASS" if passed else "FAIL", "target: 60 M/s or 0.6x numpy, and 300x OpenDP")
    return passed


def main() -> None:
    values = np.zeros(SIZE, np.int64)
    generator = np.random.default_rng()
    laplace.add_noise(values, 1)
    print(
        f"{'scale':>9} {'trueup':>10} {'numpy':>10} {'OpenDP':>10} {'x numpy':>8} {'x OpenDP':>9}",
        end="",
    )
    print(f" {'tables':>8}")
    passed = True
    for scale in SCALES:
        setup = table_time(scale)
        ours = rate(partial(laplace.add_noise, values, scale), SIZE, 40)
        numpys = rate(partial(generator.laplace, 0.0, scale, SIZE), SIZE, 10)
        theirs = rate(opendp_sampler(scale, 20_000), 20_000, 3)
        good = (ours >= 150e6 or ours >= 3 * numpys) and ours >= 1000 * theirs
        passed = passed and good
        print(
            f"{scale:>9} {ours / 1e6:>7.0f} M/s {numpys / 1e6:>6.1f} M/s {theirs / 1e6:>6.3f} M/s"
            f" {ours / numpys:>8.1f} {ours / theirs:>9.0f} {setup * 1e3:>5.1f} ms"
            f" {'' if good else 'FAIL'}"
        )
    print("PASS" if passed else "FAIL", "target: 150 M/s or 3x numpy, and 1,000x OpenDP")
    gaussian_rates()


if __name__ == "__main__":
    main()
