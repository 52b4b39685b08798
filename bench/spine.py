"""A nation's blocks by 63 attributes: time, memory and errors by level of a spine of six levels.

python bench/spine.py [--blocks 6000000] [--attributes 63] [--epsilon 4] [--place FOLDER]

The population is made up, from a seed, and written to disk before the clock starts. The release
runs in a process of its own, whose data segment is limited to 4 GB: counts, noise, least squares,
and counts that are non-negative and whole, with level budgets as given. Then the errors of some
attributes by level, beside the exact ones, and unions of regions off the spine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 4_000_000_000
LONGEST = 600  # seconds
LEVELS = {"state": 2, "county": 5, "tract": 11, "block group": 12, "block": 15}
SHARES = ("1/20", "3/20", "3/20", "4/20", "4/20", "5/20")
"""Of ε, for nation, state, county, tract, block group and block."""
PEOPLE = 55  # to a block, on average
LOOKED_AT = 8  # attributes whose errors are computed


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def block_codes(blocks: int, draws: np.random.Generator) -> Any:
    """So many codes: state, county, tract, block group and block in 15 digits, of uneven sizes."""
    groups = max(1, blocks // 27)
    per_group = 1 + draws.multinomial(blocks - groups, draws.dirichlet(np.full(groups, 1.2)))
    tracts = max(1, groups // 3)
    tract_of = np.sort(np.r_[np.arange(tracts), draws.integers(0, tracts, groups - tracts)])
    counties = max(1, tracts // 26)
    weights = draws.pareto(1.1, counties) + 0.1
    county_of = np.sort(
        np.r_[
            np.arange(counties),
            draws.choice(counties, tracts - counties, p=weights / weights.sum()),
        ]
    )
    states = max(1, min(51, counties // 2))
    state_of = np.sort(np.r_[np.arange(states), draws.integers(0, states, counties - states)])

    def within(of: Any) -> Any:
        """The number of each member among those of its group."""
        first = np.searchsorted(of, of)
        return np.arange(len(of)) - first

    county = (state_of + 1) * 1000 + within(state_of) + 1
    tract = county[county_of] * 10**6 + within(county_of) * 100 + 100
    digit = within(tract_of)
    # At most ten block groups to a tract, and a thousand blocks to each.
    group = tract[tract_of] * 10 + np.minimum(digit, 9)
    per_group = np.minimum(per_group, 999)
    kept = digit < 10
    starts = np.repeat(group[kept] * 1000, per_group[kept])
    ends = np.cumsum(per_group[kept])
    return starts + np.arange(ends[-1]) - np.repeat(ends - per_group[kept], per_group[kept])


def population(blocks: int, attributes: int, place: Path) -> None:
    """The codes and true counts of a made-up nation, from a seed, as files."""
    draws = np.random.default_rng(2020)
    codes = block_codes(blocks, draws)
    np.save(place / "codes.npy", codes)
    people = draws.lognormal(0, 1.2, len(codes)) * (draws.random(len(codes)) < 0.7)
    people *= PEOPLE * len(codes) / people.sum()
    counties, county_of = np.unique(codes // 10**10, return_inverse=True)
    common = 1.0 / np.arange(1, attributes + 1) ** 1.5
    table = np.lib.format.open_memmap(
        place / "counts.npy", mode="w+", dtype=np.int32, shape=(attributes, len(codes))
    )
    for line in range(attributes):
        local = draws.gamma(2.0, 0.5, len(counties))[county_of]
        table[line] = draws.poisson(people * local * common[line] / common.sum())
    table.flush()


def question(codes: Any, attributes: int) -> Any:
    """Every attribute at every node of the spine."""
    import trueup as tu

    place = tu.Axis.codes("block", codes, LEVELS)
    asked = tu.Axis.categories("attribute", [f"attribute {n + 1}" for n in range(attributes)])
    return tu.GridCounts(tu.CellCounts(asked), tu.TreeCounts(place, shares=SHARES))


def released(place: Path, epsilon: str) -> dict[str, float]:
    """The release into a folder, in little memory."""
    import trueup as tu

    few = np.load(place / "codes.npy", mmap_mode="r")[:2000]
    tu.publish(np.ones((2, 2000), np.int64), question(few, 2), epsilon, to=place / "warm")
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    start, busy = time.perf_counter(), time.process_time()
    counts = np.load(place / "counts.npy", mmap_mode="r")
    asked = question(np.load(place / "codes.npy"), len(counts))
    tu.publish(counts, asked, epsilon, to=place / "out")
    spent, work = time.perf_counter() - start, time.process_time() - busy
    disk = sum(each.stat().st_size for each in (place / "out").rglob("*") if each.is_file())
    return {"seconds": spent, "processor": work, "memory": peak(), "disk": disk}


def examined(place: Path) -> None:
    """Errors by level beside the exact ones, and unions of regions."""
    import trueup as tu

    start = time.perf_counter()
    release = tu.load(place / "out")
    print(f"opened in {time.perf_counter() - start:.2f} s: {release}")
    truth = np.load(place / "counts.npy", mmap_mode="r")
    lines, size = truth.shape
    shape = release.facts.noise.question.factors[1].shape
    some = np.unique(np.linspace(0, lines - 1, LOOKED_AT).astype(int)).tolist()
    print("level  nodes  exact std error  unbiased rmse  shown rmse  people to a node")
    tables = release.unbiased.prefix, release.prefix
    sums = {level: [0.0, 0.0, 0.0, 0.0] for level in range(shape.height)}
    for line in some:
        true = np.concatenate([[0], np.cumsum(truth[line], dtype=np.int64)])
        found = [table.between(line, line + 1, 0) for table in tables]
        for level, own in sums.items():
            ends = np.append(shape.starts(level), size)
            exact = np.diff(true[ends])
            for place_, prefix in enumerate(found):
                own[place_] += float(((np.diff(prefix[ends]) - exact) ** 2).mean()) / len(some)
            own[2] += float(exact.mean()) / len(some)
    draws = np.random.default_rng(3)
    for level, own in sums.items():
        ends = np.append(shape.starts(level), size)
        nodes = draws.integers(0, len(ends) - 1, min(len(ends) - 1, 400))
        variances = release.errors.box_variances(
            np.stack([0 * nodes, ends[nodes]], axis=1),
            np.stack([0 * nodes + 1, ends[nodes + 1]], 1),
        )
        name = ("nation", *LEVELS)[level]
        print(
            f"{name}  {len(ends) - 1:,}  {np.sqrt(variances.mean()):.2f}  {own[0] ** 0.5:.2f}  "
            f"{own[1] ** 0.5:.2f}  {own[2]:,.1f}"
        )
    unions(release, truth, draws)


def _boxes(nodes: Any, ends: Any) -> Any:
    """The boxes of nodes of one level on the first line: where they begin, where they end."""
    return (0 * nodes, ends[nodes]), (0 * nodes + 1, ends[nodes + 1])


def unions(release: Any, truth: Any, draws: np.random.Generator) -> None:
    """Unions of regions off the spine, with their exact intervals and what they take."""
    lines, size = truth.shape
    chosen = {
        "one block": np.array([size // 2]),
        "1,000 neighbouring blocks": np.arange(size // 3, size // 3 + 1000),
        "10,000 blocks here and there": draws.choice(size, 10_000, replace=False),
    }
    print("union of  attributes  true  shown  unbiased  95 %  value ms  std error ms  interval ms")
    names = list(release.axes[0].labels)
    for words, cells in chosen.items():
        for number in (1, lines):
            start = time.perf_counter()
            found = release.union(block=np.sort(cells), attribute=names[:number])
            value = time.perf_counter() - start
            start = time.perf_counter()
            error = found.unbiased.std_error
            deviation = time.perf_counter() - start
            start = time.perf_counter()
            low, high = found.unbiased.interval(0.95)
            interval = time.perf_counter() - start
            true = int(sum(truth[line][cells].sum(dtype=np.int64) for line in range(number)))
            print(
                f"{words}  {number}  {true:,}  {found.value:,}  {found.unbiased.value:,.1f} ± "
                f"{error:.1f}  {low:,.1f} to {high:,.1f}  {value * 1e3:.1f}  "
                f"{deviation * 1e3:.1f}  {interval * 1e3:.1f}"
            )
            assert abs(found.unbiased.value - true) < 8 * error


def main() -> None:
    """The population, the release, its errors."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--blocks", type=int, default=6_000_000)
    words.add_argument("--attributes", type=int, default=63)
    words.add_argument("--epsilon", default="4")
    words.add_argument("--place", type=Path)
    words.add_argument("--run", action="store_true")
    given = words.parse_args()
    if given.run:
        print(json.dumps(released(given.place, given.epsilon)))
        return
    place = Path(tempfile.mkdtemp(dir=given.place))
    try:
        population(given.blocks, given.attributes, place)
        run = [sys.executable, __file__, "--run", "--place", str(place), "--epsilon", given.epsilon]
        ran = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=False)
        if ran.returncode:
            raise SystemExit(ran.returncode)
        out = json.loads(ran.stdout)
        cells = np.load(place / "counts.npy", mmap_mode="r").size
        print(
            f"{cells:,} cells: {out['seconds']:.0f} s on {os.cpu_count()} cores "
            f"({out['processor']:.0f} s of processor), {out['memory'] / 1e9:.2f} GB of memory, "
            f"{out['disk'] / 1e9:.1f} GB of disk"
        )
        assert out["memory"] <= LIMIT, "more than 4 GB of memory"
        examined(place)
        if out["seconds"] > LONGEST:
            print("FAIL: more than ten minutes")
            raise SystemExit(1)
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
