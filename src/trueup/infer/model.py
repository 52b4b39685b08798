"""Model: how one question is answered, and the list of all models.

A model is made from a `Noise` (a question and the law of the noise in its answers). It fits the
noisy answers, knows the error of every combination of what comes out, makes counts that people can
read, tells the plan what to expect, and names the questions of its type that are worth comparing.
`infer`, `plan`, `reconcile`, server and pictures ask the model and know no type of question.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Generic, Protocol, cast

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask.kinds import register as register_question
from trueup.ask.question import Question
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES
from trueup.infer.display import Wish, shown_boxes, shown_cells, shown_margins
from trueup.intervaltree import IntervalTree
from trueup.law import BoxErrors, Errors, RangeErrors
from trueup.measurement import Asked, Measurement
from trueup.noise import Noise
from trueup.release import Release
from trueup.release.intervals import reaches
from trueup.workload import Figures, Workload

Expected = list[tuple[str, float]]
"""What is counted, and the counts within which 95 % of such answers will lie of the truth."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A question that a plan compares with others; its `name` may quote it: "{0.strides}".

    `ask` makes the question when it is wanted, which may take a search: None where it is not worth
    a look. `rank` orders a table, the simplest first; the last of a plan for non-negative counts
    is its best. `rank_at_rho` is the rank under Gaussian noise, where that is another. `word` is
    the one by which command line and server offer it; they ask it `plainly` where it is not worth
    a look. `figures` are its errors where they are not those of its model.
    `at_rho` makes the question for a cost in ρ, where that is another.
    One that is `gaussian` is compared under Gaussian noise alone.
    """

    name: str
    ask: Callable[[], Question | None]
    rank: int = 70
    word: str | None = None
    plainly: Callable[[], Question] | None = None
    figures: Callable[[Noise], Figures] | None = None
    at_rho: Callable[[], Question | None] | None = None
    gaussian: bool = False
    rank_at_rho: int | None = None


FOR_NONNEGATIVE = 100
"""The rank of the best question asked at once where counts are shown non-negative."""

LARGE = 1 << 20
"""From so many cells on a tree is asked at once: counted, noised and fitted in one pass."""


@dataclass(frozen=True)
class AskedLevels:
    """Noisy answers that count the nodes of some levels of a tree, in order, root first.

    `first_cells` are where the cells of the tree begin on the axis, None where they are its own;
    `radices` the fan-outs of the levels where they are equal, else empty.
    """

    tree: IntervalTree
    asked: tuple[int, ...]
    first_cells: Ints | None
    radices: tuple[int, ...] = ()


class Line(Protocol):
    """Least squares of one axis's question, along many lines at once, for a grid."""

    @property
    def size(self) -> int:
        """How many cells a line has."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many answers of each noise scale."""

    def fit_lines(self, noisy: Floats) -> Floats:
        """The fitted cells of each line of noisy answers."""

    def coefficients(self, values: Floats) -> Floats:
        """What each noisy answer counts for in the sum of the cells times these values."""


