"""The look of our pictures, one for notebook, report and page, and the words under them.

Every picture says in words what ± is, what was paid and who is protected. Colours stay apart for
every kind of colour vision (Okabe and Ito).
"""

from __future__ import annotations

import importlib
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from trueup.errors import InputError
from trueup.facts import Facts

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BLACK, GRAY, LIGHT = "#000000", "#808080", "#c4c4c4"
BLUE, ORANGE, GREEN, PINK, BROWN = "#0072b2", "#d55e00", "#009e73", "#aa4499", "#8b5a2b"
CURVES = (BLACK, "#e69f00", "#56b4e9", GREEN, ORANGE, PINK, BLUE, BROWN)
MARKERS = ("circle", "diamond", "square", "triangle")


def price(facts: Facts) -> str:
    """What was paid and who is protected, in words; of counts that were typed in, nothing."""
    if facts.epsilon is None and facts.rho is None:
        return ""
    how = "added or removed" if facts.neighbours == "add-remove" else "replaced"
    said = f"{'ε' if facts.rho is None else 'ρ'} = {facts.paid} · protects one {facts.unit}, {how}"
    return f"{said} · {facts.capped}" if facts.capped else said


def stamp(facts: Facts) -> str:
    """What stands on every showing of an experiment; nothing on what is private."""
    return "" if facts.private else "NOT PRIVATE: an experiment"


def caption(facts: Facts) -> str:
    """The price and the stamp, in lines for a plotly figure."""
    lines = [escape(line, quote=False) for line in wrap(price(facts), 56)]
    return "<br>".join(lines + [f"<b>{each}</b>" for each in [stamp(facts)] if each])


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


def plotly(part: str) -> Any:
    """A part of plotly; where it is not installed, the words that say how to install it."""
    try:
        return importlib.import_module(f"plotly.{part}")
    except ImportError:
        pass
    raise InputError('Pictures need plotly, which is not installed: pip install "trueup[plots]".')


def base_figure(facts: Facts, x: str, y: str) -> Figure:
    """An empty figure in our look, with its caption."""
    figure = plotly("graph_objects").Figure()
    figure.update_layout(
        template="plotly_white",
        font={"family": "system-ui, sans-serif", "size": 14, "color": "#1b2733"},
        margin={"l": 70, "r": 20, "t": 80, "b": 90},
        showlegend=False,
        hoverlabel={"align": "left"},
        xaxis={"title": escape(x, quote=False), "automargin": True},
        yaxis={
            "title": escape(y, quote=False),
            "automargin": True,
            "tickformat": ",",
            "zeroline": True,
        },
    )
    figure.add_annotation(
        text=caption(facts),
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
        font={"size": 12, "color": "#5f6b76"},
    )
    return figure
