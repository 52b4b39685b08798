"""Deadlines: when an answer may leave, told by its class and not by how long the data took.

How long a count takes can tell of the data. So an answer that is ready leaves at the end of its
class: one deadline after its measurement began, or two, four, eight …, and from an hour on every
hour. Whoever watches the clock learns the class, which is a few bits in all, and no more.
"""

from __future__ import annotations

import math

_HOUR = 3600.0


def leaves_at(began: float, ready: float, first: float) -> float:
    """The moment at which what began and was ready at these moments may be seen.

    >>> [leaves_at(100.0, ready, first=1.0) for ready in (100, 100.9, 101.5, 103, 109, 100 + 4000)]
    [101.0, 101.0, 102.0, 104.0, 116.0, 7300.0]
    """
    took = max(ready - began, 0.0)
    if took <= first:
        return began + first
    doubled = first * 2.0 ** math.ceil(math.log2(took / first))
    if doubled <= _HOUR:
        return began + doubled
    return began + _HOUR * math.ceil(took / _HOUR)
