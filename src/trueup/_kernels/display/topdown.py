"""Non-negative counts from the root down: each parent is kept, and its children fitted to it.

Two ways. The plain projection takes consistent counts and moves each parent's children to the
nearest ones that are non-negative and sum to it. That takes the noise of empty children, which
can no longer be negative, from all the others alike, and so makes large counts too small.
*Large first* knows better: a child that stands clearly above its noise is settled at its
unbiased count, and only the others share what remains of the parent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup._kernels.compiled import compiled
from trueup._kernels.display.nonnegative import leaves_of
from trueup._kernels.sorted.falling_order import falling

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

SWEEPS = 40
CLEAR = 3.5  # standard errors above zero at which a count is clearly not empty
FEWEST = 4  # values that are worth drawing together: of three, the mean is no better than each


@compiled
def _fit_to_sum(x: Floats, places: Integers, total: float, live: Integers) -> None:
    """Move the values at these places to the nearest non-negative ones with this sum, in place.

    They become max(0, x − τ). Dropping those below τ and sharing the rest out again ends at τ,
    for τ only rises; after many sweeps the rest is sorted, which bounds the work. `live` is
    room to work in.
    """
    if total <= 0.0:
        for place in places:
            x[place] = 0.0
        return
    count, excess = len(places), -total
    for k in range(count):
        live[k] = places[k]
        excess += x[live[k]]
    price = excess / count
    for _ in range(SWEEPS):
        kept, excess = 0, -total
        for k in range(count):
            if x[live[k]] > price:
                live[kept] = live[k]
                excess += x[live[k]]
                kept += 1
        if kept == count or kept == 0:
            break
        count = kept
        price = excess / count
    else:
        rest = x[live[:count]]
        order = falling(rest)
        excess = -total
        for k in range(count):
            if k > 0 and rest[order[k]] * k <= excess:
                break
            excess += rest[order[k]]
            price = excess / (k + 1)
    for place in places:
        x[place] = max(0.0, x[place] - price)


@compiled
def _draw_together(x: Floats, places: Integers, w: Floats, times: float) -> None:
    """Draw the values at these places, leaves of weights w, towards their mean, in place; their
    sum stays."""
    mean, noise, spread = 0.0, 0.0, 0.0
    for place in places:
        mean += x[place] / len(places)
        noise += times * (1.0 / w[place]) / len(places)
    for place in places:
        spread += (x[place] - mean) ** 2 / (len(places) - 1)
    kept = max(0.0, 1.0 - noise / spread) if spread > 0.0 else 0.0
    for place in places:
        x[place] = mean + kept * (x[place] - mean)


@compiled
def project_top_down(first: Integers, consistent: Floats) -> Floats:
    """The leaves of the plain projection, in node order; a negative root is raised to zero."""
    x = consistent.copy()
    x[0] = max(x[0], 0.0)
    everywhere, live = np.arange(len(x)), np.empty(len(x), np.int64)
    for v in range(len(x)):
        if first[v] < first[v + 1]:
            _fit_to_sum(x, everywhere[first[v] : first[v + 1]], x[v], live)
    return x[leaves_of(first)]


@compiled
def _from_below(first: Integers, z: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
    """Least squares on the way up, in place: noisy answers become each node's estimate from its own
    subtree. Comes back with its variance, and both of its children added up.

    The leaves after the last node that has children are left out: their variance is 1 / w.
    """
    inner = len(z)
    while inner > 0 and first[inner - 1] == first[inner]:
        inner -= 1
    variance, spread, sums = np.empty(inner), np.zeros(inner), np.zeros(inner)
    weight, own = 1.0, 1.0  # of the last leaf: most leaves have the same
    for v in range(inner - 1, -1, -1):
        if first[v] == first[v + 1]:
            variance[v] = 1.0 / w[v]
            continue
        for c in range(first[v], first[v + 1]):
            if c < inner:
                spread[v] += variance[c]
            else:
                if w[c] != weight:
                    weight, own = w[c], 1.0 / w[c]
                spread[v] += own
            sums[v] += z[c]
        gain = w[v] * spread[v]
        z[v] = (gain * z[v] + sums[v]) / (1.0 + gain)
        variance[v] = spread[v] / (1.0 + gain)
    return variance, spread, sums


@compiled
def settle_nodes(first: Integers, x: Floats, w: Floats, unit: float, evened: float) -> None:
    """Settles noisy answers x of weights w (0: not asked) large first, in place.

    `unit` is the standard error of an answer of weight 1. Going down, the children's best
    estimates given their parent's settled count are worked out as in least squares. If one is
    negative, those above CLEAR standard errors stay, and the others are fitted to what remains.
    The root has no parent to keep: if its small children sum to less than nothing, they are
    empty, and the total is estimated from the large ones and its own answer alone.

    With `evened`, leaves that are not clear are first drawn towards their mean (James and Stein):
    by so much of the part of their spread that their noise explains.
    """
    nodes, answer = len(x), x[0]
    variance, spread, sums = _from_below(first, x, w)
    inner = len(variance)
    small, large = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    live = np.empty(nodes, np.int64)
    weight, own = 1.0, 1.0  # of the last leaf
    known, clear = 0.0, 0.0  # a variance, and how large a count of it is clear
    for v in range(nodes):
        a, b = first[v], first[v + 1]
        if a == b:
            x[v] = max(x[v], 0.0)
            continue
        few, many, negative, left, above, noise = 0, 0, False, x[v], 0.0, 0.0
        leaves = first[a] == first[b]
        gap = (x[v] - sums[v]) / spread[v]
        for c in range(a, b):
            if c < inner:
                own = variance[c]
            elif w[c] != weight or c == inner:
                weight, own = w[c], 1.0 / w[c]
            if own != known:
                known, clear = own, CLEAR * unit * np.sqrt(own)
            before = x[c]
            x[c] = before + own * gap
            negative |= x[c] < 0.0
            if x[c] > clear:
                large[few] = c
                few += 1
                left -= x[c]
                above += before
                noise += own
            else:
                small[many] = c
                many += 1
        if evened > 0.0 and leaves and left > 0.0 and many >= FEWEST:
            _draw_together(x, small[:many], w, evened * unit * unit)
        if v == 0 and left < 0.0 and many > 0:
            gain = w[0] * noise
            x[0] = max((gain * answer + above) / (1.0 + gain), 0.0)
        if left <= 0.0 and many > 0:
            for k in range(many):
                x[small[k]] = 0.0
            _fit_to_sum(x, large[:few], x[v], live)
        elif negative:
            _fit_to_sum(x, small[:many], left, live)


def settle_large_first(first: Integers, y: Floats, w: Floats, unit: float, evened: float) -> Floats:
    """The leaves that `settle_nodes` makes of noisy answers y, in node order."""
    x = y.copy()
    settle_nodes(first, x, w, unit, evened)
    return x[first[:-1] == first[1:]]


@compiled
def keep_large_first(first: Integers, consistent: Floats, variances: Floats) -> Floats:
    """The leaves, in node order, from consistent counts and the variance of every node.

    As `settle_large_first` where there are no noisy answers of nodes, only counts that add up
    (of a grid, say): going down, what a parent's count was moved by is shared by its children in
    proportion to their variances; if one is negative, those above CLEAR standard errors stay, and
    the others are fitted to what remains.
    """
    nodes = len(consistent)
    x = consistent.copy()
    small, large = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    live = np.empty(nodes, np.int64)
    for v in range(nodes):
        a, b = first[v], first[v + 1]
        if a == b:
            x[v] = max(x[v], 0.0)
            continue
        spread = 0.0
        for c in range(a, b):
            spread += variances[c]
        few, many, negative, left, above = 0, 0, False, x[v], 0.0
        for c in range(a, b):
            x[c] = consistent[c] + variances[c] * ((x[v] - consistent[v]) / spread)
            negative |= x[c] < 0.0
            if x[c] > CLEAR * np.sqrt(variances[c]):
                large[few] = c
                few += 1
                left -= x[c]
                above += consistent[c]
            else:
                small[many] = c
                many += 1
        if v == 0 and left < 0.0 and many > 0:
            x[0] = max(above, 0.0)
        if left <= 0.0 and many > 0:
            for k in range(many):
                x[small[k]] = 0.0
            _fit_to_sum(x, large[:few], x[v], live)
        elif negative:
            _fit_to_sum(x, small[:many], left, live)
    return x[leaves_of(first)]
