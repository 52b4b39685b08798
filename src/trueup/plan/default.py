"""The one default: what is asked of an axis when nobody says what to ask.

`tu.publish`, `Owner.publish`, the command line and a server all ask this question.
"""

from __future__ import annotations

from collections.abc import Sequence

from trueup.ask import Neighbours, Question
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.errors import shown as given
from trueup.plan import plan
from trueup.plan.choice import best_of
from trueup.plan.offers import question as offered
from trueup.plan.offers import ways
from trueup.workload import default_workload

Over = Axis | Question | Sequence[Axis]
"""What counts are published over: an axis, several, or a question of one's own."""


def question_for(
    over: Over,
    epsilon: object,
    shown: bool,
    neighbours: Neighbours,
    rows_per_unit: int,
    adaptive: bool | None = None,
    bounded: bool = False,
) -> Question:
    """The question itself; for an axis or several, the best one of the plan at this ε, or `Cost`.

    The best for counts that are `shown` non-negative is another than the best for unbiased ones.
    With `adaptive` it is the tree, or quadtree, that pools what is small; with False the best one
    that is asked at once. So it is where the rows of a unit are `bounded` by a number that is
    chosen privately, which needs a question that is fixed.
    """
    if adaptive not in (None, True, False):
        raise InputError(f"adaptive must be True, False or None, got {given(adaptive)}.")
    if isinstance(over, Question):
        if adaptive:
            raise InputError(
                "adaptive=True goes with an axis, or several; of a question say it itself: "
                "tu.TreeCounts(axis, adaptive=True), tu.BoxCounts.quadtree(x, y, adaptive=True)."
            )
        return over
    if not isinstance(over, Axis) and not (
        isinstance(over, (list, tuple)) and over and all(isinstance(each, Axis) for each in over)
    ):
        raise InputError(
            f"publish needs an Axis, a list of axes, or a question; got {given(over)}. Declare the "
            f'values that a column may have: tu.Axis.integers("age", 0, 99).'
        )
    axes = over if isinstance(over, Axis) else over[0] if len(over) == 1 else list(over)
    if adaptive:
        return _adaptive((axes,) if isinstance(axes, Axis) else tuple(axes))
    found = plan(
        axes,
        epsilon,
        nonnegative=shown,
        neighbours=neighbours,
        rows_per_unit=rows_per_unit,
    )
    if adaptive is None and not bounded:
        return found.best
    return best_of([each for each in found.strategies if each.question.settled], shown).question


def _adaptive(axes: tuple[Axis, ...]) -> Question:
    """The adaptive question about these axes, the one that a plan offers."""
    if "adaptive" not in ways(*axes):
        names = " × ".join(f"'{axis.name}'" for axis in axes)
        raise InputError(
            f"{names} has too few cells for a tree that stops early: leave out adaptive=True."
        )
    return offered(axes, "adaptive", tuple(default_workload(axis) for axis in axes))
