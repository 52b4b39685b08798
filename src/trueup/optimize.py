"""Optimize: a strategy searched for a workload of one's own, before anything is spent.

The strategies searched are the leaves plus some free rows of non-negative weights, scaled so that
every cell weighs 1 in all (HDMM's p-Identity). With Θ the free rows relative to the leaves and s
the scale of the columns, the expected squared error over the workload's Gram matrix G is
tr(G (A'A)⁻¹) for A = [I; Θ] diag(1/s): smooth in Θ, with a gradient in O(p n²). The search
begins from hats, which are within a few percent of the best for ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from trueup.arrays import Floats
from trueup.ask import CellCounts, HatCounts, Question, TreeCounts, WeightedCounts
from trueup.ask.hats import strides_for
from trueup.ask.question import as_axis
from trueup.axis import Axis
from trueup.epsilon import positive
from trueup.errors import InputError, shown
from trueup.noise import Noise

MOST_CELLS = 4_096
_LEAF_STEPS = 128  # leaves' weights are multiples of 1/128: few distinct noise scales
_STEPS = 4_096  # other weights of 1/4096


@dataclass(frozen=True, repr=False)
class Optimized:
    """A strategy found for a workload, and what it is worth beside the standard ones.

    `errors` holds the exact expected squared error, a query on average, of each strategy at this
    ε, with the whole noise that `measure` adds; `strategy` is the one called "optimized".
    """

    strategy: WeightedCounts
    epsilon: Fraction
    errors: Mapping[str, float]

    @property
    def error(self) -> float:
        """The expected squared error of the strategy found, a query on average."""
        return self.errors["optimized"]

    def __repr__(self) -> str:
        return (
            f"<Optimized: {self.strategy!r}, epsilon={self.epsilon}, expected squared error a "
            f"query {self.error:,.2f}>"
        )

    def __str__(self) -> str:
        best = min(self.errors.values())
        lines = [f"expected squared error a query, epsilon = {self.epsilon}"]
        lines += [
            f"  {name:<12}{error:>16,.2f}{error / best:>9.2f} ×"
            for name, error in sorted(self.errors.items(), key=lambda each: each[1])
        ]
        return "\n".join(lines)


def optimize(
    workload: Any,
    axis: Axis | int | None = None,
    *,
    epsilon: object = 1,
    steps: int = 150,
) -> Optimized:
    """The best strategy found for a workload, rounded to rational weights, with its exact error.

    `workload` is a matrix with a row for each query and a column for each cell, or "ranges" or
    "prefixes" for all of them (then `axis`, or a number of cells, says over what). It is public,
    and so is all that is done here. `steps` bounds the search: 150 take seconds for 1,024 cells,
    minutes for 4,096.

    >>> found = optimize("ranges", 32, steps=40)
    >>> found.error < min(found.errors[name] for name in ("cell counts", "tree", "hats"))
    True
    """
    gram, queries, over = _gram(workload, axis)
    size = over.size
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise InputError(f"steps must be a whole number of at least 0, got {shown(steps)}.")
    exact = positive(epsilon)
    gram = gram / queries
    start = min(_starts(size), key=lambda rows: _error(rows.ravel(), gram, len(rows))[0])
    free = _search(start, gram, steps)
    strategy = WeightedCounts(over, _rational(free))
    standard: dict[str, Question] = {
        "optimized": strategy,
        "cell counts": CellCounts(over),
        "tree": TreeCounts(over),
        "binary tree": TreeCounts(over, branching=2),
        "hats": HatCounts(over),
    }
    errors = {name: workload_error(question, gram, exact) for name, question in standard.items()}
    return Optimized(strategy, exact, errors)


def workload_error(question: Question, gram: Floats, epsilon: Fraction) -> float:
    """tr(gram · covariance of the cells) after measuring and inferring the question, exactly."""
    from trueup.infer.least_squares import MatrixErrors

    return float((gram * MatrixErrors.of(Noise(question, epsilon)).covariance()).sum())


def _gram(workload: Any, axis: Axis | int | None) -> tuple[Floats, int, Axis]:
    """W'W, the number of queries and the axis."""
    if isinstance(workload, str):
        if axis is None:
            raise InputError(f'optimize("{workload}", axis) needs an axis or a number of cells.')
        over = as_axis(axis)
        _check_size(over.size)
        i = np.arange(over.size)
        if workload == "ranges":
            gram = np.minimum.outer(i + 1.0, i + 1.0) * (over.size - np.maximum.outer(i, i))
            return gram, over.size * (over.size + 1) // 2, over
        if workload == "prefixes":
            return over.size - np.maximum.outer(i, i).astype(np.float64), over.size, over
        raise InputError(
            f'The workload must be a matrix, "ranges" or "prefixes", got {shown(workload)}.'
        )
    from scipy.sparse import csr_array, issparse

    if issparse(workload):
        matrix = csr_array(cast(Any, workload))
    else:
        dense = np.asarray(workload)
        if dense.ndim != 2 or dense.dtype.kind not in "iuf":
            raise InputError("The workload must be a matrix of numbers: a row for each query.")
        matrix = csr_array(dense.astype(np.float64))
    if not np.isfinite(matrix.data).all():
        raise InputError("The workload must hold finite numbers.")
    over = as_axis(matrix.shape[1] if axis is None else axis)
    if over.size != matrix.shape[1]:
        raise InputError(
            f"The workload has {matrix.shape[1]:,} columns; the axis has {over.size:,} cells."
        )
    _check_size(over.size)
    gram = (matrix.T @ matrix).toarray().astype(np.float64)
    if not gram.any():
        raise InputError("The workload asks for nothing: all its weights are 0.")
    return gram, matrix.shape[0], over


