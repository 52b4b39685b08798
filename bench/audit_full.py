"""The noise against its law at full length: 10^9 samples at each of 200 scales by default.

Run: python bench/audit_full.py [--draws 1e9] [--scales 200]
Prints a line a scale, and fails if any p-value is below 10^-9 over the number of scales.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from trueup._kernels.noise import laplace
from trueup.audit import audit_in_bulk, noise_fit

FIXED = ["1/1000", "1/100", "1/7", "1/3", "1/2", "1", "3/2", "2", "5", "10", "12", "121/10", "24"]
FIXED += ["100", "1000", "5040/11", "720720", "1000000", "9699690/17", "123456789", "1000000000"]


def scales(count: int) -> list[Fraction]:
    """The corners, then scales spread evenly over the orders of magnitude, many of them composite.

    The order is fixed: a failure can be looked up again.
    """
    found = [Fraction(text) for text in FIXED][:count]
    generator = random.Random(20)
    while len(found) < count:
        size = 10 ** generator.uniform(-2.9, 8.9)
        below = generator.choice([1, 1, 2, 3, 6, 7, 10, 12, 30, 64, 97, 210, 1000])
        scale = Fraction(max(1, round(size * below)), below)
        if Fraction(1, 1000) <= scale <= 10**9 and scale not in found:
            found.append(scale)
    return found


def fit(scale: Fraction, draws: int) -> float:
    begin = time.perf_counter()
    p = noise_fit(lambda size: laplace.draw(size, scale), scale, draws)
    seconds = time.perf_counter() - begin
    print(f"scale {scale!s:>22}   p = {p:.3g}   {seconds:.0f} s", flush=True)
    return p


def noisy_count(scale: Fraction, count: int, size: int) -> npt.NDArray[np.int64]:
    return count + laplace.draw(size, scale)


def time_against_size(scale: int, batches: int = 20_000, size: int = 1024) -> float:
    """The t-statistic of the correlation of a batch's time with the size of its noise.

    Beyond about 5 the time of a batch tells something of its noise.
    """
    times, sizes = np.empty(batches), np.empty(batches)
    for i in range(batches):
        begin = time.perf_counter_ns()
        drawn = laplace.draw(size, scale)
        times[i] = time.perf_counter_ns() - begin
        sizes[i] = np.abs(drawn).sum()
    calm = times < np.quantile(times, 0.9)  # without what the rest of the machine did
    r = float(np.corrcoef(times[calm], sizes[calm])[0, 1])
    return r * float(np.sqrt((calm.sum() - 2) / (1 - r * r)))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--draws", type=float, default=1e9, help="samples at each scale")
    arguments.add_argument("--scales", type=int, default=200)
    arguments.add_argument("--threads", type=int, default=2)
    given = arguments.parse_args()
    tried = scales(given.scales)
    with ThreadPoolExecutor(given.threads) as pool:
        values = list(pool.map(lambda scale: fit(scale, int(given.draws)), tried))
    good = min(values) > 1e-9 / len(values)
    print(f"{len(values)} scales, {given.draws:.0e} samples each: least p = {min(values):.3g}")
    for epsilon in (Fraction(1), Fraction(1, 10)):
        mechanism = partial(noisy_count, 1 / epsilon)
        found = audit_in_bulk(mechanism, 0, 1, epsilon, int(given.draws), 1 - 1e-9)
        print(found)
        good = good and found.passed
    for scale in (1, 40, 1000, 10**6):
        print(f"time of a batch against the size of its noise, scale {scale}: t = ", end="")
        print(f"{time_against_size(scale):.1f}")
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
