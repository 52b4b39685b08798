"""The route of a single range, which is asked more often than all others together.

A route of Starlette in FastAPI's router: its one parameter is a model of ours, read by pydantic as
FastAPI would read it, in a quarter of the time. `Straight` answers it before the router is asked
(docs/decisions/0007-server.md).
"""

from __future__ import annotations

from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

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
_BEFORE, _AFTER = PATH.split("{release}")


class Straight:
    """The application, with a short way to the single ranges that can be answered.

    What is wrong with a request, the application says: it is asked again there.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        path: str = scope.get("path", "")
        if not (path.endswith(_AFTER) and path.startswith(_BEFORE) and scope["method"] == "GET"):
            await self.app(scope, receive, send)
            return
        release = path[len(_BEFORE) : -len(_AFTER)]
        try:
            answer = await self.service.ranges.answer(release, scope["query_string"])
        except Exception:
            await self.app(scope, receive, send)
            return
        scope["route"] = route
        headers = [
            (b"content-length", b"%d" % len(answer)),
            (b"content-type", b"application/json"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


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
            },
        }
    }
