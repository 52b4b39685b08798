"""Error against the length of a range, as the paper's Figure 6: a picture that needs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np
import numpy.typing as npt

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 232, 28, 44
_COLOURS = ("#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#0072b2", "#8c8c00")
"""Apart for every kind of colour vision (Okabe and Ito)."""
_MARKS = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0-8,0",
    "M0,-5L5,0L0,5L-5,0Z",
    "M-4,-4H4V4H-4Z",
    "M0,-5L5,4H-5Z",
)


def error_curves(
    title: str, lengths: npt.NDArray[np.int64], curves: Mapping[str, npt.NDArray[np.float64]]
) -> str:
    """An SVG with one curve a strategy, both axes logarithmic."""
    values = np.concatenate(list(curves.values()))
    low = np.floor(np.log10(max(values.min(), 1e-300)))
    high = max(np.ceil(np.log10(max(values.max(), 1e-300))), low + 1)
    last = max(np.log2(lengths[-1]), 1.0)
    across, down = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(length: float) -> float:
        return float(_LEFT + across * np.log2(length) / last)

    def y(error: float) -> float:
        return float(_TOP + down * (high - np.log10(max(error, 10.0**low))) / (high - low))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" '
        f'style="max-width:{_WIDTH}px" role="img" font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    decades = np.arange(low, high + 1)
    for power in decades[:: max(1, len(decades) // 6)]:
        height = y(10.0**power)
        label = f"{10.0**power:,.0f}" if 0 <= power <= 6 else f"1e{power:.0f}"
        parts.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + across}" y1="{height:.1f}" y2="{height:.1f}" '
            f'stroke="#dddddd"/><text x="{_LEFT - 6}" y="{height + 4:.1f}" '
            f'text-anchor="end">{label}</text>'
        )
    taken = 0.0  # up to here there are labels
    for length in lengths.tolist():
        label = f"{length:,}"
        half = 3.5 * len(label)
        if x(length) - half > taken:
            taken = x(length) + half + 8
            parts.append(
                f'<text x="{x(length):.1f}" y="{_TOP + down + 16}" text-anchor="middle">'
                f"{label}</text>"
            )
    parts.append(
        f'<text x="{_LEFT + across / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"cells in the range</text>"
        f'<text x="{_LEFT}" y="{_TOP - 12}" text-anchor="middle">squared error</text>'
    )
    ends = _spread_out([y(float(curve[-1])) for curve in curves.values()], _TOP, _TOP + down)
    for number, (name, curve) in enumerate(curves.items()):
        colour, mark = _COLOURS[number % len(_COLOURS)], _MARKS[number % len(_MARKS)]
        places = [(x(m), y(e)) for m, e in zip(lengths.tolist(), curve.tolist(), strict=True)]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
        parts += [
            f'<path d="{mark}" transform="translate({a:.1f},{b:.1f})" fill="{colour}"/>'
            for a, b in places
        ]
        end = places[-1]
        parts.append(
            f'<line x1="{end[0]:.1f}" y1="{end[1]:.1f}" x2="{_LEFT + across + 14}" '
            f'y2="{ends[number]:.1f}" stroke="{colour}" stroke-width="0.5"/>'
            f'<text x="{_LEFT + across + 18}" y="{ends[number] + 4:.1f}" fill="{colour}">'
            f"{escape(name)}</text>"
        )
    return "".join([*parts, "</svg>"])


def _spread_out(places: list[float], top: float, bottom: float, apart: float = 15.0) -> list[float]:
    """Heights for labels near these places, none over another."""
    order = sorted(range(len(places)), key=places.__getitem__)
    found = [0.0] * len(places)
    least = top
    for i in order:
        found[i] = max(places[i], least)
        least = found[i] + apart
    most = bottom
    for i in reversed(order):
        found[i] = min(found[i], most)
        most = found[i] - apart
    return found
