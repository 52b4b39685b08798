"""Counts for people to read: non-negative, whole, and still adding up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.errors import InputError, shown
from trueup.intervaltree import IntervalTree
from trueup.law import BoxErrors

if TYPE_CHECKING:
    from trueup.infer.model import Model

Method = Literal["large-first", "top-down", "exact"]
METHODS: tuple[Method, ...] = ("large-first", "top-down", "exact")
_BOXES = 8
_FAR = 1.5  # from the fitted count: margins of whole cells that are off by less stay as they are


@dataclass(frozen=True)
class Wish:
    """How the answers are to be shown."""

    nonnegative: bool
    integers: bool
    graphical: bool = False
    method: str = ""

    @property
    def shown(self) -> bool:
        """Whether they are shown in another way than least squares gives them."""
        return self.nonnegative or self.integers or self.graphical

    @property
    def words(self) -> str:
        """What the shown answers are, for a reader."""
        if self.graphical:
            return "a graphical sequence"
        whole = "whole numbers" if self.integers else "counts"
        if not self.nonnegative:
            return whole
        return f"non-negative {whole}" + (f", {self.method}" if self.method else "")


def checked_wish(
    model: Model, nonnegative: bool, integers: bool | None, graphical: bool, method: str | None
) -> Wish:
    """The wish with what was left open filled in; refused if the model has no such way."""
    if method not in (None, *METHODS):
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {shown(method)}.")
    if method and not nonnegative:
        raise InputError("A method is for non-negative counts: give nonnegative=True with it.")
    if graphical and not model.graphical:
        raise InputError(
            "graphical is for the degrees of an undirected graph: SortedCounts(…, ends=2)."
        )
    if method is not None and method not in model.methods:
        known = " or ".join(each for each in model.methods if each)
        kind = type(model.noise.question).__name__
        raise InputError(f"{kind} can be shown {known}, not {method}.")
    whole = model.whole if integers is None else integers
    return Wish(nonnegative, whole, graphical, (method or model.methods[0]) if nonnegative else "")


def shown_cells(
    tree: IntervalTree,
    wish: Wish,
    fit: Callable[[], Floats],
    nodes: Callable[[], tuple[Floats, Floats]],
    large_first: Callable[[], Floats],
) -> npt.NDArray[Any]:
    """The cells of an axis, made to be shown down its tree.

    `fit` gives the least-squares cells, `nodes` the noisy count and the weight of every node,
    `large_first` the cells settled large first: each for the ways that need them.
    """
    from trueup.intervaltree.readable import projected_cells, whole_cells

    match wish.method:
        case "top-down":
            cells = projected_cells(tree, fit())
        case "exact":
            from trueup._kernels.display.nonnegative import nonnegative_leaves

            cells, _ = nonnegative_leaves(tree.first, *nodes())
        case "large-first":
            cells = large_first()
        case _:
            cells = fit()
    return whole_cells(tree, cells, wish.nonnegative) if wish.integers else cells


def shown_boxes(
    trees: Sequence[IntervalTree], cells: Floats, errors: BoxErrors, wish: Wish
) -> npt.NDArray[Any]:
    """The cells of a table, made to be shown on the hierarchy of boxes in boxes."""
    from trueup.intervaltree.boxes import nested
    from trueup.intervaltree.readable import kept_large_first_cells, projected_cells, whole_cells

    order, shape = nested(trees)
    shown: npt.NDArray[Any] = cells.ravel()[order]
    if wish.method == "large-first":
        shown = kept_large_first_cells(shape, shown, _box_variances(trees, errors))
    elif wish.nonnegative:
        shown = projected_cells(shape, shown)
    if wish.integers:
        shown = whole_cells(shape, shown, wish.nonnegative)
    back = np.empty_like(shown)
    back[order] = shown
    return back.reshape(cells.shape)


def shown_margins(table: Ints, cells: Floats, margins: Sequence[tuple[int, ...]]) -> Ints:
    """The whole cells with margins near the fitted ones, where rounding took one of them far off.

    Where all are near, the cells stay as the hierarchy rounded them.
    """
    from trueup._kernels.display.margins import farthest, nearer_margins

    if farthest(table, cells, margins) < _FAR:
        return table
    return nearer_margins(table, cells, margins)


def _box_variances(trees: Sequence[IntervalTree], errors: BoxErrors) -> list[float]:
    """The variance of a box of each level of the hierarchy, as of some that lie across the grid."""
    height = max(tree.height for tree in trees)
    found = []
    for level in range(height):
        starts, stops = [], []
        for place, tree in enumerate(trees):
            own = max(0, level - (height - tree.height))
            cuts = np.append(tree.starts(own), tree.size)
            # Other places on every axis, so that boxes lie everywhere, not along a diagonal.
            nodes = (np.arange(_BOXES) + 0.5) / _BOXES * (0.618 if place else 1.0) + 0.19 * place
            at = np.minimum(((nodes % 1) * (len(cuts) - 1)).astype(np.int64), len(cuts) - 2)
            starts.append(cuts[at])
            stops.append(cuts[at + 1])
        each = errors.box_variances(np.stack(starts, axis=1), np.stack(stops, axis=1))
        found.append(float(each.mean()))
    return found
