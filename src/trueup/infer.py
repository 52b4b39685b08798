"""Infer: the nearest consistent answers. Free, by anyone, as often as they like.

Reads the noisy answers and the constraints of the question, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree.prefix import on_grid
from trueup._kernels.tree.regular import RegularTree
from trueup._kernels.tree.regular_fit import fit_leaves, fit_prefix
from trueup.ask import (
    BoxCounts,
    CellCounts,
    GridCounts,
    HatCounts,
    Histogram,
    NamedCounts,
    Question,
    SortedCounts,
    TreeCounts,
    WaveletCounts,
    WeightedCounts,
)
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.grid_errors import FlatLine, GridErrors, HatLine, TreeLine
from trueup.intervaltree import IntervalTree
from trueup.lattice_errors import LatticeErrors
from trueup.linear_errors import HatErrors, StrategyErrors
from trueup.measurement import Measurement
from trueup.noise import Noise
from trueup.release import NamedRelease, Release, SortedRelease
from trueup.uncertainty import HaarErrors, QueryErrors, RangeErrors, tree_errors

Floats = npt.NDArray[np.float64]

Method = Literal["large-first", "top-down", "exact"]

METHODS = ("large-first", "top-down", "exact")

_MOST_QUERIES = 4_000
_BOXES = 8


def infer(
    measurement: Measurement,
    *,
    nonnegative: bool = False,
    integers: bool | None = None,
    graphical: bool = False,
    method: Method | None = None,
) -> Any:
    """The release whose answers obey the question's constraints and are nearest in L2.

    Trees: weighted least squares in two passes (H̄). Sorted counts: isotonic regression (S̄).
    Hats, strategies, grids and named counts: least squares. Cell counts obey no constraints and
    stay as they are; a Haar wavelet is inverted.

    `nonnegative` and `integers` give counts for people to read, which still add up; the release
    then keeps the unbiased ones beside them (`release.unbiased`). Non-negative counts are made
    by `method`: "large-first" (the default) goes from the root down, keeps what stands clearly
    above the noise and fits the rest to what remains; "top-down" moves all children of a parent
    alike; "exact" is nearest to all the noisy answers at once.
    `graphical` gives sorted degrees that some undirected graph has. Sorted counts asked adaptively
    are never negative, and whole unless `integers=False`.

    >>> from trueup.ask import SortedCounts
    >>> asked = SortedCounts(4, adaptive=False)
    >>> infer(Measurement(asked, [1, 2, 0, 11], epsilon=1)).counts().tolist()
    [1.0, 1.0, 1.0, 11.0]
    """
    if not isinstance(measurement, Measurement):
        raise InputError(f"infer needs a Measurement, got {type(measurement).__name__}.")
    question = measurement.question
    if integers is None:
        integers = isinstance(question, SortedCounts) and question.adaptive
    wish = _checked(question, _Wish(nonnegative, integers, graphical, method))
    facts = measurement.facts.made(LEAST_SQUARES)
    if isinstance(question, Histogram):
        errors = errors_of(measurement.noise)
        if isinstance(question, TreeCounts) and question.radices and not wish.shown:
            prefix = fit_prefix(*_regular(measurement, question))
            return Release(question.space.answer_axes, prefix, errors, facts)
        cells = _cells(measurement, errors)
        release = Release.of(question.space.answer_axes, cells, errors, facts)
        if not wish.shown:
            return release
        return release.showing(_shown(measurement, cells, wish), wish.words)
    if isinstance(question, (GridCounts, BoxCounts)):
        return _grid(measurement, question, facts, wish)
    if isinstance(question, SortedCounts):
        made = _young if question.adaptive else _sorted
        return made(measurement, question, facts, wish)
    if isinstance(question, NamedCounts):
        return _queries(measurement, question, facts, wish)
    raise InputError(f"infer does not know questions of type {type(question).__name__}.")


@dataclass(frozen=True)
class _Wish:
    """How the answers are to be shown."""

    nonnegative: bool
    integers: bool
    graphical: bool
    method: str | None

    @property
    def shown(self) -> bool:
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


def _checked(question: Question, wish: _Wish) -> _Wish:
    """The wish with its method filled in, refused if it makes no sense for the question."""
    if wish.method not in (None, *METHODS):
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {wish.method!r}.")
    if wish.method and not wish.nonnegative:
        raise InputError("A method is for non-negative counts: give nonnegative=True with it.")
    undirected = isinstance(question, SortedCounts) and question.ends == 2
    if wish.graphical and not undirected:
        raise InputError(
            "graphical is for the degrees of an undirected graph: SortedCounts(…, ends=2)."
        )
    if isinstance(question, (CellCounts, TreeCounts)):
        return replace(wish, method=wish.method or METHODS[0]) if wish.nonnegative else wish
    if isinstance(question, (GridCounts, BoxCounts)) and question.complete:
        if wish.method == "exact":
            raise InputError("A grid can be shown large-first or top-down, not by an exact fit.")
        return replace(wish, method=wish.method or METHODS[0]) if wish.nonnegative else wish
    if isinstance(question, (Histogram, GridCounts, BoxCounts)):
        if wish.method not in (None, "top-down"):
            kind = type(question).__name__
            raise InputError(f"{wish.method} needs noisy nodes; {kind} can be shown top-down.")
        return replace(wish, method="top-down") if wish.nonnegative else wish
    if wish.method not in (None, "exact"):
        raise InputError(f"{wish.method} needs a tree; {type(question).__name__} has none.")
    return wish


def errors_of(noise: Noise) -> RangeErrors:
    """The errors of a release of the question that was measured with this noise."""
    question, scales, law = noise.question, noise.scales, noise.law
    if isinstance(question, WaveletCounts):
        return HaarErrors(question.size, scales, law)
    if isinstance(question, CellCounts):
        return tree_errors(question.shape, (Fraction(0), Fraction(1)), scales, law)
    if isinstance(question, TreeCounts):
        return tree_errors(question.shape, question.shares, scales, law)
    if isinstance(question, HatCounts):
        size, strides, ends = question.size, question.strides, question.ends
        return HatErrors(size, strides, ends, noise.lengths, scales, law)
    if isinstance(question, WeightedCounts):
        return StrategyErrors(question.matrix(), noise.lengths, scales, law)
    raise InputError(f"{type(question).__name__} has no ranges.")


def _cells(measurement: Measurement, errors: RangeErrors) -> Floats:
    """The least-squares count of every cell."""
    question = measurement.question
    if isinstance(question, WaveletCounts):
        from trueup._kernels.tree.haar import cells_from

        ends = np.cumsum([length for length, _ in question.blocks])
        return cells_from(question.size, np.split(measurement.noisy, ends[:-1]))
    if isinstance(errors, (HatErrors, StrategyErrors)):
        return errors.fit(measurement.noisy)
    if not isinstance(question, TreeCounts):
        return np.asarray(measurement.noisy, np.float64)
    if question.radices:
        return fit_leaves(*_regular(measurement, question))
    from trueup._kernels.tree.any_tree_by_level import fit_by_levels

    noisy, weights = node_values(measurement)
    fitted = fit_by_levels(question.shape.first, noisy, weights)
    return fitted[len(fitted) - question.shape.size :]


def grid_errors_of(noise: Noise) -> GridErrors | LatticeErrors:
    """The errors of a release of the grid that was measured with this noise."""
    question = noise.question
    if isinstance(question, BoxCounts):
        return LatticeErrors(question.widths, question.levels, noise.scales, noise.law)
    assert isinstance(question, GridCounts)
    lines: list[FlatLine | HatLine | TreeLine] = []
    for factor in question.factors:
        if isinstance(factor, HatCounts):
            errors = errors_of(Noise.of_unit(factor))
            assert isinstance(errors, HatErrors)
            lines.append(HatLine(errors))
        elif isinstance(factor, TreeCounts):
            lines.append(TreeLine(factor.shape.first, factor.shape.level_starts, factor.shares))
        else:
            lines.append(FlatLine(factor.size))
    return GridErrors(tuple(lines), noise.scales, noise.law)


def _grid(
    measurement: Measurement, question: GridCounts | BoxCounts, facts: Facts, wish: _Wish
) -> Release:
    errors = grid_errors_of(measurement.noise)
    if isinstance(question, BoxCounts) and isinstance(errors, LatticeErrors):
        blocks = question.split(measurement.noisy)
        cells = errors.fit(blocks)
    else:
        assert isinstance(question, GridCounts)
        assert isinstance(errors, GridErrors)
        cells = errors.fit(question.as_array(measurement.noisy).astype(np.float64))
    release = Release.of(question.axes, cells, errors, facts, question.space.margins)
    if wish.shown:
        if wish.nonnegative and not question.complete:
            # No cell was asked, so none can be kept: the nearest table that has no negative one.
            assert isinstance(errors, LatticeErrors)
            cells = errors.nonnegative(blocks)
        release = release.showing(_shown_grid(question, cells, errors, wish), wish.words)
    return release


def _shown_grid(
    question: GridCounts | BoxCounts, cells: Floats, errors: GridErrors | LatticeErrors, wish: _Wish
) -> npt.NDArray[Any]:
    """The cells of a grid, made to be shown on the hierarchy of boxes in boxes."""
    from trueup.intervaltree.boxes import nested
    from trueup.intervaltree.readable import kept_large_first_cells, projected_cells, whole_cells

    order, shape = nested(question.shapes)
    shown: npt.NDArray[Any] = cells.ravel()[order]
    if wish.method == "large-first":
        shown = kept_large_first_cells(shape, shown, _box_variances(question.shapes, errors))
    elif wish.nonnegative:
        shown = projected_cells(shape, shown)
    if wish.integers:
        shown = whole_cells(shape, shown, wish.nonnegative)
    back = np.empty_like(shown)
    back[order] = shown
    return back.reshape(cells.shape)


def _box_variances(
    shapes: Sequence[IntervalTree], errors: GridErrors | LatticeErrors
) -> list[float]:
    """The variance of a box of each level of the hierarchy, as of some that lie across the grid."""
    height = max(shape.height for shape in shapes)
    found = []
    for level in range(height):
        starts, stops = [], []
        for place, shape in enumerate(shapes):
            own = max(0, level - (height - shape.height))
            cuts = np.append(shape.starts(own), shape.size)
            # Other places on every axis, so that boxes lie everywhere, not along a diagonal.
            nodes = (np.arange(_BOXES) + 0.5) / _BOXES * (0.618 if place else 1.0) + 0.19 * place
            at = np.minimum(((nodes % 1) * (len(cuts) - 1)).astype(np.int64), len(cuts) - 2)
            starts.append(cuts[at])
            stops.append(cuts[at + 1])
        each = errors.box_variances(np.stack(starts, axis=1), np.stack(stops, axis=1))
        found.append(float(each.mean()))
    return found


def _shown(measurement: Measurement, cells: Floats, wish: _Wish) -> npt.NDArray[Any]:
    """The cells of a histogram, made to be shown."""
    from trueup.intervaltree.readable import large_first_cells, projected_cells, whole_cells

    question = measurement.question
    assert isinstance(question, Histogram)
    shape = question.shape
    if wish.method == "top-down":
        cells = projected_cells(shape, cells)
    elif wish.nonnegative:
        if isinstance(question, TreeCounts):
            noisy, weights = node_values(measurement)
        else:  # a root that was not asked, over the cells
            noisy = np.concatenate([[0.0], cells])
            weights = np.concatenate([[0.0], np.ones(len(cells))])
        if wish.method == "exact":
            from trueup._kernels.display.nonnegative import nonnegative_leaves

            cells, _ = nonnegative_leaves(shape.first, noisy, weights)
        else:
            unit = min(measurement.noise.variances) ** 0.5
            cells = large_first_cells(shape, noisy, weights, unit)
    return whole_cells(shape, cells, wish.nonnegative) if wish.integers else cells


def _sorted(
    measurement: Measurement, question: SortedCounts, facts: Facts, wish: _Wish
) -> SortedRelease:
    from trueup._kernels.sorted.isotonic import isotonic

    fit = isotonic(measurement.noisy)
    (scale,) = measurement.noise.scales
    if not wish.shown:
        return SortedRelease(fit, scale, facts)
    # Clipping and rounding keep the order, and bring no count further from a whole, non-negative
    # truth than half a step: what held of the fit holds of them.
    shown: npt.NDArray[Any] = fit
    if wish.graphical:
        from trueup._kernels.sorted.graphical import nearest_graphical

        shown = nearest_graphical(fit[::-1].copy())[::-1].copy()
    elif wish.nonnegative:
        shown = np.maximum(fit, 0.0)
    if wish.integers and not wish.graphical:
        shown = np.floor(shown + 0.5).astype(np.int64)
    return SortedRelease(shown, scale, facts.made(wish.words), fit)


def _young(
    measurement: Measurement, question: SortedCounts, facts: Facts, wish: _Wish
) -> SortedRelease:
    from trueup._kernels.sorted.young_fit import fit, whole_numbers

    (scale,) = measurement.noise.scales
    transcript = question.transcript(measurement.noisy)
    nearest = fit(transcript, question.groups, float(scale))
    shown: npt.NDArray[Any] = fit(transcript, question.groups, float(scale), likely=True)
    words = "likely counts"
    if wish.graphical:
        from trueup._kernels.sorted.graphical import nearest_graphical

        words = wish.words
        shown = nearest_graphical(shown[::-1].copy())[::-1].copy()
    elif wish.integers:
        words = "non-negative whole numbers"
        shown = whole_numbers(shown)
    return SortedRelease(shown, scale, facts.made(words), nearest, transcript)


def _regular(
    measurement: Measurement, question: TreeCounts
) -> tuple[RegularTree, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """A tree of equal fan-outs, its noisy answers, and where those of each level begin."""
    weights, starts = [0.0] * question.height, np.zeros(question.height, np.int64)
    each = measurement.noise.relative_weights
    taken = 0
    for level, weight in zip(question.asked, each, strict=True):
        weights[level], starts[level] = weight, taken
        taken += question.shape.length(level)
    return RegularTree(question.size, question.radices, tuple(weights)), measurement.noisy, starts


def node_values(measurement: Measurement) -> tuple[Floats, Floats]:
    """The noisy answer and weight of every node of the tree, breadth first; 0 where not asked."""
    question = measurement.question
    assert isinstance(question, TreeCounts)
    starts = question.shape.level_starts
    noisy, weights = np.zeros(starts[-1]), np.zeros(starts[-1])
    each = measurement.noise.relative_weights
    taken = 0
    for level, weight in zip(question.asked, each, strict=True):
        length = question.shape.length(level)
        noisy[starts[level] : starts[level + 1]] = measurement.noisy[taken : taken + length]
        weights[starts[level] : starts[level + 1]] = weight
        taken += length
    return noisy, weights


def _queries(
    measurement: Measurement, question: NamedCounts, facts: Facts, wish: _Wish
) -> NamedRelease:
    if question.length > _MOST_QUERIES:
        raise InputError(
            f"Inference handles up to {_MOST_QUERIES:,} named queries, got {question.length:,}. "
            f"Ask a tree over the axis instead."
        )
    # Cells that enter the same queries cannot be told apart: one unknown stands for them all.
    matrix = question.distinct().toarray()
    matrix = matrix[:, matrix.any(axis=0)]
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    rank = np.count_nonzero(sizes > sizes[0] * 1e-10)
    basis = left[:, :rank]
    values = right[:rank].T @ ((basis.T @ measurement.noisy) / sizes[:rank])
    covariance = measurement.variances[0] * (basis @ basis.T)
    # The unknowns are put on the grid and the answers added up from them, so that they agree.
    answers = matrix @ _with_room(values)
    (scale,) = measurement.noise.scales
    errors = QueryErrors(question.names, covariance, scale, measurement.law)
    if not wish.shown:
        return NamedRelease(answers, errors, facts)
    if wish.nonnegative:
        from scipy.optimize import nnls

        values, _ = nnls(matrix, measurement.noisy.astype(np.float64))
    if wish.integers:
        from trueup.intervaltree import IntervalTree
        from trueup.intervaltree.readable import whole_cells

        flat = IntervalTree.regular(len(values), (len(values),))
        cells: npt.NDArray[Any] = whole_cells(flat, values, wish.nonnegative)
        matrix = matrix.astype(np.int64)
    else:
        cells = _with_room(values)
    return NamedRelease(matrix @ cells, errors, facts.made(wish.words), answers)


def _with_room(values: Floats) -> Floats:
    """Values on a grid so coarse that sums of a thousand answers made of them are exact."""
    return on_grid(values, 1024 * float(np.abs(values).sum()))
