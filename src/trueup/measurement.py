"""Measurement: a question, its noisy answers and their noise law, together."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueup.ask import (
    BoxCounts,
    CellCounts,
    GridCounts,
    HatCounts,
    Neighbours,
    Question,
    TreeCounts,
    WaveletCounts,
    WeightedCounts,
    YoungCounts,
    check_neighbours,
    check_question,
)
from trueup.ask import question_from_json as _question
from trueup.ask.named import NamedCounts
from trueup.axis.labels import text
from trueup.axis.numbers import whole_number
from trueup.epsilon import positive
from trueup.errors import FileError, InputError
from trueup.files import decode, encode, write
from trueup.uncertainty import log_noise_variance, noise_variance

Law = Literal["discrete", "continuous"]
LAWS = ("discrete", "continuous")
_INT64_MAX = np.iinfo(np.int64).max
_MOST_ROWS = 1_000_000_000
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy answers that carry all an analyst needs to infer from them, again and again.

    Self-describing: the question, the exact ε, the neighbour relation, the protected unit and the
    noise law. `private` is False for experiments, whose noise is reproducible: such a measurement
    is stamped NOT PRIVATE wherever it is shown or saved. `id` is drawn at random by `measure` and
    kept in every release, so that one noise is never taken for two; None where nobody drew one.

    >>> from trueup.ask import SortedCounts
    >>> m = Measurement(SortedCounts(4), [1, 2, 0, 11], epsilon=1)
    >>> m.scales.tolist(), m.private
    ([1.0, 1.0, 1.0, 1.0], True)
    """

    question: Question
    noisy: npt.NDArray[Any]
    epsilon: Fraction
    neighbours: Neighbours = "add-remove"
    unit: str = "row"
    rows_per_unit: int = 1
    private: bool = True
    law: Law = "discrete"
    id: str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        check_question(self.question)
        put(self, "epsilon", positive(self.epsilon))
        put(self, "neighbours", check_neighbours(self.neighbours))
        put(self, "unit", check_unit(self.unit))
        put(self, "rows_per_unit", check_rows_per_unit(self.rows_per_unit))
        _check_law(self.private, self.law)
        _check_id(self.id)
        put(self, "noisy", self._checked(self.noisy))

    def _checked(self, noisy: npt.ArrayLike) -> npt.NDArray[Any]:
        try:
            array = np.asarray(noisy)
        except ValueError:
            raise InputError("Noisy answers must be a flat array of numbers.") from None
        if array.ndim != 1 or len(array) != self.question.length:
            raise InputError(
                f"The question has {self.question.length:,} answers, but {array.size:,} were given."
            )
        if self.law == "continuous":
            if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
                raise InputError("Noisy answers must be finite numbers.")
            array = array.astype(np.float64)
        elif array.dtype.kind not in "iu" or (array > _INT64_MAX).any():
            raise InputError(f"Noisy answers must be whole numbers in int64, got {array.dtype}.")
        else:
            array = array.astype(np.int64)
        array.setflags(write=False)
        return array

    @cached_property
    def block_scales(self) -> tuple[Fraction, ...]:
        """The exact noise scale of each of the question's blocks."""
        return block_scales(self.question, self.epsilon, self.neighbours, self.rows_per_unit)

    @cached_property
    def scales(self) -> npt.NDArray[np.float64]:
        """The noise scale of each answer."""
        return self._spread([float(scale) for scale in self.block_scales])

    @cached_property
    def variances(self) -> npt.NDArray[np.float64]:
        """The noise variance of each answer."""
        return self._spread([noise_variance(scale, self.law) for scale in self.block_scales])

    def _spread(self, values: list[float]) -> npt.NDArray[np.float64]:
        return np.repeat(values, [length for length, _ in self.question.blocks])

    def about(self) -> dict[str, Any]:
        """The public facts, as plain values: what was asked, what it cost, whom it protects."""
        return {
            **public_facts(
                self.question, self.epsilon, self.neighbours, self.unit, self.rows_per_unit
            ),
            "law": self.law,
            "private": self.private,
            **({} if self.id is None else {"id": self.id}),
        }

    def columns(self) -> dict[str, Any]:
        """The answers as a table: what each counts, the noisy answer, its noise's deviation."""
        return {**_labels(self.question), "noisy": self.noisy, "std_error": self.std_errors}

    @property
    def std_errors(self) -> npt.NDArray[np.float64]:
        """The standard deviation of the noise in each answer."""
        return np.sqrt(self.variances)

    def save(self, path: str | Path) -> None:
        """Writes one file, Parquet or (by its ending) JSON, that `trueup.load` reads back."""
        write(path, "measurement", self.columns(), self.about())

    def to_bytes(self) -> bytes:
        """The bytes of its Parquet file, for a place that is not a path."""
        return encode("measurement", self.columns(), self.about())

    @staticmethod
    def from_bytes(data: bytes) -> Measurement:
        """The measurement that `to_bytes` wrote, verified."""
        kind, columns, about = decode(data, "The measurement")
        if kind != "measurement":
            raise FileError(f"A measurement was expected, not a {kind}.")
        return Measurement.from_file(columns, about)

    @staticmethod
    def from_file(columns: dict[str, Any], about: dict[str, Any]) -> Measurement:
        """The measurement that was saved, its noise law recomputed and compared."""
        if "question" not in about or "noisy" not in columns:
            raise FileError("The file lacks a question or its noisy answers.")
        return Measurement.from_facts(_question(about["question"]), columns["noisy"], about)

    @staticmethod
    def from_facts(question: Question, noisy: Any, about: dict[str, Any]) -> Measurement:
        """The measurement of which `about` says the rest; refused unless its facts agree."""
        facts, _ = read_facts(question, about)
        try:
            return Measurement(question, noisy, **facts)
        except (TypeError, ValueError) as wrong:
            raise FileError(f"The file holds no measurement that makes sense: {wrong}") from None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Measurement)
            and self.about() == other.about()
            and np.array_equal(self.noisy, other.noisy)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        stamp = "" if self.private else " NOT PRIVATE"
        kind = type(self.question).__name__
        return f"<Measurement{stamp}: {kind}, {len(self.noisy):,} answers, epsilon={self.epsilon}>"


