"""A request names every column that is read, and no other."""

from __future__ import annotations

import trueup as tu
from trueup.owner.columns import Wanted
from trueup.owner.request import Request

VALUE = Wanted("age", "integer", "integer", "0")
FILTER = Wanted("city", "text", "text", "1")
UNIT = Wanted("user", "text", "text", "unit")


def test_the_columns_to_be_read_are_the_units_the_values_and_the_filters():
    axes = (tu.Axis.integers("age", 0, 9),)
    plain = Request(10, (VALUE,), axes)
    assert plain.wanted == [VALUE]
    assert plain.by_column == {}
    whole = Request(10, (VALUE,), axes, compared=(FILTER,), unit=UNIT, rows_per_unit=3, key="k")
    assert set(whole.wanted) == {VALUE, FILTER, UNIT}
    assert whole.by_column == {"city": FILTER}
