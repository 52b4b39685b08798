"""Releases from a Spark cluster of two workers, one of which is killed while it is at work.

python tests/scale/cluster.py [--runs 2] [--minutes 20] [--each 10]

A master and two workers are started. Every run publishes a table through a ledger into a folder,
and kills one worker, with all its processes, while it has a task: a stage, a task of it and a
moment in that task are chosen by chance. The task's process is stopped, seen to be in the midst of
its work, and then killed; a run in which that was missed is not counted. A new worker takes the
place of the killed one, and after some runs all begins anew, with a run that kills nobody. Tasks
are also run twice at a time (speculation). Then every answer must be the one that was stored first,
the ledger charged once, and the release consistent. No process stays behind, however this one ends.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
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
SHOWN = True  # whole counts take more stages, beside those of the unbiased ones
_PARENT_DIED = 1  # PR_SET_PDEATHSIG, of prctl(2)
_libc = ctypes.CDLL(None)


def with_its_parent() -> None:
    """Before a program begins: it is killed when the process that started it ends in any way."""
    _libc.prctl(_PARENT_DIED, signal.SIGKILL, 0, 0, 0)


@dataclass
class Cluster:
    """A master and two workers, each with all that it starts in a session of its own."""

    scratch: Path
    log: Any
    port: int = field(default_factory=free_port)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def master(self) -> str:
        """Its address."""
        return f"spark://127.0.0.1:{self.port}"

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Starts a process of the cluster."""
        settings = os.environ | {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(self.scratch / "work"),
            "SPARK_LOG_DIR": str(self.scratch / "logs"),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(HERE.parents[2] / "src"),
        }
        given: Any = {"stdout": self.log, "stderr": self.log, "env": settings}
        given |= {"start_new_session": True, "preexec_fn": with_its_parent}
        begin = [str(HOME / "bin" / "spark-class"), *words, "--webui-port", str(free_port())]
        self.processes.append(subprocess.Popen(begin, **given))
        return self.processes[-1]

    def lead(self) -> None:
        """Starts the master."""
        place = "org.apache.spark.deploy.master.Master"
        self.start(place, "--host", "127.0.0.1", "--port", str(self.port))
        wait_for(self.port)

    def hire(self) -> None:
        """Starts a worker in the place of one that is dead, or of none."""
        place = "org.apache.spark.deploy.worker.Worker"
        own = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g")
        self.workers = [each for each in self.workers if each.poll() is None]
        self.workers.append(self.start(place, *own, self.master))


@contextmanager
def started(scratch: Path) -> Iterator[Cluster]:
    """A cluster that ends with all its processes."""
    with open(scratch / "log", "wb") as log:
        cluster = Cluster(scratch, log)
        try:
            cluster.lead()
            for _ in range(2):
                cluster.hire()
            yield cluster
        finally:
            for process in reversed(cluster.processes):
                end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills a process that was started here, and all that it started; returns when all are dead."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # the helpers in Python have groups of their own
    while own := [each for each in running() if each[1] == process.pid and each[2] != "Z"]:
        for pid, _, _ in own:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    process.wait()


