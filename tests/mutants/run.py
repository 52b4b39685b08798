"""Plants faults one at a time in a copy of the project, and runs the tests that claim the place.

python tests/mutants/run.py                      every fault; `make mutants`
python tests/mutants/run.py --sample 12          a dozen quick ones, by chance; the seed is printed
python tests/mutants/run.py --only ledger.toml   those of an area, or whose title has these words
python tests/mutants/run.py --record             also writes which test caught each: it goes first
python tests/mutants/run.py --new --record       those that no recorded test catches yet

A fault is a small change of a file under src/trueup: faults/*.toml. It is caught if a test fails.
The run fails if a fault survives, and if the text that a fault changes is not there exactly once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CAUGHT = HERE / "caught.json"
COPIED = ("src", "tests", "docs", "bench", "scripts", "conftest.py", "pyproject.toml", "Makefile")
COPIED += ("README.md", "CHANGELOG.md", "constraints.txt", "LICENSE")
QUICK = 6.0  # seconds in which the test that caught a quick fault catches it again
PATIENCE = 900.0


@dataclass(frozen=True)
class Fault:
    """A change that some test must notice; `edits` are pairs of a text and what takes its place."""

    area: str
    title: str
    file: str
    edits: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    harmless: str = ""  # why nothing can notice it

    def planted(self, text: str) -> str:
        """The file with the fault in it; ValueError where a text is not there exactly once."""
        for old, new in self.edits:
            if text.count(old) != 1:
                raise ValueError(f"{self.file} has {text.count(old)} times: {old!r}")
            text = text.replace(old, new)
        return text

    def check(self, root: Path) -> str:
        """What is wrong with the fault itself; nothing if it can be planted."""
        try:
            text = (root / "src" / "trueup" / self.file).read_text()
            planted = self.planted(text)
        except (OSError, ValueError) as wrong:
            return str(wrong)
        if planted == text:
            return "nothing changes"
        if self.file.endswith(".py"):
            try:
                compile(planted, self.file, "exec")
            except SyntaxError as wrong:
                return f"it is no Python: {wrong}"
        missing = [test for test in self.tests if not is_there(test, root)]
        return f"no such test: {missing[0]}" if missing else ""


def is_there(test: str, root: Path) -> bool:
    """Whether a file, and the function in it that is named after `::`, exist."""
    file, _, name = test.partition("::")
    if not (root / file).exists():
        return False
    return not name or f"def {name.partition('[')[0]}(" in (root / file).read_text()


def faults() -> list[Fault]:
    """Every fault of the suite, by area."""
    found = []
    for path in sorted((HERE / "faults").glob("*.toml")):
        said = tomllib.loads(path.read_text())
        for one in said["fault"]:
            edits = one.get("edits") or [[one["old"], one["new"]]]
            tests = one.get("tests", said.get("tests", []))
            found.append(
                Fault(
                    path.name,
                    one["title"],
                    one.get("file", said.get("file", "")),
                    tuple((old, new) for old, new in edits),
                    tuple(tests),
                    one.get("harmless", ""),
                )
            )
    titles = [fault.title for fault in found]
    twice = {title for title in titles if titles.count(title) > 1}
    if twice:
        raise SystemExit(f"Two faults have one title: {', '.join(sorted(twice))}")
    return found


def caught_before() -> dict[str, dict[str, object]]:
    """Which test caught a fault when all were last tried, and in how many seconds."""
    return json.loads(CAUGHT.read_text()) if CAUGHT.exists() else {}


class Copy:
    """A copy of the project in which one fault at a time is planted.

    Compiled kernels are cached beside their source and go by its time stamp: they are copied too,
    and stay good for every file that is not changed. Those of a changed kernel, and of whatever
    calls it, are put aside, for numba does not look at what a kernel calls.
    """

    def __init__(self, place: Path) -> None:
        self.root = place
        place.mkdir(parents=True, exist_ok=True)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, place / name, dirs_exist_ok=True)
            elif source.exists():
                shutil.copy2(source, place / name)
        self.source = place / "src" / "trueup"
        self._callers = _callers(self.source)

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        file = self.source / fault.file
        text, stamp = file.read_text(), file.stat()
        aside = self._put_aside(fault.file)
        file.write_text(fault.planted(text))
        try:
            yield
        finally:
            file.write_text(text)
            os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            self._put_back(fault.file, aside)

    def _caches(self, changed: str) -> list[Path]:
        found = []
        for kernel in self._callers.get(changed, ()):
            path = self.source / kernel
            found += (path.parent / "__pycache__").glob(f"{path.stem}.*.nb?")
        return found

    def _put_aside(self, changed: str) -> list[tuple[Path, Path]]:
        kept = Path(tempfile.mkdtemp(dir=self.root))
        moved = []
        for number, path in enumerate(self._caches(changed)):
            moved.append((path, path.rename(kept / f"{number}")))
        return moved

    def _put_back(self, changed: str, aside: list[tuple[Path, Path]]) -> None:
        for path in self._caches(changed):
            path.unlink(missing_ok=True)
        for path, kept in aside:
            kept.rename(path)

    def test(self, tests: Sequence[str], patience: float = PATIENCE) -> str | None:
        """The first test that fails; None if none does, or if none of that name is there."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "--no-header"]
        command += ["-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:xdist"]
        command += ["-o", "addopts=", "--import-mode=importlib"]
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TRUEUP_MUTANT": "1",
        }
        environment.pop("PYTEST_XDIST_WORKER", None)
        # Into a file, not a pipe: what a broken test leaves running would keep a pipe open.
        with tempfile.TemporaryFile("w+") as told:
            run = subprocess.Popen(
                [*command, *tests],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = run.wait(patience)
            except subprocess.TimeoutExpired:
                return "no test ends: too slow"
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)
                run.wait()
            told.seek(0)
            said = told.read()
        if code in (0, 5) or "ERROR: not found" in said:
            return None
        found = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", said, re.MULTILINE)
        return found[1] if found else f"pytest ended with {code}"


