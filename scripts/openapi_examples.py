"""Records an answer of every route, as the example that the OpenAPI document gives of it.

Run: python scripts/openapi_examples.py     (writes src/trueup/server/examples.json)
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "src" / "trueup" / "server" / "examples.json"
FEW = 2  # lines of a list that an example keeps
QUERIES = {
    "one_range": "?low=0&high=20",
    "nodes": "?level=month&column=day",
    "regions": "?column=borough",
    "dataset_regions": "?column=borough",
    "key_api": "?key=fig",
    "old_token": "?name=bo",
}


def record(server: Any) -> dict[str, Any]:
    """An answer of every route that answers in JSON, by the name of its operation."""
    document = server(None).get("/openapi.json").json()
    fares = server.measured("examples-fares", strategy="tree", epsilon=1)
    other = server.measured("examples-other", strategy="tree", epsilon=1)
    days = server.measured("examples-days", column="day", epsilon=1)
    columns = [{"column": "age", "cells": 10}, {"column": "borough"}]
    grid = server.measured("examples-grid", column=None, columns=columns, epsilon=1)
    asked = {"dataset": "words", "column": None, "epsilon": 1}
    words = server.measured("examples-words", keys="word", **asked)
    hosts = server.measured("examples-hosts", keys="hosts", **asked)
    server("boss").put(f"/api/v1/releases/{grid}/public")
    found: dict[str, Any] = {}
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            kinds = route["responses"].get("200", {}).get("content", {})
            name = route["operationId"]
            if "/public/" in path or "schema" not in kinds.get("application/json", {}):
                continue
            body = _body(document, route)
            if body is not None and "other" in body:
                body["other"] = other
            if body is not None and "token" in body:
                body["token"] = server.secrets["ana"]
            wanted = {"nodes": days, "heatmap": grid, "boxes": grid, "regions": grid}
            wanted |= {"/keys": words, "/key": words, "/top": words, "/prefixes": hosts}
            address = path.format(
                dataset="trips",
                release=next((wanted[each] for each in wanted if path.endswith(each)), fares),
                number=3 if "tokens" in path else 1,
                name="ana",
                job=fares,
                series="fares",
            )
            who = "ana" if path.endswith(("/quote", "/measure", "/requests")) else "boss"
            query = next((q for each, q in QUERIES.items() if name.startswith(each)), "")
            headers = {"Idempotency-Key": f"examples-{name}"[:60]}
            for _ in range(50):
                said = server(who).request(method, address + query, json=body, headers=headers)
                if said.status_code != 202:
                    break
            if said.status_code != 200:
                print(f"{method} {path}: {said.status_code} {said.text[:200]}", file=sys.stderr)
                continue
            if said.headers["content-type"] == "application/json":
                found[name] = _short(said.json())
    return found


def _body(document: Any, route: Any) -> Any:
    """The first example of what a route is sent."""
    if "requestBody" not in route:
        return None
    reference = route["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    return dict(document["components"]["schemas"][reference.rpartition("/")[2]]["examples"][0])


def _short(value: Any) -> Any:
    """The same, with lists cut to their first lines and numbers to six digits."""
    if isinstance(value, dict):
        return {
            name: "trueup_…" if name == "token" and isinstance(each, str) else _short(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_short(each) for each in value[:FEW]]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main() -> None:
    """Runs a server of the tests, and writes what it says."""
    place = ROOT / "tests" / "server" / "conftest.py"
    spec = importlib.util.spec_from_file_location("server_conftest", place)
    assert spec is not None
    assert spec.loader is not None
    conftest = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = conftest
    spec.loader.exec_module(conftest)
    people = {"boss": ("owner", None), "ana": ("analyst", 50), "rea": ("reader", None)}
    people["bo"] = ("reader", None)
    config = conftest.write_config(Path(tempfile.mkdtemp()), series=True)
    with conftest.running(config, people) as server:
        found = record(server)
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    print(f"{len(found)} examples in {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
