"""Drawings as SVG: lines, bars and steps on plain or logarithmic axes.

Nothing to load, and the same bytes every time: for notebooks, the README and the paper's figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from trueup.pictures.theme import BLACK, ORANGE

Numbers = Sequence[float]
Ticks = Sequence[tuple[float, str]]

WIDTH, HEIGHT = 290, 230
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 28, 42
_SHORT = 12  # letters of a label that stands clear of the numbers
_LETTER = 7.0  # pixels that a letter takes, at most


@dataclass(frozen=True)
class Curve:
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
    """A bar over each stretch, 0 to 1, 1 to 2 and so on, with an error mark if one is given.

    Marks reach as far as `errors` to both sides, or from one of `between` to the other. Of bars
    that differ in width, `ends` says where they begin and end, from 0 to their number.
    """

    label: str
    heights: Numbers
    colour: str = BLACK
    errors: Numbers = ()
    ends: Numbers = ()
    between: Sequence[tuple[float, float]] = ()

    @property
    def marks(self) -> Sequence[tuple[float, float]]:
        """The two ends of each error mark; none if no errors are known."""
        if not len(self.errors):
            return self.between
        return [(h - e, h + e) for h, e in zip(self.heights, self.errors, strict=True)]


@dataclass(frozen=True)
class Panel:
    """One pair of axes. Ticks of the horizontal one can be given: those that fit are drawn."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Curve, ...] = ()
    bars: tuple[Bars, ...] = ()
    x_ticks: Ticks = ()
    log_x: bool = False
    log_y: bool = False
    y_from_zero: bool = False
    y_range: tuple[float, float] | None = None
    columns: int = 1
    height: int = HEIGHT

    @property
    def width(self) -> int:
        return self.columns * WIDTH


