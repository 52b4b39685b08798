"""Runs the neighbour machine: one family by its seed, or as many pairs as there is time for.

python tests/owner/neighbour_run.py --engine csv --seed 17
python tests/owner/neighbour_run.py --pairs 1000000 --server-pairs 5000       (make neighbours)
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from typing import Any

from neighbour_machine import Machine, Tally
from neighbour_stores import ENGINES
from neighbour_tables import Servers

BY_SERVER = ("spark", "postgresql")
BY_SPARK = ("parquet-spark",)  # written by Spark, read in the process
IN_PROCESS = tuple(name for name in ENGINES if name not in (*BY_SERVER, *BY_SPARK))
MEMBERS = 16  # tables of a family: under "replace" all 120 pairs of them are neighbours
_FAMILIES = 8  # a worker does before it reports


class Started:
    """A PostgreSQL server and a Spark session, started when first asked for."""

    def __init__(self) -> None:
        self._postgres: Any = None
        self._spark: Any = None

    def postgres(self) -> str:
        """The address of the server."""
        import conftest

        self._postgres = self._postgres or conftest.Postgres.made()
        return str(self._postgres.address)

    def spark(self) -> Any:
        """The session."""
        import conftest

        self._spark = self._spark or conftest._start_spark()
        return self._spark

    def close(self) -> None:
        """Stop what was started."""
        if self._spark is not None:
            self._spark.stop()
        if self._postgres is not None:
            self._postgres.remove()


_machines: list[Machine] = []


def work(engine: str, first: int, members: int) -> Tally:
    """Some families of one engine, in a worker's own machine."""
    if not _machines:
        warnings.simplefilter("ignore")
        _machines.append(Machine(Servers(_none, _none)))
    tally = Tally()
    for seed in range(first, first + _FAMILIES):
        tally.add(_machines[0].run(engine, seed, members))
    return tally


def _none() -> str:
    raise RuntimeError("a worker has no server")


def in_process(pairs: int, first: int, members: int) -> dict[str, Tally]:
    """So many pairs over the readers in this process, on all cores."""
    tallies = {engine: Tally() for engine in IN_PROCESS}
    started, shown = time.monotonic(), time.monotonic()
    fresh = multiprocessing.get_context("spawn")
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, mp_context=fresh) as pool:
        jobs: Iterator[tuple[str, int]] = (
            (engine, first + number * _FAMILIES) for number in count() for engine in IN_PROCESS
        )
        running: dict[Any, str] = {}
        while sum(tally.pairs for tally in tallies.values()) < pairs or running:
            while len(running) < 2 * workers and sum(t.pairs for t in tallies.values()) < pairs:
                engine, seed = next(jobs)
                running[pool.submit(work, engine, seed, members)] = engine
            done = next(iter(running))
            report(done.result(), tallies[running.pop(done)])
            if time.monotonic() - shown > 60:
                shown = time.monotonic()
                say_rate(tallies, shown - started)
    say_rate(tallies, time.monotonic() - started)
    return tallies


def report(found: Tally, whole: Tally) -> None:
    """Add what was found, and print each violation as it is seen."""
    whole.add(found)
    for violation in found.violations:
        print(violation, flush=True)


def say_rate(tallies: dict[str, Tally], seconds: float) -> None:
    """How far a run has come."""
    pairs = sum(tally.pairs for tally in tallies.values())
    print(f"{pairs:,} pairs in {seconds:,.0f} s: {pairs / seconds:,.0f} a second", flush=True)


def served(engine: str, pairs: int, first: int, servers: Servers, members: int) -> Tally:
    """So many pairs on one engine, in this process."""
    machine, tally = Machine(servers), Tally()
    if engine in ("spark", "parquet-spark"):
        servers.spark()  # what cannot be started stops the run, not a family
    if engine == "postgresql":
        servers.postgres()
    started = time.monotonic()
    for seed in count(first):
        if tally.pairs >= pairs:
            break
        report(machine.run(engine, seed, members), tally)
    machine.close()
    say_rate({engine: tally}, time.monotonic() - started)
    return tally


def with_servers(action: Callable[[Servers], dict[str, Tally]]) -> dict[str, Tally]:
    """What an action returns that is given servers, which are stopped afterwards."""
    started = Started()
    try:
        return action(Servers(started.postgres, started.spark))
    finally:
        started.close()


def main() -> int:
    """0 if no pair of neighbours could be told apart."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--seed", type=int, default=0, help="of the first family")
    parser.add_argument("--members", type=int, default=MEMBERS, help="tables of a family")
    parser.add_argument("--pairs", type=int, default=0, help="over readers in the process")
    parser.add_argument("--server-pairs", type=int, default=0, help="on each server")
    asked = parser.parse_args()

    def one(servers: Servers) -> dict[str, Tally]:
        return {asked.engine: served(asked.engine, 1, asked.seed, servers, asked.members)}

    def servers_only(servers: Servers) -> dict[str, Tally]:
        engines = (*BY_SPARK, *BY_SERVER)
        many = asked.server_pairs
        return {e: served(e, many, asked.seed, servers, asked.members) for e in engines}

    if asked.engine:
        tallies = with_servers(one)
    else:
        tallies = {}
        if asked.pairs:
            tallies = in_process(asked.pairs, asked.seed, asked.members)
        if asked.server_pairs:
            tallies |= with_servers(servers_only)
    for engine, tally in tallies.items():
        print(f"{engine}: {tally}")
        for words, times in tally.errors.most_common(5):
            print(f"    {times:,} × {words}")
    whole = Tally()
    for tally in tallies.values():
        whole.add(tally)
    print(f"in all: {whole}")
    return 1 if whole.violations else 0


if __name__ == "__main__":
    sys.exit(main())
