"""Named counts made to agree: least squares under equations, then signs and whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.errors import InputError
from trueup.law import Combination, NormalLaw
from trueup.reconcile.forest import Tree
from trueup.reconcile.statements import Row

MOST_DENSE = 3_000


@dataclass(frozen=True, eq=False)
class NamedProblem:
    """Noisy counts, by their precision (inverse covariance) Q and pull Qy, and the equations.

    A count that was not measured has precision and pull 0.
    """

    names: tuple[str, ...]
    pull: Floats
    precision: Any
    rows: Sequence[Row]
    trees: Sequence[Tree] | None

    @cached_property
    def place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def weights(self) -> Floats:
        return np.asarray(self.precision.diagonal(), np.float64)

    @cached_property
    def values(self) -> Floats:
        """The noisy counts where their noise is independent; 0 where not measured."""
        values = np.zeros(len(self.names))
        return np.divide(self.pull, self.weights, out=values, where=self.weights > 0)

    @cached_property
    def is_tree(self) -> bool:
        """Whether the kernels of trees apply: independent noise, every leaf measured."""
        if self.trees is None or self.precision.nnz != np.count_nonzero(self.weights):
            return False
        leaves = [t.places[np.diff(t.first) == 0] for t in self.trees]
        return bool(all((self.weights[leaf] > 0).all() for leaf in leaves))


def matrix_of(problem: NamedProblem) -> tuple[Any, Floats]:
    """The equations as sparse rows, each scaled to a largest coefficient of 1."""
    from scipy.sparse import csr_array

    data, row, column, right = [], [], [], []
    for i, equation in enumerate(problem.rows):
        largest = max(abs(c) for c in equation.coefficients.values())
        for name, coefficient in equation.coefficients.items():
            data.append(float(coefficient / largest))
            row.append(i)
            column.append(problem.place[name])
        right.append(float(equation.constant / largest))
    shape = (len(problem.rows), len(problem.names))
    return csr_array((data, (row, column)), shape), np.array(right)


@dataclass(frozen=True, eq=False)
class NamedFit:
    """The factorised optimality conditions: estimates, and the variance of any combination.

    [Q Aᵀ; A 0] [x; ν] = [Qy; b]; the upper left block of the inverse is the covariance of x.
    """

    problem: NamedProblem

    @cached_property
    def _unit(self) -> float:
        weights = self.problem.weights
        return float(np.median(weights[weights > 0]))

    @cached_property
    def _system(self) -> tuple[Any, Any]:
        from scipy.sparse import block_array
        from scipy.sparse.linalg import splu

        rows, _ = matrix_of(self.problem)
        scaled = self.problem.precision / self._unit
        system = block_array([[scaled, rows.T], [rows, None]], format="csc")
        try:
            factor = splu(system)
        except RuntimeError:
            raise self._undetermined() from None
        spread = np.abs(factor.U.diagonal())
        if spread.min() < 1e-13 * spread.max():
            raise self._undetermined()
        return system, factor

    def _undetermined(self) -> InputError:
        problem = self.problem
        blind = np.flatnonzero(problem.weights == 0)
        if len(problem.names) <= MOST_DENSE:
            from scipy.linalg import null_space

            rows, _ = matrix_of(problem)
            free = null_space(np.vstack([problem.precision.toarray() / self._unit, rows.toarray()]))
            blind = np.flatnonzero(np.abs(free).max(axis=1, initial=0.0) > 1e-8)
        listed = ", ".join(repr(problem.names[i]) for i in blind[:8])
        return InputError(
            f"Nothing that was given determines {listed}{', …' if len(blind) > 8 else ''}. "
            f"Measure them, or state how they follow from others."
        )

    def solve(self, upper: Floats, lower: Floats) -> Floats:
        """The x of the system for a right side, refined once."""
        system, factor = self._system
        right = np.concatenate([upper, lower])
        found = factor.solve(right)
        found += factor.solve(right - system @ found)
        return np.asarray(found[: len(self.problem.names)], np.float64)

    def estimates(self) -> Floats:
        """The counts that obey the equations and are nearest to the noisy ones."""
        problem = self.problem
        _, right = matrix_of(problem)
        return self.solve(problem.pull / self._unit, right)

    def variance(self, weights: Floats) -> float:
        """The variance of Σ weight · estimate."""
        solved = self.solve(weights, np.zeros(len(self.problem.rows)))
        return max(float(weights @ solved) / self._unit, 0.0)

    def covariance(self) -> Floats:
        """The covariance of all estimates, as a dense matrix."""
        size = len(self.problem.names)
        columns = np.zeros((size + len(self.problem.rows), size))
        columns[:size] = np.eye(size)
        dense = np.asarray(self._system[1].solve(columns)[:size]) / self._unit
        return (dense + dense.T) / 2


@dataclass(frozen=True, eq=False)
class SparseErrors:
    """The errors of many named counts, each worked out when it is asked for."""

    names: tuple[str, ...]
    least_squares: NamedFit

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of counts."""
        weights = np.zeros(len(self.names))
        for name, coefficient in combination:
            weights[self.least_squares.problem.place[name]] += coefficient
        return self.least_squares.variance(weights)

    def noise_law(self, combination: Combination) -> NormalLaw:
        """The law of the error of a combination: of the noise no more than its size is known."""
        return NormalLaw(self.variance(combination))

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of all counts; refused where it would not fit."""
        if len(self.names) > 20_000:
            raise InputError(
                f"The covariance of {len(self.names):,} counts is too large to write out. Ask for "
                f"the std_error of single ones, or of their sums and differences."
            )
        return self.least_squares.covariance()


def fitted(problem: NamedProblem) -> Floats:
    """Least squares: by the kernel where the equations make trees, by sparse algebra elsewhere."""
    if not problem.is_tree:
        return NamedFit(problem).estimates()
    from trueup._kernels.tree.any_tree import fit

    found = np.empty(len(problem.names))
    assert problem.trees is not None
    for tree in problem.trees:
        weights = problem.weights[tree.places].copy()
        noisy = problem.values[tree.places].copy()
        if not np.isnan(tree.pinned):
            weights[0], noisy[0] = weights.max() * 1e18, tree.pinned
        found[tree.places] = fit(tree.first, noisy, weights / weights.max())
    return found


def nonnegative(problem: NamedProblem, estimates: Floats) -> Floats:
    """The counts ≥ 0 that obey the equations and are nearest to the noisy ones."""
    if problem.is_tree:
        from trueup._kernels.display.nonnegative import node_sums, nonnegative_leaves

        found = np.empty(len(problem.names))
        assert problem.trees is not None
        for tree in problem.trees:
            weights = problem.weights[tree.places]
            weights = weights / weights.max()
            leaves, _ = nonnegative_leaves(
                tree.first, problem.values[tree.places], weights, tree.pinned
            )
            found[tree.places] = node_sums(tree.first, leaves)
        return found
    if len(problem.names) > MOST_DENSE:
        raise InputError(
            f"Non-negative counts that form no tree are limited to {MOST_DENSE:,}, got "
            f"{len(problem.names):,}."
        )
    # Least distance programming (Lawson and Hanson): x = x̂ + L z with L Lᵀ the covariance, the
    # shortest z with L z ≥ −x̂, found by one non-negative least-squares problem.
    spread, axes = np.linalg.eigh(NamedFit(problem).covariance())
    kept = spread > spread.max() * 1e-12
    root = axes[:, kept] * np.sqrt(spread[kept])
    scale = np.abs(estimates).max() or 1.0
    goal = np.zeros(root.shape[1] + 1)
    goal[-1] = 1.0
    system = np.vstack([root.T, -estimates[None, :] / scale])
    residual = system @ _shadow_prices(system, goal) - goal
    if np.linalg.norm(residual) < 1e-9:
        raise InputError(
            "No non-negative counts obey these constraints and known totals. Leave "
            "out nonnegative=True, or the constraint that asks for a negative count."
        )
    found = estimates + scale * (root @ (-residual[:-1] / residual[-1]))
    return np.where(found > 1e-9 * scale, found, 0.0)


def _shadow_prices(system: Floats, goal: Floats) -> Floats:
    """The x ≥ 0 with system · x nearest to the goal.

    scipy's nnls solves normal equations, which may be far off where columns are nearly dependent:
    what it finds is checked, and found again by orthogonal factors where it is not the nearest.
    """
    from scipy.optimize import lsq_linear, nnls

    found, _ = nnls(system, goal, maxiter=30 * len(goal) + 1_000)
    slope = system.T @ (goal - system @ found)
    size = np.abs(system).max()
    if np.abs(slope[found > 0]).max(initial=0.0) > 1e-9 * size or slope.max() > 1e-9 * size:
        most = 30 * len(goal) + 1_000
        found = lsq_linear(system, goal, (0, np.inf), method="bvls", tol=1e-15, max_iter=most).x
    return np.asarray(found, np.float64)


def whole(problem: NamedProblem, estimates: Floats, signs: bool) -> Ints:
    """Whole numbers near the estimates that obey the equations."""
    if problem.trees is not None:
        from trueup._kernels.display.rounding import whole_numbers

        found = np.empty(len(problem.names), np.int64)
        for tree in problem.trees:
            values = estimates[tree.places]
            total = int(np.floor(values[0] + 0.5))
            found[tree.places] = whole_numbers(tree.first, values, total, signs)
        return found
    rows, _ = matrix_of(problem)
    base = np.floor(estimates + 1e-9)
    for reach in (0, 1, 3):
        steps = _whole_steps(problem, rows, estimates, base, reach, signs)
        if steps is not None:
            return (base + steps).astype(np.int64)
    raise InputError("No whole numbers near these estimates obey the constraints.")


def _whole_steps(
    problem: NamedProblem, rows: Any, estimates: Floats, base: Floats, reach: int, signs: bool
) -> Floats | None:
    """Steps from the floors, −reach … reach + 1, that obey the equations at the least distance.

    Each count has one 0/1 variable a step, in the order of their costs (which is convex, so the
    solver takes the cheap ones first): a linear integer program.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import hstack

    size, ladder = len(estimates), np.arange(-reach, reach + 1)
    costs = [2 * (base + step - estimates) + 1 for step in ladder]  # of going from step to step + 1
    start = base - reach
    right = np.empty(len(problem.rows))
    for i, row in enumerate(problem.rows):
        largest = max(abs(c) for c in row.coefficients.values())
        held = sum(c * int(start[problem.place[n]]) for n, c in row.coefficients.items())
        right[i] = float((row.constant - held) / largest)
    stacked = hstack([rows] * len(ladder), format="csr")
    low = np.zeros(size * len(ladder))
    if signs:
        for k, step in enumerate(ladder):
            low[k * size : (k + 1) * size] = np.where(base + step < 0, 1.0, 0.0)
    outcome = milp(
        np.concatenate(costs),
        integrality=np.ones(len(low), np.int64),
        bounds=Bounds(low, np.ones(len(low))),
        constraints=LinearConstraint(stacked, right, right) if len(right) else None,
    )
    if outcome.x is None:
        return None
    return np.rint(outcome.x).reshape(len(ladder), size).sum(axis=0) - reach