@dataclass(frozen=True)
class _Scale:
    """From values to places on the page."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (value - low) / (high - low) * (self.stop - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            every = max(1, -(-(last - first) // 5))
            values = [10.0**power for power in range(first, last + 1, every)]
        else:
            span = self.high - self.low
            step = 10 ** math.floor(math.log10(span / 4))
            step *= next(m for m in (1, 2, 5, 10) if span / (m * step) <= 6)
            first = math.ceil(self.low / step - 1e-9)
            values = [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [(value, tick_label(value)) for value in values]


def _scale(values: Iterable[float], start: float, stop: float, log: bool, zero: bool) -> _Scale:
    usable = [v for v in values if math.isfinite(v) and (v > 0 or not log)] or [1.0]
    low, high = min(usable), max(usable)
    if log:
        low, high = low / 1.3, high * 1.3
        if high / low < 10:
            middle = math.sqrt(low * high)
            low, high = middle / 3.3, middle * 3.3
        return _Scale(low, high, start, stop, True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = (high - low or 1.0) * 0.05
    return _Scale(low if zero and low == 0 else low - margin, high + margin, start, stop)


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


def stairs(x: Numbers, y: Numbers) -> tuple[list[float], list[float]]:
    """Points that draw each value as a tread from half a step before it to half a step after."""
    across = [place + half for place in x for half in (-0.5, 0.5)]
    return across, [value for value in y for _ in range(2)]


def between(names: Iterable[str]) -> list[tuple[float, str]]:
    """Ticks under the middle of each bar."""
    return [(place + 0.5, name) for place, name in enumerate(names)]


def text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, fill: str, words: str = "") -> str:
    """A filled rectangle, with words on hovering."""
    at = f'x="{x:.1f}" y="{y:.1f}" width="{width:.2f}" height="{height:.2f}" fill="{fill}"'
    return f"<rect {at}><title>{escape(words)}</title></rect>" if words else f"<rect {at}/>"


def bar(x: float, width: float, ends: tuple[float, float], colour: str, mark: Numbers = ()) -> str:
    """An upright bar between two heights on the page, with an error mark between two others."""
    low, high = sorted(ends)
    drawn = rect(x, low, max(width, 0.5), high - low, colour)
    if not len(mark):
        return drawn
    return f'{drawn}<path d="M{x + width / 2:.1f},{mark[0]:.1f}V{mark[1]:.1f}" stroke="{ORANGE}"/>'


def drawing(title: str, width: float, height: float, body: Sequence[str], note: str = "") -> str:
    """The SVG: parts of this size under a title and over a note, whose lines are broken to fit."""
    heads = wrap(title, int(width / 9))
    notes = [line for each in note.split("\n") for line in wrap(each, int(width / 6.5))]
    top = 6 + 18 * len(heads)
    whole = top + height + 16 * len(notes) + 8
    bold = 'font-size="14" font-weight="bold"'
    said = [text(width / 2, 18 * i + 20, each, extra=bold) for i, each in enumerate(heads)]
    said += [
        text(width / 2, top + height + 16 * i + 10, each, extra='fill="#606060"')
        for i, each in enumerate(notes)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{whole:.0f}" '
        f'viewBox="0 0 {width:.0f} {whole:.0f}" style="max-width:100%;height:auto" role="img" '
        f'font-size="11" font-family="DejaVu Sans, Arial, sans-serif">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join([*said, f'<g transform="translate(0 {top})">', *body, "</g>"])
        + "\n</svg>\n"
    )


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


def _axes(panel: Panel, x: _Scale, y: _Scale) -> list[str]:
    floor, right, middle = (
        panel.height - BOTTOM,
        panel.width - RIGHT,
        (panel.height - BOTTOM + TOP) / 2,
    )
    aside = 14 if len(panel.y_label) < _SHORT else 10  # a long one passes beside the numbers
    turned = f'transform="rotate(-90 {aside} {middle:.1f})"'
    parts = [
        f'<path d="M{LEFT},{TOP}V{floor}H{right}" fill="none" stroke="black"/>',
        text((LEFT + right) / 2, 16, panel.title, extra='font-weight="bold"'),
        text((LEFT + right) / 2, panel.height - 8, panel.x_label),
        text(aside, middle, panel.y_label, extra=turned),
    ]
    for tick, words in y.ticks():
        at = y(tick)
        parts.append(f'<path d="M{LEFT - 4},{at:.1f}H{LEFT}" stroke="black"/>')
        parts.append(f'<path d="M{LEFT},{at:.1f}H{right}" stroke="#eeeeee"/>')
        parts.append(text(LEFT - 7, at + 3.5, words, "end"))
    placed = [(x(tick), words) for tick, words in panel.x_ticks or x.ticks()]
    for at, words in apart(placed, panel.width):
        parts.append(f'<path d="M{at:.1f},{floor}v4" stroke="black"/>')
        half = _LETTER / 2 * len(words)
        parts.append(text(min(max(at, half), panel.width - half), floor + 16, words))
    return parts


def apart(labels: Ticks, room: float) -> list[tuple[float, str]]:
    """Those of the labels that do not touch: the two ends first, then whatever fits between."""
    said = [(at, words) for at, words in labels if words]
    short = [(at, words if len(words) <= 24 else words[:23] + "…") for at, words in said]

    def ends(label: tuple[float, str]) -> tuple[float, float]:
        half = _LETTER / 2 * len(label[1])
        middle = min(max(label[0], half), room - half)
        return middle - half - 2, middle + half + 2

    last = short[-1:]
    kept: list[tuple[float, str]] = []
    for label in short[:-1]:
        start, stop = ends(label)
        if (not kept or start > ends(kept[-1])[1]) and stop < ends(last[0])[0]:
            kept.append(label)
    return kept + last


def _bars(panel: Panel, x: _Scale, y: _Scale) -> list[str]:
    foot = panel.height - BOTTOM if panel.log_y else y(0)
    gap = 0.2 if len(panel.bars) > 1 else 0.06
    parts = []
    for number, bars in enumerate(panel.bars):
        ends, marks = bars.ends if len(bars.ends) else range(len(bars.heights) + 1), bars.marks
        for place, height in enumerate(bars.heights):
            start, wide = ends[place], ends[place + 1] - ends[place]
            free = gap * min(wide, 1.0)  # between bars, however wide they are
            room = (x(wide - free) - x(0)) / len(panel.bars)
            mark = tuple(map(y, marks[place])) if len(marks) else ()
            left = x(start + free / 2) + number * room
            parts.append(bar(left, room * 0.94, (foot, y(height)), bars.colour, mark))
    return parts


def _visible(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points without those that lie within half a pixel of the one before."""
    kept = points[:1]
    for point in points[1:-1]:
        if max(abs(point[0] - kept[-1][0]), abs(point[1] - kept[-1][1])) >= 0.5:
            kept.append(point)
    return kept + points[1:][-1:]


