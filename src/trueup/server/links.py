"""Public links: a release that its owner has made public, read by whoever has the link.

A link names one release and nothing else. Taken back, it is gone for good: made public again, the
release has another.
"""

from __future__ import annotations

import re
import secrets

from trueup.server.auth import Holder
from trueup.server.store import Store, moment

PUBLIC = Holder(0, "(public)", "public", "", None, None)  # no token has such a name
ADDRESS = re.compile(r"/api/v1/public/([A-Za-z0-9_-]{22})((?:/[a-z]{1,20})?)", re.ASCII)
"""The address of a public release, and of what may be asked of it."""


class Links:
    """The links that are public, which the server's processes share."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def release(self, link: str) -> str | None:
        """The release that a link is to."""
        return self.store.known().links.get(link)

    def all(self) -> dict[str, str]:
        """The link of every release that has one."""
        return {release: link for link, release in self.store.known().links.items()}

    def publish(self, release: str) -> str:
        """The link of a release from now on; the one it has, if it has one."""
        with self.store.writing() as database:
            database.execute(
                "INSERT INTO links VALUES (?, ?, ?) ON CONFLICT (release) DO NOTHING",
                (release, secrets.token_urlsafe(16), moment()),
            )
            (link,) = database.execute(
                "SELECT link FROM links WHERE release = ?", (release,)
            ).fetchone()
        return str(link)

    def withdraw(self, release: str) -> None:
        """Takes the link of a release back, in every process."""
        with self.store.writing() as database:
            database.execute("DELETE FROM links WHERE release = ?", (release,))