def read_facts(
    question: Question, about: dict[str, Any]
) -> tuple[dict[str, Any], tuple[Fraction, ...]]:
    """What a file says of a measurement besides its question and answers, and its noise scales.

    Refused unless each makes sense and the scales follow from the rest.
    """
    try:
        facts = {
            "epsilon": positive(about["epsilon"]),
            "neighbours": check_neighbours(about["neighbours"]),
            "unit": check_unit(about["unit"]),
            "rows_per_unit": check_rows_per_unit(about["rows_per_unit"]),
            "private": about["private"],
            "law": about["law"],
            "id": about.get("id"),
        }
        _check_law(facts["private"], facts["law"])
        _check_id(facts["id"])
        claimed = about["scales"]
        scales = block_scales(
            question, facts["epsilon"], facts["neighbours"], facts["rows_per_unit"]
        )
    except (KeyError, TypeError, ValueError) as wrong:
        raise FileError(f"The file holds no measurement that makes sense: {wrong}") from None
    if claimed != [str(scale) for scale in scales]:
        raise FileError("The file's noise scales do not follow from its question and epsilon.")
    return facts, scales


def _check_law(private: object, law: object) -> None:
    if not isinstance(private, bool):
        raise InputError(f"private must be True or False, got {private!r}.")
    if law not in LAWS:
        raise InputError(f"The noise law must be one of {', '.join(LAWS)}, got {law!r}.")
    if law == "continuous" and private:
        raise InputError("Continuous noise is for experiments: it is never private.")


def _check_id(name: object) -> None:
    if name is not None and not (isinstance(name, str) and _ID.fullmatch(name)):
        raise InputError(f"The id of a measurement is 32 hexadecimal digits, got {name!r}.")


def check_unit(unit: object) -> str:
    """What is protected, as text."""
    return text(unit, "unit, what one noise protects,")