def _stroke(line: Curve) -> str:
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    return f'stroke="{line.colour}" stroke-width="{line.width}"{dash}'


def _line(line: Curve, x: _Scale, y: _Scale) -> list[str]:
    points = [
        (x(a), y(b))
        for a, b in zip(line.x, line.y, strict=True)
        if math.isfinite(b) and (b > 0 or not y.log) and (a > 0 or not x.log)
    ]
    if not points:
        return []
    path = "M" + "L".join(
        f"{a:.1f},{b:.1f}" for a, b in (points if line.marker else _visible(points))
    )
    marks = [_marker(line.marker, a, b, line.colour) for a, b in points] if line.marker else []
    return [f'<path d="{path}" fill="none" {_stroke(line)}/>', *marks]


def _panel(panel: Panel, left: float, top: float) -> str:
    ys = [value for line in panel.lines for value in line.y]
    for bars in panel.bars:
        ys += [*bars.heights, *(end for mark in bars.marks for end in mark)]
    if panel.bars:
        x = _Scale(0, len(panel.bars[0].heights), LEFT, panel.width - RIGHT)
    else:
        xs = [value for line in panel.lines for value in line.x]
        x = _scale(xs, LEFT, panel.width - RIGHT, panel.log_x, False)
    y = _scale(panel.y_range or ys, panel.height - BOTTOM, TOP, panel.log_y, panel.y_from_zero)
    parts = [*_axes(panel, x, y), *(_bars(panel, x, y) if panel.bars else ())]
    for line in panel.lines:
        parts += _line(line, x, y)
    return f'<g transform="translate({left:.0f} {top:.0f})">{"".join(parts)}</g>'


def _legend(panels: Sequence[Panel], width: float) -> tuple[str, float]:
    """The legend of all panels, each label once, and the height it takes."""
    entries: dict[str, Curve | Bars] = {}
    for panel in panels:
        drawn: tuple[Curve | Bars, ...] = (*panel.bars, *panel.lines)
        for entry in drawn:
            if entry.label:
                entries.setdefault(entry.label, entry)
    parts, x, y = [], 16.0, 14.0
    for label, entry in entries.items():
        room = 42 + 6.6 * len(label)
        if x + room > width and x > 16:
            x, y = 16.0, y + 18
        if isinstance(entry, Bars):
            parts.append(rect(x, y - 9, 20, 10, entry.colour))
        else:
            parts.append(f'<path d="M{x:.1f},{y - 4:.1f}h22" {_stroke(entry)}/>')
            if entry.marker:
                parts.append(_marker(entry.marker, x + 11, y - 4, entry.colour))
        parts.append(text(x + 27, y, label, "start"))
        x += room
    return "".join(parts), y + 12 if entries else 4.0


def svg(title: str, rows: Sequence[Sequence[Panel]], note: str = "") -> str:
    """The panels in rows, under a title and one legend, over a note."""
    width = max(sum(panel.width for panel in row) for row in rows) + 16
    legend, top = _legend([panel for row in rows for panel in row], width)
    parts = [legend]
    for row in rows:
        left = 8.0
        for panel in row:
            parts.append(_panel(panel, left, top))
            left += panel.width
        top += max(panel.height for panel in row) + 8
    return drawing(title, width, top, parts, note)
