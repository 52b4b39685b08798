"""pandas and Polars: each type of column that they have, and what is refused by its type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.errors import SourceError

from .counted_cells import DAYS, LETTERS, SMALL, counts


def test_every_type_of_pandas_is_read_or_refused(ledger: tu.Ledger) -> None:
    import pandas as pd

    moments = [dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 2), None]
    texts = ["a", "b", "a", None]
    for axis, column, expected in [
        (SMALL, pd.array([0, 3, None, 9], dtype="Int64"), [1, 0, 0, 1]),
        (SMALL, pd.array([0, 3, None, 9], dtype="UInt8"), [1, 0, 0, 1]),
        (SMALL, pd.array([0, 3, None, 2.5], dtype="Float32"), [1, 0, 0, 1]),
        (SMALL, np.array([0, 3, np.nan, 2.5], np.float16), [1, 0, 0, 1]),
        (SMALL, pd.Categorical([1, 2, None, 1]), [0, 2, 1, 0]),
        (SMALL, pd.Series([1, "2", Decimal("3.0"), None], dtype=object), [0, 1, 1, 1]),
        (LETTERS, pd.Series(texts, dtype="string[python]"), [2, 1]),
        (LETTERS, pd.Series(texts, dtype="string[pyarrow]"), [2, 1]),
        (LETTERS, pd.Series(texts, dtype="str"), [2, 1]),
        (LETTERS, pd.Series(texts, dtype=object), [2, 1]),
        (LETTERS, pd.Categorical(texts), [2, 1]),
        (LETTERS, pd.Categorical(pd.Series(["a", "b", "\ud800", None], dtype=object)), [1, 1]),
        (DAYS, pd.Series(moments, dtype="datetime64[ns]"), [1, 1]),
        (DAYS, pd.Series(moments, dtype="datetime64[s]"), [1, 1]),
        (DAYS, pd.Series(moments).dt.tz_localize("Asia/Tokyo"), [2, 0]),
        (DAYS, pd.Series(moments, dtype=object), [1, 1]),
        (DAYS, pd.Series(moments, dtype=pd.ArrowDtype(pa.timestamp("ms"))), [1, 1]),
    ]:
        assert counts(pd.DataFrame({"x": column}), ledger, axis) == expected, str(column.dtype)
    for column in (
        pd.Series(pd.to_timedelta([1, 2], unit="s")),
        pd.Series(pd.period_range("2020", periods=2)),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series([1j, 2j]),
    ):
        for axis in (SMALL, LETTERS, DAYS):
            with pytest.raises(SourceError, match="holds something else, where"):
                counts(pd.DataFrame({"x": column}), ledger, axis)


def test_every_type_of_polars_is_read_or_refused(ledger: tu.Ledger) -> None:
    import polars as pl

    texts = ["a", "b", "a", None]
    day = dt.date(2020, 1, 2)
    for axis, column, expected in [
        (SMALL, pl.Series([0, 3, None, 9], dtype=pl.UInt64), [1, 0, 0, 1]),
        (
            SMALL,
            pl.Series([Decimal("3.00"), Decimal("2.5")], dtype=pl.Decimal(38, 2)),
            [0, 0, 0, 1],
        ),
        (LETTERS, pl.Series(texts), [2, 1]),
        (LETTERS, pl.Series(texts, dtype=pl.Categorical), [2, 1]),
        (LETTERS, pl.Series(texts, dtype=pl.Enum(["b", "a"])), [2, 1]),
        (LETTERS, pl.Series([b"a", b"\xff", None]), [1, 0]),
        (DAYS, pl.Series([day, None]), [0, 1]),
        (DAYS, pl.Series([day, None]).cast(pl.Datetime("ns", "Asia/Tokyo")), [0, 1]),
    ]:
        frame = pl.DataFrame({"x": column})
        assert counts(frame, ledger, axis) == expected, str(column.dtype)
        assert counts(frame.lazy(), ledger, axis) == expected, str(column.dtype)
    for column in (
        pl.Series([1], dtype=pl.Int128),
        pl.Series([dt.timedelta(1)]),
        pl.Series([object()], dtype=pl.Object),
        pl.Series([[1]]),
        pl.Series([dt.time(1)]),
    ):
        with pytest.raises(SourceError, match="holds something else, where"):
            counts(pl.DataFrame({"x": column}), ledger, SMALL)
