"""Edges that Hypothesis draws, odd floats among them."""

from __future__ import annotations

import math
import sys

from hypothesis import assume
from hypothesis import strategies as st

from trueup import Axis

finite = st.floats(allow_nan=False, allow_infinity=False)


weird = st.sampled_from(
    [
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        2.2e-308,
        1.7e308,
        -1.7e308,
        2.0**53,
        2.0**53 + 2,
        0.1 + 0.2,
        1 / 3,
    ]
)


@st.composite
def edged(draw):
    edges = draw(st.lists(st.one_of(finite, weird), min_size=2, max_size=20))
    edges = sorted({0.0 if edge == 0 else edge for edge in edges})
    assume(len(edges) > 1 and math.isfinite(edges[-1] - edges[0]))
    assume(max(map(abs, edges)) < sys.float_info.max)  # that is an axis without an end
    return Axis.edges("x", edges)


def edges_of(axis):
    return [axis.interval(cell)[0] for cell in range(axis.size)] + [axis.interval(axis.size - 1)[1]]
