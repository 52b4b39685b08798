"""KeyMeasurement: the keys that were shown, their noisy counts, and the terms of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.ask.question import Neighbours
from trueup.axis.numbers import whole_number
from trueup.errors import FileError, InputError, TrueupError, kind
from trueup.facts import Facts, rows_for
from trueup.files.codec import decode, encode, write
from trueup.files.load import Saved
from trueup.keys.drawing import selected_keys, shown_keys
from trueup.keys.listed import Keys
from trueup.keys.question import KeyCounts
from trueup.keys.release import KeyRelease
from trueup.keys.space import Key
from trueup.keys.terms import KeyTerms
from trueup.keys.universe import Universe
from trueup.measure import new_id
from trueup.period import Covered

_KIND = "key measurement"


@dataclass(frozen=True, eq=False)
class KeyMeasurement:
    """The keys shown and their noisy counts, with what the total and the number of keys were.

    >>> from trueup.keys.universe import Universe
    >>> asked = KeyCounts(Universe.text("a-z", 8))
    >>> m = measure_keys({"apple": 5000, "pear": 1}, asked, epsilon=1)
    >>> "apple" in m.labels, m.terms.threshold
    (True, 29)
    """

    terms: KeyTerms
    keys: Sequence[Key]
    noisy: Ints
    total: int | None = None
    number: int | None = None
    id: str | None = None
    period: Covered | None = None

    def __post_init__(self) -> None:
        keys = Keys.of(self.keys, self.terms.question.universe.whole)
        object.__setattr__(self, "keys", keys)
        noisy = np.asarray(self.noisy)
        if noisy.dtype != np.int64 or noisy.shape != (len(self.keys),):
            raise InputError("Each key needs one noisy count, a whole number.")
        if (noisy < self.terms.threshold).any():
            raise InputError("A noisy count is below the threshold: such a key is not shown.")
        if not keys.rising:
            raise InputError("Keys are in order, each once.")
        for name in ("total", "number"):
            value, asked = getattr(self, name), bool(getattr(self.terms.question, name))
            if (value is not None) != asked:
                raise InputError(f"The {name} was {'' if asked else 'not '}asked.")
            if value is not None:
                object.__setattr__(self, name, whole_number(value, name))
        noisy = noisy.copy()
        noisy.setflags(write=False)
        object.__setattr__(self, "noisy", noisy)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The keys in words."""
        return tuple(self._words.to_pylist())

    @cached_property
    def _words(self) -> Any:
        """The labels as an Arrow array."""
        return self.terms.question.universe.labels(Keys.of(self.keys, False))

    @property
    def facts(self) -> Facts:
        """What it cost and whom it protects."""
        return replace(self.terms.facts, id=self.id, period=self.period)

    def infer(self, nonnegative: bool = True) -> KeyRelease:
        """The counts as they are published: with all other keys, they add up to the total.

        With `nonnegative`, all other keys together are not below 0.
        """
        return KeyRelease.of(
            self.terms, self.facts, self.labels, self.noisy, self.total, self.number, nonnegative
        )

    def columns(self) -> dict[str, Any]:
        """The keys and their noisy counts as a table."""
        return {"key": self._words, "noisy": self.noisy}

    def to_json(self) -> dict[str, Any]:
        """What a file says beside the table."""
        said = {"terms": self.terms.to_json(), "total": self.total, "number": self.number}
        return {"keys": said, "private": True} | self.terms.beside(self.id, self.period)

    def save(self, path: str | Path) -> None:
        """Writes one file by its ending: .parquet or .json, which `load` reads, or .csv."""
        write(path, _KIND, self.columns(), self.to_json())

    def to_bytes(self) -> bytes:
        """The bytes of its Parquet file."""
        return encode(_KIND, self.columns(), self.to_json())

    @staticmethod
    def from_bytes(data: bytes) -> KeyMeasurement:
        """The measurement that `to_bytes` wrote, verified."""
        found, columns, said = decode(data, "The measurement")
        if found != _KIND:
            raise FileError(f"A {_KIND} was expected, not a {found}.")
        return KeyMeasurement.from_saved(Saved(columns, Facts.from_json(said), said))

    @staticmethod
    def from_saved(saved: Saved) -> KeyMeasurement:
        """The measurement that a file holds, verified: its threshold follows from its terms."""
        return _read(saved)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, KeyMeasurement)
            and (self.terms, self.keys, self.total, self.number, self.id, self.period)
            == (other.terms, other.keys, other.total, other.number, other.id, other.period)
            and np.array_equal(self.noisy, other.noisy)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        also = f", {self.terms.counted}" if self.terms.counted else ""
        return f"<KeyMeasurement: {len(self.keys):,} keys, {self.terms.cost}{also}>"


