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
        if path.startswith("/api/v1/public/{link}/"):  # said of all of them together
            path = path.replace("/public/{link}", "/releases/{release}")
        assert f"{path}`" in PAGE or f"{path}?" in PAGE, path


def test_a_server_is_ready_while_its_ledgers_can_be_read(serving: Any) -> None:
    server = serving()
    assert server(None).get("/ready").json() == {"status": "ready"}
    ledger = server.config.datasets["trips"].ledger
    away = Path(str(ledger) + ".away")
    Path(str(ledger)).rename(away)
    said = server(None).get("/ready")
    assert (said.status_code, said.json()["code"]) == (503, "ledger")
    assert "trips" not in said.text
    assert server(None).get("/health").status_code == 200
    away.rename(str(ledger))
    assert server(None).get("/ready").status_code == 200


def test_lists_come_in_pages(server: Any) -> None:
    made = [server.measured(f"page-number-{number}", column="age") for number in range(5)]
    every = server("rea").get("/api/v1/releases").json()
    assert every["next"] is None
    ids = [line["id"] for line in every["releases"]]
    assert every["total"] == len(ids) >= 5
    assert set(made) <= set(ids)
    seen: list[str] = []
    start: int | None = 0
    while start is not None:
        page = server("rea").get(f"/api/v1/releases?limit=2&start={start}").json()
        assert len(page["releases"]) <= 2
        seen += [line["id"] for line in page["releases"]]
        start = page["next"]
    assert seen == ids
    history = server().get("/api/v1/datasets/trips/history?limit=2").json()
    assert (len(history["charges"]), history["next"]) == (2, 2)
    assert len(server("boss").get("/api/v1/tokens?limit=1").json()["tokens"]) == 1
    for wrong in ("limit=0", "limit=1001", "start=-1"):
        assert server("rea").get(f"/api/v1/releases?{wrong}").status_code == 400
    client = tu.connect(server.url, server.secrets["rea"])
    assert [line.id for line in client.releases()] == ids