@dataclass(frozen=True, eq=False)
class Model(ABC, Generic[Asked]):
    """How a question is answered whose answers hold this noise.

    Unless it says so, a plan offers no question of its type.
    """

    noise: Noise
    asks: ClassVar[type[Question]]
    """The type of question that it answers."""

    @property
    def question(self) -> Asked:
        """What was asked."""
        return cast(Asked, self.noise.question)

    @property
    @abstractmethod
    def errors(self) -> Errors:
        """The error of every combination of answers of a release."""

    @property
    @abstractmethod
    def methods(self) -> tuple[str, ...]:
        """The ways to make counts non-negative, the default first; "" has no name."""

    @abstractmethod
    def release(self, measurement: Measurement, wish: Wish) -> Any:
        """What is published of a measurement."""

    @abstractmethod
    def expected(self) -> Expected:
        """What to expect of some answers, before anything is asked."""

    @classmethod
    def candidates(
        cls, axes: Sequence[Axis], workloads: Sequence[Workload], nonnegative: bool
    ) -> Sequence[Candidate]:
        """The questions of this type that a plan over these axes compares with others."""
        return []

    @property
    def whole(self) -> bool:
        """Whether its counts are whole numbers unless told otherwise."""
        return False

    @property
    def graphical(self) -> bool:
        """Whether its counts may be degrees of an undirected graph."""
        return False

    def levels(self) -> AskedLevels | None:
        """Its noisy answers as levels of a tree, where they are."""
        return None

    def raw(self, noisy: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
        """The noisy answers that count the cells, or ranks, themselves; None if none do."""
        return None


class AxisModel(Model[Asked]):
    """The model of a question about the cells of one axis, and so about ranges."""

    adaptive: ClassVar[bool] = False
    """Whether noise had a say in what was asked, so that least squares has no honest law."""

    @property
    @abstractmethod
    def errors(self) -> RangeErrors:
        """The error of every combination of ranges."""

    @property
    def methods(self) -> tuple[str, ...]:
        """One, unless a node of the tree has a noisy count of its own."""
        return ("top-down",)

    @property
    @abstractmethod
    def tree(self) -> IntervalTree:
        """The tree by which counts for people are handed down."""

    @property
    @abstractmethod
    def line(self) -> Line:
        """Its least squares along the lines of a grid."""

    @abstractmethod
    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The least-squares count of every cell."""

    @abstractmethod
    def figures(self) -> Figures:
        """The expected squared errors of sets of ranges."""

    def nodes(self, noisy: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """The noisy count and the weight of every node of the tree; weight 0 where not asked.

        For ways to show counts that need noisy nodes.
        """
        raise NotImplementedError

    def answers_of(self, prefix: Floats) -> Floats:
        """Answers that stand for the noisy ones, from the prefix sums of the fit.

        For those where noise had a say in what was asked.
        """
        raise NotImplementedError

    def large_first(self, noisy: npt.NDArray[Any]) -> Floats:
        """The cells settled large first, from the noisy answers of all nodes."""
        from trueup.intervaltree.readable import large_first_cells

        unit = min(self.noise.variances) ** 0.5
        return large_first_cells(self.tree, *self.nodes(noisy), unit)

    def fit_prefix(self, noisy: npt.NDArray[Any]) -> Floats | None:
        """The prefix sums of the least-squares cells, where they come quicker than the cells."""
        return None

    @classmethod
    def candidates(
        cls, axes: Sequence[Axis], workloads: Sequence[Workload], nonnegative: bool
    ) -> Sequence[Candidate]:
        """Those over one axis; none over several."""
        return [] if len(axes) > 1 else cls.candidates_over(axes[0], workloads[0], nonnegative)

    @classmethod
    def candidates_over(
        cls, axis: Axis, workload: Workload, nonnegative: bool
    ) -> Sequence[Candidate]:
        """The questions of this type that a plan over an axis compares with others."""
        return []

    @property
    def axis(self) -> Axis:
        """The axis that a release is over."""
        return self.question.space.check_one_axis()

    def release(self, measurement: Measurement, wish: Wish) -> Release:
        """The least-squares release, or the one whose counts are shown as wished."""
        facts, axes = measurement.facts.made(LEAST_SQUARES), (self.axis,)
        noisy = measurement.noisy
        fit, nodes = partial(self.fit, noisy), partial(self.nodes, noisy)
        prefix = self.fit_prefix(noisy)
        if prefix is not None:
            release = Release(axes, prefix, self.errors, facts)
        else:
            cells = fit()
            release = Release.of(axes, cells, self.errors, facts)
            release = replace(release, errors=self.errors.given(release.prefix))
            fit = partial(np.copy, cells)  # solved once
        if not wish.shown:
            return release
        large_first = partial(self.large_first, noisy)
        return release.showing(shown_cells(self.tree, wish, fit, nodes, large_first), wish.words)

    def expected(self) -> Expected:
        """A cell, a quarter of the axis, and all of it."""
        size = self.axis.size
        quarter = max(size // 4, 1)
        some = np.unique(np.linspace(0, size - quarter, 50).astype(np.int64))
        middle = np.array([size // 2])

        def within(starts: Ints, cells: int) -> float:
            reach = reaches(self.errors, starts, starts + cells, 0.95)
            return float(np.sqrt(np.mean(reach**2)))

        return [
            ("one cell", within(middle, 1)),
            ("a quarter of the axis", within(some, quarter)),
            ("the total", within(middle * 0, size)),
        ]


class TableModel(Model[Asked]):
    """The model of a question about the cells of several axes, and so about boxes."""

    @property
    @abstractmethod
    def errors(self) -> BoxErrors:
        """The error of every combination of boxes."""

    @property
    @abstractmethod
    def trees(self) -> list[IntervalTree]:
        """A tree over each axis: counts for people are handed down by their products."""

    @property
    def margins(self) -> tuple[tuple[str, ...], ...]:
        """The margins that were asked, by the names of their axes, where the cells were not."""
        return self.question.space.margins

    @property
    def _nested_margins(self) -> list[tuple[int, ...]]:
        """The margins that were asked and those of single axes, by the numbers of their axes."""
        numbers = {axis.name: n for n, axis in enumerate(self.question.space.axes)}
        asked = [tuple(sorted(numbers[name] for name in each)) for each in self.margins]
        return sorted({*asked, *((axis,) for each in asked for axis in each)})

    @abstractmethod
    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The least-squares count of every cell, one dimension an axis."""

    @abstractmethod
    def fit_nonnegative(self, noisy: npt.NDArray[Any]) -> Floats:
        """The nearest table without a negative count, where no cell was asked."""

    @abstractmethod
    def mean_over_boxes(self, workloads: Sequence[Workload]) -> tuple[float, float]:
        """The expected squared error of boxes, a range of each workload: with whole noise, and
        with noise on the real line."""

    def release(self, measurement: Measurement, wish: Wish) -> Release:
        """The least-squares release, or the one whose counts are shown as wished."""
        cells = self.fit(measurement.noisy)
        facts = measurement.facts.made(LEAST_SQUARES)
        axes = self.question.space.axes
        release = Release.of(axes, cells, self.errors, facts, self.margins)
        if wish.shown:
            if wish.nonnegative and self.margins:
                cells = self.fit_nonnegative(measurement.noisy)
            shown = shown_boxes(self.trees, cells, self.errors, wish)
            if wish.nonnegative and wish.integers and self.margins:
                shown = shown_margins(shown, cells, self._nested_margins)
            release = release.showing(shown, wish.words)
        return release

    def expected(self) -> Expected:
        """A cell, half of each axis, all of it; of margins, all of it."""
        sizes = [axis.size for axis in self.question.space.axes]
        some = {
            "one cell": tuple((size // 2, size // 2 + 1) for size in sizes),
            "half of each axis": tuple((size // 4, max(3 * size // 4, 1)) for size in sizes),
        }
        boxes = {**({} if self.margins else some), "the total": tuple((0, size) for size in sizes)}
        return [
            (what, self.errors.noise_law(((box, 1.0),)).half_width(0.95))
            for what, box in boxes.items()
        ]


_MODELS: dict[type[Question], type[Model] | str] = {}


def register(*models: type[Model]) -> None:
    """From now on questions of these types are answered by these models, and read from files."""
    for model in models:
        register_question(model.asks)
        if _MODELS.setdefault(model.asks, model) is not model:
            raise ValueError(f"{model.asks.__name__} is answered by another model already.")


def register_later(models: Mapping[type[Question], str]) -> None:
    """As `register`, by dotted names: each is imported when it is first asked for."""
    _MODELS.update(models)


def _registered(question: type[Question]) -> type[Model] | None:
    found = _MODELS.get(question)
    if isinstance(found, str):
        module, _, name = found.rpartition(".")
        model: type[Model] = getattr(import_module(module), name)
        found = _MODELS[question] = model
    return found


def models() -> tuple[type[Model], ...]:
    """All models, in the order in which they were registered."""
    return tuple(filter(None, map(_registered, _MODELS)))


def model_of(noise: Noise) -> Model:
    """The model of a question and its noise."""
    found = _registered(type(noise.question))
    if found is None:
        kind = type(noise.question).__name__
        raise InputError(
            f"No model answers {kind}: register one with trueup.infer.register(model)."
        )
    return found(noise)


def axis_model(noise: Noise) -> AxisModel:
    """The model of a question about ranges; refused if it is about something else."""
    model = model_of(noise)
    if isinstance(model, AxisModel):
        return model
    raise InputError(f"{type(noise.question).__name__} has no ranges.")


def table_model(noise: Noise) -> TableModel:
    """The model of a question about boxes; refused if it is about something else."""
    model = model_of(noise)
    if isinstance(model, TableModel):
        return model
    raise InputError(f"{type(noise.question).__name__} is not over several axes.")
