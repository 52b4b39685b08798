"""Non-negative counts from the root down: each parent is kept, and its children fitted to it.

Two ways. The plain projection takes consistent counts and moves each parent's children to the
nearest ones that are non-negative and sum to it. That takes the noise of empty children, which
can no longer be negative, from all the others alike, and so makes large counts too small.
*Large first* knows better: a child that stands clearly above its noise is settled at its
unbiased count, and only the others share what remains of the parent.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import ARRAY_ELEMENTS, compiled
from trueup._kernels.display.by_level import added, levels_of
from trueup._kernels.display.nonnegative import leaves_of
from trueup._kernels.sorted.falling_order import falling
from trueup.arrays import Bools, Floats, Ints

SWEEPS = 40
CLEAR = 3.5  # standard errors above zero at which a count is clearly not empty
EVENLY_CLEAR = 4.0  # the same where leaves are drawn together
FEWEST = 4  # values that are worth drawing together: of three, the mean is no better than each
SLOPED = 6  # values of which a slope is worth a look
SLOPE = 2.0  # variances of noise that the square of a slope must exceed (Akaike), and is lowered by


@compiled
def _price_in_order(values: Floats, total: float) -> float:
    """What is taken from each of the largest values, so that those above zero have this sum."""
    order, excess, price = falling(values), -total, 0.0
    for k in range(len(values)):
        if k > 0 and values[order[k]] * k <= excess:
            break
        excess += values[order[k]]
        price = excess / (k + 1)
    return price


@compiled
def _fit_to_sum(x: Floats, places: Ints, total: float, live: Ints) -> None:
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
        price = _price_in_order(x[live[:count]], total)
    for place in places:
        x[place] = max(0.0, x[place] - price)


@compiled
def _draw_together(
    x: Floats, places: Ints, begin: int, w: Floats, unit: float, evened: float
) -> None:
    """Draw the values at these places, leaves of weights w, towards a line, in place; their sum
    stays.

    The line is level, through their mean, unless they rise or fall by more than noise does. Noise
    explains a part of how far they are from it; by `evened` of that part they are drawn.
    """
    number, mean, noise, middle, around = len(places), 0.0, 0.0, 0.0, 0.0
    for place in places:
        mean += x[place] / number
        noise += unit * unit * (1.0 / w[place]) / number
        middle += (place - begin) / number
    slope = 0.0
    if number >= SLOPED:
        for place in places:
            slope += (place - begin - middle) * (x[place] - mean)
            around += (place - begin - middle) ** 2
        slope /= around
        if slope * slope * around > SLOPE * noise:
            slope *= 1.0 - SLOPE * noise / (slope * slope * around)
        else:
            slope = 0.0
    spread = 0.0
    for place in places:
        spread += (x[place] - mean - slope * (place - begin - middle)) ** 2 / (number - 1)
    kept = max(0.0, 1.0 - evened * noise / spread) if spread > 0.0 else 0.0
    for place in places:
        line = mean + slope * (place - begin - middle)
        x[place] = line + kept * (x[place] - line)


@compiled
def project_top_down(first: Ints, consistent: Floats) -> Floats:
    """The leaves of the plain projection, in node order; a negative root is raised to zero."""
    x = consistent.copy()
    x[0] = max(x[0], 0.0)
    everywhere, live = np.arange(len(x)), np.empty(len(x), np.int64)
    for v in range(len(x)):
        if first[v] < first[v + 1]:
            _fit_to_sum(x, everywhere[first[v] : first[v + 1]], x[v], live)
    return x[leaves_of(first)]


Below = tuple[Floats, Floats, Floats]
"""Of each node: the variance of its estimate from below, and both of its children added up."""


def _rise_by_level(first: Ints, x: Floats, w: Floats, ends: Floats) -> Below:
    variance, spread, sums = 1.0 / w, np.zeros(len(x)), np.zeros(len(x))
    variance[len(x) - len(ends) :] = ends
    for level in reversed(list(levels_of(first))):
        for families in level:
            own = families.parents
            spread[own] = added(families.read(variance))
            sums[own] = added(families.read(x))
            gain = w[own] * spread[own]
            x[own] = (gain * x[own] + sums[own]) / (1.0 + gain)
            variance[own] = spread[own] / (1.0 + gain)
    return variance, spread, sums


@compiled(most=ARRAY_ELEMENTS, plain=_rise_by_level)
def rise_nodes(first: Ints, z: Floats, w: Floats, ends: Floats) -> Below:
    """Least squares on the way up, in place: noisy answers become each node's estimate from its own
    subtree. There may be several roots.

    The leaves after the last node that has children are left out: their variance is 1 / w; or it is
    given in `ends`, where the leaves have been fitted to what lies below them.
    """
    inner = len(z)
    while inner > 0 and first[inner - 1] == first[inner]:
        inner -= 1
    known = inner + len(ends)
    variance, spread, sums = np.empty(known), np.zeros(inner), np.zeros(inner)
    variance[inner:] = ends
    weight, own = 1.0, 1.0  # of the last leaf: most leaves have the same
    for v in range(inner - 1, -1, -1):
        if first[v] == first[v + 1]:
            variance[v] = 1.0 / w[v]
            continue
        for c in range(first[v], first[v + 1]):
            if c < known:
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


def _fit_rows_to_sums(x: Floats, places: Bools, totals: Floats) -> Floats:
    """As `_fit_to_sum`, for each row of x at its own places."""
    price, going = np.zeros(len(x)), np.flatnonzero(totals > 0.0)
    live, sums = places[going], -totals[going]
    count = live.sum(axis=1)
    price[going] = added(np.where(live, x[going], 0.0), sums) / count
    for _ in range(SWEEPS):
        own = x[going]
        kept = live & (own > price[going, None])
        number = kept.sum(axis=1)
        more = (number < count) & (number > 0)
        going, live, count, sums = going[more], kept[more], number[more], sums[more]
        if not len(going):
            break
        price[going] = added(np.where(live, x[going], 0.0), sums) / count
    for row, own in zip(going, live, strict=True):
        price[row] = _price_in_order(x[row, own], totals[row])
    moved = x - price[:, None]
    moved[(moved <= 0.0) | (totals <= 0.0)[:, None]] = 0.0
    return np.where(places, moved, x)


def _draw_rows_together(x: Floats, places: Bools, w: Floats, unit: float, evened: float) -> Floats:
    """As `_draw_together`, for each row of x at its own places; a row with few keeps them."""
    count = places.sum(axis=1)
    each = np.maximum(count, 1)[:, None]
    mean = added(np.where(places, x / each, 0.0))[:, None]
    noise = added(np.where(places, unit * unit * (1.0 / w) / each, 0.0))
    at = np.arange(x.shape[1])[None, :]
    off = at - added(np.where(places, at / each, 0.0))[:, None]
    around = added(np.where(places, off**2, 0.0))
    slope = added(np.where(places, off * (x - mean), 0.0)) / around
    seen = slope * slope * around
    sloped = (count >= SLOPED) & (seen > SLOPE * noise)
    slope = np.where(sloped, slope * (1.0 - SLOPE * noise / seen), 0.0)[:, None]
    apart = (x - mean - slope * off) ** 2 / np.maximum(each - 1, 1)
    spread = added(np.where(places, apart, 0.0))
    kept = np.where(spread > 0.0, np.maximum(0.0, 1.0 - evened * noise / spread), 0.0)
    line = mean + slope * off
    drawn = places & (count >= FEWEST)[:, None]
    return np.where(drawn, line + kept[:, None] * (x - line), x)


def _fall_by_level(
    first: Ints, x: Floats, w: Floats, below: Below, unit: float, evened: float, answer: float
) -> None:
    variance, spread, sums = below
    variance = np.append(variance, 1.0 / w[len(variance) :])
    standard = EVENLY_CLEAR if evened > 0.0 else CLEAR
    depth = -1
    for depth, level in enumerate(levels_of(first)):
        for families in level:
            own = families.parents
            gap = (x[own] - sums[own]) / spread[own]
            before, noise = families.read(x), families.read(variance)
            moved = before + noise * gap[:, None]
            large = moved > standard * unit * np.sqrt(noise)
            left = added(-np.where(large, moved, 0.0), x[own])
            some = (~large).any(axis=1)
            ends = families.read(first[1:]) == families.read(first[:-1])
            leaves = ends.all(axis=1)
            negative = (moved < 0.0).any(axis=1)
            if evened > 0.0 and leaves.any():
                rows, each, some_left = moved[leaves], families.read(w)[leaves], left[leaves] > 0.0
                for drawn in (~large[leaves] & some_left[:, None], large[leaves]):
                    rows = _draw_rows_together(rows, drawn, each, unit, evened)
                moved[leaves] = rows
            if depth == 0 and not np.isnan(answer) and (some & (left < 0.0)).any():
                gain = w[0] * added(np.where(large, noise, 0.0))
                above = added(np.where(large, before, 0.0))
                x[:1] = np.maximum((gain * answer + above) / (1.0 + gain), 0.0)
            empty = (left <= 0.0) & some
            moved[empty[:, None] & ~large] = 0.0
            fitted = np.flatnonzero(empty | negative)
            places = large[fitted] == empty[fitted, None]
            totals = np.where(empty, x[own], left)[fitted]
            moved[fitted] = _fit_rows_to_sums(moved[fitted], places, totals)
            families.write(x, np.where(ends & (moved < 0.0), 0.0, moved))
    if depth < 0:
        x[x < 0.0] = 0.0


@compiled(most=ARRAY_ELEMENTS, plain=_fall_by_level)
def fall_nodes(
    first: Ints, x: Floats, w: Floats, below: Below, unit: float, evened: float, answer: float
) -> None:
    """Settles large first what `rise_nodes` made, in place, as `settle_nodes` says.

    `answer` is the noisy answer of the one root; it is not a number where there may be several
    roots, whose counts are settled already.
    """
    variance, spread, sums = below
    nodes, known_nodes = len(x), len(variance)
    small, large = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    live = np.empty(nodes, np.int64)
    weight, own = 1.0, 1.0  # of the last leaf
    known, clear = 0.0, 0.0  # a variance, and how large a count of it is clear
    standard = EVENLY_CLEAR if evened > 0.0 else CLEAR
    for v in range(nodes):
        a, b = first[v], first[v + 1]
        if a == b:
            x[v] = max(x[v], 0.0)
            continue
        few, many, negative, left, above, noise = 0, 0, False, x[v], 0.0, 0.0
        leaves = first[a] == first[b]
        gap = (x[v] - sums[v]) / spread[v]
        for c in range(a, b):
            if c < known_nodes:
                own = variance[c]
            elif w[c] != weight or c == known_nodes:
                weight, own = w[c], 1.0 / w[c]
            if own != known:
                known, clear = own, standard * unit * np.sqrt(own)
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
        if evened > 0.0 and leaves:
            if many >= FEWEST and left > 0.0:
                _draw_together(x, small[:many], a, w, unit, evened)
            if few >= FEWEST:
                _draw_together(x, large[:few], a, w, unit, evened)
        if v == 0 and left < 0.0 and many > 0 and not np.isnan(answer):
            gain = w[0] * noise
            x[0] = max((gain * answer + above) / (1.0 + gain), 0.0)
        if left <= 0.0 and many > 0:
            for k in range(many):
                x[small[k]] = 0.0
            _fit_to_sum(x, large[:few], x[v], live)
        elif negative:
            _fit_to_sum(x, small[:many], left, live)


def _settle_by_level(first: Ints, x: Floats, w: Floats, unit: float, evened: float) -> None:
    answer = float(x[0])
    below = _rise_by_level(first, x, w, np.empty(0))
    _fall_by_level(first, x, w, below, unit, evened, answer)


@compiled(most=ARRAY_ELEMENTS, plain=_settle_by_level)
def settle_nodes(first: Ints, x: Floats, w: Floats, unit: float, evened: float) -> None:
    """Settles noisy answers x of weights w (0: not asked) large first, in place.

    `unit` is the standard error of an answer of weight 1. Going down, the children's best
    estimates given their parent's settled count are worked out as in least squares. If one is
    negative, those above CLEAR standard errors stay, and the others are fitted to what remains.
    The root has no parent to keep: if its small children sum to less than nothing, they are
    empty, and the total is estimated from the large ones and its own answer alone.

    With `evened`, sibling leaves are first drawn towards a line (James and Stein), those that are
    clear and the others by themselves: by so much of the part of their spread that noise explains.
    """
    answer = x[0]
    below = rise_nodes(first, x, w, np.empty(0))
    fall_nodes(first, x, w, below, unit, evened, answer)


def settle_large_first(first: Ints, y: Floats, w: Floats, unit: float, evened: float) -> Floats:
    """The leaves that `settle_nodes` makes of noisy answers y, in node order."""
    x = y.copy()
    settle_nodes(first, x, w, unit, evened)
    return x[first[:-1] == first[1:]]


@compiled
def keep_large_first(first: Ints, consistent: Floats, variances: Floats) -> Floats:
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
