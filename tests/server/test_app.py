"""The application as a whole: what it says of itself, and that the docs say it too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trueup as tu


def test_health_needs_no_token(server: Any) -> None:
    assert server(None).get("/health").json() == {"status": "ok", "version": tu.__version__}


def test_every_route_is_in_the_openapi_document(server: Any) -> None:
    document = server(None).get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            assert route["responses"], path
            assert "422" not in route["responses"]
            assert route["summary"], method
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")


def test_every_route_is_in_the_docs(server: Any) -> None:
    for path in server(None).get("/openapi.json").json()["paths"]:
        assert f"{path}`" in PAGE or f"{path}?" in PAGE, path
