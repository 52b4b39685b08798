"""The main job on data made on the spot: two private releases, and what they cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import trueup as tu

_EPSILON = Fraction(1, 2)


def people(seed: int = 2010) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The ages of a small town: 20,000 made-up people."""
    draw = np.random.default_rng(seed)
    ages = np.concatenate([draw.gamma(2.2, 14, 12_000), draw.normal(47, 12, 8_000)])
    return np.clip(ages, 0, 99).astype(np.int64)


def friendships(people: int = 2_000, seed: int = 2010) -> list[tuple[int, int]]:
    """A made-up network in which the popular get more popular."""
    draw = np.random.default_rng(seed)
    ends: list[int] = [0, 1]
    pairs = [(0, 1)]
    for person in range(2, people):
        for friend in {ends[i] for i in draw.integers(0, len(ends), 3)}:
            pairs.append((person, friend))
            ends += [person, friend]
    return pairs


def main() -> None:
    """Prints the demo."""
    ages = people()
    axis = tu.Axis.integers("age", 0, 99)
    print(f"1. Ages of {len(ages):,} made-up people, epsilon = {_EPSILON}")
    release = tu.infer(tu.measure(axis.count(ages), tu.TreeCounts(axis), _EPSILON))
    print(f"   {'ages':>8}  {'private answer':>18}  {'95 % interval':>20}  {'truth':>8}")
    for low, high in ((0, 18), (18, 65), (65, 100), (0, 100), (40, 41)):
        answer = release.range(low, high)
        left, right = answer.interval(0.95)
        truth = int(((ages >= low) & (ages < high)).sum())
        shown = f"{left:>9,.0f} to {right:>7,.0f}"
        print(f"   {low:>3}–{high - 1:<3}   {answer!s:>18}  {shown}  {truth:>8,}")
    parts = [release.range(low, high).value for low, high in ((0, 18), (18, 65), (65, 100))]
    print(
        f"   Do the three parts add up to the total, exactly? {sum(parts) == release.total().value}"
    )
    print(f"   The middle age: {release.quantile(0.5)} (truth {int(np.median(ages))})\n")

    pairs = friendships()
    nodes = 2_000
    print(
        f"2. Friends of {nodes:,} made-up people, {len(pairs):,} friendships, epsilon = {_EPSILON}"
    )
    degrees = tu.degree_sequence(pairs, nodes=nodes, epsilon=_EPSILON).counts()
    true = np.sort(np.bincount(np.ravel(pairs), minlength=nodes))
    print(f"   {'of the people':>16}  {'have at most':>12}  {'truth':>6}")
    for share in (0.1, 0.5, 0.9, 0.99):
        place = int(share * nodes) - 1
        print(f"   {share:>16.0%}  {degrees[place]:>12.1f}  {true[place]:>6}")
    error, raw = np.sqrt(np.mean((degrees - true) ** 2)), np.sqrt(2) * 2 / float(_EPSILON)
    print(f"   Typical error of a degree: {error:.2f}; of the raw noise: {raw:.2f}\n")
    print(f"Cost: epsilon {_EPSILON} for the ages (protects each row) and {_EPSILON} for the")
    print("friendships (protects each friendship). The truth is shown for the demo only.")


if __name__ == "__main__":
    main()