def check_rows_per_unit(rows: object) -> int:
    """How many rows one unit may have, refused unless at least 1."""
    number = whole_number(rows, "rows_per_unit")
    if not 1 <= number <= _MOST_ROWS:
        raise InputError(f"rows_per_unit must lie between 1 and {_MOST_ROWS:,}, got {number}.")
    return number


def block_scales(
    question: Question, epsilon: Fraction, neighbours: Neighbours, rows_per_unit: int
) -> tuple[Fraction, ...]:
    """The exact noise scale of each of the question's blocks: price · rows / (weight · ε)."""
    unit = question.price(neighbours) * rows_per_unit / epsilon
    return tuple(unit / weight for _, weight in question.blocks)


def public_facts(
    question: Question, epsilon: Fraction, neighbours: Neighbours, unit: str, rows_per_unit: int
) -> dict[str, Any]:
    """What was asked, what it cost and whom it protects, as plain values."""
    scales = block_scales(question, epsilon, neighbours, rows_per_unit)
    return {
        "question": question.to_json(),
        "epsilon": str(epsilon),
        "neighbours": neighbours,
        "unit": unit,
        "rows_per_unit": rows_per_unit,
        "scales": [str(scale) for scale in scales],
        "law": "discrete",
        "private": True,
    }


def _labels(question: Question) -> dict[str, Any]:
    """The columns that say what each answer counts."""
    if isinstance(question, NamedCounts):
        return {"query": list(question.names)}
    if isinstance(question, CellCounts):
        cells = np.arange(question.size)
        return question.axis.columns(cells, cells + 1)
    if isinstance(question, TreeCounts):
        shape, axis = question.shape, question.answer_axis
        starts = np.concatenate([shape.starts(level) for level in question.asked])
        stops = np.concatenate([shape.stops(level) for level in question.asked])
        lengths = [shape.length(level) for level in question.asked]
        return {"level": np.repeat(question.asked, lengths), **axis.columns(starts, stops)}
    if isinstance(question, WaveletCounts):
        levels = np.arange(len(question.blocks)) - 1  # −1 is the total
        lengths = [length for length, _ in question.blocks]
        halves = [(w, np.arange(n) * w) for w, n in zip(question.widths, lengths[1:], strict=False)]
        starts = np.concatenate([[0], *(start for _, start in halves)]).astype(np.int64)
        stops = np.concatenate([[question.size], *(start + w for w, start in halves)])
        stops = np.minimum(stops, question.size).astype(np.int64)
        return {"level": np.repeat(levels, lengths), **question.axis.columns(starts, stops)}
    if isinstance(question, HatCounts):
        return _hat_labels(question)
    if isinstance(question, (GridCounts, BoxCounts)):
        sizes = "×".join(str(size) for size in question.sizes)
        block = np.repeat(np.arange(len(question.blocks)), [n for n, _ in question.blocks])
        number = np.concatenate([np.arange(length) for length, _ in question.blocks])
        return {f"block of {sizes}": block, "number": number}
    if isinstance(question, WeightedCounts):
        return {
            "row": np.arange(question.length),
            "step": np.array([float(u) for u in question.units]),
        }
    if isinstance(question, YoungCounts):
        return question.labels()
    return {"rank": np.arange(1, question.length + 1)}


def _hat_labels(question: HatCounts) -> dict[str, Any]:
    """The stretch that each hat covers, and its stride; a cell has stride 0."""
    cells = np.arange(question.size)
    strides, starts, stops = [np.zeros_like(cells)], [cells], [cells + 1]
    for k in question.strides:
        knots = np.array(question.hats(k)) * k
        strides.append(np.full(len(knots), k))
        starts.append(np.maximum(knots - k, 0))
        stops.append(np.minimum(knots + k, question.size))
    spans = question.axis.columns(np.concatenate(starts), np.concatenate(stops))
    return {"stride": np.concatenate(strides), **spans}


def relative_weights(scales: tuple[Fraction, ...], law: Law) -> list[float]:
    """1/variance of each block, the largest being 1: what least squares needs.

    From logarithms, so that scales far below 1, whose variances underflow, keep their order.
    """
    logs = [log_noise_variance(scale, law) for scale in scales]
    return [max(math.exp(min(logs) - log), 1e-150) for log in logs]
