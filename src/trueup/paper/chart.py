"""Charts as self-contained SVG: lines, bars and steps on plain or logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Numbers = Sequence[float]

BLACK, GRAY, LIGHT = "#000000", "#808080", "#c4c4c4"
BLUE, ORANGE, GREEN, PINK, BROWN = "#0072b2", "#d55e00", "#009e73", "#aa4499", "#8b5a2b"

WIDTH, HEIGHT = 290, 230
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 28, 42


@dataclass(frozen=True)
class Line:
    """Points joined by a line, each with a marker if one is named."""

    label: str
    x: Numbers
    y: Numbers
    colour: str = BLACK
    marker: str = ""
    dash: str = ""
    width: float = 1.4


@dataclass(frozen=True)
class Bars:
    """One bar in each of the panel's groups."""

    label: str
    heights: Numbers
    colour: str = BLACK


@dataclass(frozen=True)
class Panel:
    """One pair of axes. With bars, the horizontal axis has the names of the groups."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...] = ()
    bars: tuple[Bars, ...] = ()
    groups: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False
    y_from_zero: bool = False
    y_range: tuple[float, float] | None = None
    columns: int = 1


@dataclass(frozen=True)
class _Scale:
    """From values to places on the page."""

    low: float
    high: float
    start: float
    stop: float
    log: bool

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (value - low) / (high - low) * (self.stop - self.start)

    def ticks(self) -> list[float]:
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            step = max(1, (last - first) // 5 + ((last - first) % 5 > 0) if last > first else 1)
            return [10.0**power for power in range(first, last + 1, step)]
        span = self.high - self.low
        step = 10 ** math.floor(math.log10(span / 4))
        step *= next(m for m in (1, 2, 5, 10) if span / (m * step) <= 6)
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def stairs(x: Numbers, y: Numbers) -> tuple[list[float], list[float]]:
    """Points that draw each value as a tread from half a step before it to half a step after."""
    across = [place + half for place in x for half in (-0.5, 0.5)]
    return across, [value for value in y for _ in range(2)]


def _scale(values: Numbers, start: float, stop: float, log: bool, zero: bool = False) -> _Scale:
    usable = [v for v in values if math.isfinite(v) and (v > 0 or not log)] or [1.0]
    low, high = min(usable), max(usable)
    if log:
        low, high = low / 1.3, high * 1.3
        if high / low < 10:
            middle = math.sqrt(low * high)
            low, high = middle / 3.3, middle * 3.3
        return _Scale(low, high, start, stop, True)
    low = min(low, 0.0) if zero else low
    margin = (high - low or 1.0) * 0.05
    return _Scale(low if zero and low == 0 else low - margin, high + margin, start, stop, False)


def tick_label(value: float) -> str:
    """A short label: plain up to 9,999, a power of ten beyond."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)) + 1e-9)
    if -3 <= power <= 3 or abs(value / 10.0**power - round(value / 10.0**power)) > 1e-6:
        return f"{value:,.10g}"
    digits = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    lead = round(value / 10.0**power)
    return f"10{digits}" if lead == 1 else f"{lead}·10{digits}"


