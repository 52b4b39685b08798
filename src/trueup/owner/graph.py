"""Graphs: an edge table, one row an edge, and the degrees it gives its nodes.

Loops are not counted, and an edge given twice counts once, whatever its direction if the graph has
none: one row more or less moves one degree by one, or two degrees in an undirected graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from trueup.errors import InputError, shown

KINDS = ("undirected", "directed", "bipartite")


@dataclass(frozen=True)
class Graph:
    """The two columns of an edge table, and what its edges mean.

    In a directed graph the degree of a node is how many others it points to; in a bipartite one,
    whose two columns number different things, it is that of the first column's nodes.

    >>> Graph("src", "dst").ends
    2
    """

    source: str
    target: str
    kind: str = "undirected"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"A graph must be one of {', '.join(KINDS)}, got {shown(self.kind)}.")
        for name in (self.source, self.target):
            if not isinstance(name, str) or not name:
                raise InputError(f"An edge's end must be the name of a column, got {shown(name)}.")
        if self.source == self.target:
            raise InputError("The two ends of an edge must be two columns.")

    @property
    def ends(self) -> int:
        """How many degrees an edge adds to."""
        return 2 if self.kind == "undirected" else 1
