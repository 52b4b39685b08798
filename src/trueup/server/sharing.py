"""What a server shares with its surroundings: a path under a proxy, pages of other sites.

Both are off unless a setting says otherwise. Pages of other sites may send a token that they have;
a cookie is never theirs to use.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response
from starlette.types import Scope

from trueup.server.entrance import header

_METHODS = "GET, POST, PUT, DELETE"
_HEADERS = "Authorization, Content-Type, Idempotency-Key"
_DAY = "86400"  # seconds


def strip(scope: Scope, root: str) -> None:
    """Takes the path that a proxy serves us under off an address, if the proxy has not."""
    path = scope["path"]
    if root and (path == root or path.startswith(f"{root}/")):
        scope["path"] = path[len(root) :] or "/"
        scope["raw_path"] = scope["path"].encode()


def allowed(scope: Scope, origins: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """The headers by which a page of another site may read an answer; none if it may not."""
    origin = header(scope, b"origin") if origins else None
    if origin is None or origin.decode("latin-1") not in origins:
        return []
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"Content-Disposition, ETag, Retry-After"),
        (b"cross-origin-resource-policy", b"cross-origin"),
        (b"vary", b"Origin"),
    ]


def is_preflight(scope: Scope) -> bool:
    """Whether a browser asks what another site's page may send, before it sends anything."""
    asks = header(scope, b"access-control-request-method")
    return scope["method"] == "OPTIONS" and asks is not None


def preflight() -> Response:
    """What a page of another site may send: a token, and no cookie."""
    headers = {
        "Access-Control-Allow-Methods": _METHODS,
        "Access-Control-Allow-Headers": _HEADERS,
        "Access-Control-Max-Age": _DAY,
    }
    return Response(status_code=204, headers=headers)
