"""Exact non-negative counts on trees: our solver beside a general one (Clarabel), on one core.

Run: python bench/nonnegative.py [--quick]

Both minimise Σ w (x − y)² with parents the sums of their children and leaves ≥ 0. The residual
is the largest relative breach of the optimality conditions. The two ways from the root down and
the rounding to whole numbers are timed on the same trees.
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import numpy as np
import numpy.typing as npt

from _timing import seconds
from trueup._kernels.display.nonnegative import (
    node_sums,
    nonnegative_leaves,
    optimality_residual,
)
from trueup._kernels.display.rounding import whole_numbers
from trueup._kernels.display.topdown import project_top_down, settle_large_first
from trueup._kernels.tree.any_tree import fit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TARGETS = {(2, 20): 0.25, (16, 20): 0.1}


def problem(branching: int, leaves: int) -> tuple[Ints, Floats, Floats]:
    """A regular tree over sparse heavy-tailed counts with the noise of ε = 0.1 on every node."""
    nodes = (branching * leaves - 1) // (branching - 1)
    first = np.minimum(1 + branching * np.arange(nodes + 1, dtype=np.int64), nodes)
    generator = np.random.default_rng(leaves)
    counts = np.floor(np.exp(generator.normal(0, 2, leaves))) * (generator.random(leaves) < 0.3)
    height = round(np.log(leaves) / np.log(branching)) + 1
    noisy = node_sums(first, counts) + generator.laplace(0, height / 0.1, nodes)
    return first, noisy, np.ones(nodes)


def clarabel_leaves(first: Ints, y: Floats, w: Floats, leaves: int) -> Floats:
    """The same problem as a quadratic program: a variable a node, an equation a parent."""
    import clarabel
    from scipy import sparse

    nodes, parents = len(y), len(y) - leaves
    child = np.arange(1, nodes)
    parent = np.repeat(np.arange(parents), np.diff(first[: parents + 1]))
    ones = np.ones(nodes - 1)
    sums = sparse.csc_array((ones, (parent, child)), (parents, nodes))
    sums = sums - sparse.csc_array(sparse.eye_array(parents, nodes))
    signs = -sparse.csc_array(sparse.eye_array(leaves, nodes, k=parents))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags_array(w)),
        -w * y,
        sparse.csc_matrix(sparse.vstack([sums, signs])),
        np.zeros(nodes),
        [clarabel.ZeroConeT(parents), clarabel.NonnegativeConeT(leaves)],
        settings,
    )
    found = np.asarray(solver.solve().x)[parents:]
    # An interior point is never at zero: what it all but drops counts as dropped.
    return np.where(found < 1e-6 * (1 + np.abs(y).max()), 0.0, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 2^16 leaves, Clarabel to 2^12")
    quick = parser.parse_args().quick
    sizes = (12, 16) if quick else (12, 14, 16, 18, 20)
    print(f"{'tree':>6} {'leaves':>7} {'trueup':>9} {'rounds':>6} {'residual':>9}", end=" ")
    print(f"{'Clarabel':>9} {'residual':>9} {'ratio':>7} {'top-down':>9}", end=" ")
    print(f"{'large-first':>11} {'rounding':>9}")
    for branching in (2, 16):
        for power in sizes:
            if branching == 16 and power % 4:
                continue
            leaves = 1 << power
            first, y, w = problem(branching, leaves)
            found, rounds = nonnegative_leaves(first, y, w)
            ours = seconds(partial(nonnegative_leaves, first, y, w), 7)
            certified = optimality_residual(first, y, w, found, np.nan)
            line = f"{branching:>5}× 2^{power:<5} {ours:8.4f}s {rounds:>6} {certified:9.1e} "
            if power <= (12 if quick else 16):
                begin = time.process_time()
                theirs = clarabel_leaves(first, y, w, leaves)
                peer = time.process_time() - begin
                breach = optimality_residual(first, y, w, theirs, np.nan)
                line += f"{peer:8.3f}s {breach:9.1e} {peer / ours:6.0f}× "
            else:
                line += f"{'':>28}"
            fitted = fit(first, y, w)
            down = seconds(partial(project_top_down, first, fitted), 3)
            large = seconds(partial(settle_large_first, first, y, w, 100.0, 0.0), 3)
            nodes = node_sums(first, project_top_down(first, fitted))
            total = round(nodes[0])
            whole = seconds(partial(whole_numbers, first, nodes, total, True), 3)
            line += f"{down:8.4f}s {large:10.4f}s {whole:8.4f}s"
            target = TARGETS.get((branching, power))
            if target:
                line += f"   target {target} s: {'held' if ours <= target else 'NOT held'}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
