"""Every error a user can meet. Each says what was given, what is wrong, what to do."""

from __future__ import annotations

import datetime
from numbers import Number

_LONGEST = 60  # characters of a text that a message repeats
_SECRETS = ("://", "password", "passwd", "secret", "token")


def shown(value: object) -> str:
    """What was given, as a message may repeat it: a number, a short text; else only its type.

    Data that took the place of another argument is not repeated, nor is an address, which may
    hold a password.

    >>> shown(-1), shown("0.1.2"), shown([34, 35]), shown("postgresql://me:pw@host")
    ('-1', "'0.1.2'", 'a list of 2', 'an address')
    """
    if value is None or isinstance(value, Number):
        return repr(getattr(value, "item", lambda: value)())
    if isinstance(value, str):
        if any(sign in value.lower() for sign in _SECRETS):
            return "an address"
        return repr(value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…")
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, datetime.date):
        return str(value)
    length = f" of {len(value):,}" if isinstance(value, (list, tuple)) else ""
    return f"{kind(value)}{length}"


def kind(value: object) -> str:
    """The type of what was given, with its article: where even a number may be data."""
    if value is None or isinstance(value, bytes):
        return "None" if value is None else "bytes"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' or name == 'ndarray' else 'a'} {name}"


class TrueupError(Exception):
    """The base of all our errors."""


class InputError(TrueupError, ValueError):
    """An argument that cannot be used: nothing was drawn, charged or written."""


class FileError(TrueupError):
    """A file that is damaged, not ours, or of a newer format."""


class NoiseError(TrueupError):
    """Noise could not be drawn safely; nothing was released."""


class SourceError(TrueupError):
    """A table that cannot be opened or lacks a declared column. Never holds a value of the data."""


class ServerError(TrueupError):
    """A server that cannot be reached, does not know the token, or is not well."""


class LedgerError(TrueupError):
    """A ledger that cannot be opened, trusted or written."""


class PublishedError(LedgerError):
    """A series that was charged for a period already; nothing was spent."""


class KeyConflictError(InputError):
    """A key that was used for a different request."""


class BudgetError(LedgerError):
    """A charge that would pass the limit; nothing was spent."""
