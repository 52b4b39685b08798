"""The rehearsal of a measurement: whatever could fail after the charge is tried before it."""

from __future__ import annotations

import numpy as np

from trueup.ask import CellCounts, Neighbours, Question
from trueup.axis import Axis
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.measurement import Measurement
from trueup.noise import Noise

_ONE = Axis.integers("cell", 0, 0)
_HEAVIEST = 1 << 28  # weight of a cell in an answer: so many times 2^34 records fit 64 bits


def check_noise(
    question: Question, cost: Cost, neighbours: Neighbours, rows: int, in_memory: bool = True
) -> None:
    """Refuses, before the charge, noise that cannot be drawn and weights that leave no room.

    What is not drawn `in_memory` goes to a folder, a part at a time.
    """
    if question.heaviest > _HEAVIEST:
        raise InputError(
            f"The question weighs cells by up to {question.heaviest:,}; an owner answers up to "
            f"{_HEAVIEST:,}, whatever the number of records. Ask smaller strides, or weights of "
            f"fewer digits."
        )
    noise = Noise(question, cost.epsilon, neighbours, rows, rho=cost.rho)
    (noise.check_drawable if in_memory else noise.check_scales)()
    _rehearse(noise)


def _rehearse(noise: Noise) -> None:
    """Does, without data and without noise, what could fail after the charge.

    The cipher is tested and keyed, the tables of every scale made, a file of an answer at this cost
    written and read.
    """
    from trueup._kernels.noise.bits import Keystream
    from trueup._kernels.noise.gauss_tables import gauss_tables
    from trueup._kernels.noise.laplace_tables import tables

    Keystream()
    for scale in set(noise.scales):
        if noise.gaussian:
            gauss_tables(scale)
        else:
            tables(scale)
    told = Measurement(CellCounts(_ONE), np.zeros(1, np.int64), noise.epsilon, rho=noise.rho)
    Measurement.from_bytes(told.to_bytes())
