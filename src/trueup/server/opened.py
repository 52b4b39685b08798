"""A release that was opened: asked in both versions, and described. In memory, or in a folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.errors import InputError
from trueup.facts import Facts
from trueup.files.dataset import ReleaseFolder, open_dataset
from trueup.infer import infer, model_of
from trueup.measurement import Measurement
from trueup.release import Published, Release, SortedRelease
from trueup.saved import load
from trueup.server.answers import Answering, Version
from trueup.server.boxes import AnsweringBoxes
from trueup.server.datasets import Table


@dataclass(frozen=True, eq=False)
class Opened(ABC):
    """A release of counts ready to be asked; a version is made when it is first wanted."""

    id: str

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """What was asked, what it cost, whom it protects."""

    @property
    @abstractmethod
    def versions(self) -> tuple[Version, ...]:
        """The versions that it has."""

    @abstractmethod
    def version(self, version: Version) -> Published:
        """The unbiased release, or the one of non-negative whole numbers."""

    @property
    @abstractmethod
    def folder(self) -> ReleaseFolder | None:
        """The folder that it is in; None if it is in memory."""

    @property
    @abstractmethod
    def raw_cells(self) -> npt.NDArray[Any] | None:
        """The noisy count of every cell itself, None where cells were not asked."""

    @cached_property
    def _asked(self) -> dict[tuple[Version, str | None], Answering]:
        return {}

    @cached_property
    def _boxed(self) -> dict[Version, AnsweringBoxes]:
        return {}

    def answering(self, version: Version, column: str | None = None) -> Answering:
        """The version for questions about ranges, refused if it has none.

        Of a release over several columns, the margin of one of them.
        """
        release = self.version(version)
        if not isinstance(release, Release):
            raise InputError("This release has no ranges: its counts are sorted or named.")
        if column is not None and column not in [axis.name for axis in release.axes]:
            raise InputError(f"This release has no column {column[:60]!r}.")
        if len(release.axes) > 1 and column is None:
            raise InputError(
                "This release is over several columns: name a column for its margin, or ask for "
                "boxes."
            )
        if (version, column) not in self._asked:
            margin = release if len(release.axes) == 1 else release.margin(str(column))
            self._asked[version, column] = Answering(margin, version)
        return self._asked[version, column]

    def boxes(self, version: Version) -> AnsweringBoxes:
        """The version for questions about boxes, refused if it is not over several columns."""
        release = self.version(version)
        if not isinstance(release, Release) or len(release.axes) < 2:
            raise InputError("This release is not over several columns: it has no boxes.")
        return self._boxed.setdefault(version, AnsweringBoxes(release, version))

    def describe(self, table: Table) -> dict[str, Any]:
        """What is said of it beside the list."""
        release, facts = self.version("unbiased"), self.facts
        axes = release.axes if isinstance(release, Release) else ()
        axis = axes[0] if len(axes) == 1 else None
        return {
            "axis": None if axis is None else axis.to_json(),
            "describes": None if axis is None else axis.describe(),
            "columns": [table.axis(each) for each in axes],
            "dataset_title": table.dataset.title or table.name,
            "caption": caption(facts),
            "sample": "" if facts.period is None else facts.period.sampled,
            "versions": list(self.versions),
            "fractions": _fractions(release),
            "noise_scales": [str(scale) for scale in facts.noise.scales],
            "neighbours": facts.neighbours,
            "unit": facts.unit,
            "rows_per_unit": facts.rows_per_unit,
            "answers": facts.noise.question.length,
            "folder_bytes": None if self.folder is None else self.folder.bytes,
        }


@dataclass(frozen=True, eq=False)
class OpenedMeasurement(Opened):
    """A release that is made from the noisy answers which a ledger has."""

    stored: bytes
    folder = None  # it is in memory

    @cached_property
    def measurement(self) -> Measurement:
        """The noisy answers, as stored."""
        return Measurement.from_bytes(self.stored)

    @property
    def facts(self) -> Facts:
        """What was asked, what it cost, whom it protects."""
        return self.measurement.facts

    @property
    def versions(self) -> tuple[Version, ...]:
        """Both."""
        return ("unbiased", "whole")

    @cached_property
    def _unbiased(self) -> Published:
        return infer(self.measurement)

    @cached_property
    def _whole(self) -> Published:
        return infer(self.measurement, nonnegative=True, integers=True)

    def version(self, version: Version) -> Published:
        """The unbiased release, or the one of non-negative whole numbers."""
        return self._whole if version == "whole" else self._unbiased

    @cached_property
    def raw_cells(self) -> npt.NDArray[Any] | None:
        """The noisy count of every cell itself, None where cells were not asked."""
        return model_of(self.measurement.noise).raw(self.measurement.noisy)


@dataclass(frozen=True, eq=False)
class OpenedFolder(Opened):
    """A release in a dataset folder, whose counts stay on the disk.

    Whatever is asked of it reads some of them: no answer takes more memory the more cells it has.
    """

    path: Path
    raw_cells = None  # the noisy answers are in the folder, slab by slab

    @cached_property
    def folder(self) -> ReleaseFolder:
        """The folder."""
        return open_dataset(self.path)

    @cached_property
    def _release(self) -> Release:
        return load(self.path, Release)

    @property
    def facts(self) -> Facts:
        """What was asked, what it cost, whom it protects."""
        return self._release.facts

    @property
    def versions(self) -> tuple[Version, ...]:
        """Both, or the unbiased one: where a folder was made with `nonnegative=False`."""
        own = self._release
        return ("unbiased",) if own.unbiased is own else ("unbiased", "whole")

    def version(self, version: Version) -> Published:
        """The unbiased release, or the one of non-negative whole numbers."""
        if version not in self.versions:
            raise InputError("This release is in a folder, with its unbiased counts alone.")
        return self._release if version == "whole" else self._release.unbiased


def _fractions(release: Published) -> bool:
    """Whether a count of the unbiased version may be a fraction."""
    return not (
        isinstance(release, SortedRelease) and np.issubdtype(release.counts().dtype, np.integer)
    )


def caption(facts: Facts) -> str:
    """Whom a release protects, and how much, in words."""
    price = f"{facts.cost.replace('=', ' = ')}, {facts.neighbours}"
    return f"Protects one {facts.unit}: {price}.{_sentence(facts.capped)}"


def _sentence(words: str) -> str:
    return f" {words[0].upper()}{words[1:]}." if words else ""
