"""The owner's side: the one door to the data, and the account of what went through it."""

from trueup.owner.ledger import Ledger

__all__ = ["Ledger"]