def running() -> Iterator[tuple[int, int, str]]:
    """Every process there is: its number, the first one of its session, and its state."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, leader = path.read_text().rpartition(")")[2].split()[:4]
            yield int(path.parent.name), int(leader), state


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


# On the executors: each task says when it begins and when it ends.


@contextmanager
def noted(to: str, stage: str) -> Iterator[None]:
    """Notes a task beside the folder that it works for, while it works."""
    name = f"{stage}:{os.getsid(0)}:{os.getpid()}:{time.time_ns()}"
    note = Path(to).parent / "at work" / name
    note.touch()
    try:
        yield
    finally:
        note.rename(note.parent.with_name("done") / name)


def noted_drawn(own: Any, table: Any) -> Any:
    """As `spark._drawn`, noted."""
    from trueup.scale import spark

    with noted(own[0], "draw"):
        return spark._drawn(own, table)


def noted_staged(own: Any, stage: str, batches: Any) -> Iterator[Any]:
    """As `spark._staged`, noted."""
    from trueup.scale import spark

    with noted(own[0], stage):
        yield from spark._staged(own, stage, batches)


# In the driver.


@dataclass(frozen=True)
class Task:
    """A task that began."""

    stage: str
    worker: int
    pid: int
    begun: float

    @staticmethod
    def noted(note: Path) -> Task:
        """The one of a note."""
        stage, worker, pid, begun = note.name.split(":")
        return Task(stage, int(worker), int(pid), int(begun) / 1e9)


@dataclass
class Usual:
    """How long tasks take, and how many of a stage a worker gets; by stage, in order."""

    seconds: dict[str, float] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)

    def learn(self, scratch: Path) -> None:
        """Looks at the tasks of a run that are done."""
        notes = sorted((scratch / "done").iterdir(), key=lambda note: Task.noted(note).begun)
        took = dict[str, list[float]]()
        for note in notes:
            task = Task.noted(note)
            took.setdefault(task.stage, []).append(note.stat().st_ctime - task.begun)
        self.seconds = {stage: statistics.median(each) for stage, each in took.items()}
        self.tasks = {stage: len(each) // 2 for stage, each in took.items()}

    def moment(self) -> tuple[set[str], int]:
        """By chance: a stage, with those after it, and how many tasks of a worker pass before.

        In half of the runs it is the stage that draws.
        """
        stages = [stage for stage in self.seconds if stage != "rehearse"]
        first = random.choice([0, random.randrange(len(stages))])
        return set(stages[first:]), random.randrange(max(self.tasks[stages[first]], 1))


@dataclass
class Seen:
    """What was seen of a release on its way: answers as they were first stored, and the kill."""

    scratch: Path
    usual: Usual
    answers: dict[str, bytes] = field(default_factory=dict)
    killed: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def watch(self, worker: subprocess.Popen[bytes] | None) -> None:
        """Looks at every answer as soon as it is stored; kills the worker at its moment."""
        answers = self.scratch / "out.partial" / "release" / "answers"
        stages, passed = self.usual.moment() if worker else (set[str](), 0)
        begun = dict[str, float]()  # tasks that were seen, and when to kill in them
        while not self.over.is_set():
            for path in answers.glob("*.int64"):
                if path.name not in self.answers:
                    self.answers[path.name] = path.read_bytes()
            for note in list((self.scratch / "at work").iterdir()) if worker else ():
                task = Task.noted(note)
                if worker and task.worker == worker.pid and task.stage in stages:
                    wait = random.uniform(0, self.usual.seconds[task.stage])
                    begun.setdefault(note.name, task.begun + wait)
                    late = list(begun).index(note.name) >= passed
                    if late and time.time() >= begun[note.name] and self._kill(worker, note):
                        worker = None
            time.sleep(0.002)

    def _kill(self, worker: subprocess.Popen[bytes], note: Path) -> bool:
        """Kills a worker in the midst of a task; False if the task had come to its end."""
        task = Task.noted(note)
        try:
            os.kill(task.pid, signal.SIGSTOP)
        except ProcessLookupError:
            return False
        while (task.pid, worker.pid, "T") not in set(running()) and note.exists():
            if task.pid not in {pid for pid, _, state in running() if state != "Z"}:
                return False
        if not note.exists():
            with suppress(ProcessLookupError):
                os.kill(task.pid, signal.SIGCONT)
            return False
        after = time.time() - task.begun
        end(worker)
        assert note.exists(), "a task ended though it was stopped and killed"
        self.killed = f"{task.stage}, {after * 1e3:.0f} ms after it began"
        self.killed += f", with {len(self.answers)} answers stored"
        return True


def run(scratch: Path, cluster: Cluster, frame: Any, values: Any, usual: Usual) -> Seen:
    """One release; a worker killed in a task, once it is known how long tasks take."""
    import numpy as np

    import trueup as tu

    axis = tu.Axis.integers("place", 0, CELLS - 1)
    question = tu.TreeCounts(axis, radices=(60, 100, 100))
    for name in ("at work", "done"):
        (scratch / name).mkdir()
    seen = Seen(scratch, usual)
    victim = random.choice(cluster.workers) if usual.seconds else None
    owner = tu.Owner(frame, tu.Ledger(scratch / "ledger", limit=1))
    watching = threading.Thread(target=seen.watch, args=(victim,), daemon=True)
    watching.start()
    try:
        release = owner.publish(question, 1, nonnegative=SHOWN, to=scratch / "out").unbiased
    finally:
        seen.over.set()
        watching.join()
    stored = {path.name: path.read_bytes() for path in (scratch / "out" / "answers").iterdir()}
    again = [name for name, data in seen.answers.items() if stored[name] != data]
    assert not again, f"drawn again: {again}"
    assert owner.ledger.spent == 1, owner.ledger.spent
    owner.ledger.verify()
    names = {each.name for each in (scratch / "out").iterdir() if not each.is_dir()}
    assert names >= {"manifest.json", "blocks.float64", "part-000000.parquet"}, names
    open_dataset(scratch / "out").verify()
    cuts = np.linspace(0, CELLS, 50).astype(int)
    for each in (release, tu.load(scratch / "out")):
        parts = [each.between(a, b).value for a, b in pairwise(cuts)]
        assert sum(parts) == each.total().value
    truth = int((values < CELLS).sum())
    assert abs(release.total().value - truth) < 10 * release.total().std_error
    usual.learn(scratch)
    return seen


def runs(number: int, until: float) -> Iterator[Seen]:
    """So many releases on one cluster; the first says how long tasks take, and kills nobody."""
    import numpy as np

    from trueup.scale import job, spark

    job.SLAB = SLAB
    values = np.random.default_rng(1).integers(0, CELLS + 100, 20_000)
    usual = Usual()
    with temporary() as place, started(place) as cluster:
        made = session(cluster.master)
        kept = spark._drawn, spark._staged
        spark._drawn, spark._staged = noted_drawn, noted_staged
        try:
            rows = [(int(value),) for value in values]
            frame = made.createDataFrame(rows, "place long")
            frame.count()
            for _ in range(number):
                there = made.sparkContext._jsc.sc().getExecutorMemoryStatus
                while there().size() < 3:  # the driver has one, too
                    time.sleep(0.1)
                with temporary() as scratch:
                    yield run(scratch, cluster, frame, values, usual)
                if len(cluster.workers) > sum(each.poll() is None for each in cluster.workers):
                    cluster.hire()
                if time.monotonic() > until:
                    return
        finally:
            spark._drawn, spark._staged = kept
            made.stop()


@contextmanager
def temporary() -> Iterator[Path]:
    """A folder that is deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="trueup-cluster", ignore_cleanup_errors=True) as at:
        yield Path(at)


