"""What is answered about who may spend has the fields that its model has, no more and no fewer."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from trueup.server.routes import told_budgets

READ = [
    ("/api/v1/datasets/trips/allowances", told_budgets.AllowanceList),
    ("/api/v1/tokens", told_budgets.TokenList),
    ("/api/v1/requests", told_budgets.RequestList),
]


@pytest.mark.parametrize(("path", "model"), READ, ids=[path for path, _ in READ])
def test_an_answer_has_the_fields_of_its_model(
    server: Any, names: dict[str, str], path: str, model: Any
) -> None:
    said = server("boss").get(path.format(**names))
    found = TypeAdapter(model).validate_json(said.content, strict=True)
    assert found.model_dump() == said.json()
