"""Series: what [publish.NAME] in trueup.toml declares, and which of its periods are due."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from trueup.about import refuse_unknown, text
from trueup.ask import Neighbours, Question, SortedCounts
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.config import Config, Dataset
from trueup.cost import Cost
from trueup.errors import FileError, InputError, shown
from trueup.owner.together import Standing
from trueup.period import Calendar, Period
from trueup.plan.default import question_for
from trueup.plan.offers import question as offered
from trueup.plan.offers import ways
from trueup.workload import Workload, default_workload

FORMATS = ("parquet", "json", "csv")
_KNOWN = (
    "dataset", "column", "columns", "by", "groups", "strategy", "where", "epsilon", "rho", "wait",
    "first", "folder", "formats", "nonnegative", "title", "description",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)
_LOOKED_FOR = 8  # periods whose files are looked for one by one
_WAIT = re.compile(r"(\d{1,6}) (minute|hour|day|week)s?", re.ASCII)


@dataclass(frozen=True)
class Series:
    """One question about a dataset, asked of every period from the first on.

    A period is due once it is over and `wait` has passed, in which late rows may come. Its results
    are files in `folder`, named by the period, one for each of the `formats`.
    """

    name: str
    dataset: Dataset
    cost: Cost
    first: Period
    wait: dt.timedelta
    folder: Path
    formats: tuple[str, ...] = ("parquet",)
    columns: tuple[str, ...] = ()
    by: str | None = None
    groups: int | None = None
    strategy: str | None = None
    where: str | None = None
    nonnegative: bool = True
    title: str | None = None
    description: str = ""

    @property
    def calendar(self) -> Calendar:
        """The periods of its dataset."""
        assert self.dataset.calendar is not None
        return self.dataset.calendar

    @cached_property
    def question(self) -> Question:
        """What is asked: the plan's best question over its columns, unless it says another."""
        if self.by is not None and self.groups is not None:
            return SortedCounts(self.groups, by=self.by)
        axes = tuple(self.dataset.axis(column) for column in self.columns)
        if self.strategy in (None, "best"):
            protected = self.dataset.neighbours, self.dataset.rows_per_unit
            return _best(axes, self.cost, self.nonnegative, *protected)
        known = ways(*axes, gaussian=True)
        if self.strategy not in known:
            raise InputError(
                f"strategy must be one of {', '.join(('best', *known))}, got {self.strategy!r}."
            )
        workloads = (Workload.all_ranges(),) * len(axes)
        if len(axes) == 1:
            workloads = (default_workload(axes[0]),)
        return offered(axes, str(self.strategy), workloads)

    @property
    def standing(self) -> Standing:
        """The same as it is charged."""
        return Standing(self.name, self.question, self.cost, self.where)

    def due(
        self, now: dt.datetime, through: Period | None = None, after: Period | None = None
    ) -> list[Period]:
        """All periods whose time has come, published or not, the earliest first.

        With `after` those that come later than it.
        """
        latest = (now - dt.datetime(1970, 1, 1, tzinfo=dt.UTC) - self.wait) / _MICROSECOND
        found, each = [], self.first if after is None else self.calendar.after(after)
        while each.stop <= latest and (through is None or each.number <= through.number):
            found.append(each)
            each = self.calendar.after(each)
        return found

    def paths(self, period: str) -> list[Path]:
        """The files of a period."""
        return [self.folder / f"{period}.{each}" for each in self.formats]

    def unwritten(self, periods: Collection[str]) -> list[str]:
        """Those of some periods that lack a file.

        Of many periods the names in the folder are read once, not looked for one by one.
        """
        if len(periods) < _LOOKED_FOR:
            return [each for each in periods if not all(map(os.path.exists, self.paths(each)))]
        try:
            there = set(os.listdir(self.folder))
        except FileNotFoundError:
            there = set()
        names = [f".{ending}" for ending in self.formats]
        return [each for each in periods if not all(each + name in there for name in names)]


_MICROSECOND = dt.timedelta(microseconds=1)


@lru_cache(maxsize=1024)
def _best(
    axes: tuple[Axis, ...], cost: Cost, nonnegative: bool, neighbours: Neighbours, rows: int
) -> Question:
    """The best question that is asked at once: periods are added up, and intervals of such sums are
    several times narrower. Many series ask the same of the same axis: planned once."""
    return question_for(axes, cost, nonnegative, neighbours, rows, adaptive=False)


