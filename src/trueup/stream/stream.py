"""Stream: counts published step after step, and trued up at the end."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask.question import cell_counts
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.cost import Cost
from trueup.errors import InputError, shown
from trueup.facts import Facts
from trueup.infer import infer
from trueup.measure import new_id
from trueup.measurement import Measurement
from trueup.release import Estimate, Release
from trueup.stream.keeping import Keeping, check_new, pack, read_secret, settled, unpack
from trueup.stream.mechanism import Mechanism, Running, State, mechanism_of
from trueup.stream.schedule import MOST_STEPS
from trueup.stream.terms import Accountant, Protected, StreamTerms


class Stream:
    """One count a step, or one for every cell of an axis, published as they come.

    It is paid for once, when it is opened. What is protected is all that a unit has in one step, or
    in `steps_per_unit` of them. `step` publishes; `total` and `window` answer with intervals; after
    `close`, `release` trues it all up: one history that adds up, from the same noise.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "visits.stream"
    >>> with Stream.open(path, epsilon=1, steps=365) as stream:
    ...     for visits in (120, 95, 143):
    ...         total = stream.step(visits)
    >>> total.std_error < 9, Stream.resume(path).steps
    (True, 3)
    """

    def __init__(
        self,
        mechanism: Mechanism,
        state: State,
        keeping: Keeping,
        account: tuple[Accountant, str] | None,
    ) -> None:
        terms = mechanism.terms
        self.terms, self.closed, self._account = terms, False, account
        self._mechanism, self._state, self._keeping = mechanism, state, keeping
        self._running: Running | None = None
        self._facts = Facts(
            epsilon=terms.cost.epsilon,
            rho=terms.cost.rho,
            neighbours=terms.neighbours,
            unit=terms.unit,
            rows_per_unit=terms.rows_per_unit,
            id=terms.id,
        )
        self._totals: list[Floats] | None = None
        self._behind = False  # whether the answers may lack those of the last step

    @staticmethod
    def open(
        path: str | os.PathLike[str],
        *,
        epsilon: object = None,
        rho: object = None,
        steps: int | None = None,
        axis: Axis | None = None,
        ledger: Accountant | None = None,
        key: str | None = None,
        **protected: Unpack[Protected],
    ) -> Stream:
        """A new stream, whose state is kept at this path, for the owner's eyes only.

        `steps` is how many there will be, as far as you know: the totals are best if it is right,
        and any other number of steps will do. Without it the stream is made for any length.
        `neighbours`, `unit` and `rows_per_unit` are those of `measure`; `steps_per_unit` says in
        how many steps a unit may be. The cost is ε, or ρ with `rho`: the noise is Gaussian then,
        the error of long streams smaller, and the state holds a count for every step of a block.

        A `ledger` is charged now, under the `key`, and keeps the hash of the state at every step:
        an older copy of the state, or a second one, cannot go on.
        """
        from trueup._kernels.noise.bits import one_measurement

        place = Path(path)
        if ledger is None and key is not None:
            raise InputError("A key is for the ledger: give ledger= as well, or no key.")
        with one_measurement():
            name = new_id()
        terms = StreamTerms.of(Cost.of(epsilon, rho), steps, axis, name, **protected)
        check_new(place)
        # The files are ours before anything is charged: where there can be none, nothing is lost.
        keeping = Keeping(place, terms.schedule.levels * terms.cells)
        try:
            check_new(place)  # another process may have been first
            account = None
            if ledger is not None:
                account = ledger, f"stream {terms.id}" if key is None else key
                terms = replace(terms, id=_paid(terms, *account))
            mechanism = mechanism_of(terms)
            stream = Stream(mechanism, mechanism.start(), keeping, account)
            stream._keep(stream._state, stream._now({}), False)
        except BaseException:
            keeping.give_up()
            raise
        return stream

    @staticmethod
    def resume(path: str | os.PathLike[str], ledger: Accountant | None = None) -> Stream:
        """The stream that is kept at this path, as it was after its last step.

        If a ledger paid for it, give that ledger: it knows which state is the last.
        """
        place = Path(path)
        about, _ = unpack(read_secret(place), str(place))
        if (about["key"] is None) != (ledger is None):
            had = "no ledger" if about["key"] is None else "a ledger: give it"
            raise InputError(f"The stream {place} was opened with {had}.")
        terms = StreamTerms.from_json(about["terms"])
        # The state counts from here on: until the files are ours, another process may take steps.
        keeping = Keeping(place, terms.schedule.levels * terms.cells)
        try:
            return Stream._resumed(place, keeping, ledger)
        except BaseException:
            keeping.close()
            raise

    @staticmethod
    def _resumed(place: Path, keeping: Keeping, ledger: Accountant | None) -> Stream:
        account = None
        about, arrays = unpack(read_secret(place), str(place))
        if ledger is not None:
            account = ledger, str(about["key"])
            last = ledger.last_step(account[1])
            if last is None:
                raise InputError(f"This ledger does not know the stream {place}.")
            about, arrays = unpack(settled(place, last[1]), str(place))
        mechanism = mechanism_of(StreamTerms.from_json(about["terms"]))
        state = mechanism.kept(int(about["steps"]), arrays)
        stream = Stream(mechanism, state, keeping, account)
        stream.closed = bool(about["closed"])
        keeping.mend(state.answers(), state.steps)
        stream._now(arrays)
        return stream

    def _now(self, arrays: dict[str, Any]) -> Running:
        """The running totals, from what is kept and what was published."""
        if self._running is None:
            self._running = self._mechanism.running(arrays, self.answers)
        return self._running

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        wrong: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    def leave(self) -> None:
        """Lets go of the files, so that another process may resume the stream."""
        self._keeping.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        over = "" if self.terms.axis is None else f" over {self.terms.axis.name!r}"
        cost = f"{self.terms.cost.notion}={self.terms.cost.amount}"
        return f"Stream({state}{over}, {self.steps:,} steps, {cost})"

    @property
    def steps(self) -> int:
        """How many steps it has taken."""
        return self._state.steps

    def step(self, counts: npt.ArrayLike) -> Estimate:
        """Takes the next step and publishes it: one count, or one for each cell of the axis.

        When this returns, the step outlives a power cut. If it raises, `steps` says whether it was
        taken: an answer that could not be written is kept, and written before the next one. It
        gives the total so far, over all cells.
        """
        from trueup._kernels.noise.bits import one_measurement

        if self.closed:
            raise InputError("The stream is closed: it takes no more steps. Open a new one.")
        if self.terms.axis is None:
            counts = [whole_number(counts, "The count of a step")]
        counted = cell_counts(counts, self.terms.cells)
        self._catch_up()
        with one_measurement():
            state = self._state.after(counted, self._mechanism.draw)
        answers = state.answers()
        running, total = self._now({}).after(answers)
        self._keep(state, running, False)
        if self._totals is not None:
            self._totals.append(total)
        self._behind = True
        self._keeping.append(answers, self.steps - 1)
        self._behind = False
        return self._estimate([(self.steps, 1.0)], total, None)

    def _catch_up(self) -> None:
        """Writes the answers of the last step, if that failed."""
        if self._behind:
            self._keeping.mend(self._state.answers(), self.steps)
            self._behind = False

    def _keep(self, state: State, running: Running, closed: bool) -> None:
        key = None if self._account is None else self._account[1]
        about = {"terms": self.terms.to_json(), "steps": state.steps, "closed": closed, "key": key}
        agreed = None
        if self._account is not None:
            agreed = partial(self._account[0].take_step, self._account[1], state.steps + closed)
        self._keeping.keep(pack(about, {**state.arrays(), **running.arrays()}), agreed)
        self._state, self._running, self.closed = state, running, closed

    @property
    def answers(self) -> Ints:
        """All that was published: for every step, level and cell one whole number."""
        self._catch_up()
        shape = (self.steps, self.terms.schedule.levels, self.terms.cells)
        return np.frombuffer(self._keeping.read(self.steps), "<i8").reshape(shape).astype(np.int64)

    def totals(self, level: float | None = None) -> dict[str, Any]:
        """The total after every step as it was published then, over all cells: a table."""
        every = np.array([total.sum() for total in self._all()])
        steps = np.arange(1, self.steps + 1)
        variances = self._mechanism.errors.variances(steps) * self.terms.cells
        found = {"step": steps, "total": every, "std_error": np.sqrt(variances)}
        if level is not None:
            wide = [self.total(int(step)).interval(level) for step in steps]
            found |= {"low": np.array([a for a, _ in wide]), "high": np.array([b for _, b in wide])}
        return found

    def _all(self) -> list[Floats]:
        if self._totals is None:
            self._totals = list(self._mechanism.all_totals(self.answers))
        return self._totals

    def total(self, steps: int | None = None, cells: tuple[int, int] | None = None) -> Estimate:
        """The total after so many steps, by default all so far, as it was published then."""
        number = self.steps if steps is None else whole_number(steps, "steps")
        return self.window(0, number, cells)

    def window(self, start: int, stop: int, cells: tuple[int, int] | None = None) -> Estimate:
        """The count of the steps start, …, stop − 1, the first being step 0, with its error.

        It is the difference of two totals as they were published. `cells` takes some cells only.
        """
        first, last = whole_number(start, "start"), whole_number(stop, "stop")
        if not 0 <= first < last <= self.steps:
            raise InputError(
                f"A window goes from a step to a later one among the {self.steps:,} taken, "
                f"got {first} to {last}."
            )
        every, asked = self._all(), [(last, 1.0)]
        value = every[last - 1]
        if first:
            asked.append((first, -1.0))
            value = value - every[first - 1]
        return self._estimate(asked, value, cells)

    def _estimate(
        self, asked: list[tuple[int, float]], value: Floats, cells: tuple[int, int] | None
    ) -> Estimate:
        start, stop = (0, self.terms.cells) if cells is None else _ends(cells)
        if not 0 <= start < stop <= self.terms.cells:
            raise InputError(f"Cells go from 0 to {self.terms.cells}, got {start} to {stop}.")
        answers = tuple(((cell, at), by) for cell in range(start, stop) for at, by in asked)
        errors = self._mechanism.errors
        return Estimate.of(float(value[start:stop].sum()), answers, errors, self._facts)

    def close(self) -> None:
        """Ends the stream for good: nothing follows, so nothing has to be kept back any more."""
        if not self.steps:
            raise InputError("The stream has taken no step yet: there is nothing to close.")
        if not self.closed:
            self._keep(self._state, self._now({}), True)

    def measurement(self, cell: int | None = None) -> Measurement:
        """All that a closed stream published, as one measurement: of a tree, or of windows at a ρ.

        Levels that the stream was too short for are left out, and so is their share of ε. `cell`
        takes the history of one cell of the axis only.
        """
        if not self.closed:
            raise InputError(
                "The stream is open. Close it first: what is open holds noise that later steps "
                "will use again."
            )
        if cell is not None and not 0 <= whole_number(cell, "cell") < self.terms.cells:
            raise InputError(f"Cells go from 0 to {self.terms.cells - 1}, got {cell}.")
        return self._mechanism.measurement(self._state, self.answers, cell)

    def release(self, cell: int | None = None, **how: Any) -> Release:
        """One history that adds up, from the same noise: `infer` of the measurement."""
        return infer(self.measurement(cell), **how)

    def mean_error(self, steps: int) -> float:
        """The mean squared error of the totals after 1, 2, …, `steps` steps, of one cell."""
        number = whole_number(steps, "steps")
        if not 1 <= number <= MOST_STEPS:
            raise InputError(f"steps must lie between 1 and {MOST_STEPS:,}, got {number:,}.")
        return self._mechanism.errors.mean_error(number)

    def revisions(self) -> dict[str, Any]:
        """The totals as they were first published, beside those of the closed stream: a table."""
        first = self.totals()
        cells = range(self.terms.cells) if self.terms.cost.rho is not None else (None,)
        counts = sum(
            np.asarray(self.release(cell).counts(), np.float64).reshape(self.steps, -1).sum(axis=1)
            for cell in cells
        )
        revised = np.cumsum(counts)
        return {
            "step": first["step"],
            "first": first["total"],
            "revised": revised,
            "revision": revised - first["total"],
        }


def _paid(terms: StreamTerms, ledger: Accountant, key: str) -> str:
    """The id of a stream that the ledger has paid for; refused if it was opened before."""
    own = partial(str.encode, terms.id)
    name = ledger.spend(terms.request(), terms.cost, draw=own, key=key).decode()
    if ledger.last_step(key) is not None:
        raise InputError(f"The stream {key!r} was opened before. Stream.resume goes on with it.")
    return name


def _ends(cells: object) -> tuple[int, int]:
    """The first cell and the one after the last, as they were given."""
    if not isinstance(cells, (tuple, list)) or len(cells) != 2:
        raise InputError(f"cells are given as (start, stop), got {shown(cells)}.")
    return whole_number(cells[0], "The first cell"), whole_number(cells[1], "The end of the cells")
