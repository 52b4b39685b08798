"""Runs every benchmark here, one after another; docs/results/benchmarks.md has what they print.

Run: python bench/run.py [--quick] [--only NAME …] [--out FILE]
A benchmark is a script of this folder whose docstring's first line says what it measures and which
runs without arguments; it prints Markdown or plain lines. Scripts that take hours are named in LONG
and left to be run by hand. One that fails is said to have failed, and the others still run.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
LONG = ("audit_full", "spine")
FOLD_ABOVE = 60
SHOWN = (
    "numpy",
    "scipy",
    "numba",
    "cryptography",
    "opendp",
    "duckdb",
    "polars",
    "pandas",
    "pyarrow",
)


def scripts() -> dict[str, Path]:
    """The benchmarks by name, the peers first."""
    found = {
        path.stem: path
        for path in sorted(HERE.glob("*.py"))
        if path.stem not in ("run", *LONG) and not path.stem.startswith("_")
    }
    first = [name for name in ("peers", "scaling") if name in found]
    return {name: found[name] for name in (*first, *(n for n in found if n not in first))}


def title(path: Path) -> str:
    """The first line of the script's docstring."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    return said.splitlines()[0].rstrip(".")


def machine() -> list[str]:
    """The machine and the versions, a line each."""
    model, memory = platform.processor() or platform.machine(), ""
    cpuinfo, meminfo = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
    if meminfo.exists():
        memory = f", {int(meminfo.read_text().split()[1]) / 1048576:.0f} GB"
    versions = []
    for name in ("trueup", *SHOWN):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return [
        f"- Machine: {model}, {os.cpu_count()} cores{memory}{load}",
        f"- System: {platform.system()}, Python {platform.python_version()}",
        f"- Versions: {', '.join(versions)}",
        f"- Date: {time.strftime('%Y-%m-%d')}",
    ]


def section(name: str, path: Path, quick: bool = False) -> str:
    """What one benchmark printed, under its title."""
    options = ["--quick"] if quick and '"--quick"' in path.read_text(encoding="utf-8") else []
    begin = time.perf_counter()
    command = [sys.executable, str(path), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    took = time.perf_counter() - begin
    printed = done.stdout.strip("\n")
    if "| ---" not in printed:
        printed = _plain(printed.splitlines())
    ran = " ".join([f"python bench/{name}.py", *options])
    parts = [f"## {title(path)}", f"`{ran}`, {took:.0f} s", printed]
    if done.returncode:
        crashed = "Traceback" in done.stderr
        last = " ".join(done.stderr.strip().splitlines()[-1:])
        parts.append(f"**Failed to run.** {last}" if crashed else "*A target was missed.*")
    return "\n\n".join(parts)


def _plain(lines: list[str]) -> str:
    """Plain lines as a block; of many, all but the last paragraph folded away."""
    if len(lines) <= FOLD_ABOVE:
        return _block(lines)
    last = max(i for i, line in enumerate(lines) if not line) + 1 if "" in lines else FOLD_ABOVE
    folded = f"<details><summary>{last} lines</summary>\n\n{_block(lines[:last])}\n\n</details>"
    return f"{folded}\n\n{_block(lines[last:])}"


def _block(lines: list[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


def main() -> int:
    """Writes the page; the status is 1 if a benchmark failed to run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small sizes, where there are any")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    results = HERE.parent / "docs" / "results" / "benchmarks.md"
    parser.add_argument("--out", type=Path, default=results)
    asked = parser.parse_args()
    found = scripts()
    unknown = [name for name in asked.only if name not in found]
    if unknown:
        print(f"No benchmark {unknown[0]!r}. There are: {', '.join(found)}.", file=sys.stderr)
        return 2
    chosen = asked.only or list(found)
    intro = "All in one run on one machine: compare within this page, not with other machines."
    page = ["# Benchmarks", f"Written by `make bench`. {intro}", "\n".join(machine())]
    failed = False
    for name in chosen:
        print(f"{name}: {title(found[name])} …", flush=True)
        page.append(section(name, found[name], asked.quick))
        failed |= "**Failed to run.**" in page[-1]
        asked.out.write_text("\n\n".join(page) + "\n", encoding="utf-8")
    print(f"{asked.out}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
