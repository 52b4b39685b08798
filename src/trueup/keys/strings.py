"""Universes whose keys are bytes: strings over an alphabet, strings of a pattern, free text."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueup.arrays import Bools, Ints
from trueup.axis.numbers import whole_number
from trueup.errors import InputError, shown
from trueup.keys.space import Key, KeySpace, Placed

_LONGEST = 1024  # characters of a key
_PIECE = re.compile(r"(?:\[((?:\\.|[^\]\\])+)\]|\\(.)|([^\[\]{}\\]))(?:\{(\d{1,4})\})?", re.DOTALL)


def expanded(alphabet: object) -> str:
    """The characters of an alphabet, in order: a-z stands for a stretch, \\- for a dash.

    >>> expanded("a-e_"), expanded("-+0-3")
    ('_abcde', '+-0123')
    """
    if not isinstance(alphabet, str) or not alphabet:
        raise InputError(f'An alphabet is text such as "a-z0-9", got {shown(alphabet)}.')
    found: set[str] = set()
    for one in re.finditer(r"(\\.|.)(?:-(\\.|[^\\]))?", alphabet, re.DOTALL):
        low, high = one[1][-1], (one[2] or one[1])[-1]
        if one[2] is not None and high < low:
            raise InputError(f"The stretch {one[0]!r} of the alphabet runs backwards.")
        found.update(map(chr, range(ord(low), ord(high) + 1)))
    if any("\ud800" <= letter <= "\udfff" for letter in found):
        raise InputError("The alphabet holds half a character, a lone surrogate.")
    return "".join(sorted(found))


def _listed(alphabet: str) -> str:
    """The characters of an alphabet for a person to read, three and more in a row as a stretch."""
    runs: list[str] = []
    for sign in alphabet:
        if runs and ord(sign) == ord(runs[-1][-1]) + 1:
            runs[-1] += sign
        else:
            runs.append(sign)
    parts = [
        part
        for run in runs
        for part in ([f"{_sign(run[0])}–{_sign(run[-1])}"] if len(run) > 2 else map(_sign, run))
    ]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _sign(sign: str) -> str:
    """A character that can be seen, as it is; any other by its number or its name."""
    if sign == " ":
        return "space"
    return sign if sign.isprintable() else f"U+{ord(sign):04X}"


def spans(column: Any) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Where the bytes of each value of a large_binary array begin and end, and all bytes."""
    offsets = np.frombuffer(column.buffers()[1], np.int64, len(column) + 1, 8 * column.offset)
    data = column.buffers()[2]
    return offsets, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def printable(key: Key) -> str:
    """Bytes as text that says them exactly: UTF-8 where it is, what is not as \\xNN.

    >>> printable("Zürich".encode()), printable(b"\\xff\\\\")
    ('Zürich', '\\\\xff\\\\\\\\')
    """
    try:
        plain = bytes(key).decode()
    except UnicodeDecodeError:
        plain = "\\"
    if "\\" not in plain:  # most keys
        return plain
    text = bytes(key).decode("utf-8", "surrogateescape").replace("\\", "\\\\")
    return re.sub("[\udc80-\udcff]", lambda one: f"\\x{ord(one[0]) - 0xDC00:02x}", text)


def all_printable(keys: Any) -> Any:
    """As `printable`, of an Arrow array of bytes: most are UTF-8 without a backslash, and stay."""
    import pyarrow as pa

    ends, data = spans(keys)
    held = data[int(ends[0]) : int(ends[-1])]
    if not (held == ord("\\")).any():
        with contextlib.suppress(pa.ArrowInvalid):  # bytes that are no UTF-8, or too many
            return keys.cast(pa.string())
    return pa.array([printable(key) for key in keys.to_pylist()], pa.string())


def unprinted(text: str) -> bytes | None:
    """The bytes that `printable` words so; None if it never does."""
    try:
        if "\\" not in text:
            return text.encode()
        parts = re.split(r"(\\\\|\\x[0-9a-f]{2})", text)
        found = b"".join(
            part.encode()
            if place % 2 == 0
            else b"\\"
            if part == "\\\\"
            else bytes.fromhex(part[2:])
            for place, part in enumerate(parts)
        )
    except UnicodeEncodeError:
        return None
    return found if printable(found) == text else None


