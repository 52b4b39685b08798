"""The counts of a source on an axis, as an owner takes them."""

from __future__ import annotations

from typing import Any

import trueup as tu
from trueup.owner import where as filters

LETTERS = tu.Axis.categories("x", ["a", "b"])


SMALL = tu.Axis.integers("x", 0, 3)


DAYS = tu.Axis.dates("x", "2020-01-01", "2020-01-02")


def counts(source: Any, ledger: tu.Ledger, axis: tu.Axis, where: str | None = None) -> list[int]:
    part = None if where is None else filters.parse(where)
    return tu.Owner(source, ledger).prepared(tu.CellCounts(axis), part, False)().tolist()
