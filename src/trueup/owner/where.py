"""The filter: a small language over declared columns, with nothing in it that could fail or tell.

    fare > 0 and borough in ('Queens', 'Bronx') and not (day between '2013-01-01' and '2013-01-07')

Comparisons (= != < <= > >=), `in`, `between` (both ends included), `and`, `or`, `not` and
parentheses; a column on the left, numbers, 'text', dates and times as 'text', true and false on the
right. No functions, no arithmetic, no casts: a filter cannot divide by a record. Where a column is
null or NaN, a comparison is neither true nor false, and a row is kept only where the whole is true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from trueup.axis.dates import instant
from trueup.errors import InputError
from trueup.owner.columns import Kind, Wanted

Literal = bool | int | float | str
_LONGEST = 10_000
_DEEPEST = 80
_MOST_TESTS = 100  # engines take ever longer over a chain of them; a list goes with `in`
_MOST_DIGITS = 300  # of a number: its float is finite
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?![\w.])
      | (?P<text>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")+")
      | (?P<word>[^\W\d]\w*)
      | (?P<sign><=|>=|!=|<>|==|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)
_WORDS = {"and", "or", "not", "in", "between", "true", "false"}
_SIGNS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LISTS = ("in", "between")
_RANGED: tuple[Kind, ...] = ("integer", "number", "time")


@dataclass(frozen=True)
class Comparison:
    """A column against one value, or against several for `in` and `between`."""

    column: str
    sign: str
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class Combined:
    """`not` one part, or `and` or `or` of several."""

    word: str
    parts: tuple[Part, ...]


Part = Comparison | Combined


def parse(text: object) -> Part:
    """The filter that a text spells, refused at the first thing outside the language.

    >>> written(parse("fare>=2.50 AND NOT borough in ('Bronx')"))
    "fare >= 2.5 and (not borough in ('Bronx'))"
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise InputError(f"where must be text of at most {_LONGEST:,} characters.")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError("where must be text; it holds half a character, a lone surrogate.")
    reader = _Reader(text)
    part = reader.either(0)
    if reader.kind != "end":
        raise reader.unexpected("and, or, or the end")
    # It goes into the ledger and is read again from there, in more signs than it came in.
    if _depth(part) > _DEEPEST:
        raise _too_deep()
    if len(written(part)) > _LONGEST:
        raise InputError(f"where is longer than {_LONGEST:,} characters, written out.")
    return part


def parsed(text: object) -> Part | None:
    """The filter that a text spells; None where there is none."""
    return None if text is None else parse(text)


def rewritten(text: object) -> str | None:
    """A filter as the ledger has it; None where there is none."""
    return None if text is None else written(parse(text))


def _depth(part: Part) -> int:
    """How deep a part is nested where it is written out, parentheses and `not` counted alike."""
    if isinstance(part, Comparison):
        return 0
    inner = max(_depth(one) + isinstance(one, Combined) for one in part.parts)
    return inner + (part.word == "not")


def _too_deep() -> InputError:
    return InputError(f"The filter is nested more than {_DEEPEST} deep.")