class PrintedKeys(KeySpace):
    """Keys that are bytes, read from text."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    whole: ClassVar[bool] = False

    def label(self, key: Key) -> str:
        return printable(key)

    def labels(self, keys: Any) -> Any:
        return all_printable(keys.column)


@dataclass(frozen=True)
class StringKeys(PrintedKeys):
    """Every string of at most `most` characters of an alphabet, the empty one too.

    Without an alphabet, every string of at most `most` bytes.
    """

    most: int
    alphabet: str | None = None

    def __post_init__(self) -> None:
        most = whole_number(self.most, "The length of the longest key")
        if not 1 <= most <= _LONGEST:
            raise InputError(f"The longest key has 1 to {_LONGEST:,} characters, got {most:,}.")
        object.__setattr__(self, "most", most)
        if self.alphabet is not None:
            object.__setattr__(self, "alphabet", expanded(self.alphabet))

    @property
    def kind(self) -> str:
        return "bytes" if self.alphabet is None else "text"

    @property
    def words(self) -> str:
        """What its keys are.

        >>> StringKeys(6, "a-z0-9_").words
        'text of up to 6 characters, from 0–9, _ and a–z'
        """
        if self.alphabet is None:
            return f"up to {self.most:,} bytes"
        signs = f"{self.most:,} character{'s' if self.most > 1 else ''}"
        return f"text of up to {signs}, from {_listed(self.alphabet)}"

    @property
    def longest(self) -> int:
        """The most bytes that a key has."""
        return self.most * max(len(letter.encode()) for letter in self.alphabet or "a")

    @cached_property
    def _letters(self) -> int:
        return 256 if self.alphabet is None else len(self.alphabet)

    @cached_property
    def _shorter(self) -> list[int]:
        """By length: how many keys are shorter."""
        return [0, *accumulate(self._letters**length for length in range(self.most + 1))]

    @property
    def size(self) -> int:
        return self._shorter[-1]

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {letter: code for code, letter in enumerate(self.alphabet or "")}

    @cached_property
    def _plain(self) -> bytes | None:
        """The letters as bytes, where each is one."""
        return self.alphabet.encode() if self.alphabet and self.alphabet.isascii() else None

    def place(self, values: Any, known: Bools) -> Placed:
        """The keys of texts: those of a good length whose letters are all in the alphabet."""
        ends, data = spans(values)
        known = known & (np.diff(ends) <= self.longest)
        if self.alphabet is None:
            return values, known
        if self._plain is not None:
            strange = np.ones(256, np.bool_)
            strange[np.frombuffer(self._plain, np.uint8)] = False
            begin = int(ends[0])
            bad = strange[data[begin : int(ends[-1])]]
            if not bad.any():
                return values, known
            many = np.concatenate([[0], np.cumsum(bad)])
            return values, known & (many[ends[1:] - begin] == many[ends[:-1] - begin])
        some = values.filter(known_array(known)).to_pylist()
        known[known] = [self._holds(text) for text in some]
        return values, known

    def rank(self, key: Key) -> int:
        """The number of a key among all: shorter ones first, then by letters."""
        held = bytes(key)
        codes = list(held) if self.alphabet is None else [self._codes[c] for c in held.decode()]
        number = 0
        for code in codes:
            number = number * self._letters + code
        return self._shorter[len(codes)] + number

    def unrank(self, number: int) -> Key:
        length = 0
        while number >= self._shorter[length + 1]:
            length += 1
        number -= self._shorter[length]
        codes = []
        for _ in range(length):
            number, code = divmod(number, self._letters)
            codes.append(code)
        codes.reverse()
        if self.alphabet is None:
            return bytes(codes)
        return "".join(self.alphabet[code] for code in codes).encode()

    def read(self, text: str) -> Key | None:
        key = unprinted(text)
        return key if key is not None and self._holds(key) else None

    def _holds(self, key: bytes) -> bool:
        """Whether it is one of the keys."""
        if self.alphabet is None:
            return len(key) <= self.most
        if self._plain is not None:
            return len(key) <= self.most and not key.translate(None, self._plain)
        try:
            letters = key.decode()
        except UnicodeDecodeError:
            return False
        return len(letters) <= self.most and self._codes.keys() >= set(letters)

    def to_json(self) -> dict[str, Any]:
        alphabet = "" if self.alphabet is None else re.sub(r"([\\-])", r"\\\1", self.alphabet)
        return {"kind": self.kind, "most": self.most} | ({"alphabet": alphabet} if alphabet else {})


def known_array(known: Bools) -> Any:
    """A mask as Arrow filters take it."""
    import pyarrow as pa

    return pa.array(known)


@dataclass(frozen=True)
class PatternKeys(PrintedKeys):
    """Every string of a pattern, such as [A-Z]{2}-[0-9]{4}: letters, classes and how often."""

    pattern: str
    kind: ClassVar[str] = "pattern"

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or not self.places:
            raise InputError(f"A pattern is text such as [A-Z]{{2}}-[0-9]{{4}}, got {self._said}.")

    @property
    def words(self) -> str:
        return f"text of the form {self._said}"

    @property
    def _said(self) -> str:
        return shown(self.pattern)

    @cached_property
    def places(self) -> tuple[bytes, ...]:
        """The letters that each place may have."""
        found: list[bytes] = []
        end = 0
        for one in _PIECE.finditer(self.pattern):
            letters = expanded(one[1]) if one[1] is not None else one[2] or one[3]
            if one.start() != end or not letters.isascii():
                break
            end = one.end()
            found += [letters.encode()] * int(one[4] or 1)
            if len(found) > _LONGEST:
                break
        if end != len(self.pattern) or len(found) > _LONGEST:
            raise InputError(
                f"The pattern {self._said} cannot be read from character {end + 1} on. It holds "
                f"ASCII letters, classes such as [A-Z0-9], and {{4}} for how often; at most "
                f"{_LONGEST:,} places."
            )
        return tuple(found)

    @property
    def longest(self) -> int:
        """The bytes that a key has."""
        return len(self.places)

    @cached_property
    def size(self) -> int:
        return prod(len(letters) for letters in self.places)

    def place(self, values: Any, known: Bools) -> Placed:
        """The keys of texts that follow the pattern."""
        ends, data = spans(values)
        good = known & (np.diff(ends) == self.longest)
        some = np.flatnonzero(good)
        for place, letters in enumerate(self.places):
            fits = np.zeros(256, np.bool_)
            fits[np.frombuffer(letters, np.uint8)] = True
            some = some[fits[data[ends[some] + place]]]
        good[:] = False
        good[some] = True
        return values, good

    def rank(self, key: Key) -> int:
        number = 0
        for letter, letters in zip(key, self.places, strict=True):  # type: ignore[arg-type]
            number = number * len(letters) + letters.index(letter)
        return number

    def unrank(self, number: int) -> Key:
        found = []
        for letters in reversed(self.places):
            number, code = divmod(number, len(letters))
            found.append(letters[code])
        return bytes(reversed(found))

    def read(self, text: str) -> Key | None:
        key = unprinted(text) or b""
        fits = len(key) == self.longest and all(
            letter in letters for letter, letters in zip(key, self.places, strict=True)
        )
        return key if fits else None

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "pattern": self.pattern}
