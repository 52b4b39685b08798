"""Draws of the experiments: in parallel, reproducible by seed, with a bar if someone watches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from zlib import crc32

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.errors import InputError
from trueup.noise import LAWS, Law
from trueup.paper.datasets import Datasets, made

EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(1, 100))


@dataclass(frozen=True)
class Setting:
    """How to run the experiments.

    `law` is "continuous", the paper's noise, or "discrete", that of `trueup.measure`. `workers`
    threads share the draws: numpy and the kernels let go of the interpreter while they work. The
    noise of a draw depends on the seed, the experiment's name and the draw's number alone, so the
    results do not depend on the number of workers.
    """

    datasets: Datasets = field(default_factory=made)
    seed: int = 1
    quick: bool = False
    law: Law = "continuous"
    workers: int = 2

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise InputError(f"The noise law must be one of {', '.join(LAWS)}, got {self.law!r}.")
        if self.workers < 1:
            raise InputError(f"workers must be at least 1, got {self.workers}.")
        if self.seed < 0:
            raise InputError(f"The seed must not be negative, got {self.seed}.")

    def size(self, full: int, quick: int) -> int:
        """The paper's size, or the quick one."""
        return quick if self.quick else full

    def generator(self, name: str, draw: int) -> np.random.Generator:
        """The source of the noise of one draw. NOT PRIVATE: anyone can make it again."""
        return np.random.default_rng([self.seed, crc32(name.encode()), draw])


def each_draw(
    setting: Setting, name: str, draws: int, work: Callable[[np.random.Generator], npt.ArrayLike]
) -> Floats:
    """What `work` gives for each draw, stacked: the first axis is the draw."""

    def one(draw: int) -> npt.ArrayLike:
        return work(setting.generator(name, draw))

    bar = _Bar(name, draws)
    results = [one(0)]  # alone, so that kernels are compiled once
    bar.show(1)
    with ThreadPoolExecutor(setting.workers) as pool:
        for done, result in enumerate(pool.map(one, range(1, draws)), start=2):
            results.append(result)
            bar.show(done)
    bar.clear()
    return np.asarray(results, np.float64)


class _Bar:
    """A progress bar on stderr; silent unless stderr is a terminal."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total = name, total
        self.watched = sys.stderr.isatty()

    def show(self, done: int) -> None:
        if self.watched:
            full = 24 * done // self.total
            bar = "█" * full + "·" * (24 - full)
            print(f"\r\x1b[K{self.name}  {bar} {done}/{self.total}", end="", file=sys.stderr)

    def clear(self) -> None:
        if self.watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
