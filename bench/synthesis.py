"""Rows of eight columns made from margins, beside MST, a maintained generator, at equal privacy.

Run: python bench/synthesis.py [--peer VENV/bin/python] [--draws 10] [--records 20000]

MST is that of dpmm (PyPI), in an environment of its own, for it needs an older numpy:
`python3.11 -m venv VENV && VENV/bin/pip install dpmm`. Without --peer our rows stand alone. MST is
given (1, 1e-9)-privacy; its own conversion makes a ρ of that, and our rows get the same ρ. Tables
are made up: a chain, in which each column depends on the one before (a tree, as MST supposes), and
hidden classes, on which all columns depend. The error of a margin is the total variation distance
between shares, its mean over all margins of one and of two columns, with its standard error. One
way of ours must be within two standard errors of MST, or better, for both.
"""

from __future__ import annotations

import argparse
import itertools
import math
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

import trueup as tu

Ints = npt.NDArray[np.int64]
COLUMNS, SIZE = 8, 5
EPSILON, DELTA = 1.0, 1e-9
RHO = Fraction("0.0149730")  # of these two, by dpmm's own conversion, rounded down


def made_up(records: int) -> dict[str, Ints]:
    """Rows of whole numbers from 0 to 4."""
    rng = np.random.default_rng(25)
    chain = np.zeros((records, COLUMNS), np.int64)
    for column in range(COLUMNS):
        before = chain[:, column - 1] if column else np.zeros(records, np.int64)
        chances = rng.dirichlet(np.full(SIZE, 0.7), SIZE).cumsum(axis=1)
        chain[:, column] = (rng.random((records, 1)) > chances[before]).sum(axis=1)
    hidden = rng.choice(6, records, p=rng.dirichlet(np.full(6, 3.0)))
    classes = np.zeros((records, COLUMNS), np.int64)
    for column in range(COLUMNS):
        chances = rng.dirichlet(np.full(SIZE, 0.7), 6).cumsum(axis=1)
        classes[:, column] = (rng.random((records, 1)) > chances[hidden]).sum(axis=1)
    return {"a chain": np.minimum(chain, SIZE - 1), "hidden classes": np.minimum(classes, SIZE - 1)}


def apart(rows: Ints, other: Ints) -> tuple[float, float]:
    """The mean distance of margins of one column, and of two."""
    found = []
    for many in (1, 2):
        far = []
        for columns in itertools.combinations(range(COLUMNS), many):
            shares = []
            for table in (rows, other):
                flat = np.ravel_multi_index(tuple(table[:, list(columns)].T), (SIZE,) * many)
                shares.append(np.bincount(flat, minlength=SIZE**many) / len(table))
            far.append(float(np.abs(shares[0] - shares[1]).sum()) / 2)
        found.append(math.fsum(far) / len(far))
    return found[0], found[1]


WAYS: dict[str, Fraction | None] = {
    "ours, least variance": None,  # of all cells together, most of which are of two columns
    "ours, a sixth to single columns": Fraction(1, 6),
    "ours, margins of two alone": Fraction(0),
}


def ours(rows: Ints, rho: Fraction, singles: Fraction | None) -> Ints:
    """Our rows, from margins of one and two columns, with so much of the cost for those of one."""
    axes = [tu.Axis.integers(f"c{n}", 0, SIZE - 1) for n in range(COLUMNS)]
    names = [axis.name for axis in axes]
    asked = [m for many in (1, 2) for m in itertools.combinations(names, many)]
    question: tu.BoxCounts | tu.GridCounts
    if singles is None:
        question = tu.BoxCounts.marginals(*axes, marginals=asked, gaussian=True)
    elif singles:
        pairs = len(asked) - COLUMNS
        shares = [singles / COLUMNS] * COLUMNS + [(1 - singles) / pairs] * pairs
        question = tu.BoxCounts.marginals(*axes, marginals=asked, shares=shares)
    else:
        question = tu.GridCounts(*axes, marginals=asked[COLUMNS:])
    counts = np.zeros((SIZE,) * COLUMNS, np.int64)
    np.add.at(counts, tuple(rows.T), 1)
    measured = tu.measure(counts, question, rho=rho)
    made = tu.infer(measured, nonnegative=True, integers=True).rows()
    return np.stack(made.cells, axis=1).astype(np.int64)


def peer(
    python: str, tables: dict[str, Ints], draws: int, iterations: int
) -> dict[str, list[Ints]]:
    """The rows that MST makes of each table."""
    with tempfile.TemporaryDirectory() as folder:
        work, answer = Path(folder) / "work.npz", Path(folder) / "answer.npz"
        said = {f"rows {name}": rows for name, rows in tables.items()}
        np.savez(
            work, epsilon=EPSILON, delta=DELTA, draws=draws, size=SIZE, iterations=iterations,
            compress=True, **said,  # type: ignore[arg-type]
        )  # fmt: skip
        script = Path(__file__).with_name("_mst.py")
        subprocess.run([python, str(script), str(work), str(answer)], check=True, stdout=sys.stderr)
        found = np.load(answer)
        assert math.isclose(float(found["rho"]), RHO, rel_tol=1e-5)
        return {name: [found[f"rows {name} {draw}"] for draw in range(draws)] for name in tables}


def main() -> None:
    """Prints one line for each table and maker."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peer", help="the Python of an environment with dpmm")
    arguments.add_argument("--draws", type=int, default=10)
    arguments.add_argument("--records", type=int, default=20_000)
    arguments.add_argument("--iterations", type=int, default=1_000, help="of MST's inference")
    given = arguments.parse_args()
    tables = made_up(given.records)
    print(
        f"{given.records:,} records, ρ = {float(RHO):.5f} (ε = {EPSILON:g}, δ = {DELTA:g}), ",
        end="",
    )
    print(
        f"{given.draws} draws\n\n| table | rows of | one column | two columns |\n|---|---|--:|--:|"
    )
    made = {} if given.peer is None else peer(given.peer, tables, given.draws, given.iterations)
    good = True
    for name, rows in tables.items():
        makers = {
            way: [ours(rows, RHO, singles) for _ in range(given.draws)]
            for way, singles in WAYS.items()
        }
        if made:
            makers["MST of dpmm"] = made[name]
        means, errors = {}, {}
        for maker, some in makers.items():
            far = np.array([apart(rows, each) for each in some])
            means[maker] = far.mean(axis=0)
            errors[maker] = far.std(axis=0, ddof=1) / math.sqrt(len(far))
            cells = " | ".join(
                f"{m:.5f} ± {e:.5f}" for m, e in zip(means[maker], errors[maker], strict=True)
            )
            print(f"| {name} | {maker} | {cells} |", flush=True)
        if made:
            theirs, spread = means["MST of dpmm"], errors["MST of dpmm"]
            most = {way: theirs + 2 * np.hypot(errors[way], spread) for way in WAYS}
            good &= any(bool((means[way] <= most[way]).all()) for way in WAYS)
    print("PASS" if good else "FAIL")
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
