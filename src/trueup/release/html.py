"""A small picture of a release for notebooks: inline, nothing to load."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_WIDTH, _HEIGHT = 560, 140
_BAR, _WHISKER = "#0072b2", "#d55e00"  # apart for every kind of colour vision


def _marks(about: dict[str, Any]) -> str:
    inferred = str(about.get("inferred", "least squares"))
    if inferred.startswith(("least squares", "isotonic")):
        return "Marks and ± show one standard error."
    return f"The counts are {inferred}; marks and ± show one standard error of the unbiased ones."


def page(
    title: str, heights: Floats, spread: Floats, edges: tuple[str, str], about: dict[str, Any]
) -> str:
    """Bars with an error mark each, the two ends of the axis, and what was paid for them."""
    top = max(float((heights + spread).max(initial=0.0)), 1.0)
    bottom = min(float((heights - spread).min(initial=0.0)), 0.0)
    scale = _HEIGHT / (top - bottom)
    step = _WIDTH / len(heights)
    marks = []
    for i, (height, error) in enumerate(zip(heights, spread, strict=True)):
        x, middle = i * step, (i + 0.5) * step
        y = (top - max(height, 0.0)) * scale
        marks.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(step - 1, 0.5):.1f}" '
            f'height="{abs(height) * scale:.1f}" fill="{_BAR}"/>'
            f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{(top - height - error) * scale:.1f}" '
            f'y2="{(top - height + error) * scale:.1f}" stroke="{_WHISKER}"/>'
        )
    return (
        f'<figure style="margin:0;max-width:{_WIDTH}px"><b>{escape(title)}</b>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img" '
        f'aria-label="{escape(title)}">{"".join(marks)}</svg>'
        f'<div style="display:flex;justify-content:space-between">'
        f"<span>{escape(edges[0])}</span><span>{escape(edges[1])}</span></div>"
        f"{caption(about)}</figure>"
    )


def paid(about: dict[str, Any]) -> str:
    """The ε of the answers, and what it cost besides to learn how many groups there are."""
    number = about.get("number_of_groups")
    extra = f" + {number['epsilon']} for the number of groups" if number else ""
    return f"{about.get('epsilon')}{extra}"


def caption(about: dict[str, Any]) -> str:
    """What was paid, whom it protects, what the marks are, and whether it is private at all."""
    stamp = "" if about.get("private", True) else " <b>NOT PRIVATE: an experiment.</b>"
    price = ""
    if "epsilon" in about:  # of counts that were typed in it is not known
        price = f"ε = {escape(paid(about))}, protects one {escape(str(about.get('unit')))}. "
    return f"<figcaption>{price}{escape(_marks(about))}{stamp}</figcaption>"
