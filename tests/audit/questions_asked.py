"""Questions that both the bound and the replay are tried on."""

from __future__ import annotations

import trueup as tu

GRADES = tu.Axis.categories("grade", ["A", "B", "C", "D", "F"])


STUDENTS = tu.NamedCounts(
    GRADES,
    {
        "total": slice(None),
        "passing": ["A", "B", "C", "D"],
        **{grade: [grade] for grade in ["A", "B", "C", "D", "F"]},
    },
)


STRATEGY = tu.WeightedCounts(3, [[1, 0, 0], [0, "1/2", 0], [0, 0, 1], ["1/3", "1/3", 0]])


GRID = tu.GridCounts(tu.TreeCounts(tu.Axis.integers("a", 0, 1), branching=2), 3)


MARGINALS = tu.BoxCounts.marginals(2, 3, marginals=[("axis 0",), ("axis 1",), ()])
