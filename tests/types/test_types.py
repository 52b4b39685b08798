"""Users who check types: what each call gives is known, from the question that was asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import trueup as tu

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("user_script.py")


def test_a_user_s_script_passes_strictly_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    lines = [
        "import trueup as tu",
        "axis = tu.Axis.integers('a', 0, 3)",
        "tu.publish([1], axis, epsilon=1).how_many(1)  # of sorted counts only",
        "tu.infer(tu.measure([1], tu.SortedCounts(1), 1)).range(0, 1)  # of cells only",
        "tu.load('x', tu.Release).how_many(1)",
        "tu.publish([1], 7, epsilon=1)",
    ]
    wrong.write_text("\n".join(lines) + "\n", encoding="utf-8")
    # mypy remembers the package from `make types`.
    words = [sys.executable, "-m", "mypy", "--strict", str(SCRIPT), str(wrong)]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout
    assert [f"wrong.py:{line}: error" in said for line in (3, 4, 5, 6)] == [True] * 4, said
    assert "Found 4 errors in 1 file (checked 2 source files)" in said


def test_the_types_of_the_user_s_script_are_those_it_sees_when_it_runs() -> None:
    ran = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "epsilon must be positive" in ran.stdout


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(tu.__file__).parent / "py.typed").is_file()
