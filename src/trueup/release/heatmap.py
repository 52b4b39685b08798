"""A grid as a picture for notebooks: a heat map between its two margins, nothing to load."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trueup.release.estimate import written
from trueup.release.html import caption

if TYPE_CHECKING:
    from trueup.release.grid import GridRelease

Floats = npt.NDArray[np.float64]

_SIDE, _MARGIN, _MOST = 360, 60, 48
_BLUE, _ORANGE = (0, 114, 178), "#d55e00"  # apart for every kind of colour vision


def heatmap(release: GridRelease) -> str:
    """Counts as shades with their errors on hovering, the margins as bars with an error mark.

    The first axis runs down, the second to the right; cells are put together into at most 48 a
    side. A shade fades towards white where the count is within its standard error.
    """
    own = release.unbiased
    cuts = [
        np.unique(np.linspace(0, axis.size, min(axis.size, _MOST) + 1).astype(np.int64))
        for axis in release.axes
    ]
    counts = np.diff(np.diff(release.prefix[np.ix_(*cuts)], axis=0), axis=1).astype(np.float64)
    spread = np.sqrt(own.errors.product_variances(cuts))
    down, right = (_SIDE / (len(each) - 1) for each in cuts)
    sure = np.clip(counts / np.maximum(spread, 1e-300) - 1, 0.0, None)
    shade = np.where(sure > 0, np.sqrt(np.maximum(counts, 0) / max(counts.max(), 1.0)), 0.0)
    marks = []
    for i, j in np.ndindex(*counts.shape):
        count, error = float(counts[i, j]), float(spread[i, j])
        colour = ",".join(str(round(255 + (c - 255) * float(shade[i, j]))) for c in _BLUE)
        marks.append(
            f'<rect x="{_MARGIN + j * right:.1f}" y="{_MARGIN + i * down:.1f}" width="{right:.2f}" '
            f'height="{down:.2f}" fill="rgb({colour})"><title>{written(count)} ± '
            f"{written(error)}</title></rect>"
        )
    for number, step in ((1, right), (0, down)):
        sums = counts.sum(axis=1 - number)
        others = [np.array([0, axis.size]) for axis in release.axes]
        others[number] = cuts[number]
        errors = np.sqrt(own.errors.product_variances(others)).ravel()
        marks += _bars(sums, errors, step, upright=number == 1)
    names = [escape(axis.name) for axis in release.axes]
    total = _SIDE + _MARGIN
    title = escape(f"{release.axes[0].name} × {release.axes[1].name}, total {release.total()}")
    return (
        f'<figure style="margin:0;max-width:{total}px"><b>{title}</b>'
        f'<svg viewBox="0 0 {total} {total}" width="100%" role="img" aria-label="{title}">'
        f"{''.join(marks)}</svg><div>down: {names[0]}, to the right: {names[1]}</div>"
        f"{caption(release.about)}</figure>"
    )


def _bars(heights: Floats, spread: Floats, step: float, upright: bool) -> list[str]:
    """One margin: bars that grow away from the map, from its edge, with one standard error."""
    top = max(float((heights + spread).max()), 1.0)
    marks = []
    for i, (height, error) in enumerate(zip(heights, spread, strict=True)):
        long = max(height, 0.0) / top * (_MARGIN - 6)
        ends = [np.clip((height + s * error) / top, 0, 1) * (_MARGIN - 6) for s in (-1, 1)]
        at, middle = _MARGIN + i * step, _MARGIN + (i + 0.5) * step
        wide = max(step - 1, 0.5)
        blue = f"rgb{_BLUE}"
        if upright:
            marks.append(
                f'<rect x="{at:.1f}" y="{_MARGIN - 2 - long:.1f}" width="{wide:.1f}" '
                f'height="{long:.1f}" fill="{blue}"/><line x1="{middle:.1f}" x2="{middle:.1f}" '
                f'y1="{_MARGIN - 2 - ends[0]:.1f}" y2="{_MARGIN - 2 - ends[1]:.1f}" '
                f'stroke="{_ORANGE}"/>'
            )
        else:
            marks.append(
                f'<rect x="{_MARGIN - 2 - long:.1f}" y="{at:.1f}" width="{long:.1f}" '
                f'height="{wide:.1f}" fill="{blue}"/><line y1="{middle:.1f}" y2="{middle:.1f}" '
                f'x1="{_MARGIN - 2 - ends[0]:.1f}" x2="{_MARGIN - 2 - ends[1]:.1f}" '
                f'stroke="{_ORANGE}"/>'
            )
    return marks
