"""Measurement: a question, its noisy answers and their noise law, together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask import AdaptiveQuestion, Neighbours, Question, check_question
from trueup.cost import Cost
from trueup.errors import FileError, InputError
from trueup.facts import Facts, Features
from trueup.files.codec import decode, encode, write
from trueup.files.load import reads
from trueup.noise import Law, Noise, law_for
from trueup.period import Covered
from trueup.rows_bound import ChosenBound

_INT64_MAX = np.iinfo(np.int64).max

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # A default: `Measurement` alone is the measurement of any question.
    Asked = TypeVar("Asked", bound=Question, default=Question, covariant=True)
else:
    from typing import TypeVar

    Asked = TypeVar("Asked", bound=Question, covariant=True)


@dataclass(frozen=True, eq=False)
class Measurement(Generic[Asked]):
    """Noisy answers, with all that an analyst needs to infer from them as often as they like.

    It holds the question, the exact ε or ρ, the neighbour relation, the protected unit and the law
    of the noise. `private` is False for experiments, whose noise can be drawn again: such a
    measurement says NOT PRIVATE wherever it is shown or saved. `measure` gives it a random `id`,
    which its releases keep, so that the same noise is never counted as two; None for a measurement
    that was typed in. `period` says of which days, or other periods, the counts are.

    >>> from trueup.ask import SortedCounts
    >>> m = Measurement(SortedCounts(4, adaptive=False), [1, 2, 0, 11], epsilon=1)
    >>> m.scales.tolist(), m.private
    ([1.0, 1.0, 1.0, 1.0], True)
    """

    question: Asked
    noisy: npt.NDArray[Any]
    epsilon: Fraction | None = None
    neighbours: Neighbours = "add-remove"
    unit: str = "row"
    rows_per_unit: int = 1
    private: bool = True
    law: Law = "discrete"
    id: str | None = None
    rho: Fraction | None = None
    period: Covered | None = None
    features: Features = ()
    bound: ChosenBound | None = None

    def __post_init__(self) -> None:
        check_question(self.question)
        cost = Cost.of(self.epsilon, self.rho)
        object.__setattr__(self, "epsilon", cost.epsilon)
        object.__setattr__(self, "rho", cost.rho)
        object.__setattr__(self, "law", law_for(self.law, cost.rho is not None))
        object.__setattr__(self, "rows_per_unit", self.facts.rows_per_unit)
        object.__setattr__(self, "noisy", self._checked(self.noisy))

    def _checked(self, noisy: npt.ArrayLike) -> npt.NDArray[Any]:
        try:
            array = np.asarray(noisy)
        except ValueError:
            raise InputError("Noisy answers must be a flat array of numbers.") from None
        if array.ndim != 1 or len(array) != self.question.length:
            raise InputError(
                f"The question has {self.question.length:,} answers, but {array.size:,} were given."
            )
        if self.law in ("continuous", "normal"):
            if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
                raise InputError("Noisy answers must be finite numbers.")
            array = array.astype(np.float64)
        elif array.dtype.kind not in "iu" or (array > _INT64_MAX).any():
            raise InputError(f"Noisy answers must be whole numbers in int64, got {array.dtype}.")
        else:
            array = array.astype(np.int64)
        if isinstance(self.question, AdaptiveQuestion):
            self.question.check_answers(array, self.noise.scale_to_choose_by)
        array.setflags(write=False)
        return array

    @cached_property
    def facts(self) -> Facts:
        """What was asked, what it cost, whom it protects."""
        return Facts.of(
            self.question,
            self.epsilon,
            self.neighbours,
            self.unit,
            self.rows_per_unit,
            law=self.law,
            private=self.private,
            id=self.id,
            rho=self.rho,
            period=self.period,
            features=self.features,
            bound=self.bound,
        )

    @property
    def noise(self) -> Noise:
        """The law of the noise in every answer."""
        return self.facts.noise

    @cached_property
    def scales(self) -> Floats:
        """The noise scale of each answer; of Gaussian noise, σ."""
        power = 0.5 if self.noise.gaussian else 1.0
        return self.noise.each_answer([float(scale) ** power for scale in self.noise.scales])

    @cached_property
    def variances(self) -> Floats:
        """The noise variance of each answer."""
        return self.noise.each_answer(self.noise.variances)

    def columns(self) -> dict[str, Any]:
        """The answers as a table: what each counts, the noisy answer, its noise's deviation."""
        return {**self.question.labels(), "noisy": self.noisy, "std_error": self.std_errors}

    @property
    def std_errors(self) -> Floats:
        """The standard deviation of the noise in each answer."""
        return np.sqrt(self.variances)

    def save(self, path: str | Path) -> None:
        """Writes one file by its ending: .parquet or .json, which `trueup.load` reads, or .csv."""
        write(path, "measurement", self.columns(), self.facts.to_json())

    def to_bytes(self) -> bytes:
        """The bytes of its Parquet file, for a place that is not a path."""
        return encode("measurement", self.columns(), self.facts.to_json())

    @staticmethod
    def from_bytes(data: bytes) -> Measurement:
        """The measurement that `to_bytes` wrote, verified."""
        kind, columns, about = decode(data, "The measurement")
        if kind != "measurement":
            raise FileError(f"A measurement was expected, not a {kind}.")
        return Measurement.from_facts(Facts.from_json(about), columns.get("noisy"))

    @staticmethod
    def from_facts(facts: Facts, noisy: Any) -> Measurement:
        """The measurement of which a file's facts say the rest."""
        if facts.question is None or noisy is None:
            raise FileError("The file lacks a question or its noisy answers.")
        noise = facts.noise
        try:
            return Measurement(
                facts.question,
                noisy,
                noise.epsilon,
                noise.neighbours,
                str(facts.unit),
                noise.rows_per_unit,
                facts.private,
                facts.law,
                facts.id,
                noise.rho,
                facts.period,
                facts.features,
                facts.bound,
            )
        except (TypeError, ValueError) as wrong:
            raise FileError(f"The file holds no measurement that makes sense: {wrong}") from None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Measurement)
            and self.facts == other.facts
            and np.array_equal(self.noisy, other.noisy)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        kind = type(self.question).__name__
        size = f"{len(self.noisy):,} answers"
        about = f"{self.facts.cost}{self.facts.also}"
        return f"<Measurement{self.facts.stamp}: {kind}, {size}, {about}>"


reads("measurement", lambda saved: Measurement.from_facts(saved.facts, saved.columns.get("noisy")))
