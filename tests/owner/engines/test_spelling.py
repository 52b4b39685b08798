"""What engines spell: every whole number of 64 bits has a literal."""

from __future__ import annotations

import duckdb

from trueup.owner.engines import spelling


def test_the_least_whole_number_has_a_literal() -> None:
    with duckdb.connect() as connection:
        for value in (-(2**63), -1, 0, 2**63 - 1):
            assert connection.execute(f"SELECT {spelling.whole(value)}").fetchone() == (value,)
