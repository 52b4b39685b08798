"""Installs the wheel into fresh environments, one for each Python, and does what a new user does.

    .venv/bin/python scripts/install_check.py                # every Python 3.11 to 3.14 found
    .venv/bin/python scripts/install_check.py python3.12 …   # these

For each: pip install of the wheel with its dependencies, as pinned in constraints.txt; the README's
example; the command line; and `mypy --strict` on a user's script against what was installed. Prints
one line a Python, and fails if any step of any fails. It needs pip's usual access to packages and
takes minutes, so it is run by command and not by the suite.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MINORS = range(11, 15)


def pythons() -> list[str]:
    """The Pythons of this machine that trueup is for, by path: one of each minor version."""
    found = []
    for minor in MINORS:
        places = [*Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3.{minor}")]
        path = str(places[-1]) if places else shutil.which(f"python3.{minor}")
        if path and not subprocess.run([path, "-c", "import venv"], capture_output=True).returncode:
            found.append(path)
    return found


def run(words: list[str], folder: Path) -> str:
    """The output of a command run away from the source tree; the whole of it if it fails."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ran = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"{' '.join(words)}\n{ran.stdout}\n{ran.stderr}")
    return ran.stdout


def built(folder: Path) -> Path:
    """The wheel, built from the source tree; it must say that it is typed."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    run([*pip, "-w", str(folder), str(ROOT)], folder)
    (wheel,) = folder.glob("trueup-*.whl")
    assert "trueup/py.typed" in zipfile.ZipFile(wheel).namelist(), "the wheel has no py.typed"
    return wheel


def readme() -> str:
    """The README's example."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    return "\n".join(blocks)


def megabytes(folder: Path) -> int:
    """How much a folder holds."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 1_000_000


def check(python: str, wheel: Path, folder: Path) -> str:
    """Installs, runs the example and the command line, checks types; the line of the table."""
    pins = ["--quiet", "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt")]
    run([python, "-m", "venv", str(folder / "venv")], folder)
    inside = str(folder / "venv" / "bin" / "python")
    before = megabytes(folder / "venv")
    start = time.perf_counter()
    run([inside, "-m", "pip", "install", *pins, str(wheel)], folder)
    installed, size = time.perf_counter() - start, megabytes(folder / "venv") - before
    (folder / "example.py").write_text(readme(), encoding="utf-8")
    start = time.perf_counter()
    run([inside, "example.py"], folder)
    first = time.perf_counter() - start
    start = time.perf_counter()
    run([inside, "example.py"], folder)
    again = time.perf_counter() - start
    version = run([str(folder / "venv" / "bin" / "trueup"), "--version"], folder).strip()
    shutil.copy(ROOT / "tests" / "types" / "user_script.py", folder)
    run([inside, "-m", "pip", "install", *pins, "mypy"], folder)
    types = run([inside, "-m", "mypy", "--strict", "user_script.py"], folder).strip()
    run([inside, "user_script.py"], folder)
    number = run([inside, "-V"], folder).split()[1]
    return (
        f"{number:<9}{version:<14}{installed:>9.0f} s{size:>8} MB{first:>9.1f} s{again:>9.1f} s"
        f"   {types}"
    )


if __name__ == "__main__":
    wanted = sys.argv[1:] or pythons()
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        wheel = built(here)
        print(f"{wheel.name}, {wheel.stat().st_size // 1000} kB")
        print("Python   command          install    size   first run   again   mypy --strict")
        for number, each in enumerate(wanted):
            folder = here / str(number)
            folder.mkdir()
            print(check(shutil.which(each) or each, wheel, folder), flush=True)
            shutil.rmtree(folder)
