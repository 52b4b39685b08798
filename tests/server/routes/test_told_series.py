"""What is answered about series is what the OpenAPI document says, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from trueup.server.routes import told_series

SUM = {"ranges": [[0, 20]]}
DAYS = ["2026-01-01", "2026-01-02"]


@pytest.mark.parametrize(
    ("path", "body", "model"),
    [
        ("series", None, told_series.SeriesList),
        ("series/both", None, told_series.SeriesTold),
        ("series/riders/periods?limit=2", None, told_series.PeriodList),
        ("series/both/over?version=whole", None, told_series.OverTold),
        ("series/fares/sum", SUM, told_series.SumsTold),
        (
            "series/fares/compare",
            {**SUM, "periods": DAYS, "others": DAYS},
            told_series.PeriodsComparedTold,
        ),
        ("series/fares/view?points=7", None, told_series.SeriesView),
        ("publications", None, told_series.PublicationList),
    ],
)
def test_every_answer_is_as_it_is_told(
    standing: Any, path: str, body: Any, model: type[BaseModel]
) -> None:
    ask = standing("boss")
    address = f"/api/v1/{path}"
    said = ask.get(address) if body is None else ask.post(address, json=body)
    assert said.status_code == 200, said.text
    model.model_validate(said.json())  # no field too many, none missing
