"""What is asked, in slabs: of a tree of equal fan-outs, of a hierarchy, of hats."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from trueup._kernels.threads import cores
from trueup._kernels.tree.fused import Noise as Drawn
from trueup._kernels.tree.slabs import Slabs
from trueup.ask import Question
from trueup.errors import InputError
from trueup.infer import model_of
from trueup.infer.display import Wish
from trueup.infer.hats import HatModel
from trueup.infer.model import AskedLevels
from trueup.infer.tree import TreeModel
from trueup.noise import Noise
from trueup.onepass import can_be_released, noised_runs, noised_tree
from trueup.scale.hats import HatSlabs
from trueup.scale.nested import NestedSlabs

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SMALLEST = 1 << 8  # cells of a block, on average; else levels are put in for wider ones
_MOST_BLOCKS = 1 << 22  # two numbers of each stay in memory


class Slabbed(Protocol):
    """A question in slabs: each is drawn, goes up to its blocks, and down again from them.

    What goes up from a block is the same number of whole numbers, and of fitted numbers, for all;
    arrays of them are flat, block after block.
    """

    @property
    def size(self) -> int:
        """How many cells are fitted."""

    @property
    def number(self) -> int:
        """How many slabs there are."""

    @property
    def roots(self) -> int:
        """How many blocks there are."""

    @property
    def threads(self) -> int:
        """In how many threads it works."""

    @property
    def length_above(self) -> int:
        """How many answers there are above the slabs."""

    def blocks(self, slab: int) -> slice:
        """The blocks of a slab, by number."""

    def cells(self, slab: int) -> tuple[int, int]:
        """The cells [start, stop) of a slab."""

    def counted(self, slab: int) -> tuple[int, int]:
        """The cells of the axis that are counted for a slab."""

    def slab_of(self, cell: int) -> int:
        """The slab that holds a cell."""

    def length(self, slab: int) -> int:
        """How many answers a slab has."""

    def draw(self, slab: int, cells: Ints, noise: Drawn) -> tuple[Ints, Ints]:
        """The noisy answers of a slab, and what its blocks truly add to those above."""

    def totals(self, slab: int, cells: Ints) -> Ints:
        """What the blocks of a slab truly add to the answers above."""

    def draw_above(self, totals: Ints, noise: Drawn) -> Ints:
        """The noisy answers above the slabs."""

    def rise(self, slab: int, answers: Ints) -> tuple[Floats, Floats]:
        """What is known of each block of a slab from its own answers."""

    def final_steps(self, above: Ints, roots: Floats, steps: Floats) -> Floats:
        """What every block goes down from, once all that is above is fitted."""

    def fall(self, slab: int, answers: Ints, steps: Floats, leaves: Floats) -> None:
        """Writes the fitted cells of a slab, from what its blocks go down from."""


def goes_in_slabs(question: Question) -> bool:
    """Whether a question over one axis is answered slab by slab: cells, trees and hats are."""
    model = model_of(Noise.of_unit(question))
    nested = isinstance(model, TreeModel) and bool(model.tree.cuts)
    return nested or isinstance(model, HatModel) or can_be_released(question)


def asked_levels(noise: Noise) -> AskedLevels:
    """The answers of a question in slabs as levels of a tree; not those of hats."""
    found = model_of(noise).levels()
    assert found is not None
    return found


def shown_words(question: Question) -> str:
    """What counts made to be shown are, in the facts of a release in slabs."""
    return Wish(True, True, method=model_of(Noise.of_unit(question)).methods[0]).words


def in_slabs(noise: Noise, most: int) -> tuple[Slabbed, Drawn]:
    """A question in slabs of about so many cells, and what adds noise to its answers."""
    model = model_of(noise)
    if isinstance(model, HatModel):
        kinds = range(len(noise.scales))
        return HatSlabs(model.errors, most, cores()), noised_runs(noise, kinds)
    levels = asked_levels(noise)
    if not levels.radices:
        return NestedSlabs.of(noise, levels, most, cores()), noised_runs(noise, levels.asked)
    terms = noise, levels.radices, levels.asked
    tree, drawn = noised_tree(*terms, narrow=False)  # to the bit as in memory
    slabs = Slabs(tree, most, cores())
    if tree.size >= SMALLEST * slabs.roots:
        return slabs, drawn
    tree, drawn = noised_tree(*terms)
    return Slabs(tree, most, cores()), drawn


def check_slabs(slabs: Slabbed) -> None:
    """Refuses what cannot be fitted slab by slab, before anything is charged."""
    if isinstance(slabs, HatSlabs):
        slabs.check()
    elif isinstance(slabs, Slabs) and slabs.roots > _MOST_BLOCKS:
        raise InputError(
            "Some nodes of this tree have too many children to be fitted out of memory. Ask "
            "a tree of smaller fan-outs, such as branching=16."
        )
