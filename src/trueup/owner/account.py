"""The account: what a chain of ledger entries adds up to, checked link by link.

Nothing here touches a disk. An entry is a line of JSON and a hash; the hash covers the line and
the hash before it, so that no line can be changed, moved or dropped without changing every later
hash. Numbers are exact Fractions, written as text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from trueup.errors import BudgetError, InputError, LedgerError

VERSION = 1
_LONGEST_KEY = 200
_MOST_BITS = 3000  # of the denominator of a sum: far above any use, below what Python reads back


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: its number, its fact as canonical JSON, and the chain's hash."""

    number: int
    body: str
    hash: str


@dataclass(frozen=True)
class Charge:
    """One charge: what was asked, what it cost, and the hash of its stored answer, if any yet."""

    entry: int
    key: str
    epsilon: Fraction
    spent: Fraction  # this charge included
    request: str  # canonical JSON: question, neighbours, unit, source, filter
    by: str | None
    time: str  # of the charge, which is before any row is read
    answer: str | None = None
    answered: int | None = None  # the entry that recorded the answer
    resumed: bool = False  # asked again before there was an answer


def canonical(value: object) -> str:
    """The one ASCII line of JSON that stands for a value, so that equal requests are equal text.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"\\\\u00e9","b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def link(previous: str, body: str) -> str:
    """The hash of a line that follows the hash `previous`."""
    return hashlib.sha256(f"{previous}\n{body}".encode("utf-8", "surrogatepass")).hexdigest()


def opening(name: str, limit: Fraction, time: str) -> Entry:
    """The first entry of a ledger: its name, its limit and the version of its rules."""
    body = canonical(
        {
            "entry": 0,
            "kind": "opening",
            "ledger": name,
            "limit": str(limit),
            "time": time,
            "version": VERSION,
        }
    )
    return Entry(0, body, link("", body))


@dataclass
class Account:
    """The sum of the entries read so far. `follow` is the only way forward."""

    ledger: str = ""
    limit: Fraction = Fraction(0)
    spent: Fraction = Fraction(0)
    number: int = -1
    hash: str = ""
    hashes: list[str] = field(default_factory=list)
    charges: dict[str, Charge] = field(default_factory=dict)
    allowances: dict[str, Fraction] = field(default_factory=dict)
    spent_by: dict[str, Fraction] = field(default_factory=dict)

    def follow(self, entry: Entry) -> None:
        """Take one more entry into the account, refusing any that does not follow."""
        if entry.number != self.number + 1 or entry.hash != link(self.hash, entry.body):
            raise _edited(entry.number)
        try:
            self._take(json.loads(entry.body), entry.number)
        except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
            raise _edited(entry.number) from None
        self.number, self.hash = entry.number, entry.hash
        self.hashes.append(entry.hash)

    def _take(self, fact: Mapping[str, Any], number: int) -> None:
        kind = fact["kind"]
        if fact["entry"] != number or (kind == "opening") != (number == 0):
            raise _edited(number)
        if kind == "opening":
            if fact["version"] != VERSION:
                raise LedgerError(
                    f"This ledger has version {fact['version']}; this trueup reads version "
                    f"{VERSION}. Open it with the trueup that wrote it, or a newer one."
                )
            self.ledger, self.limit = fact["ledger"], Fraction(fact["limit"])
        elif kind == "charge":
            epsilon, spent = Fraction(fact["epsilon"]), Fraction(fact["spent"])
            if epsilon <= 0 or spent != self.spent + epsilon or spent > self.limit:
                raise _edited(number)
            by = fact["by"]
            own = self.spent_by.get(by, Fraction(0)) + epsilon
            if fact["key"] in self.charges or own > self.allowances.get(by, own):
                raise _edited(number)
            self.charges[fact["key"]] = Charge(
                number,
                fact["key"],
                epsilon,
                spent,
                canonical(fact["request"]),
                by,
                fact["time"],
            )
            self.spent, self.spent_by[by] = spent, own
        elif kind == "answer":
            charge = self.charges[fact["key"]]
            if charge.answer is not None:
                raise _edited(number)
            self.charges[charge.key] = replace(charge, answer=fact["sha256"], answered=number)
        elif kind == "allowance":
            limit = Fraction(fact["limit"])
            if limit < 0 or not isinstance(fact["by"], str):
                raise _edited(number)
            self.allowances[fact["by"]] = limit
        elif kind == "resumed":
            self.charges[fact["key"]] = replace(self.charges[fact["key"]], resumed=True)
        else:
            raise _edited(number)

    def known(self, key: str, request: str, epsilon: Fraction, by: str | None) -> Charge | None:
        """The charge made under this key, or None; a key that paid for another request is refused.

        The words name no other request: a key may be somebody else's.
        """
        charge = self.charges.get(key)
        if charge is not None and (charge.request, charge.epsilon, charge.by) != (
            request,
            epsilon,
            by,
        ):
            raise InputError(
                f"The key {key!r} was used for a different request. "
                f"Ask the same as before to have its answer again, or choose a new key."
            )
        return charge

    def charge(self, key: str, request: str, epsilon: Fraction, by: str | None, time: str) -> Entry:
        """The entry that charges a request, refused if the limit would be passed."""
        left = self.limit - self.spent
        if epsilon > left:
            advice = f"Ask with epsilon <= {left}." if left else "Nothing more can be asked."
            raise BudgetError(f"This costs {epsilon}; {left} of {self.limit} is left. {advice}")
        if by is not None and by in self.allowances:
            own = self.allowances[by] - self.spent_by.get(by, Fraction(0))
            if epsilon > own:
                own = max(own, Fraction(0))
                advice = f"Ask with epsilon <= {min(own, left)}." if own else "Ask for more."
                raise BudgetError(
                    f"This costs {epsilon}; {own} of your own {self.allowances[by]} is left. "
                    f"{advice}"
                )
        spent = self.spent + epsilon
        if spent.denominator.bit_length() > _MOST_BITS:
            raise InputError(
                "The ledger's total would need thousands of digits with this epsilon. "
                "Give epsilon as a short decimal, such as 0.1."
            )
        return self._next(
            {
                "by": by,
                "epsilon": str(epsilon),
                "key": key,
                "kind": "charge",
                "request": json.loads(request),
                "spent": str(spent),
                "time": time,
            }
        )

    def answer(self, key: str, sha256: str) -> Entry:
        """The entry that records the hash of a stored answer."""
        return self._next({"key": key, "kind": "answer", "sha256": sha256})

    def allowance(self, by: str, limit: Fraction, time: str) -> Entry:
        """The entry that says how much of the limit may be spent on behalf of one person."""
        return self._next({"by": by, "kind": "allowance", "limit": str(limit), "time": time})

    def resumed(self, key: str) -> Entry:
        """The entry that takes up a request again whose process seems to have died."""
        return self._next({"key": key, "kind": "resumed"})

    def _next(self, fact: dict[str, object]) -> Entry:
        number = self.number + 1
        body = canonical({**fact, "entry": number})
        return Entry(number, body, link(self.hash, body))


def readable_request(request: Mapping[str, object]) -> str:
    """The canonical line of a request, refused unless it is plain JSON."""
    try:
        return canonical(request)
    except (TypeError, ValueError):
        raise InputError("A request must be plain JSON: text, whole numbers, lists.") from None


def usable_key(key: object, name: str = "key") -> str:
    """The key as given, refused unless it is a short text."""
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
        raise InputError(f"{name} must be text of 1 to {_LONGEST_KEY} characters.")
    return key


def _edited(number: int) -> LedgerError:
    return LedgerError(
        f"Entry {number} of the ledger has been edited: it does not follow from the entries "
        f"before it. Restore the ledger from a copy that is not older than its anchor."
    )