def _callers(source: Path) -> dict[str, set[str]]:
    """For every kernel file, itself and the kernels that import it, at first or second hand."""
    kernels = {
        path.relative_to(source).as_posix(): path for path in source.rglob("_kernels/**/*.py")
    }
    imports: dict[str, set[str]] = {}
    for name, path in kernels.items():
        text = path.read_text()
        imports[name] = {
            other
            for other in kernels
            if re.search(
                rf"from trueup\.{re.escape(other[:-3].replace('/', '.'))} import"
                rf"|from trueup\.{re.escape('.'.join(other[:-3].split('/')[:-1]))} import "
                rf"[^\n]*\b{re.escape(other[:-3].split('/')[-1])}\b",
                text,
            )
        }
    found = {name: {name} for name in kernels}
    while True:
        before = sum(map(len, found.values()))
        for callers in found.values():
            callers |= {other for other, used in imports.items() if used & callers}
        if sum(map(len, found.values())) == before:
            return found


@dataclass(frozen=True)
class Outcome:
    """What became of a fault."""

    fault: Fault
    by: str | None
    seconds: float


def tried(fault: Fault, copy: Copy, first: str | None, patience: float = PATIENCE) -> Outcome:
    """Plants a fault and runs its tests, the one that caught it last time before all others."""
    begin = time.monotonic()
    with copy.planted(fault):
        by = None
        if first is not None and (copy.root / first.partition("::")[0]).exists():
            by = copy.test([first], patience)
        if by is None:
            by = copy.test(fault.tests, patience)
    return Outcome(fault, by, time.monotonic() - begin)


def unsound(chosen: Sequence[Fault], copy: Copy) -> str | None:
    """A test that fails where no fault is planted: what it catches says nothing."""
    before = caught_before()
    known = {str(before[fault.title]["by"]) for fault in chosen if fault.title in before}
    there = [test for test in sorted(known) if (copy.root / test.partition("::")[0]).exists()]
    return copy.test(there) if there else None


def run(
    chosen: Sequence[Fault],
    places: Sequence[Path],
    recorded: bool = False,
    patience: float = PATIENCE,
) -> list[Outcome]:
    """Every fault tried, in as many processes as there are places.

    A fault with which a test does not end within `patience` seconds is caught, too.
    """
    broken = unsound(chosen, Copy(places[0]))
    if broken is not None:
        raise SystemExit(f"{broken} fails where no fault is planted.")
    waiting: Queue[Fault] = Queue()
    before = caught_before()
    for fault in chosen:
        waiting.put(fault)
    found: list[Outcome] = []
    lock = threading.Lock()

    def work(place: Path) -> None:
        copy = Copy(place)
        while True:
            try:
                fault = waiting.get_nowait()
            except Empty:
                return
            first = str(before[fault.title]["by"]) if fault.title in before else None
            outcome = tried(fault, copy, first, patience)
            with lock:
                found.append(outcome)
                if recorded:
                    record([outcome])
                verdict = f"caught by {outcome.by}" if outcome.by else "SURVIVED"
                at = f"{len(found)}/{len(chosen)}"
                print(
                    f"{at} {outcome.seconds:5.1f} s  {fault.area}: {fault.title}: {verdict}",
                    flush=True,
                )

    threads = [threading.Thread(target=work, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def quick(all_faults: Sequence[Fault]) -> list[Fault]:
    """The faults that one test caught in little time when all were last tried."""
    before = caught_before()
    return [
        f for f in all_faults if float(str(before.get(f.title, {}).get("seconds", 99))) <= QUICK
    ]


def record(found: Sequence[Outcome]) -> None:
    """Writes down which test caught each fault, and how long that took."""
    known = caught_before()
    titles = {fault.title for fault in faults()}
    for one in found:
        if one.by is not None and "::" in one.by:
            known[one.fault.title] = {"by": one.by, "seconds": round(one.seconds, 1)}
    kept = {title: known[title] for title in sorted(known) if title in titles}
    CAUGHT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="so many quick faults, by chance")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="", help="an area's file, or words of a title")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--new", action="store_true", help="those no recorded test catches yet")
    parser.add_argument("--check", action="store_true", help="only whether all can be planted")
    parser.add_argument(
        "--place", type=Path, default=None, help="for the copies; a new folder else"
    )
    given = parser.parse_args(arguments)
    every = faults()
    wrong = [f"{fault.area}: {fault.title}: {why}" for fault in every if (why := fault.check(ROOT))]
    if wrong:
        print(
            "These faults cannot be planted; give them the text that is there now:",
            *wrong,
            sep="\n",
        )
        return 2
    print(f"{len(every)} faults can be planted")
    if given.check:
        return 0
    chosen = [f for f in every if not f.harmless]
    if given.only:
        chosen = [f for f in chosen if given.only == f.area or given.only in f.title]
    if given.new:
        chosen = [f for f in chosen if f.title not in caught_before()]
    if given.sample:
        seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
        print(f"seed {seed}")
        chosen = random.Random(seed).sample(quick(chosen), given.sample)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        base = given.place or Path(folder)
        places = [base / str(number) for number in range(given.processes)]
        found = run(chosen, places, given.record)
    survived = [one for one in found if one.by is None]
    minutes = (time.monotonic() - begin) / 60
    print(f"{len(found) - len(survived)} of {len(found)} caught in {minutes:.1f} minutes")
    for one in survived:
        print(f"SURVIVED  {one.fault.area}: {one.fault.title} ({one.fault.file})")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