def on_grid(problem: NamedProblem, estimates: Floats) -> Floats:
    """The estimates on a binary grid, the counts that equations define recomputed exactly.

    Then sums and differences of them are exact in floating point, and the equations hold with ==
    (where a coefficient of 1 or −1 can be solved for). No count changes its sign.
    """
    size = float(np.abs(estimates).sum()) + 1.0
    shift = 52 - int(np.ceil(np.log2(size)))
    units = [Fraction(int(unit)) for unit in np.rint(np.ldexp(estimates, shift))]
    if problem.trees is not None:
        for tree in problem.trees:
            _add_up(tree, units, shift)
    else:
        for row in reversed(problem.rows):
            total = row.constant * Fraction(2) ** shift
            for name, coefficient in row.coefficients.items():
                if name != row.pivot:
                    total -= coefficient * units[problem.place[name]]
            units[problem.place[row.pivot]] = total / row.coefficients[row.pivot]
    found = np.array([float(unit / Fraction(2) ** shift) for unit in units])
    turned = (found < 0) & (estimates >= 0)
    return estimates if turned.any() else found


def _add_up(tree: Tree, units: list[Fraction], shift: int) -> None:
    """Every parent the sum of its children; what a known total lacks goes to the largest leaf."""
    places = tree.places.tolist()
    inner = np.flatnonzero(np.diff(tree.first)).tolist()
    if inner and not np.isnan(tree.pinned):
        leaves = [places[v] for v in np.flatnonzero(np.diff(tree.first) == 0)]
        lacks = Fraction(tree.pinned) * Fraction(2) ** shift - sum(units[i] for i in leaves)
        units[max(leaves, key=lambda i: units[i])] += lacks
    for v in reversed(inner):
        below = places[tree.first[v] : tree.first[v + 1]]
        units[places[v]] = sum((units[i] for i in below), Fraction(0))
