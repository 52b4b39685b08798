"""What is answered has the fields that its model has, no more and no fewer."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from trueup.server.routes import told

READ = [
    ("/api/v1/me", told.Me),
    ("/api/v1/session", told.SessionTold),
    ("/api/v1/datasets", told.DatasetList),
    ("/api/v1/datasets/trips", told.DatasetTold),
    ("/api/v1/datasets/trips/history", told.History),
    ("/api/v1/releases", told.ReleaseList),
    ("/api/v1/releases/{release}", told.ReleaseTold),
    ("/api/v1/jobs/{release}", told.JobTold),
    ("/health", told.Health),
    ("/ready", told.Ready),
    ("/api/v1/nothing", told.Problem),
]


@pytest.mark.parametrize(("path", "model"), READ, ids=[path for path, _ in READ])
def test_an_answer_has_the_fields_of_its_model(
    server: Any, names: dict[str, str], path: str, model: Any
) -> None:
    said = server("boss").get(path.format(**names))
    found = TypeAdapter(model).validate_json(said.content, strict=True)
    given = said.json()
    assert found.model_dump() == given
