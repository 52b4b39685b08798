"""Who asks: the holder of a token, somebody signed in with a cookie, or whoever has a public link.

A token comes in the header `Authorization`, which no other site can make a browser send. A cookie
is sent by the browser itself. So a request with a cookie that changes something must also say, in
headers that a script cannot set, that it comes from our own page.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Scope

from trueup.errors import FileError
from trueup.server.auth import Holder, NotAllowedError, Tokens
from trueup.server.errors import NotFoundError
from trueup.server.links import ADDRESS, PUBLIC, Links

SESSION = "/api/v1/session"
_READING = ("GET", "HEAD", "OPTIONS")
_OURS = (b"same-origin", b"none")  # Sec-Fetch-Site: from our page, or typed by a person


@dataclass(frozen=True)
class Sso:
    """A header in which a proxy says who asks, believed if it comes from one of these addresses."""

    header: bytes
    proxies: tuple[str, ...]


class Entrance:
    """The door of a server: it knows who asks, or refuses."""

    def __init__(self, tokens: Tokens, links: Links, sso: Sso | None = None) -> None:
        self.tokens, self.links, self.sso = tokens, links, sso
        # Cookies are not kept apart by port: two servers on one machine have two names,
        # and several machines that share their tokens have one.
        place = tokens.store.place.encode()
        self.cookie = f"trueup_{hashlib.sha256(place).hexdigest()[:12]}"

    def admit(self, scope: Scope) -> None:
        """Puts into the scope who asks; a public link becomes the address of its release."""
        path = scope["path"]
        if path == SESSION:
            if is_foreign(scope) and scope["method"] not in _READING:
                raise NotAllowedError
            return  # signing in and out is for those who are not known
        if path.startswith("/api/v1/public/"):
            scope["holder"] = PUBLIC
            scope["path"] = self._released(path)
            scope["raw_path"] = scope["path"].encode()
            return
        scope["holder"] = self.holder(scope)

    def holder(self, scope: Scope) -> Holder:
        """Whoever asks, with a good token or a good session; refused without."""
        given = header(scope, b"authorization")
        if given is not None:
            secret = given[7:] if given[:7].lower() == b"bearer " else b""
            found = self.tokens.holder(secret.decode("latin-1").strip())
        else:
            found = self.known(scope)
            if scope["method"] not in _READING and not _is_own(scope):
                found = None  # the browser, or the proxy, adds who it is by itself
        if found is None:
            raise NotAllowedError
        return found

    def known(self, scope: Scope) -> Holder | None:
        """Whoever is signed in, by a session's cookie or by the word of a proxy."""
        found = self.tokens.signed_in(self.session(scope))
        return self._by_proxy(scope) if found is None and self.sso is not None else found

    def _by_proxy(self, scope: Scope) -> Holder | None:
        """Whom a proxy that we trust names: somebody who has a token of that name."""
        assert self.sso is not None
        names = [value for name, value in scope["headers"] if name == self.sso.header]
        client = (scope.get("client") or ("", 0))[0]
        if len(names) != 1 or client not in self.sso.proxies:
            return None
        return self.tokens.named(names[0].decode("latin-1"))

    def note_use(self, holder: Holder) -> None:
        """Writes down when a token was last used; that it cannot be is no reason to refuse."""
        with contextlib.suppress(FileError):
            self.tokens.used(holder)

    def session(self, scope: Scope) -> str:
        """The secret of the session that a request's cookie names; empty without one."""
        for part in (header(scope, b"cookie") or b"").decode("latin-1").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie:
                return value
        return ""

    def _released(self, path: str) -> str:
        """The address of what a public link names; anything else is not there."""
        asked = ADDRESS.fullmatch(path)
        release = None if asked is None else self.links.release(asked[1])
        if asked is None or release is None:
            raise NotFoundError("There is no such public release, or no longer.")
        return f"/api/v1/releases/{release}{asked[2]}"


def header(scope: Scope, name: bytes) -> bytes | None:
    """A header of a request, the last of its name."""
    found = None
    for each, value in scope["headers"]:
        if each == name:
            found = value
    return found


def is_foreign(scope: Scope) -> bool:
    """Whether a browser says that a request was begun by another site."""
    site, origin = header(scope, b"sec-fetch-site"), header(scope, b"origin")
    if site is not None:
        return site not in _OURS
    return origin is not None and not _same_host(scope, origin)


def _is_own(scope: Scope) -> bool:
    """Whether a browser says that a request was begun by our page: silence is not enough."""
    said = header(scope, b"sec-fetch-site") or header(scope, b"origin")
    return said is not None and not is_foreign(scope)


def _same_host(scope: Scope, origin: bytes) -> bool:
    try:
        return urlsplit(origin.decode("latin-1")).netloc == (header(scope, b"host") or b"").decode(
            "latin-1"
        )
    except ValueError:
        return False
