"""What is answered about counts has the fields that its model has, no more and no fewer."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from trueup.server.routes import told_counts

READ = [
    ("/api/v1/releases/{release}/view?raw=true", told_counts.ViewTold),
    ("/api/v1/releases/{graph}/view?raw=true", told_counts.ViewTold),
    ("/api/v1/releases/{release}/cdf", told_counts.CdfTold),
    ("/api/v1/releases/{release}/range?low=0&high=16", told_counts.RangeTold),
    ("/api/v1/releases/{days}/nodes?level=month", told_counts.NodesTold),
    ("/api/v1/releases/{grid}/heatmap", told_counts.HeatmapTold),
]


@pytest.mark.parametrize(("path", "model"), READ, ids=[path for path, _ in READ])
def test_an_answer_has_the_fields_of_its_model(
    server: Any, names: dict[str, str], path: str, model: Any
) -> None:
    said = server("boss").get(path.format(**names))
    found = TypeAdapter(model).validate_json(said.content, strict=True)
    given = said.json()
    if isinstance(found, told_counts.HistogramView | told_counts.SortedView):
        given.setdefault("raw", None)
    assert found.model_dump() == given


def test_a_field_too_many_or_too_few_is_no_answer() -> None:
    whole = {"count": 3, "low": 1.5, "high": None, "standard_error": 2.0, "kind": "unbiased"}
    assert told_counts.CountTold.model_validate(whole).high is None
    for wrong in (whole | {"truth": 3}, {k: v for k, v in whole.items() if k != "low"}):
        with pytest.raises(ValidationError):
            told_counts.CountTold.model_validate(wrong)
