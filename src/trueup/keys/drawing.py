"""Noise for the keys of a universe: those present, and those absent whose noise passes.

Exactly what noise on every key of the universe would show, in time of the keys present and shown:
the keys present get noise; how many absent ones pass is binomial; which ones, any distinct ones
alike; by how much, geometric. docs/keys.md has the proof.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from trueup.arrays import Bools, Ints
from trueup.keys.listed import Keys, as_arrow
from trueup.keys.space import Key
from trueup.keys.universe import Universe


def shown_keys(
    universe: Universe, keys: Any, counts: Ints, scale: Fraction, threshold: int
) -> tuple[Keys, Ints]:
    """The keys that are shown and their noisy counts, in the order of the keys.

    `keys` are the different keys present, as an int64 array or an Arrow array of bytes, with their
    counts. That order tells nothing of which keys were present.
    """
    from trueup._kernels.noise.bits import keystream
    from trueup._kernels.noise.laplace import draw
    from trueup._kernels.noise.passing import fresh, passing

    noisy = counts + draw(len(counts), scale)
    shown = noisy >= threshold
    more = fresh(keystream().fill)
    false = passing(universe.size - len(counts), threshold, scale, more)
    strangers = _absent(universe, keys, false, more)
    # The sign of discrete Laplace noise is independent of its size, which is geometric.
    beyond = draw(false, scale)
    beyond = threshold + np.where(beyond < 0, -1 - beyond, beyond)
    every = Keys(_with(_taken(keys, shown), strangers))
    return every.ordered(np.concatenate([noisy[shown], beyond]))


def selected_keys(
    keys: Any, counts: Ints, scale: Fraction, threshold: int, cut: int | None
) -> tuple[Keys, Ints]:
    """The keys present that are shown and their noisy counts, in the order of the keys.

    For costs with a δ: no key that nobody has is shown. With a `cut` the noise is Laplace noise
    within ±cut, else Gaussian noise, of which the scale is the variance.
    """
    from trueup._kernels.noise import gauss, laplace
    from trueup._kernels.noise.cut import cut_noise

    if cut is None:
        noisy = counts + gauss.draw(len(counts), scale)
    else:
        noisy = counts + cut_noise(len(counts), scale, cut, laplace.draw)
    enough = noisy >= threshold
    return Keys(_taken(keys, enough)).ordered(noisy[enough])


def _taken(keys: Any, shown: Bools) -> Any:
    """The keys at these places."""
    if isinstance(keys, np.ndarray):
        return keys[shown]
    return keys if shown.all() else keys.take(as_arrow(np.flatnonzero(shown)))


def _with(keys: Any, more: list[Key]) -> Any:
    """Keys, and more behind them."""
    if isinstance(keys, np.ndarray):
        return np.concatenate([keys, np.array(more, np.int64)])
    import pyarrow as pa

    return pa.concat_arrays([keys, pa.array(more, keys.type)])


def _absent(universe: Universe, keys: Any, many: int, more: Any) -> list[Key]:
    """So many different keys of the universe that are not present, all sets of them alike."""
    from trueup._kernels.noise.passing import uniform

    found: dict[Key, None] = {}
    while len(found) < many:
        tried = [universe.unrank(uniform(universe.size, more)) for _ in range(many - len(found))]
        there = _present(keys, tried)
        found.update((key, None) for key, held in zip(tried, there, strict=True) if not held)
    return list(found)


def _present(keys: Any, tried: list[Key]) -> list[bool]:
    """Whether each key is present: all present are looked up among these few."""
    held: set[Key]
    if isinstance(keys, np.ndarray):
        held = set(keys[np.isin(keys, np.array(tried, np.int64))].tolist())
    else:
        import pyarrow as pa
        import pyarrow.compute as pc

        held = set(keys.filter(pc.is_in(keys, value_set=pa.array(tried, keys.type))).to_pylist())
    return [key in held for key in tried]
