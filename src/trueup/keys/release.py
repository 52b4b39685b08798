"""KeyRelease: the keys that are shown, all other keys together, and their total."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.errors import FileError, InputError, TrueupError, shown
from trueup.facts import Facts
from trueup.files.codec import write
from trueup.files.load import Saved
from trueup.keys.terms import KeyTerms
from trueup.law import SumErrors
from trueup.noise import noise_variance
from trueup.pictures.charts import Interval
from trueup.pictures.keyed import key_bars
from trueup.release import Estimate
from trueup.release.wording import check_level, written

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_KIND = "key release"
_PLAIN = "whole, as measured"
_NONNEGATIVE = "whole and non-negative"
CONDITIONAL = "Intervals of keys hold among keys that are shown."


@dataclass(frozen=True)
class KeyCount:
    """The count of one key: the number shown, and what the true count may be.

    `noisy` is the count as it was measured; None for a key that is not shown.
    """

    key: str
    value: int
    noisy: int | None
    terms: KeyTerms

    @property
    def std_error(self) -> float:
        """The standard deviation of the noise, whether a key is shown or not."""
        return self.terms.law.std_error

    def interval(self, level: float = 0.95) -> tuple[int, int]:
        """Least and greatest true count: holds this often among keys shown, or more often.

        Where it begins at 0, nobody may have the key. It follows from the noisy count and is
        stretched to hold the count shown. Of a key that is not shown: from 0 to the greatest count
        that is left out with a probability above 1 − level.
        """
        check_level(level)
        if self.noisy is None:
            return 0, max(self.terms.law.surely_shown(level) - 1, 0)
        low, high = self.terms.law.intervals(np.array([self.noisy]), level)
        return min(int(low[0]), self.value), max(int(high[0]), self.value)

    def __str__(self) -> str:
        if self.noisy is None:
            return f"not shown (95 %: at most {written(self.interval()[1])})"
        low, high = self.interval()
        return f"{written(self.value)} (95 %: {written(low)} to {written(high)})"


@dataclass(frozen=True)
class RankedKey:
    """A key among those with the highest counts, and which places among them it may have."""

    key: str
    count: int
    interval: tuple[int, int]
    places: tuple[int, int]


@dataclass(frozen=True, eq=False)
class KeyRelease:
    """The published counts of keys: those shown and all others together make the total, exactly.

    >>> from trueup.keys.measurement import measure_keys
    >>> from trueup.keys.question import KeyCounts
    >>> from trueup.keys.universe import Universe
    >>> asked = KeyCounts(Universe.text("a-z", 8))
    >>> release = measure_keys({"apple": 5000, "pear": 3}, asked, epsilon=1).infer()
    >>> int(release.counts().sum()) + release.others() == release.total().value
    True
    """

    terms: KeyTerms
    facts: Facts
    keys: tuple[str, ...]
    shown: Ints
    noisy: Ints
    noisy_total: int | None
    noisy_number: int | None
    whole: int | None  # the total that is shown

    @staticmethod
    def of(
        terms: KeyTerms,
        facts: Facts,
        keys: tuple[str, ...],
        noisy: Ints,
        total: int | None,
        number: int | None,
        nonnegative: bool,
    ) -> KeyRelease:
        """The release of what was measured."""
        counts, whole = noisy.copy(), total
        if nonnegative and total is not None:
            whole = max(total, 0)
            if int(noisy.sum()) > total and len(noisy):
                counts, whole = _nearest(noisy, total, terms)
        facts = replace(facts, inferred=_NONNEGATIVE if nonnegative else _PLAIN)
        counts.setflags(write=False)
        return KeyRelease(terms, facts, keys, counts, noisy, total, number, whole)

    def counts(self) -> Ints:
        """The counts of the keys shown, in the order of `keys`."""
        return self.shown

    def others(self) -> int:
        """How many there are of all keys that are not shown: the total without those shown.

        It is low on average, for keys with high noise are among those shown. Where counts are as
        measured it may be below 0.
        """
        return int(self.total().value) - int(self.shown.sum())

    def total(self) -> Estimate:
        """The total of all keys, with its error."""
        if self.noisy_total is None or self.terms.total_scale is None or self.whole is None:
            raise InputError("The total was not asked: KeyCounts(…, total=…) gives it a share.")
        own = self._estimate(self.noisy_total, self.terms.total_scale)
        if self.facts.inferred == _PLAIN:
            return own
        return Estimate(self.whole, own.parts, own)

    def number(self) -> Estimate:
        """How many different keys there are, with its error."""
        if self.noisy_number is None or self.terms.number_scale is None:
            raise InputError(
                "The number of keys was not asked: KeyCounts(…, number=…) gives it a share."
            )
        return self._estimate(self.noisy_number, self.terms.number_scale)

    def _estimate(self, value: int, scale: Fraction) -> Estimate:
        return Estimate.of(value, ((0, 1.0),), SumErrors(1, scale, self.facts.law), self.facts)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self.keys)}

    def count(self, key: object) -> KeyCount:
        """The count of one key, shown or not; what is no key of the universe is refused."""
        universe = self.terms.question.universe
        found = universe.read(str(key) if isinstance(key, int) else key)
        if found is None:
            raise InputError(f"{shown(key)} is no key of the universe {universe}.")
        label = universe.label(found)
        place = self._places.get(label)
        if place is None:
            return KeyCount(label, 0, None, self.terms)
        return KeyCount(label, int(self.shown[place]), int(self.noisy[place]), self.terms)

    def intervals(
        self, level: float = 0.95, together: bool = False, at: npt.ArrayLike | None = None
    ) -> tuple[Ints, Ints]:
        """Least and greatest true count of every key shown; `together`, all hold at once.

        With `at`, of the keys at these places alone.
        """
        check_level(level)
        some = np.arange(len(self.keys)) if at is None else np.asarray(at, np.int64)
        each = 1 - (1 - level) / max(len(self.keys), 1) if together else level
        low, high = self.terms.law.intervals(self.noisy[some], each)
        return np.minimum(low, self.shown[some]), np.maximum(high, self.shown[some])

    def top(self, many: int, level: float = 0.95) -> list[RankedKey]:
        """The keys with the highest counts, and which places among those shown they may have.

        All intervals and places hold together with this probability. `statement` says what is not
        known: keys that are not shown.
        """
        low, high = self.intervals(level, together=True)
        best = self._highest(many)
        lows, highs = np.sort(low), np.sort(high)
        found = []
        for place in best.tolist():
            ahead = len(lows) - int(np.searchsorted(lows, high[place], side="right"))
            behind = int(np.searchsorted(highs, low[place], side="left"))
            places = ahead + 1, len(lows) - behind
            ends = int(low[place]), int(high[place])
            found.append(RankedKey(self.keys[place], int(self.shown[place]), ends, places))
        return found

    def _highest(self, many: int) -> Ints:
        """The places of the keys with the highest counts, so many of them."""
        number = whole_number(many, "many")
        if number < 0:
            raise InputError(f"many must be at least 0, got {number}.")
        return np.argsort(-self.noisy, kind="stable")[:number]

    def statement(self, level: float = 0.95) -> str:
        """What the list of keys is, and what it is not, in words."""
        law, said = self.terms.law, f"{100 * level:.6g} %"
        false = f"on average {self.terms.false_keys:.2g} of the keys shown nobody has"
        if self.terms.cost.delta:
            false = "somebody has every key that is shown"
        return (
            f"Keys are shown whose noisy count is at least {self.terms.threshold:,}. A key with "
            f"{law.surely_shown(level):,} or more is shown with probability {said}; {false}. "
            f"{CONDITIONAL}"
        )

    def axis(self, name: str | None = None) -> Axis:
        """The keys shown as an axis of labels, for further questions at a further cost."""
        question = self.terms.question
        if question.universe.reads not in (("text",), ("integer",)) or not self.keys:
            raise InputError(
                "Only keys that are text or whole numbers, at least one of them, make an axis."
            )
        column = name or (question.columns[0] if question.by else "key")
        labels: list[Any] = list(self.keys)
        if question.universe.reads == ("integer",):
            labels = [int(key) for key in self.keys]
        return Axis.categories(column, labels)

    def plot(self, many: int = 20) -> Figure:
        """The highest counts as a plotly figure, with the interval of each."""
        low, high = self.intervals()
        best = self._highest(many)
        counts = Interval(*(each[best].astype(np.float64) for each in (self.shown, low, high)))
        others = "" if self.whole is None else f"all other keys: {self.others():,}; "
        more = f"{others}{len(self.keys):,} keys are shown"
        return key_bars(self.facts, [self.keys[place] for place in best], counts, more)

    def columns(self) -> dict[str, Any]:
        """The keys, their counts, and what the true counts may be (95 %, among keys shown)."""
        low, high = self.intervals()
        return {
            "key": list(self.keys),
            "count": self.shown,
            "low": low,
            "high": high,
            "noisy": self.noisy,
        }

    def to_json(self) -> dict[str, Any]:
        """What a file says beside the table."""
        said = {
            "terms": self.terms.to_json(),
            "noisy_total": self.noisy_total,
            "number": self.noisy_number,
            "total": self.whole,
            "others": None if self.whole is None else self.others(),
            "statement": self.statement(),
        }
        inferred = {} if self.facts.inferred is None else {"inferred": self.facts.inferred}
        beside = self.terms.beside(self.facts.id, self.facts.period)
        return {"keys": said, "private": True, **beside, **inferred}

    @staticmethod
    def from_saved(saved: Saved) -> KeyRelease:
        """The release that a file holds, verified: its counts follow from its noisy ones."""
        return _read(saved)

    def save(self, path: str | Path) -> None:
        """Writes one file by its ending: .parquet or .json, which `load` reads, or .csv."""
        write(path, _KIND, self.columns(), self.to_json())

    def __repr__(self) -> str:
        said = "" if self.whole is None else f", others {self.others():,}, total {self.whole:,}"
        return f"<KeyRelease: {len(self.keys):,} keys{said}, {self.terms.cost}>"


def _nearest(noisy: Ints, total: int, terms: KeyTerms) -> tuple[Ints, int]:
    """The nearest counts, weighed by their noise, whose sum is the total and no more.

    Where the keys shown come to more than the total, all others are 0 and the difference is
    taken off the counts and put on the total, in parts of their variances. Whole numbers, the
    remainder from the largest counts.
    """
    assert terms.total_scale is not None
    law = "gaussian" if terms.gaussian else "discrete"
    each, whole = terms.law.std_error**2, noise_variance(terms.total_scale, law)
    over = int(noisy.sum()) - total
    off = round(over * len(noisy) * each / (len(noisy) * each + whole))
    counts = noisy - off // len(noisy)
    largest = np.argsort(-counts, kind="stable")[: off % len(noisy)]
    counts[largest] -= 1
    short = int(np.maximum(-counts, 0).sum())  # none is below 0: the rest goes to the total
    return np.maximum(counts, 0), total + over - off + short


def _read(saved: Saved) -> KeyRelease:
    said = saved.beside["keys"]
    try:
        terms = KeyTerms.from_json(said["terms"])
        keys = tuple(saved.columns["key"])
        if any(terms.question.universe.read(key) is None for key in keys):
            raise FileError("The file holds what is no key of its universe.")
        made = KeyRelease.of(
            terms,
            replace(terms.facts, id=saved.facts.id, period=saved.facts.period),
            keys,
            saved.numbers("noisy", len(keys)).astype(np.int64),
            said["noisy_total"],
            said["number"],
            saved.facts.inferred == _NONNEGATIVE,
        )
    except FileError:
        raise
    except (TrueupError, LookupError, TypeError, ValueError) as wrong:
        raise FileError(f"The file holds no keys that make sense: {wrong}") from None
    if not np.array_equal(made.shown, saved.columns["count"]) or made.whole != said["total"]:
        raise FileError("The file's counts do not follow from its noisy ones.")
    return made