def _check_size(size: int) -> None:
    if size > MOST_CELLS:
        raise InputError(
            f"optimize handles up to {MOST_CELLS:,} cells, got {size:,}. Ask HatCounts: they are "
            f"within a few percent of the best found for ranges, at any size."
        )


def _starts(size: int) -> list[Floats]:
    """Hats of several strides as rows relative to the leaves."""
    best = strides_for(size)
    some = [best] if best else []
    some += [(k,) for k in (4, 8, 16, 32) if 2 * k <= size]
    found = []
    for strides in some or [(max(1, size),)]:
        question = HatCounts(size, strides)
        weights = np.repeat([float(w) for _, w in question.blocks], [m for m, _ in question.blocks])
        rows = question.matrix().toarray()[size:] * weights[size:, None] / weights[:size]
        found += [rows, 0.1 * rows]
    return found


def _error(theta: Floats, gram: Floats, rows: int) -> tuple[float, Floats]:
    """tr(G (A'A)⁻¹) and its gradient; (I + Θ'Θ)⁻¹ = I − Θ' (I + ΘΘ')⁻¹ Θ."""
    free = theta.reshape(rows, -1)
    scale = 1 + free.sum(axis=0)
    scaled = gram * scale[:, None] * scale
    small = np.linalg.inv(np.eye(rows) + free @ free.T)
    product = small @ (free @ scaled)
    taken = np.einsum("ij,ij->j", free, product)
    diagonal = np.diag(scaled) - taken
    slope = -2 * (product - (product @ free.T) @ (small @ free))
    return float(diagonal.sum()), (slope + 2 * diagonal / scale).ravel()


def _search(start: Floats, gram: Floats, steps: int) -> Floats:
    """The free rows with the smallest error that a bounded quasi-Newton search finds."""
    from scipy.optimize import minimize

    if steps == 0:
        return start
    unit = _error(start.ravel(), gram, len(start))[0]

    def relative(theta: Floats) -> tuple[float, Floats]:
        value, slope = _error(theta, gram, len(start))
        return value / unit, slope / unit

    found = minimize(
        relative,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * start.size,
        options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20, "ftol": 1e-9},
    )
    return np.asarray(found.x, np.float64).reshape(start.shape)


def _rational(free: Floats) -> Any:
    """The strategy in whole multiples of 1/4096: every cell weighs exactly 4096 of them in all.

    The leaves' weights are rounded to few distinct ones, since each needs noise of its own scale;
    each column's other weights to single units, the largest remainders upwards.
    """
    from scipy.sparse import csr_array, diags_array, vstack

    scale = 1 + free.sum(axis=0)
    ratio = _STEPS // _LEAF_STEPS
    leaf = np.clip(np.rint(_LEAF_STEPS / scale), 1, _LEAF_STEPS).astype(np.int64) * ratio
    weights = free / np.maximum(free.sum(axis=0), 1e-300) * (_STEPS - leaf)
    whole = np.floor(weights).astype(np.int64)
    missing = _STEPS - leaf - whole.sum(axis=0)
    order = np.argsort(whole - weights, axis=0, kind="stable")
    rank = np.argsort(order, axis=0, kind="stable")
    whole += (rank < missing) & (free.sum(axis=0) > 0)
    kept = csr_array(whole[whole.any(axis=1)])
    return csr_array(vstack([diags_array(leaf, dtype=np.int64), kept]))
