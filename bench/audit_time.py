"""Does time tell? t-tests of the sampler's and the server's time against noise and neighbours.

Run: python bench/audit_time.py [--batches 20000] [--requests 200]

- sampler, noise: the correlation of a batch's time with the size of its noise;
- sampler, neighbours: the times of measuring two neighbouring tables, in turns;
- server, noise: the correlation of a request's time with the size of the noise it brings;
- server, neighbours: the times of asking two datasets that one record sets apart, in turns.

Beyond about 5 in size, a t-statistic says that the time tells something.
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

import trueup as tu
from trueup._kernels.noise import laplace

Floats = npt.NDArray[np.float64]
TELLS = 5.0
CALM = 0.9  # of all times: the rest is what the machine did meanwhile

CONFIG = """
[server]
port = 0
deadline = 0.1
warm = false
{datasets}
"""
DATASET = """
[datasets.{name}]
source = "{name}.parquet"
ledger = "{name}.ledger"
limit = 1000
[datasets.{name}.axes.age]
kind = "integers"
first = 0
last = 99
"""


def against_size(times: Floats, sizes: Floats) -> float:
    """The t-statistic of a correlation, without the slowest runs."""
    calm = times <= np.quantile(times, CALM)
    if np.ptp(times[calm]) == 0 or np.ptp(sizes[calm]) == 0:
        return 0.0
    r = float(np.corrcoef(times[calm], sizes[calm])[0, 1])
    return r * float(np.sqrt((calm.sum() - 2) / max(1 - r * r, 1e-12)))


def between(first: Floats, second: Floats) -> float:
    """Welch's t-statistic of two samples, each without its slowest runs."""
    from scipy.stats import ttest_ind

    calm = [times[times <= np.quantile(times, CALM)] for times in (first, second)]
    return float(ttest_ind(*calm, equal_var=False).statistic)


def sampler_against_size(scale: int, batches: int, size: int = 1024) -> float:
    """Whether the time of a batch tells the size of its noise."""
    times, sizes = np.empty(batches), np.empty(batches)
    for i in range(batches):
        begin = time.perf_counter_ns()
        drawn = laplace.draw(size, scale)
        times[i] = time.perf_counter_ns() - begin
        sizes[i] = np.abs(drawn).sum()
    return against_size(times, sizes)


def measure_on_neighbours(runs: int) -> float:
    """Whether the time of a measurement tells two neighbouring tables apart."""
    question = tu.TreeCounts(64, branching=4)
    tables = np.zeros(64, np.int64), np.eye(1, 64, 17, dtype=np.int64)[0]
    times = np.empty((2, runs))
    for i in range(runs):
        for side in (0, 1) if i % 2 else (1, 0):
            begin = time.perf_counter_ns()
            tu.measure(tables[side], question, 1)
            times[side, i] = time.perf_counter_ns() - begin
    return between(times[0], times[1])


@contextmanager
def served() -> Iterator[Callable[[str], tuple[float, float]]]:
    """A server of two datasets that one record sets apart: asks one; its time, and its noise."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import uvicorn

    from trueup.client import connect
    from trueup.config import read_config
    from trueup.server.app import create_app
    from trueup.server.auth import Tokens, create
    from trueup.server.run import configured
    from trueup.server.settings import read_settings

    ages = np.random.default_rng(1).integers(0, 100, 5000)
    tables = {"one": ages, "two": np.append(ages, 50)}  # names of one length
    truth = {name: np.bincount(table, minlength=100) for name, table in tables.items()}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, table in tables.items():
            pq.write_table(pa.table({"age": table}), place / f"{name}.parquet")
        datasets = "".join(DATASET.format(name=name) for name in tables)
        (place / "trueup.toml").write_text(CONFIG.format(datasets=datasets))
        config = read_config(place / "trueup.toml")
        settings = read_settings(config)
        token = create(Tokens(settings.tokens), config.datasets, "ana", "analyst", 1000)
        server = uvicorn.Server(uvicorn.Config(create_app(config), **configured(settings)))
        listening = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        client = connect(f"http://127.0.0.1:{listening.getsockname()[1]}", token)

        def ask(name: str) -> tuple[float, float]:
            begin = time.perf_counter()
            found = client.measure(name, "age", epsilon="1/10", strategy="flat")
            took = time.perf_counter() - begin
            return took, float(np.abs(found.noisy - truth[name]).sum())

        yield ask
        server.should_exit = True
        thread.join(30)
        listening.close()


def server_times(requests: int) -> tuple[float, float]:
    """The t-statistics of a request's time: against its noise, and between neighbours."""
    times, sizes = np.empty((2, requests)), np.empty((2, requests))
    with served() as ask:
        for name in ("one", "two") * 3:
            ask(name)  # what the first ones load
        for i in range(requests):
            for side in (0, 1) if i % 2 else (1, 0):
                times[side, i], sizes[side, i] = ask(("one", "two")[side])
    return against_size(times.ravel(), sizes.ravel()), between(times[0], times[1])


def run(batches: int, requests: int) -> bool:
    """All four, printed; whether none tells."""
    found = {
        f"time of a batch against the size of its noise, scale {scale}": sampler_against_size(
            scale, batches
        )
        for scale in (1, 40, 1000, 10**6)
    }
    found["time of a measurement on two neighbouring tables"] = measure_on_neighbours(batches // 4)
    noise, neighbours = server_times(requests)
    found["time of a request against the size of its noise"] = noise
    found["time of a request to two neighbouring datasets"] = neighbours
    for what, t in found.items():
        print(f"{what}: t = {t:.1f}", flush=True)
    return max(map(abs, found.values())) <= TELLS


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--batches", type=int, default=20_000)
    arguments.add_argument("--requests", type=int, default=200)
    given = arguments.parse_args()
    good = run(given.batches, given.requests)
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
