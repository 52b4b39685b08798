"""The same noisy answers on neighbouring inputs: the test that fits adaptive questions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.question import Draw, Neighbours
from trueup.audit.frozen import Replay

_ONE = Fraction(1)


class Adaptive(Protocol):
    """A question that is asked step by step, such as SortedCounts."""

    def measure_adaptively(
        self, counts: npt.ArrayLike, scale: Fraction, draw: Draw
    ) -> tuple[Any, Ints]:
        """The question that was asked, which knows its answers and their order; noisy answers."""

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        """The most that one record may move the answers, each move times its answer's weight."""

    def square_price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        """The same of squared moves, each times its answer's square."""


def forced(
    question: Adaptive,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    scale: Fraction | int | str,
    noise: Ints,
    neighbours: Neighbours = "add-remove",
    squared: bool = False,
) -> Replay:
    """Asks input a with this noise; then b with the noise that makes every answer the same.

    A question whose every step follows from the noisy answers asks b the same, whatever b is:
    `differences` says if it did not. The two noises then differ by how far the true answers lie
    apart, each times its weight, which is how far the chances of this transcript can: `move`. It
    must not be more than the price for these neighbours. `noise` is taken whatever the weight.
    `squared` is the same for Gaussian noise: squared moves, squares and square price. However the
    answers were chosen, Rényi's divergence is then at most that of the worst transcript.

    >>> from trueup import SortedCounts
    >>> noise = np.random.default_rng(1).integers(-3, 4, 2000)
    >>> print(forced(SortedCounts(150), [3, 4, 4], [3, 4, 5], 1, noise))
    answers moved by 1, allowed 1
    """
    width = Fraction(scale)
    drawn: list[tuple[Fraction, Fraction]] = []
    asked, noisy = question.measure_adaptively(a, width, _tape(noise, drawn))
    used = asked.in_order(noisy - asked.answers(a))
    needed = asked.in_order(noisy - asked.answers(b))
    kind, power = (1, 2) if squared else (0, 1)
    declared = asked.squares if squared else [weight for _, weight in asked.blocks]
    runs = zip(declared, asked.blocks, strict=True)
    weights = [weight for weight, (length, _) in runs for _ in range(length)]
    places = asked.in_order(np.arange(len(weights))).tolist()
    moved = np.abs(asked.answers(a) - asked.answers(b)).tolist()
    both = zip(moved, weights, strict=True)
    move = sum((Fraction(m) ** power * w for m, w in both if m), Fraction(0))
    differences = []
    if not np.array_equal(used, noise[: len(used)]):
        differences.append("the first answers are not the true ones with this noise")
    if [weights[place] for place in places] != [each[kind] for each in drawn[: len(places)]]:
        differences.append("the noise drawn is not that of the weights declared")
    again, same = question.measure_adaptively(b, width, _tape(needed, []))
    if again != asked:
        differences.append("another question was asked of the second input")
    elif not np.array_equal(same, noisy):
        differences.append("the second answers are not the true ones with their noise")
    price = question.square_price if squared else question.price
    return Replay(move, price(neighbours), tuple(differences))


def _tape(noise: Ints, drawn: list[tuple[Fraction, Fraction]]) -> Draw:
    """Plays the noise once, then zeros: what is drawn beyond what was used. Notes the weights."""
    at = 0

    def draw(size: int, weight: Fraction = _ONE, square: Fraction = _ONE, /) -> Ints:
        nonlocal at
        piece = np.zeros(size, np.int64)
        here = noise[at : at + size]
        piece[: len(here)] = here
        at += size
        drawn.extend([(weight, square)] * size)
        return piece

    return draw