class _Reader:
    """One pass over the words of a filter, one word ahead."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.kind, self.word = "", ""
        self.tests = 0
        self.step()

    def step(self) -> str:
        """The current word, after moving on to the next one."""
        past = self.word
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            if self.text[self.place :].strip():
                self.kind, self.word = "unknown", self.text[self.place :].split()[0]
                raise self.unexpected("a column, a value, or one of = != < <= > >= in between")
            self.kind, self.word = "end", ""
            return past
        self.place = match.end()
        self.kind, self.word = match.lastgroup or "", match[match.lastgroup or 0]
        if self.kind == "word" and self.word.lower() in _WORDS:
            self.kind, self.word = "sign", self.word.lower()
        return past

    def unexpected(self, wanted: str) -> InputError:
        """The error for a word that does not belong where it stands."""
        found = "its end" if self.kind == "end" else repr(self.word)
        return InputError(
            f"The filter cannot be read at {found}, where {wanted} belongs. It may hold "
            f"comparisons, in, between, and, or, not; no functions, arithmetic or casts."
        )

    def has(self, sign: str) -> bool:
        """Whether the next word is this sign."""
        return (self.kind, self.word) == ("sign", sign)

    def takes(self, sign: str) -> bool:
        """The same; moves past it."""
        return self.has(sign) and bool(self.step())

    def take(self, sign: str) -> None:
        """Moves past a sign that must be here."""
        if not self.takes(sign):
            raise self.unexpected(repr(sign))

    def either(self, depth: int) -> Part:
        """Parts joined by `or`."""
        return self.joined("or", self.both, depth)

    def both(self, depth: int) -> Part:
        """Parts joined by `and`."""
        return self.joined("and", self.single, depth)

    def joined(self, word: str, below: Callable[[int], Part], depth: int) -> Part:
        """One part, or several joined by a word."""
        parts = [below(depth)]
        while self.takes(word):
            parts.append(below(depth))
        return parts[0] if len(parts) == 1 else Combined(word, tuple(parts))

    def single(self, depth: int) -> Part:
        """A test, `not` of a part, or a part in parentheses."""
        if depth > _DEEPEST:
            raise _too_deep()
        if self.takes("not"):
            return Combined("not", (self.single(depth + 1),))
        if self.takes("("):
            part = self.either(depth + 1)
            self.take(")")
            return part
        return self.test()

    def test(self) -> Part:
        """A column, a sign and its values."""
        self.tests += 1
        if self.tests > _MOST_TESTS:
            raise InputError(
                f"The filter has more than {_MOST_TESTS} comparisons. Use in (…) for a list of "
                f"values."
            )
        if self.kind == "quoted":
            column = self.step()[1:-1].replace('""', '"')
        elif self.kind == "word":
            column = self.step()
        else:
            raise self.unexpected("a column")
        negated = self.takes("not")
        if self.takes("in"):
            self.take("(")
            values = [self.value()]
            while self.takes(","):
                values.append(self.value())
            self.take(")")
            part: Part = Comparison(column, "in", tuple(values))
        elif self.takes("between"):
            low = self.value()
            self.take("and")
            part = Comparison(column, "between", (low, self.value()))
        elif not negated and self.kind == "sign" and self.word in _SIGNS:
            sign = _SIGNS[self.step()]
            part = Comparison(column, sign, (self.value(),))
        else:
            raise self.unexpected("in or between" if negated else "a comparison")
        return Combined("not", (part,)) if negated else part

    def value(self) -> Literal:
        """A number, a text, true or false."""
        if self.kind == "number":
            if len(self.word) > _MOST_DIGITS:
                raise InputError(f"The filter has a number of more than {_MOST_DIGITS} digits.")
            word = self.step()
            return int(word) if re.fullmatch(r"[+-]?\d+", word) else float(word)
        if self.kind == "text":
            return self.step()[1:-1].replace("''", "'")
        if self.has("true") or self.has("false"):
            return self.step() == "true"
        raise self.unexpected("a number, text in single quotes, true or false")


def comparisons(kind: Kind) -> tuple[str, ...]:
    """The comparisons that a column of a kind allows.

    >>> comparisons("text")
    ('=', '!=', 'in')
    """
    return ("=", "!=", "in") if kind not in _RANGED else (*dict.fromkeys(_SIGNS.values()), *_LISTS)


def read_from(
    part: Part | None, compared: Callable[[str, str], Wanted]
) -> tuple[Part | None, tuple[Wanted, ...]]:
    """The filter with its values in plain form, and the columns that it looks at.

    `compared` gives the column of a name, to be read under another.
    """
    if part is None:
        return None, ()
    found = tuple(compared(one, f"filter{place}") for place, one in enumerate(columns(part)))
    return checked(part, {one.column: one.kind for one in found}), found


def columns(part: Part) -> list[str]:
    """The columns that a filter looks at, each once."""
    if isinstance(part, Comparison):
        return [part.column]
    return list(dict.fromkeys(name for inner in part.parts for name in columns(inner)))


def written(part: Part) -> str:
    """The filter as text, the same for filters that differ in spaces and letters' case only."""
    if isinstance(part, Comparison):
        name = part.column
        if not re.fullmatch(r"[^\W\d]\w*", name) or name.lower() in _WORDS:
            name = '"' + name.replace('"', '""') + '"'
        values = [_written_value(value) for value in part.values]
        if part.sign == "in":
            return f"{name} in ({', '.join(values)})"
        return f"{name} {part.sign} {' and '.join(values)}"
    inner = [
        f"({written(one)})" if isinstance(one, Combined) else written(one) for one in part.parts
    ]
    return f"not {inner[0]}" if part.word == "not" else f" {part.word} ".join(inner)


def _written_value(value: Literal) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def checked(part: Part, kinds: Mapping[str, Kind]) -> Part:
    """The filter with every value in the plain form of its column's kind; a misfit is refused."""
    if isinstance(part, Combined):
        return Combined(part.word, tuple(checked(inner, kinds) for inner in part.parts))
    kind = kinds[part.column]
    if part.sign not in ("=", "!=", "in") and kind not in _RANGED:
        raise InputError(
            f"The filter puts column {part.column!r} in order, but it holds "
            f"{'text' if kind == 'text' else 'true or false'}. Use =, != or in."
        )
    values = tuple(_plain(value, kind, part.column) for value in part.values)
    return Comparison(part.column, part.sign, values)


def _plain(value: Literal, kind: Kind, column: str) -> Literal:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "integer" and number and isinstance(value, int) and abs(value) < 1 << 63:
        return value
    if kind == "number" and number and np.isfinite(float(value)):
        return float(value)
    if (kind == "text" and isinstance(value, str)) or (
        kind == "boolean" and isinstance(value, bool)
    ):
        return value
    if kind == "time" and isinstance(value, str):
        moment = instant(value, f"What the filter compares column {column!r} with")
        return int(moment.astype("datetime64[us]").astype(np.int64))
    needs = {
        "integer": "whole numbers",
        "number": "finite numbers",
        "text": "'text'",
        "time": "dates and times such as '2013-01-31 12:00'",
        "boolean": "true or false",
    }
    raise InputError(
        f"The filter compares column {column!r} with {value!r}; it needs {needs[kind]}."
    )
