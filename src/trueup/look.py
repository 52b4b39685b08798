"""The look of our pictures: one for notebook, report and page.

Every figure says in words what ± is, and carries ε and the protected unit in its caption. Colours
stay apart for every kind of colour vision.
"""

from __future__ import annotations

from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from trueup.release.html import paid

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#5f6b76"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, GREY)


def headline(words: str, note: str) -> dict[str, Any]:
    """A title with a small line under it that says what is drawn."""
    lines = "<br>".join(f"<sup>{line}</sup>" for line in wrap(note, 48))
    return {
        "text": f"<b>{escape(words, quote=False)}</b><br>{lines}",
        "x": 0.02,
        "xanchor": "left",
        "y": 0.96,
        "yanchor": "top",
        "font": {"size": 15},
    }


def caption(about: dict[str, Any]) -> str:
    """What was paid and who is protected, in words."""
    unit, rows = about.get("unit", "row"), about.get("rows_per_unit", 1)
    whom = f"one {unit}" if rows == 1 else f"all of one {unit} (at most {rows} rows)"
    stamp = "" if about.get("private", True) else "<br><b>NOT PRIVATE: an experiment</b>"
    how = "added or removed" if about.get("neighbours") == "add-remove" else "replaced"
    words = f"ε = {paid(about)} · protects {whom}, {how}" if "epsilon" in about else ""
    return "<br>".join(escape(line, quote=False) for line in wrap(words, 56)) + stamp


def base_figure(about: dict[str, Any], x: str, y: str) -> Figure:
    """An empty figure in our look, with its caption."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.update_layout(
        template="plotly_white",
        font={"family": "system-ui, sans-serif", "size": 14, "color": "#1b2733"},
        margin={"l": 70, "r": 20, "t": 80, "b": 90},
        showlegend=False,
        hoverlabel={"align": "left"},
        xaxis={"title": escape(x, quote=False), "automargin": True},
        yaxis={"title": y, "automargin": True, "tickformat": ",", "zeroline": True},
    )
    figure.add_annotation(
        text=caption(about),
        align="left",
        xref="paper",
        yref="paper",
        x=0,
        y=0,
        xshift=-55,
        yshift=-52,
        showarrow=False,
        xanchor="left",
        yanchor="top",
        font={"size": 12, "color": GREY},
    )
    return figure
