"""The OpenAPI document: every parameter, every answer, examples that work."""

from __future__ import annotations

import re
from typing import Any

import pytest

FILES = ("/file", "/measurement", "/rows")
ALWAYS = {"400", "401", "408", "413", "429", "503"}


@pytest.fixture(scope="module")
def document(server: Any) -> Any:
    return server(None).get("/openapi.json").json()


def operations(document: Any) -> list[tuple[str, str, Any]]:
    return [
        (path, method, route)
        for path, methods in document["paths"].items()
        for method, route in methods.items()
    ]


def test_every_part_of_a_path_is_a_parameter(document: Any) -> None:
    for path, method, route in operations(document):
        named = {each["name"] for each in route.get("parameters", []) if each["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path)), (method, path)


def test_every_answer_has_a_schema_and_every_error_the_shape_of_ours(document: Any) -> None:
    for path, method, route in operations(document):
        said = route["responses"]
        if path not in ("/health", "/ready"):
            assert set(said) >= ALWAYS, (method, path)
        for status, each in said.items():
            kinds = each.get("content", {})
            if status >= "400":
                assert list(kinds) == ["application/problem+json"], (path, status)
            elif status != "304":
                assert kinds, (method, path, status)
                for kind, content in kinds.items():
                    if kind == "application/json" and not path.endswith(FILES):
                        assert content["schema"], (method, path)


def test_every_answer_has_an_example_that_its_schema_holds(document: Any) -> None:
    import jsonschema_rs

    tried = 0
    for path, method, route in operations(document):
        told = route["responses"].get("200", {}).get("content", {}).get("application/json", {})
        if not told.get("schema") or path.endswith(FILES):
            continue
        assert "example" in told, (method, path)
        schema = {**told["schema"], "components": document["components"]}
        jsonschema_rs.validator_for(schema).validate(told["example"])
        tried += 1
    assert tried > 40


def test_every_name_is_its_own_and_every_reference_is_there(document: Any) -> None:
    names = [route["operationId"] for _, _, route in operations(document)]
    assert len(set(names)) == len(names)
    schemas = document["components"]["schemas"]
    for name in re.findall(r"#/components/schemas/(\w+)", str(document)):
        assert name in schemas


def test_every_body_has_examples_and_they_work(
    server: Any, standing: Any, document: Any, fares: str
) -> None:
    grid = [{"column": "age"}, {"column": "borough"}]
    both = server.measured("openapi-grid", column=None, columns=grid)
    other = server.measured("openapi-request")
    another = server.measured("openapi-other-grid", column=None, columns=grid)
    tried = 0
    for path, method, route in operations(document):
        if "requestBody" not in route or "/public/" in path:
            continue
        series = "{series}" in path
        reference = route["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schema = document["components"]["schemas"][reference.rpartition("/")[2]]
        assert schema["examples"], path
        for body in schema["examples"]:
            name = "ana" if path.endswith(("/quote", "/measure", "/requests")) else "boss"
            if "sign" in route["operationId"]:
                body = {"token": server.secrets["ana"]}
            if "role" in body:
                body = {**body, "name": "fresh"}
            if "other" in body:
                body = {**body, "other": another if "boxes" in body else other}
            asked = standing if series or "keys" in body else server
            address = path.format(
                dataset="words" if "keys" in body else "trips",
                release=both if "boxes" in body else fares,
                number=1,
                name="ana",
                job="",
                series="fares",
            )
            headers = {"Idempotency-Key": f"example-{tried:04d}"}
            said = asked(name).request(method, address, json=body, headers=headers)
            assert said.status_code in (200, 202), (path, said.text)
            tried += 1
    assert tried >= 12
