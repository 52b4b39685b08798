"""The route of a single range, which is asked more often than all others together.

A route of Starlette in FastAPI's router: its one parameter is a model of ours, read by pydantic as
FastAPI would read it, in a quarter of the time (docs/decisions/0007-server.md).
"""

from __future__ import annotations

from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trueup.server.batches import SingleRange
from trueup.server.service import Service

PATH = "/api/v1/releases/{release}/range"


async def one_range(request: Request) -> Response:
    """The count of one range [low, high), with its exact interval."""
    service: Service = request.app.state.service
    release, query = request.path_params["release"], request.scope["query_string"]
    try:
        answer = await service.ranges.answer(release, query)
    except ValidationError as wrong:
        found = [{**one, "loc": ("query", *one["loc"])} for one in wrong.errors()]
        raise RequestValidationError(found) from None
    return Response(answer, media_type="application/json")


route = Route(PATH, one_range, methods=["GET"])


def described() -> dict[str, Any]:
    """The route in the OpenAPI document."""
    fields = SingleRange.model_json_schema()["properties"]
    named = {"name": "release", "in": "path", "required": True, "schema": {"type": "string"}}
    query = [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": schema["description"],
            "schema": {word: said for word, said in schema.items() if word != "description"},
        }
        for name, schema in fields.items()
    ]
    return {
        "get": {
            "tags": ["releases"],
            "summary": "One Range",
            "description": one_range.__doc__,
            "operationId": "one_range",
            "parameters": [named, *query],
            "responses": {
                "200": {
                    "description": "Successful Response",
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/RangeTold"}}
                    },
                },
                "404": {"description": "Not here."},
            },
        }
    }
