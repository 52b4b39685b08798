"""One shape for every error, in words that depend on the request and the ledger alone."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from trueup.errors import (
    BudgetError,
    FileError,
    InputError,
    KeyConflictError,
    LedgerError,
    NoiseError,
    SourceError,
    TrueupError,
)
from trueup.server.auth import NotAllowedError

_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_REFUSED = (
    "Your token does not allow this: it is missing, wrong, expired, revoked, or for another role. "
    "Ask the owner for one."
)


class NotFoundError(TrueupError):
    """Something that is not here, or not for this token to see."""


class TooLargeError(TrueupError):
    """A request that is larger than is read."""


class BusyError(TrueupError):
    """A server with too much at work; nothing was charged."""


class SlowError(TrueupError):
    """A client that took too long to send its request."""


_KINDS: tuple[tuple[type[Exception], int, str], ...] = (
    (NotAllowedError, 401, "not_allowed"),
    (NotFoundError, 404, "not_found"),
    (KeyConflictError, 409, "key_conflict"),
    (TooLargeError, 413, "too_large"),
    (BusyError, 429, "busy"),
    (SlowError, 408, "slow"),
    (BudgetError, 409, "budget"),
    (InputError, 400, "bad_request"),
    # What an analyst can ask wrongly of a source is a column that is not there to be asked.
    (SourceError, 400, "bad_request"),
    (LedgerError, 503, "ledger"),
    (NoiseError, 503, "noise"),
    (FileError, 503, "ledger"),
)


def facts(error: Exception) -> tuple[int, dict[str, Any]]:
    """The status and the body that an error is told with."""
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            return status, body(code, words(error, code))
    return 500, body("internal", "Something went wrong on the server. Its owner can see where.")


def words(error: Exception, code: str) -> str:
    """What an analyst is told: paths of the owner's machine stay at home."""
    match code:
        case "not_allowed":
            return _REFUSED
        case "ledger":
            return (
                "The ledger of this dataset cannot be read or written. Nothing was released. "
                "Tell the owner: trueup ledger verify says what is wrong."
            )
    return str(error)


def body(code: str, message: str) -> dict[str, Any]:
    """The one shape of an error."""
    return {"error": {"code": code, "message": message}}


def response(error: Exception) -> Response:
    """An error as an answer."""
    status, said = facts(error)
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        headers["Retry-After"] = "1"
    return Response(encode(said), status, headers, "application/json")


def encode(value: object) -> bytes:
    """JSON, whatever characters it was made from."""
    return _JSON.encode(value).encode()