def _text(x: float, y: float, text: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{escape(text)}</text>'


def _marker(shape: str, x: float, y: float, colour: str) -> str:
    at = f'fill="white" stroke="{colour}" stroke-width="1.2"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" {at}/>'
    corners = {
        "square": ((-2.8, -2.8), (2.8, -2.8), (2.8, 2.8), (-2.8, 2.8)),
        "diamond": ((0, -3.8), (3.8, 0), (0, 3.8), (-3.8, 0)),
        "triangle": ((0, -3.6), (3.4, 2.6), (-3.4, 2.6)),
    }[shape]
    if shape == "square":
        at = at.replace('fill="white"', f'fill="{colour}"')
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" {at}/>'


def _axes(panel: Panel, width: float, x: _Scale, y: _Scale) -> list[str]:
    floor, ceiling, right = HEIGHT - BOTTOM, TOP, width - RIGHT
    parts = [
        f'<path d="M{LEFT},{ceiling}V{floor}H{right}" fill="none" stroke="black"/>',
        _text((LEFT + right) / 2, 16, panel.title, extra='font-weight="bold"'),
        _text((LEFT + right) / 2, HEIGHT - 8, panel.x_label),
        _text(
            14,
            (floor + ceiling) / 2,
            panel.y_label,
            extra=f'transform="rotate(-90 14 {(floor + ceiling) / 2:.1f})"',
        ),
    ]
    for tick in y.ticks():
        at = y(tick)
        parts.append(f'<path d="M{LEFT - 4},{at:.1f}H{LEFT}" stroke="black"/>')
        parts.append(f'<path d="M{LEFT},{at:.1f}H{right}" stroke="#eeeeee"/>')
        parts.append(_text(LEFT - 7, at + 3.5, tick_label(tick), "end"))
    for tick in [] if panel.groups else x.ticks():
        at = x(tick)
        parts.append(f'<path d="M{at:.1f},{floor}v4" stroke="black"/>')
        parts.append(_text(at, floor + 16, tick_label(tick)))
    return parts


def _bars(panel: Panel, width: float, y: _Scale) -> list[str]:
    floor, parts = HEIGHT - BOTTOM, []
    room = (width - RIGHT - LEFT) / max(len(panel.groups), 1)
    wide = 0.8 * room / max(len(panel.bars), 1)
    for g, name in enumerate(panel.groups):
        left = LEFT + (g + 0.1) * room
        parts.append(_text(left + 0.4 * room, floor + 16, name))
        for b, bars in enumerate(panel.bars):
            top = y(bars.heights[g])
            parts.append(
                f'<rect x="{left + b * wide:.1f}" y="{top:.1f}" width="{wide * 0.94:.1f}" '
                f'height="{max(floor - top, 0):.1f}" fill="{bars.colour}"/>'
            )
    return parts


def _visible(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points without those that lie within half a pixel of the one before."""
    kept = points[:1]
    for point in points[1:-1]:
        if max(abs(point[0] - kept[-1][0]), abs(point[1] - kept[-1][1])) >= 0.5:
            kept.append(point)
    return kept + points[1:][-1:]


def _line(line: Line, x: _Scale, y: _Scale) -> list[str]:
    points = [
        (x(a), y(b))
        for a, b in zip(line.x, line.y, strict=True)
        if math.isfinite(b) and (b > 0 or not y.log) and (a > 0 or not x.log)
    ]
    if not points:
        return []
    seen = points if line.marker else _visible(points)
    path = "M" + "L".join(f"{a:.1f},{b:.1f}" for a, b in seen)
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    style = f'fill="none" stroke="{line.colour}" stroke-width="{line.width}"{dash}'
    marks = [_marker(line.marker, a, b, line.colour) for a, b in points] if line.marker else []
    return [f'<path d="{path}" {style}/>', *marks]


def _panel(panel: Panel, left: float, top: float, width: float) -> str:
    xs = [value for line in panel.lines for value in line.x]
    ys = [value for line in panel.lines for value in line.y]
    ys += [value for bars in panel.bars for value in bars.heights]
    x = _scale(xs, LEFT, width - RIGHT, panel.log_x)
    y = _scale(panel.y_range or ys, HEIGHT - BOTTOM, TOP, panel.log_y, panel.y_from_zero)
    parts = [*_axes(panel, width, x, y), *_bars(panel, width, y)]
    for line in panel.lines:
        parts += _line(line, x, y)
    return f'<g transform="translate({left:.0f} {top:.0f})">{"".join(parts)}</g>'


def _legend(panels: Sequence[Panel], width: float, top: float) -> tuple[str, float]:
    """The legend of all panels, each label once, and the height it takes."""
    entries: dict[str, Line | Bars] = {}
    for panel in panels:
        shown: tuple[Line | Bars, ...] = (*panel.bars, *panel.lines)
        for entry in shown:
            if entry.label:
                entries.setdefault(entry.label, entry)
    parts, x, y = [], 16.0, top + 14
    for label, entry in entries.items():
        room = 42 + 6.6 * len(label)
        if x + room > width and x > 16:
            x, y = 16.0, y + 18
        if isinstance(entry, Bars):
            parts.append(
                f'<rect x="{x}" y="{y - 9}" width="20" height="10" fill="{entry.colour}"/>'
            )
        else:
            dash = f' stroke-dasharray="{entry.dash}"' if entry.dash else ""
            style = f'stroke="{entry.colour}" stroke-width="{entry.width}"{dash}'
            parts.append(f'<path d="M{x},{y - 4}h22" {style}/>')
            if entry.marker:
                parts.append(_marker(entry.marker, x + 11, y - 4, entry.colour))
        parts.append(_text(x + 27, y, label, "start"))
        x += room
    return "".join(parts), y - top + 8


def svg(title: str, rows: Sequence[Sequence[Panel]], note: str = "") -> str:
    """The panels in rows, under a title and one legend, over a note."""
    columns = max(sum(panel.columns for panel in row) for row in rows)
    width = columns * WIDTH + 16
    panels = [panel for row in rows for panel in row]
    legend, used = _legend(panels, width, 30)
    parts = [_text(width / 2, 20, title, extra='font-size="14" font-weight="bold"'), legend]
    top = 34 + used
    for row in rows:
        left = 8.0
        for panel in row:
            parts.append(_panel(panel, left, top, panel.columns * WIDTH))
            left += panel.columns * WIDTH
        top += HEIGHT + 8
    parts.append(_text(width / 2, top + 8, note, extra='fill="#606060"'))
    height = top + 18
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-size="11" '
        f'font-family="DejaVu Sans, Arial, sans-serif">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
