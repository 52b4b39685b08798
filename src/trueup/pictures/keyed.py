"""Pictures of keys and of trees of prefixes. Keys come from data: no sign of theirs is markup."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Literal

import numpy as np

from trueup.arrays import Ints
from trueup.errors import InputError, shown
from trueup.facts import Facts
from trueup.pictures.charts import Interval, named_bars
from trueup.pictures.theme import base_figure, headline, plotly

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

TreeKind = Literal["treemap", "sunburst"]
_MOST = 2_000  # parts that a reader's browser draws without delay


def key_bars(facts: Facts, keys: Sequence[str], counts: Interval, others: str) -> Figure:
    """A bar for each of some keys, with the interval of each."""
    figure = named_bars(facts, [escape(key) for key in keys], counts, "95 % among keys shown")
    figure.update_layout(title=headline("Counts by key", others), xaxis={"title": "key"})
    figure.update_xaxes(type="category")
    return figure


def tree_picture(
    facts: Facts,
    labels: Sequence[str],
    parents: Ints,
    counts: Ints,
    kind: TreeKind = "treemap",
) -> Figure:
    """A tree as nested areas: each is as large as its count, the root first, its parent −1.

    The largest parts are drawn; what is left of a part stays empty.
    """
    if kind not in ("treemap", "sunburst"):
        raise InputError(f"A tree is drawn as treemap or sunburst, got {shown(kind)}.")
    largest = np.argsort(-counts, kind="stable")[:_MOST]
    drawn = sorted(node for node in largest.tolist() if counts[node] > 0 or node == 0)
    trace = getattr(plotly("graph_objects"), kind.capitalize())(
        ids=[str(node) for node in drawn],
        labels=[escape(labels[node]) for node in drawn],
        parents=["" if parents[node] < 0 else str(parents[node]) for node in drawn],
        values=[int(counts[node]) for node in drawn],
        branchvalues="total",
        hovertemplate="%{label}<br>%{value:,}<extra></extra>",
    )
    figure = base_figure(facts, "", "")
    figure.add_trace(trace)
    figure.update_layout(title=headline(f"{int(counts[0]):,} by prefix", "click to go down"))
    return figure
