"""What the laws share: every draw of noise recorded, and a price found by brute force.

A draw is recorded where the sampler adds noise to an array: its exact scale, the noise itself, and
the thread. Bits are recorded where a keystream hands them out: what, and to which thread.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from trueup._kernels.noise import bits, laplace
from trueup.ask import Question

BLOCK = 16


@dataclass(frozen=True)
class Draw:
    """One run of noise: all of one scale."""

    scale: Fraction
    noise: np.ndarray
    thread: int


@dataclass
class Record:
    """All that was drawn, in order."""

    draws: list[Draw] = field(default_factory=list)
    bits: list[bytes] = field(default_factory=list)
    streams: dict[int, set[int]] = field(default_factory=dict)
    kept: list[object] = field(default_factory=list)

    @property
    def noise(self) -> np.ndarray:
        """The noise, one run after the other."""
        return np.concatenate([np.zeros(0, np.int64), *(draw.noise for draw in self.draws)])

    @property
    def scales(self) -> list[Fraction]:
        """The scale of every single noise."""
        return [draw.scale for draw in self.draws for _ in range(len(draw.noise))]

    def check_fresh(self, answers: int) -> None:
        """No bits were used twice, no stream by two threads, and no noise for two answers."""
        assert sum(len(draw.noise) for draw in self.draws) >= answers
        handed = b"".join(bits[: len(bits) // BLOCK * BLOCK] for bits in self.bits)
        blocks = np.frombuffer(handed, np.dtype((np.void, BLOCK)))
        assert len(np.unique(blocks)) == len(blocks), "random bits were handed out twice"
        assert all(len(threads) == 1 for threads in self.streams.values()), "two threads, one key"


@contextmanager
def recording() -> Iterator[Record]:
    """Records every draw of trueup's sampler, and all its bits, while this lasts."""
    found, turn = Record(), threading.Lock()
    sample, fill = laplace.sample_into, bits.Keystream.fill

    def sampled(values: np.ndarray, law: Any, source: Any) -> None:
        before = values.copy()
        sample(values, law, source)
        with turn:
            noise = values - before
            found.draws.append(Draw(law.scale, noise, threading.get_ident()))

    def filled(stream: Any, buffer: np.ndarray) -> None:
        fill(stream, buffer)
        with turn:
            found.bits.append(buffer.tobytes())
            found.streams.setdefault(id(stream), set()).add(threading.get_ident())
            found.kept.append(stream)  # so that no other stream gets its id

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(laplace, "sample_into", sampled)
        patched.setattr(bits.Keystream, "fill", filled)
        yield found


def moves(
    question: Question, relation: str, generator: np.random.Generator, most: int = 400
) -> Iterator[np.ndarray]:
    """By how much one record moves every answer: exhaustively, or as of some pairs of records.

    A record is in a cell, or off the axis, where it is not counted.
    """
    size = question.size
    if question.space.kind == "ranks":
        yield from _moves_of_groups(question, relation, generator)
        return

    def added(cell: int) -> np.ndarray:
        one = np.zeros(size, np.int64)
        one[cell] = 1
        return question.answers(one)

    ends = {0, 1 % size, size // 2, size - 1} | {int(x) for x in generator.integers(0, size, 12)}
    cells = list(range(size)) if size <= 64 else sorted(ends)
    columns = {cell: added(cell) for cell in cells}
    if relation == "add-remove" or size == 1:
        yield from columns.values()
        return
    yield from columns.values()  # off the axis, and onto it
    pairs = list(itertools.combinations(cells, 2))
    for one, other in pairs[:: max(1, len(pairs) // most)]:
        yield columns[one] - columns[other]
    yield columns[cells[0]] - columns[cells[-1]]


def _moves_of_groups(
    question: Question, relation: str, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """A record counts for `ends` groups; replaced, for others."""
    size, ends = question.size, question.space.ends
    for here in (10 * np.arange(1, size + 1), generator.integers(1, 4, size)):
        for _ in range(20):
            chosen = generator.choice(size, min(2 * ends, size), replace=False)
            moved = here.copy()
            moved[chosen[:ends]] += 1
            if relation == "replace":
                moved[chosen[ends:]] -= 1
            yield question.answers(moved) - question.answers(here)


def worst_price(question: Question, scales: list[Fraction], relation: str) -> Fraction:
    """What one record's move costs at most: its move over the noise scale, answer by answer."""
    generator = np.random.default_rng(5)
    names = list(dict.fromkeys(scales))
    which = np.array([names.index(scale) for scale in scales])
    most = Fraction(0)
    for move in moves(question, relation, generator):
        sizes = np.bincount(which, np.abs(move).astype(np.float64), len(names))
        cost = sum(
            (Fraction(int(s)) / scale for s, scale in zip(sizes, names, strict=True)), Fraction(0)
        )
        most = max(most, cost)
    return most


Way = Callable[..., Any]
