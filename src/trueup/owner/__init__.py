"""The owner's side: the one door to the data, and the account of what went through it."""

from trueup.owner.ledger import Ledger
from trueup.owner.owner import Owner

__all__ = ["Ledger", "Owner"]
