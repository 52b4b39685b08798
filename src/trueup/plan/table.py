"""Numbers in a plan's table."""

from __future__ import annotations


def figure(number: float) -> str:
    """A number to four figures, thousands separated.

    >>> figure(0.123456), figure(12345.6)
    ('0.1235', '12,346')
    """
    if number >= 1000 or number == 0:
        return f"{number:,.0f}"
    return f"{number:.4g}"
