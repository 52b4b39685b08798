"""Routes of somebody at a browser: sign in with a token, and out. The session is a cookie."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from trueup.server.auth import Holder, NotAllowedError
from trueup.server.entrance import header
from trueup.server.routes import told
from trueup.server.routes.asking import Parts, reply
from trueup.server.routes.bodies import Sent, example
from trueup.server.service import Service

router = APIRouter(prefix="/api/v1", tags=["session"])


class SignIn(Sent):
    """A token, as the owner gave it."""

    model_config = example({"token": "trueup_Zm9v"})

    token: Annotated[StrictStr, Field(min_length=1, max_length=200)]


@router.get("/session", response_model=told.SessionTold)
def who(parts: Parts, request: Request) -> Response:
    """Whether the browser that asks is signed in, and as whom; never refused."""
    return reply(_told(parts.entrance.known(request.scope)))


@router.post("/session", response_model=told.SessionTold)
def sign_in(parts: Parts, request: Request, body: SignIn) -> Response:
    """Signs in: a session in a cookie that no script can read and no other site can use."""
    holder = parts.tokens.holder(body.token.strip())
    if holder is None:
        raise NotAllowedError
    said = reply(_told(holder))
    seconds = parts.settings.session
    _set_cookie(said, request, parts, parts.tokens.sign_in(holder, seconds))
    return said


@router.delete("/session", response_model=told.SessionTold)
def sign_out(parts: Parts, request: Request) -> Response:
    """Signs out: the session ends, in every process."""
    parts.tokens.sign_out(parts.entrance.session(request.scope))
    said = reply(_told(None))
    _set_cookie(said, request, parts, "", 0)
    return said


def _told(holder: Holder | None) -> dict[str, Any]:
    known = {field: getattr(holder, field, None) for field in ("name", "role", "expires")}
    return {"signed_in": holder is not None, **known}


def _set_cookie(
    said: Response, request: Request, parts: Service, value: str, age: int | None = None
) -> None:
    """The cookie of a session; kept from the wire in the clear where the page came by https."""
    secure = (header(request.scope, b"origin") or b"").startswith(b"https://")
    said.set_cookie(
        parts.entrance.cookie,
        value,
        max_age=age,
        path=parts.settings.root_path or "/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )
