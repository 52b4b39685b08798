"""The account: what a chain of ledger entries adds up to, checked link by link.

Nothing here touches a disk. An entry is a line of JSON and a hash; the hash covers the line and
the hash before it, so that no line can be changed, moved or dropped without changing every later
hash. Numbers are exact Fractions, written as text.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from trueup.budget import Balance, Budget
from trueup.cost import Cost, check_delta
from trueup.errors import InputError, KeyConflictError, LedgerError, PublishedError, shown
from trueup.owner.book import Book, Books
from trueup.owner.charge import Charge
from trueup.period import Calendar

VERSION = 4  # of a ledger that has periods; version 1 had no `protects` in its first entry
_COSTS = 3  # written for a ledger that counts ρ or δ and has no periods
_PLAIN = 2  # written for a ledger that counts ε alone, so that its file is what it was
_READ = (1, _PLAIN, _COSTS, VERSION)
_LONGEST_KEY = 200
_MOST_BITS = 3000  # of the denominator of a sum: far above any use, below what Python reads back


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: its number, its fact as canonical JSON, and the chain's hash."""

    number: int
    body: str
    hash: str

    def fact(self, name: str) -> str:
        """One of the facts of the line, as text."""
        return str(json.loads(self.body)[name])


@dataclass(frozen=True)
class Protects:
    """Whom a ledger's costs protect, and in which sense: charges add up only where these are one.

    `unit` is "row", "edge" or the column that names the unit; None where a request names none.
    `privacy` is the notion that costs are counted in.
    """

    unit: str | None
    neighbours: str | None
    privacy: str = "epsilon"

    @staticmethod
    def of(request: Mapping[str, Any], privacy: str | None = None) -> Protects:
        """What a request says, its cost counted in this notion; silence is a unit of its own."""
        return Protects(
            _as_text(request.get("unit")),
            _as_text(request.get("neighbours")),
            privacy or _as_text(request.get("privacy")) or "epsilon",
        )

    def __str__(self) -> str:
        if self.unit is None and self.neighbours is None:
            return "no unit that it names"
        named = self.unit if self.unit in ("row", "edge") else f"unit {self.unit!r}"
        return f"one {named} under {self.neighbours} neighbours"


def _as_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else canonical(value)


def canonical(value: object) -> str:
    """The one ASCII line of JSON that stands for a value, so that equal requests are equal text.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"\\\\u00e9","b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def link(previous: str, body: str) -> str:
    """The hash of a line that follows the hash `previous`."""
    return hashlib.sha256(f"{previous}\n{body}".encode("utf-8", "surrogatepass")).hexdigest()


def opening(
    name: str,
    budget: Budget,
    time: str,
    protects: Protects | None = None,
    calendar: Calendar | None = None,
) -> Entry:
    """The first entry of a ledger: its name, budget, periods, whom it protects, its version."""
    said: dict[str, object] = {
        "entry": 0,
        "kind": "opening",
        "ledger": name,
        **budget.to_json(spelled=calendar is not None),
        "protects": None if protects is None else asdict(protects),
        "time": time,
        "version": _PLAIN if budget.plain else _COSTS,
    }
    if calendar is not None:
        said |= {"calendar": calendar.to_json(), "version": VERSION}
        if calendar.periods_per_unit is not None:
            said["sampling_key"] = secrets.token_hex(32)  # the owner's secret: told nowhere
    body = canonical(said)
    return Entry(0, body, link("", body))


@dataclass
class Account:
    """The sum of the entries read so far. `follow` is the only way forward."""

    ledger: str = ""
    version: int = VERSION
    budget: Budget = field(default_factory=lambda: Budget("epsilon", Fraction(0), Fraction(0)))
    books: Books = field(default_factory=lambda: Books(Book(Cost.nothing("epsilon"))))
    protects: Protects | None = None  # fixed by the opening, or else by the first charge
    mixed: bool = False  # only a ledger of version 1 can be
    number: int = -1
    hash: str = ""
    hashes: list[str] = field(default_factory=list)
    charges: dict[str, Charge] = field(default_factory=dict)
    steps: dict[str, tuple[int, str]] = field(default_factory=dict)  # the last of each stream
    allowances: dict[str, Fraction] = field(default_factory=dict)
    sampling_key: str = field(default="", repr=False)
    published: dict[tuple[str, str], str] = field(default_factory=dict)  # name, period: key

    @property
    def limit(self) -> Fraction:
        """The most that may be spent, in the ledger's notion; with periods, of each."""
        return self.budget.limit

    @property
    def calendar(self) -> Calendar | None:
        """The periods, each of which has the limit; None where there is one limit for all time."""
        return self.books.calendar

    @property
    def book(self) -> Book:
        """The book of the whole ledger; refused where each period has its own."""
        if self.calendar is not None:
            per = self.calendar.per
            raise LedgerError(
                f"This ledger has a limit for each {per}, and none for all time. Ask for one "
                f"{per}: remaining_in(period), spent_in(period) or balance_in(period)."
            )
        return self.books.whole

    @property
    def spent(self) -> Fraction:
        """What is spent, in the ledger's notion."""
        return self.book.total.amount

    @property
    def balance(self) -> Balance:
        """How far it is spent, its δ included."""
        return self.book.balance(self.budget)

    @property
    def balances(self) -> dict[str, Balance]:
        """How far each period is spent that was charged, the earliest first."""
        return {book.of: book.balance(self.budget) for book in self.books.in_order}

    def check_calendar(self, said: Calendar | None) -> None:
        """Refuses an opening that says of the periods anything else than the first entry."""
        if said != self.calendar:
            made = f"made {self.calendar}" if self.calendar else "made with one limit for all time"
            given = f"opened {said}" if said else "opened without periods"
            raise LedgerError(
                f"This ledger was {made}; it was {given}. What a limit is for does not change: "
                f"open another ledger, at another path."
            )

    def named(self, request: Mapping[str, Any]) -> Protects:
        """Whom a request protects, its cost counted in the ledger's notion."""
        return Protects.of(request, self.budget.notion if self.version > _PLAIN else None)

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
            if fact["version"] not in _READ:
                raise LedgerError(
                    f"This ledger has version {fact['version']}; this trueup reads versions up to "
                    f"{VERSION}. Open it with the trueup that wrote it, or a newer one."
                )
            self.ledger, self.version = fact["ledger"], fact["version"]
            self.budget = Budget.from_json(fact, plain=self.version <= _PLAIN)
            calendar = None
            if self.version > _COSTS:
                calendar = Calendar.from_json(fact["calendar"])
                if calendar.periods_per_unit is not None:
                    self.sampling_key = bytes.fromhex(fact["sampling_key"]).hex()
            self.books = Books(Book(Cost.nothing(self.budget.notion)), calendar)
            if self.version > 1 and fact["protects"] is not None:
                self.protects = Protects(**fact["protects"])
        elif kind == "charge":
            self._take_charge(fact, number)
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
        elif kind == "step":
            if fact["key"] not in self.charges or fact["step"] != self.next_step(fact["key"]):
                raise _edited(number)
            self.steps[fact["key"]] = fact["step"], fact["sha256"]
        elif kind == "resumed":
            self.charges[fact["key"]] = replace(self.charges[fact["key"]], resumed=True)
        else:
            raise _edited(number)

    def _take_charge(self, fact: Mapping[str, Any], number: int) -> None:
        cost = self._cost(fact)
        charged, by = cost.counted_in(self.budget.notion), fact["by"]
        try:
            touched = self.books.touched(fact["request"])
        except (LedgerError, InputError):
            raise _edited(number) from None
        if charged.amount <= 0 or fact["key"] in self.charges:
            raise _edited(number)
        if any(book.passes(charged, by, self.budget, self.allowances) for book in touched):
            raise _edited(number)
        if any(fact.get(name) != said for name, said in self._spent(touched, charged).items()):
            raise _edited(number)
        if any(each in self.published for each in _publishes(fact["request"], touched)):
            raise _edited(number)
        self.published |= dict.fromkeys(_publishes(fact["request"], touched), fact["key"])
        self._protect(self.named(fact["request"]), number)
        request = canonical(fact["request"])
        self.books.take(fact["request"], charged, by)
        after = self.books.touched(fact["request"])  # of new periods, the books kept now
        total = max((book.total for book in after), key=lambda each: each.amount)
        periods = tuple(book.of for book in touched if book.of)
        self.charges[fact["key"]] = Charge(
            number, fact["key"], cost, charged, total, request, by, fact["time"], periods=periods
        )

    def _spent(self, touched: list[Book], charged: Cost) -> dict[str, object]:
        """What a charge says of the totals after it: of the ledger, or of each period."""
        if self.calendar is not None:
            totals = {book.of: book.after(charged) for book in touched}
            return {
                "spent": {name: str(total.amount) for name, total in totals.items()},
                "spent_delta": {name: str(total.delta) for name, total in totals.items()},
            }
        total = touched[0].after(charged)
        if self.version <= _PLAIN:
            return {"spent": str(total.amount)}
        return {"spent": str(total.amount), "spent_delta": str(total.delta)}

    def _cost(self, fact: Mapping[str, Any]) -> Cost:
        """What a charge cost as it was asked; refused if the ledger charged another amount."""
        if self.version <= _PLAIN:
            return Cost("epsilon", Fraction(fact["epsilon"]))
        delta = check_delta(fact["delta"])
        if "epsilon" in fact:
            cost = Cost("epsilon", Fraction(fact["epsilon"]), delta)
        else:
            cost = Cost("rho", Fraction(fact["rho"]), delta)
        charged = cost.counted_in(self.budget.notion)
        if Fraction(fact[charged.notion]) != charged.amount:
            raise _edited(self.number + 1)
        return cost

    def _protect(self, named: Protects, number: int) -> None:
        self.protects = self.protects or named
        if named != self.protects:
            if self.version > 1:
                raise _edited(number)
            self.mixed = True

    def known(self, key: str, request: str, cost: Cost, by: str | None) -> Charge | None:
        """The charge made under this key, or None; a key that paid for another request is refused.

        The words name no other request: a key may be somebody else's.
        """
        charge = self.charges.get(key)
        if charge is not None and (charge.request, charge.cost, charge.by) != (request, cost, by):
            raise KeyConflictError(
                f"The key {key!r} was used for a different request. "
                f"Ask the same as before to have its answer again, or choose a new key."
            )
        return charge

    def charge(self, key: str, request: str, cost: Cost, by: str | None, time: str) -> Entry:
        """The entry that charges a request, refused if a limit would be passed."""
        fact = json.loads(request)
        charged = cost.counted_in(self.budget.notion)
        self.check_protects(self.named(fact))
        _check_words(fact, self.calendar)
        touched = self.books.touched(fact)
        for name, period in _publishes(fact, touched):
            if (name, period) in self.published:
                raise PublishedError(f"'{name}' was published for {period} already.")
        for book in touched:
            book.check_left(cost, by, self.budget, self.allowances)
            total = book.after(charged)
            if max(_bits(total.amount), _bits(total.delta)) > _MOST_BITS:
                raise InputError(
                    f"The ledger's total would need thousands of digits with this {cost.notion}. "
                    f"Give {cost.notion} as a short decimal, such as 0.1."
                )
        said: dict[str, object] = {
            "by": by,
            cost.notion: str(cost.amount),
            "key": key,
            "kind": "charge",
            "request": fact,
            "time": time,
            **self._spent(touched, charged),
        }
        if self.version > _PLAIN:
            said |= {charged.notion: str(charged.amount), "delta": str(charged.delta)}
        return self._next(said)

    def check_protects(self, named: Protects) -> None:
        """Refuses a charge, or an opening, that protects somebody else than the charges so far."""
        if self.mixed:
            raise LedgerError(
                "This ledger has charges that protect different units, or under different "
                "neighbour relations, so that their sum bounds none of them. It can be read, and "
                "its keys give their stored answers; nothing more can be charged. Open another "
                "ledger, at another path, whose limit is what you are still willing to give away."
            )
        if self.protects not in (None, named):
            raise LedgerError(
                f"This ledger protects {self.protects}; this protects {named}. Costs of "
                f"different kinds do not add up: open another ledger for it, at another path, "
                f"with a limit of its own."
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

    def next_step(self, key: str) -> int:
        """The number of the step that a stream takes next; its opening is step 0."""
        return self.steps[key][0] + 1 if key in self.steps else 0

    def step(self, key: str, number: int, sha256: str) -> Entry:
        """The entry that says which state a stream has after a step."""
        return self._next({"key": key, "kind": "step", "sha256": sha256, "step": number})

    def _next(self, fact: dict[str, object]) -> Entry:
        number = self.number + 1
        body = canonical({**fact, "entry": number})
        return Entry(number, body, link(self.hash, body))


def _check_words(request: Any, calendar: Calendar | None) -> None:
    """Refuses a request in which words that a ledger reads itself stand for something else."""
    published, period = request.get("publishes", []), request.get("period")
    named = isinstance(published, list) and all(
        isinstance(each, dict) and "name" in each for each in published
    )
    if not named:
        raise InputError("What a request `publishes` is a list of what has a name each.")
    try:
        if calendar is not None and period is not None:
            Calendar.from_json(period)
            _ = [(str(name), int(start), int(stop)) for name, start, stop in period["periods"]]
    except (KeyError, TypeError, ValueError):
        raise InputError("The period of a request is written as trueup.period.told does.") from None


def _publishes(request: Mapping[str, Any], touched: list[Book]) -> list[tuple[str, str]]:
    """What a request publishes, by name and period: each may be charged once."""
    names = [str(each["name"]) for each in request.get("publishes", ())]
    return [(name, book.of) for name in names for book in touched]


def readable_request(request: Mapping[str, object]) -> str:
    """The canonical line of a request, refused unless it is plain JSON."""
    if not isinstance(request, Mapping):
        raise InputError(f"A request must be plain JSON by its words, got {shown(request)}.")
    try:
        return canonical(request)
    except (TypeError, ValueError):
        raise InputError("A request must be plain JSON: text, whole numbers, lists.") from None


def usable_key(key: object, name: str = "key") -> str:
    """The key as given, refused unless it is a short text."""
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
        raise InputError(f"{name} must be text of 1 to {_LONGEST_KEY} characters.")
    return key


def _bits(number: Fraction) -> int:
    return number.denominator.bit_length()


def _edited(number: int) -> LedgerError:
    return LedgerError(
        f"Entry {number} of the ledger has been edited: it does not follow from the entries "
        f"before it. Restore the ledger from a copy that is not older than its anchor."
    )