def read_series(config: Config) -> tuple[Series, ...]:
    """Every series that a configuration declares, checked word by word."""
    found = config.settings.get("publish", {})
    if not isinstance(found, Mapping):
        raise FileError(f"{config.path}: publish must be tables such as [publish.daily_fares].")
    series = []
    for name, spec in found.items():
        where = f"{config.path}, publish '{name}'"
        if not isinstance(spec, Mapping):
            raise FileError(f"{where}: must be a table.")
        try:
            series.append(_series(name, spec, config))
            _ = series[-1].question
        except (InputError, FileError) as wrong:
            raise FileError(f"{where}: {wrong}") from None
    _check_apart(series)
    return tuple(series)


def _series(name: str, spec: Mapping[str, Any], config: Config) -> Series:
    if not _NAME.fullmatch(name):
        raise InputError("a name has letters, digits, '-', '_' and '.', 100 at most.")
    refuse_unknown(spec, _KNOWN)
    dataset = _dataset(spec, config)
    calendar = dataset.calendar
    if dataset.at_most is not None:
        raise InputError(
            f"dataset '{dataset.name}' has rows_per_unit = \"auto\": each period would leave "
            f"out another part of the rows, and the series would show that as a change. Measure "
            f'one period with "auto", and write the number that it chose here.'
        )
    if calendar is None:
        raise InputError(
            f"dataset '{dataset.name}' has one limit for all time, which is spent after a while. "
            f'Give it per = "day" and date, the column that dates a row.'
        )
    if "first" not in spec:
        raise InputError(f'first is missing, the first {calendar.per}: "{calendar.example}".')
    formats = spec.get("formats", ["parquet"])
    if not isinstance(formats, list) or not formats or any(f not in FORMATS for f in formats):
        raise InputError(f"formats must be a list of {', '.join(FORMATS)}, got {shown(formats)}.")
    nonnegative = spec.get("nonnegative", True)
    if not isinstance(nonnegative, bool):
        raise InputError(f"nonnegative must be true or false, got {shown(nonnegative)}.")
    folder = text(spec.get("folder"), "folder") or "published"
    assert config.path is not None
    return Series(
        name,
        dataset,
        Cost.of(spec.get("epsilon"), spec.get("rho")),
        calendar.period(spec["first"]),
        read_wait(spec.get("wait", "0 days")),
        config.path.parent / folder / name,
        tuple(dict.fromkeys(formats)),
        *_asked(spec),
        strategy=text(spec.get("strategy"), "strategy"),
        where=text(spec.get("where"), "where"),
        nonnegative=nonnegative,
        title=text(spec.get("title"), "title"),
        description=text(spec.get("description"), "description") or "",
    )


def _dataset(spec: Mapping[str, Any], config: Config) -> Dataset:
    named = spec.get("dataset")
    if named is None and len(config.datasets) == 1:
        return next(iter(config.datasets.values()))
    if not isinstance(named, str) or named not in config.datasets:
        known = ", ".join(config.datasets) or "none"
        raise InputError(f"dataset must be one that is declared ({known}), got {shown(named)}.")
    return config.datasets[named]


def _asked(spec: Mapping[str, Any]) -> tuple[tuple[str, ...], str | None, int | None]:
    """The columns that are counted; or the one whose values are, and how many there can be."""
    columns = spec.get("columns", [spec["column"]] if "column" in spec else [])
    by = text(spec.get("by"), "by")
    if not isinstance(columns, list) or not all(isinstance(each, str) for each in columns):
        raise InputError(f"columns must be a list of columns, got {shown(columns)}.")
    if bool(columns) == (by is not None) or ("column" in spec and "columns" in spec):
        raise InputError("Say what is counted: column, columns, or by with groups.")
    if (by is None) != ("groups" not in spec):
        raise InputError("by goes with groups, the public number of groups.")
    groups = None if by is None else whole_number(spec["groups"], "groups")
    return tuple(columns), by, groups


def read_wait(given: object) -> dt.timedelta:
    """How long late rows are waited for: "36 hours", "2 days".

    >>> read_wait("2 days")
    datetime.timedelta(days=2)
    """
    found = _WAIT.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None:
        raise InputError(f'wait must be such as "36 hours" or "2 days", got {shown(given)}.')
    return dt.timedelta(**{f"{found[2]}s": int(found[1])})


def _check_apart(series: list[Series]) -> None:
    """Refuses names that differ in their letters' case only: on some disks they are one folder."""
    seen: dict[str, str] = {}
    for each in series:
        other = seen.setdefault(str(each.folder).lower(), each.name)
        if other != each.name:
            raise FileError(f"The series '{other}' and '{each.name}' would share a folder.")
