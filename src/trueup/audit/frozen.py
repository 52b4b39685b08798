"""The same noise on neighbouring inputs: what moves is the true answers, and nothing else may."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.cost import Cost
from trueup.epsilon import positive
from trueup.errors import InputError


@dataclass(frozen=True)
class Replay:
    """How far the same noise on neighbouring inputs lets the answers move, and what else moved."""

    move: Fraction
    allowed: Fraction
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the answers moved no further than declared, and nothing else did."""
        return self.move <= self.allowed and not self.differences

    def __str__(self) -> str:
        found = [f"answers moved by {self.move}, allowed {self.allowed}", *self.differences]
        return "; ".join(found)


def replay(
    mechanism: Callable[[Any], object],
    a: object,
    b: object,
    sensitivity: object = None,
    weights: Sequence[object] | None = None,
    frozen: Callable[[], contextlib.AbstractContextManager[object]] | None = None,
) -> Replay:
    """Runs the mechanism on neighbours a and b with the same noise, and compares all that shows.

    The numbers it gives may move by `sensitivity` in L1, each weighed by its weight (1 by
    default). If it gives a Measurement, the measurement's own claim is used: every answer's move
    over its noise scale, added up, is at most ε; for a ρ, every squared move over 2σ². Types,
    shapes, errors, logs, warnings, printed text and the amount of noise drawn may not differ at
    all.

    trueup's own noise is drawn once and played twice. For another source, `frozen()` gives a
    context in which that source repeats itself.

    >>> from trueup import CellCounts, measure
    >>> print(replay(lambda counts: measure(counts, CellCounts(2), epsilon=2), [5, 1], [6, 1]))
    answers moved by 2, allowed 2
    """
    tape = _Tape()
    first = _run(mechanism, a, tape, frozen)
    tape.rewind()
    second = _run(mechanism, b, tape, frozen)
    differences = [
        f"{what} differ: {first.shown[what]!r} and {second.shown[what]!r}"
        for what in first.shown
        if first.shown[what] != second.shown[what]
    ]
    if not tape.agreed:
        differences.append("the amounts of noise drawn differ")
    view, allowed, costs = _declared(first.output, sensitivity, weights)
    power = 2 if getattr(first.output, "rho", None) is not None else 1
    before, after = list(_leaves(view)), list(_leaves(_declared(second.output, 1, None)[0]))
    move, place = Fraction(0), 0
    if [where for where, _ in before] != [where for where, _ in after]:
        differences.append("the outputs differ in form")
        before = []
    for (where, old), (_, new) in zip(before, after, strict=False):
        if not isinstance(old, np.ndarray) or not isinstance(new, np.ndarray):
            if old != new:
                differences.append(f"{where} differs: {old!r} and {new!r}")
            continue
        for i in np.flatnonzero(old != new):
            step = abs(_exactly(new[i]) - _exactly(old[i]))
            cost = 1 if costs is None else positive(costs[place + int(i)], "weight")
            move += step**power * cost
        place += old.size
    if any(isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f" for _, leaf in before):
        allowed += allowed / 10**9  # the same noise on different counts rounds differently
    return Replay(move, allowed, tuple(differences))


class _Tape:
    """The thread's random bits, recorded the first time and played back after a rewind."""

    def __init__(self) -> None:
        from trueup._kernels.noise.bits import Keystream

        self._source = Keystream()
        self._runs: list[bytes] = []
        self._next = 0
        self._playing = False
        self._agreed = True

    def rewind(self) -> None:
        self._playing = True
        self._next = 0

    @property
    def agreed(self) -> bool:
        """Whether the second run drew just what the first had drawn."""
        return self._agreed and self._next == len(self._runs)

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        if not self._playing:
            self._source.fill(buffer)
            self._runs.append(buffer.tobytes())
            return
        if self._next < len(self._runs) and len(self._runs[self._next]) == buffer.size:
            buffer[:] = np.frombuffer(self._runs[self._next], np.uint8)
            self._next += 1
            return
        self._agreed = False
        self._source.fill(buffer)


class _Records(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.kept: list[tuple[str, int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append((record.name, record.levelno, record.getMessage()))


@dataclass(frozen=True)
class _Run:
    """One run: what it gave, and all else that an onlooker sees."""

    output: object
    shown: Mapping[str, object]


def _run(
    mechanism: Callable[[Any], object],
    given: object,
    tape: _Tape,
    frozen: Callable[[], contextlib.AbstractContextManager[object]] | None,
) -> _Run:
    from trueup._kernels.noise.bits import lent

    records, text = _Records(), io.StringIO()
    root = logging.getLogger()
    level = root.level
    output, error = None, None
    root.addHandler(records)
    root.setLevel(logging.NOTSET)
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(text),
            contextlib.redirect_stderr(text),
            lent(tape),
            frozen() if frozen is not None else contextlib.nullcontext(),
        ):
            warnings.simplefilter("always")
            try:
                output = mechanism(given)
            except Exception as raised:
                error = (type(raised).__name__, str(raised))
    finally:
        root.removeHandler(records)
        root.setLevel(level)
    shown = {
        "errors": error,
        "logs": records.kept,
        "warnings": [(w.category.__name__, str(w.message)) for w in warned],
        "texts": text.getvalue(),
    }
    return _Run(output, shown)


def _declared(
    output: object, sensitivity: object, weights: Sequence[object] | None
) -> tuple[object, Fraction, Sequence[object] | None]:
    """What to compare, how far its numbers may move in all, and what a move by one costs."""
    from trueup.measurement import Measurement

    if isinstance(output, Measurement):
        view = (output.noisy, str(output.facts.to_json()))
        costs: list[object] = []
        times = 1 if output.rho is None else 2
        for scale, (length, _) in zip(output.noise.scales, output.question.blocks, strict=True):
            costs += [1 / (times * scale)] * length
        return view, Cost.of(output.epsilon, output.rho).amount, costs
    if output is None:  # it raised an error, or gives nothing
        return None, Fraction(0), None
    if sensitivity is None:
        raise InputError("Give the declared sensitivity: it is not read from the outputs.")
    return output, positive(sensitivity, "sensitivity"), weights


def _leaves(output: object, where: str = "output") -> Iterator[tuple[str, object]]:
    """The flat numeric arrays of an output, each with its place and type, and all other facts."""
    if isinstance(output, (int, float, np.number)) and not isinstance(output, bool):
        output = np.asarray(output)
    if isinstance(output, np.ndarray) and output.dtype.kind in "iuf":
        yield f"{where}: {output.dtype} {output.shape}", output.ravel()
    elif dataclasses.is_dataclass(output) and not isinstance(output, type):
        for field in dataclasses.fields(output):
            yield from _leaves(getattr(output, field.name), f"{where}.{field.name}")
    elif isinstance(output, Mapping):
        for name, value in output.items():
            yield from _leaves(value, f"{where}[{name!r}]")
    elif isinstance(output, (list, tuple)):
        for i, value in enumerate(output):
            yield from _leaves(value, f"{where}[{i}]")
    else:
        yield f"{where}: {type(output).__name__}", output


def _exactly(value: Any) -> Fraction:
    return Fraction(value.item()) if np.isfinite(value) else Fraction(10**300)