def measure_keys(
    counts: Mapping[str, int],
    question: KeyCounts,
    epsilon: object = None,
    neighbours: Neighbours = "add-remove",
    *,
    unit: str = "row",
    keys_per_unit: int | None = None,
) -> KeyMeasurement:
    """The keys that are shown, from counts in memory: a mapping of keys to how often they occur.

    What is no key of the universe is not counted. If the counts hold at most `keys_per_unit` keys
    of each `unit`, the noise protects a unit; else one row.
    """
    rows = rows_for(unit, keys_per_unit)
    terms = KeyTerms.of(question, epsilon, neighbours, unit, rows)
    return measure_all_keys(*keys_of(counts, question.universe), terms)


def keys_of(counts: Mapping[str, int], universe: Universe) -> tuple[Any, Ints]:
    """The keys of a mapping that are of the universe, each once, and their counts."""
    if not isinstance(counts, Mapping):
        raise InputError(f"counts map keys to whole numbers, got {kind(counts)}.")
    found: dict[Key, int] = {}
    for label, count in counts.items():
        key = universe.read(str(label) if isinstance(label, int) else label)
        number = whole_number(count, "The count of a key")
        if not 0 <= number < 1 << 62:
            raise InputError("The count of a key must be at least 0, and below 2^62.")
        if key is not None and number:
            found[key] = found.get(key, 0) + number
    if universe.whole:
        keys: Any = np.array(list(found), np.int64)
    else:
        import pyarrow as pa

        keys = pa.array(list(found), pa.large_binary())
    return keys, np.array(list(found.values()), np.int64)


def measure_all_keys(keys: Any, counts: Ints, terms: KeyTerms) -> KeyMeasurement:
    """The measurement of the keys present, each once, and their counts; sums are modulo 2^64."""
    from trueup._kernels.noise.bits import one_measurement
    from trueup._kernels.noise.gauss import add_gaussian_noise
    from trueup._kernels.noise.laplace import add_noise

    add = add_gaussian_noise if terms.gaussian else add_noise

    def noised(value: np.int64 | int, scale: Any) -> int | None:
        if scale is None:
            return None
        one = np.array([value], np.int64)
        add(one, scale)
        return int(one[0])

    with one_measurement():
        noise = terms.count_scale, terms.threshold
        if terms.cost.delta:
            shown, noisy = selected_keys(keys, counts, *noise, terms.cut)
        else:
            shown, noisy = shown_keys(terms.question.universe, keys, counts, *noise)
        total = noised(counts.sum(dtype=np.int64), terms.total_scale)
        number = noised(len(counts), terms.number_scale)
        name = new_id()
    return KeyMeasurement(terms, shown, noisy, total, number, name)


def _read(saved: Saved) -> KeyMeasurement:
    said = saved.beside["keys"]
    try:
        terms = KeyTerms.from_json(said["terms"])
        labels = saved.columns["key"]
        read = [terms.question.universe.read(label) for label in labels]
        keys = [key for key in read if key is not None]
        if len(keys) < len(read):
            raise FileError("The file holds what is no key of its universe.")
        noisy = saved.numbers("noisy", len(labels)).astype(np.int64)
        return KeyMeasurement(
            terms,
            keys,
            noisy,
            said["total"],
            said["number"],
            saved.facts.id,
            saved.facts.period,
        )
    except FileError:
        raise
    except (TrueupError, LookupError, TypeError, ValueError) as wrong:
        raise FileError(f"The file holds no keys that make sense: {wrong}") from None
