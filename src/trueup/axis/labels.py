"""Cells over labels: a list of categories."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.axis.numbers import check_size, typed_whole
from trueup.axis.traits import CellTraits
from trueup.errors import InputError, kind, shown

Label = str | int

_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character: no file can hold it


def text(value: object, what: str) -> str:
    """The text that was given, refused if it is empty or not fit to be written to a file."""
    if isinstance(value, str) and value and not _SURROGATE.search(value):
        return str(value)
    raise InputError(f"{what} must be text, got {shown(value)}.")


def plain_label(label: object) -> Label | None:
    """A label as str or int; None for anything else."""
    if isinstance(label, (bool, np.bool_)):
        return None
    if isinstance(label, str):
        return str(label)
    return int(label) if isinstance(label, (int, np.integer)) else None


def checked_label(label: object, name: str) -> Label:
    plain = plain_label(label)
    if plain is None or (isinstance(plain, str) and _SURROGATE.search(plain)):
        raise InputError(
            f"A label of axis '{name}' must be text or a whole number, got {kind(label)}."
        )
    return plain


def repeated(labels: Iterable[Any]) -> Any:
    """The first label that came before; None if all differ."""
    seen: set[Any] = set()
    for label in labels:
        if label in seen:
            return label
        seen.add(label)
    return None


def unknown_label(given: object, name: str, known: Iterable[object]) -> InputError:
    shown = [repr(label) for label in itertools.islice(known, 9)]
    listed = ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "")
    return InputError(f"{given!r} is not a label of axis '{name}'. Labels: {listed}.")


def _key(value: object) -> Any:
    """What a value is looked up by: a label, or a path of labels."""
    if isinstance(value, (tuple, list)):
        return tuple(plain_label(label) for label in value)
    if isinstance(value, float) and value.is_integer():
        return int(value)  # whole numbers that came with missing ones beside them
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and _whole(value) else None
    return plain_label(value)


def _whole(value: Decimal) -> bool:
    return abs(value) < 1 << 64 and value == int(value)  # not if it has a million digits


def located(values: npt.ArrayLike, cells: Mapping[Any, int]) -> Ints:
    """The cell of each label; -1 for strangers."""
    if isinstance(values, (list, tuple)):  # numpy would turn a 1 beside an "A" into text
        values = np.fromiter(values, dtype=object, count=len(values))
    array = np.asarray(values)
    if array.dtype.kind in "iuUf" and array.size > 1000:
        distinct, inverse = np.unique(array, return_inverse=True)
        return located(distinct, cells)[inverse].reshape(array.shape)
    found = [cells.get(_key(value), -1) for value in array.ravel().tolist()]
    return np.array(found, np.int64).reshape(array.shape)


def by_text(labels: Mapping[Any, int], raw: bool) -> dict[bytes, int]:
    """Cells by the text of their labels; in a raw column a whole number is its digits.

    Where "1" and 1 are both labels, the text comes first: a file cannot tell them apart.
    """
    numbers = {str(label).encode(): at for label, at in labels.items() if isinstance(label, int)}
    texts = {label.encode(): at for label, at in labels.items() if isinstance(label, str)}
    return {**numbers, **texts} if raw else texts


@dataclass(frozen=True)
class CategoryCells:
    """One cell a label, in the order given."""

    name: str
    labels: tuple[Label, ...]
    traits: ClassVar = CellTraits("categories", "label", labelled=True)

    def __post_init__(self) -> None:
        if isinstance(self.labels, str) or not isinstance(self.labels, Iterable):
            raise InputError(
                f"Axis '{self.name}' needs a list of labels, got {shown(self.labels)}."
            )
        labels = tuple(checked_label(label, self.name) for label in self.labels)
        object.__setattr__(self, "labels", labels)
        check_size(len(labels), self.name)
        twice = repeated(labels)
        if twice is not None:
            raise InputError(f"Axis '{self.name}' names {twice!r} twice.")

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def by_label(self) -> dict[Label, int]:
        """The cell of each label."""
        return {label: i for i, label in enumerate(self.labels)}

    def locate(self, values: npt.ArrayLike) -> Ints:
        """The cell of each label; -1 for strangers and what is missing."""
        return located(values, self.by_label)

    def boundary(self, value: object) -> int:
        """The number of labels before this one."""
        label = plain_label(value)
        if label is None or label not in self.by_label:
            raise unknown_label(value, self.name, self.labels)
        return self.by_label[label]

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array."""
        cells = self.locate(values)
        for stranger in np.asarray(values, object).ravel()[cells.ravel() < 0][:1]:
            self.boundary(stranger)
        return cells

    def edge(self, index: int) -> Label | None:
        """The label with that many labels before it; None past the last."""
        return self.labels[index] if index < self.size else None

    def names(self, text: str) -> bool:
        """Whether a text, as typed, is a label."""
        return self.parse(text) in self.by_label

    def parse(self, text: str) -> Label:
        """A label as typed: the text if it is one, else the number that it writes."""
        number = None if text in self.by_label else typed_whole(text)
        return text if number is None or number not in self.by_label else number

    def words(self, start: int, stop: int) -> str:
        """The label, or the first and the last of a run."""
        first, last = self.labels[start], self.labels[stop - 1]
        return str(first) if stop - start == 1 else f"{first} … {last}"

    def describe(self) -> str:
        """The axis in words."""
        return f"{self.size:,} labels"

    def node(self, *path: object) -> tuple[int, int]:
        """The cells [start, stop) of one label."""
        start = self.boundary(path[0] if len(path) == 1 else path)
        return start, start + 1

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The runs of labels [starts, stops) as columns of a table."""
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        return {"label": [self.words(start, stop) for start, stop in pairs]}

    def to_json(self) -> dict[str, Any]:
        return {"kind": "categories", "labels": list(self.labels)}
