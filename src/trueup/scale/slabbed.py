"""What is asked, in slabs: of a tree of equal fan-outs, of a hierarchy, of hats."""

from __future__ import annotations

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

SMALLEST = 1 << 8  # cells of a block, on average; else levels are put in for wider ones
_MOST_BLOCKS = 1 << 22  # two numbers of each stay in memory


Slabbed = Slabs | NestedSlabs | HatSlabs
"""A question in slabs: each is drawn, goes up to its blocks, and down again from them.

What goes up from a block is the same number of whole numbers, and of fitted numbers, for all;
arrays of them are flat, block after block.
"""


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
