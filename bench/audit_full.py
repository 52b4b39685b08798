"""The audit at full length: 10^9 samples at each of 200 scales, 1,000 clean runs, and time.

Run: python bench/audit_full.py [--draws 1e9] [--scales 200] [--clean 1000]
Gaussian noise alone, at 23 variances: python bench/audit_full.py --gaussian [--draws 1e9]
In minutes: --draws 1e6 --scales 40 --clean 100 --batches 4000 --requests 50
Prints a line a scale, and fails if any p-value is below 10^-9 over the number of scales, if an
honest mechanism raises an alarm, or if time tells of noise or of neighbours.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import audit_time
from trueup._kernels.noise import gauss, laplace
from trueup.audit import (
    Claim,
    Effort,
    Pair,
    Target,
    audit_in_bulk,
    examine,
    gaussian_fit,
    neighbours_of_counts,
    noise_fit,
)

MODELS = Path(__file__).parents[1] / "tests" / "audit" / "known_mistakes.py"

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


LISTED = """
    1/1000000 1/12 1/2 1 10/3 9 100/7 100 5000 16383 16384 16385 65535 65537 99991/7 1e6 123456789
    1e10 1e12 1e14 1e17 99999999977/13 1e24
"""
VARIANCES = LISTED.split()


def gaussian(draws: int, threads: int) -> bool:
    """Whether Gaussian samples fit their law at variances on all sides of the sampler's paths."""

    def fitted(variance: str) -> float:
        begin = time.perf_counter()
        p = gaussian_fit(lambda size: gauss.draw(size, variance), variance, draws)
        print(
            f"variance {variance:>18}   p = {p:.3g}   {time.perf_counter() - begin:.0f} s",
            flush=True,
        )
        return p

    with ThreadPoolExecutor(threads) as pool:
        values = list(pool.map(fitted, VARIANCES))
    print(f"{len(values)} variances, {draws:.0e} samples each: least p = {min(values):.3g}")
    return min(values) > 1e-9 / len(values)


def noisy_count(scale: Fraction, count: int, size: int) -> npt.NDArray[np.int64]:
    return count + laplace.draw(size, scale)


def clean_runs(number: int) -> int:
    """How many examinations of honest mechanisms raised an alarm, at confidence 1 − 10⁻⁶ each."""
    spec = importlib.util.spec_from_file_location("known_mistakes", MODELS)
    assert spec is not None
    assert spec.loader is not None
    models: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(models)
    honest: list[tuple[Any, list[Pair], Claim, object]] = [
        (models.tree, neighbours_of_counts([3, 0, 1, 5] * 4)[:2], Claim.of(rho="0.5"), None),
        (models.noisy_max, [Pair([4] * 4, [4, 5, 5, 5], "votes")], Claim.of(1), None),
        (models.threshold, neighbours_of_counts([0, 3]), Claim.of(1, "1e-4"), None),
        (models.biased_sampler, [Pair(10, 11, "one more")], Claim.of("1/4"), 4),
        (models.float_laplace, [Pair(0, 1, "one more")], Claim.of(1), None),
    ]
    alarms = 0
    for seed in range(number):
        model, pairs, claim, scale = honest[seed % len(honest)]
        target = Target(model.__name__, model(seed, right=True))
        alarms += not examine(target, pairs, claim, Effort(2_000, scale=scale)).passed
    return alarms


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--draws", type=float, default=1e9, help="samples at each scale")
    arguments.add_argument("--scales", type=int, default=200)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--clean", type=int, default=1000, help="honest mechanisms examined")
    arguments.add_argument("--batches", type=int, default=20_000, help="timed draws")
    arguments.add_argument("--requests", type=int, default=200, help="timed requests a dataset")
    arguments.add_argument("--gaussian", action="store_true", help="Gaussian noise alone")
    given = arguments.parse_args()
    if given.gaussian:
        good = gaussian(int(given.draws), given.threads)
        print("PASS" if good else "FAIL")
        return 0 if good else 1
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
    begin = time.perf_counter()
    alarms = clean_runs(given.clean)
    seconds = time.perf_counter() - begin
    print(f"{given.clean:,} examinations of honest mechanisms: {alarms} alarms, {seconds:.0f} s")
    good = good and alarms == 0
    good = audit_time.run(given.batches, given.requests) and good
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
