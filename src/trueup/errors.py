"""Every error a user can meet. Each says what was given, what is wrong, what to do."""


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


class BudgetError(LedgerError):
    """A charge that would pass the limit; nothing was spent."""
