"""Releases from a Spark cluster of two workers, one of which is killed while it is at work.

python tests/scale/cluster.py [--runs 3] [--minutes 20]

Every run starts a master and two workers, publishes a table through a ledger into a folder, and
kills one worker with all its processes at a random moment. The first run kills nobody: it says how
long a release takes, and the others kill at a moment that is uniform in that time. Tasks are also
run twice at a time (speculation). Then every answer must be the one that was stored first, the
ledger charged once, and the release consistent. No process stays behind, however this one ends.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "owner"))
from cluster import HOME, free_port, wait_for  # noqa: E402

from trueup.files.dataset import open_dataset  # noqa: E402

CELLS, SLAB = 600_000, 50_000
_PARENT_DIED = 1  # PR_SET_PDEATHSIG, of prctl(2)
_libc = ctypes.CDLL(None)


def with_its_parent() -> None:
    """Before a program begins: it is killed when the process that started it ends in any way."""
    _libc.prctl(_PARENT_DIED, signal.SIGKILL, 0, 0, 0)


@contextmanager
def started(scratch: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master and two workers, each a group of processes of its own."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    source = str(HERE.parents[2] / "src")
    settings = os.environ | {
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(scratch / "work"),
        "SPARK_LOG_DIR": str(scratch / "logs"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": source,
    }
    place, begin = "org.apache.spark.deploy", str(HOME / "bin" / "spark-class")
    leader = [f"{place}.master.Master", "--host", "127.0.0.1", "--port", str(port)]
    helper = [f"{place}.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g"]
    processes: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> None:
        given: Any = {"stdout": log, "stderr": log, "env": settings, "start_new_session": True}
        given["preexec_fn"] = with_its_parent
        processes.append(
            subprocess.Popen([begin, *words, "--webui-port", str(free_port())], **given)
        )

    with open(scratch / "log", "wb") as log:
        try:
            start(*leader)
            wait_for(port)
            for _ in range(2):
                start(*helper, master)
            yield master, processes[1:]
        finally:
            for process in reversed(processes):
                with_group(process, signal.SIGKILL)
                process.wait()


def with_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Sends a signal to a process that was started here, and to all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def session(master: str) -> Any:
    """A session of its own, in which tasks may be run twice at a time."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "6",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.1",
        "spark.executorEnv.PYTHONPATH": str(HERE.parents[2] / "src"),
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@dataclass
class Seen:
    """What was seen of a release on its way: answers as they were first stored, and the kill."""

    scratch: Path
    after: float | None
    answers: dict[str, bytes] = field(default_factory=dict)
    killed: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def watch(self, worker: subprocess.Popen[bytes]) -> None:
        """Looks at every answer as soon as it is stored; kills the worker when its time comes."""
        begun, public = time.monotonic(), self.scratch / "out.partial" / "release"
        while not self.over.is_set():
            for path in (public / "answers").glob("*.int64"):
                if path.name not in self.answers:
                    self.answers[path.name] = path.read_bytes()
            is_time = self.after is not None and time.monotonic() - begun >= self.after
            if is_time and not self.killed:
                parts = len(list(public.glob("part-*")))
                with_group(worker, signal.SIGKILL)
                self.killed = f"{len(self.answers)} answers and {parts} parts stored"
            time.sleep(0.005)


def run(scratch: Path, after: float | None) -> tuple[float, str]:
    """One release, a worker killed so many seconds after it was asked for; how long it took."""
    import numpy as np

    import trueup as tu
    from trueup.scale import job

    job.SLAB = SLAB
    values = np.random.default_rng(1).integers(0, CELLS + 100, 20_000)
    axis = tu.Axis.integers("place", 0, CELLS - 1)
    question = tu.TreeCounts(axis, radices=(60, 100, 100))
    seen = Seen(scratch, after)
    with started(scratch) as (master, workers):
        spark = session(master)
        try:
            frame = spark.createDataFrame([(int(value),) for value in values], "place long")
            frame.count()  # executors are up
            owner = tu.Owner(frame, tu.Ledger(scratch / "ledger", limit=1))
            watching = threading.Thread(target=seen.watch, args=(workers[0],), daemon=True)
            watching.start()
            begun = time.monotonic()
            release = owner.publish(question, 1, nonnegative=False, to=scratch / "out")
            took = time.monotonic() - begun
            seen.over.set()
            watching.join()
        finally:
            spark.stop()
    stored = {path.name: path.read_bytes() for path in (scratch / "out" / "answers").iterdir()}
    again = [name for name, data in seen.answers.items() if stored[name] != data]
    assert not again, f"drawn again: {again}"
    assert owner.ledger.spent == 1, owner.ledger.spent
    owner.ledger.verify()
    names = {each.name for each in (scratch / "out").iterdir() if not each.is_dir()}
    assert names >= {"manifest.json", "blocks.float64", "part-000000.parquet"}, names
    open_dataset(scratch / "out").verify()
    cuts = np.linspace(0, CELLS, 50).astype(int)
    parts = [release.between(a, b).value for a, b in pairwise(cuts)]
    assert sum(parts) == release.total().value
    truth = int((values < CELLS).sum())
    assert abs(release.total().value - truth) < 10 * release.total().std_error
    return took, seen.killed


def main() -> int:
    """So many runs; 0 if all went well and workers were killed at work."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--runs", type=int, default=3)
    words.add_argument("--minutes", type=float, default=60.0)
    given = words.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for number in (signal.SIGTERM, signal.SIGHUP):  # ended like this, it still ends what it began
        signal.signal(number, lambda *_: sys.exit(1))
    until = time.monotonic() + 60 * given.minutes
    usual, killed, ran = 0.0, 0, 0
    while ran < given.runs and time.monotonic() < until:
        after = random.uniform(0, usual) if ran else None
        with tempfile.TemporaryDirectory(prefix="trueup-cluster", ignore_cleanup_errors=True) as at:
            took, seen = run(Path(at), after)
        usual, ran, killed = usual or took, ran + 1, killed + bool(seen)
        said = f"killed after {after:.1f} s with {seen}" if seen and after else "nobody was killed"
        print(f"run {ran}: {took:.1f} s, {said}", flush=True)
    print(f"{ran} releases, {killed} with a worker killed at work: every answer noised once")
    return 0 if killed or given.runs < 2 else 1


if __name__ == "__main__":
    raise SystemExit(main())
