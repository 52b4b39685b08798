"""Graphs: an edge table, one row an edge, and the degrees it gives its nodes.

Loops are not counted, and an edge given twice counts once, whatever its direction if the graph has
none: one row more or less moves one degree by one, or two degrees in an undirected graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from trueup.ask.question import Space
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


def two_columns(edges: object) -> tuple[str, str]:
    """The columns of an edge's two ends, as they were given."""
    if not isinstance(edges, (tuple, list)) or len(edges) != 2:
        raise InputError(
            f'edges must name two columns, such as ("src", "dst"), got {shown(edges)}.'
        )
    return edges[0], edges[1]


def check_ends(graph: Graph | None, space: Space) -> None:
    """Refuses a question about groups that a row of the table, or an edge, counts otherwise for."""
    ends = 1 if graph is None else graph.ends
    if space.ends != ends:
        kind = "table" if graph is None else f"{graph.kind} graph"
        raise InputError(
            f"A row of this {kind} counts for {ends} group{'s'[: ends - 1]}: "
            f"ask SortedCounts(…, ends={ends})."
        )
    if graph is not None and space.by is not None:
        raise InputError("A graph's groups are its nodes: leave by= out of SortedCounts.")
