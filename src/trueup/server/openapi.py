"""The OpenAPI document: FastAPI's, with our errors, examples, ways to sign in, public links."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from trueup.server.errors import MEDIA, TITLES
from trueup.server.routes import ranges

_ALWAYS = {
    "400": "bad_request",
    "401": "not_allowed",
    "408": "slow",
    "413": "too_large",
    "429": "busy",
    "503": "ledger",
}
"""What every address of the API may say, whatever is asked."""
_OPEN = ("/health", "/ready")  # without a token
_RELEASE = "/api/v1/releases/{release}"
_WITH_A_TOKEN = ("/public", "/compare")  # of a release, not for whoever has its link
_EXAMPLES = Path(__file__).with_name("examples.json")  # recorded by scripts/openapi_examples.py
_PROBLEM = {"schema": {"$ref": "#/components/schemas/Problem"}}


def described(document: dict[str, Any]) -> dict[str, Any]:
    """The document with what FastAPI does not know of."""
    paths, parts = document["paths"], document.setdefault("components", {})
    parts["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "trueup_…"},
    }
    paths[ranges.PATH] = ranges.described()
    examples = json.loads(_EXAMPLES.read_text("utf-8"))
    for methods in paths.values():
        for route in methods.values():
            if route["operationId"] in examples:
                told = route["responses"]["200"]["content"]["application/json"]
                told["example"] = examples[route["operationId"]]
    for path in [path for path in paths if path.startswith(_RELEASE)]:
        if not path.endswith(_WITH_A_TOKEN):
            link = path.replace(_RELEASE, "/api/v1/public/{link}")
            paths[link] = {
                method: _public(route)
                for method, route in paths[path].items()
                if method in ("get", "post")
            }
    for path, methods in paths.items():
        for route in methods.values():
            _tell_errors(path, route)
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    return document


def _public(route: dict[str, Any]) -> dict[str, Any]:
    """The same route for whoever has a public link."""
    found = copy.deepcopy(route)
    found["operationId"] = f"public_{route['operationId']}"
    found["summary"] = f"Public: {route['summary']}"
    found["tags"] = ["public"]
    for parameter in found["parameters"]:
        if parameter["in"] == "path":
            parameter.update(name="link", description="As the owner gave it.")
    return found


def _tell_errors(path: str, route: dict[str, Any]) -> None:
    said = route["responses"]
    said.pop("422", None)
    if path == "/ready":
        said["503"] = {"description": "It cannot."}
    if "{" in path:
        said.setdefault("404", {"description": "Not here."})
    if path not in _OPEN:
        for status, code in _ALWAYS.items():
            said.setdefault(status, {"description": f"{TITLES[code]}."})
    for status, each in said.items():
        if status >= "400":
            each["content"] = {MEDIA: _PROBLEM}
    if path in _OPEN or path.startswith(("/api/v1/public/", "/api/v1/session")):
        return
    route["security"] = [{"token": []}, {"session": []}]
