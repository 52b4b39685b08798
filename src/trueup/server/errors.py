"""One shape for every error, RFC 9457, in words that the request and the ledger alone decide."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterable, Iterator
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

log = logging.getLogger("trueup.server")
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_REFUSED = (
    "Your token does not allow this: it is missing, wrong, expired, revoked, or for another role. "
    "Ask the owner for one."
)


class FieldError(InputError):
    """Something wrong in one field of a request, which `pointer` names as RFC 6901 has it."""

    def __init__(self, message: str, pointer: str) -> None:
        super().__init__(message)
        self.pointer = pointer


@contextlib.contextmanager
def field(*names: object) -> Iterator[None]:
    """Whatever is refused in here is refused because of this field.

    >>> with field("ranges", 3):
    ...     raise InputError("No cell ends there.")
    Traceback (most recent call last):
    trueup.server.errors.FieldError: No cell ends there.
    """
    try:
        yield
    except FieldError:
        raise
    except (InputError, SourceError) as wrong:
        if isinstance(wrong, KeyConflictError):
            raise
        raise FieldError(str(wrong), pointer(names)) from None


def pointer(names: Iterable[object]) -> str:
    """A JSON pointer.

    >>> pointer(["ranges", 3, "a/b"])
    '/ranges/3/a~1b'
    """
    return "".join(f"/{str(name).replace('~', '~0').replace('/', '~1')}" for name in names)


class NotFoundError(TrueupError):
    """Something that is not here, or not for this token to see."""


class TooLargeError(TrueupError):
    """A request that is larger than is read."""


class BusyError(TrueupError):
    """A server with too much at work; nothing was charged."""


class SlowError(TrueupError):
    """A client that took too long to send its request."""


MEDIA = "application/problem+json"
TITLES = {
    "bad_request": "The request cannot be answered as it is",
    "not_allowed": "Your token does not allow this",
    "not_found": "There is nothing here",
    "key_conflict": "The key was used for another request",
    "budget": "The budget does not allow this",
    "too_large": "The request is too large",
    "busy": "The server is busy",
    "slow": "The request came too slowly",
    "no_such_method": "This address does not take this method",
    "source": "The table could not be read",
    "ledger": "The ledger cannot be used",
    "noise": "Noise could not be drawn",
    "internal": "Something went wrong on the server",
}
"""What each code means, in a few words."""

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
            return status, body(code, words(error, code), status, getattr(error, "pointer", None))
    return 500, body("internal", "Something went wrong. The owner of the server sees where.", 500)


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


def body(code: str, detail: str, status: int, at: str | None = None) -> dict[str, Any]:
    """The one shape of an error: RFC 9457, with a code for programs and a pointer to the field."""
    return {
        "type": f"urn:trueup:error:{code}",
        "title": TITLES[code],
        "status": status,
        "detail": detail,
        "code": code,
        "pointer": at,
    }


def response(error: Exception) -> Response:
    """An error as an answer."""
    status, said = facts(error)
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        headers["Retry-After"] = "1"
    return problem(said, status, headers)


def problem(said: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> Response:
    """A body of ours as an answer."""
    no_store = {"Cache-Control": "no-store"}
    return Response(encode(said), status, {**no_store, **(headers or {})}, MEDIA)


def encode(value: object) -> bytes:
    """JSON, whatever characters it was made from."""
    return _JSON.encode(value).encode()


def log_internal(error: BaseException) -> None:
    """Tells the owner where an error was, and not what it said: it might quote the data."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    log.error("internal: %s %s", type(error).__name__, place.rpartition("/")[2])