def main() -> int:
    """Runs until so many had a worker killed at work; 0 if there were as many in the time."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--runs", type=int, default=2)
    words.add_argument("--minutes", type=float, default=60.0)
    words.add_argument("--each", type=int, default=10, help="runs of one cluster")
    given = words.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for number in (signal.SIGTERM, signal.SIGHUP):  # ended like this, it still ends what it began
        signal.signal(number, lambda *_: sys.exit(1))
    until = time.monotonic() + 60 * given.minutes
    killed, ran = Counter[str](), 0
    while killed.total() < given.runs and time.monotonic() < until:
        begun = time.monotonic()
        for seen in runs(given.each, until):
            ran, said = ran + 1, seen.killed or "nobody was killed"
            if seen.killed:
                killed[seen.killed.split(",")[0]] += 1
            print(f"run {ran}, {time.monotonic() - begun:.1f} s: {said}", flush=True)
            begun = time.monotonic()
            if killed.total() == given.runs:
                break
    where = ", ".join(f"{stage} {number}" for stage, number in killed.items())
    print(
        f"{ran} releases, {killed.total()} with a worker killed in a task ({where}): "
        f"every answer noised once"
    )
    return 0 if killed.total() == given.runs else 1


if __name__ == "__main__":
    raise SystemExit(main())
