"""What is public about a stream from its opening on, and who keeps its account."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypedDict, Unpack

from trueup.ask.question import Neighbours, check_neighbours
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.facts import check_unit, rows_for
from trueup.noise import check_rows_per_unit
from trueup.stream.past import PastSchedule
from trueup.stream.schedule import Schedule

_MOST_NUMBERS = 1 << 24  # levels × cells: what is read and written at every step


class Protected(TypedDict, total=False):
    """Whom a stream protects; what is not said is as in `measure`, in one step."""

    neighbours: Neighbours
    unit: str
    rows_per_unit: int | None
    steps_per_unit: int


class Accountant(Protocol):
    """A ledger, as far as a stream needs one."""

    def spend(
        self,
        request: Mapping[str, object],
        epsilon: object = None,
        *,
        draw: Callable[[], bytes],
        key: str | None = None,
    ) -> bytes:
        """Charges once for this key."""

    def take_step(self, key: str, number: int, sha256: str) -> None:
        """Records the state after a step."""

    def last_step(self, key: str) -> tuple[int, str] | None:
        """The last step recorded, and the hash of the state."""


@dataclass(frozen=True)
class StreamTerms:
    """What is public about a stream from its opening on."""

    schedule: Schedule | PastSchedule
    cost: Cost
    neighbours: Neighbours
    unit: str
    rows_per_unit: int
    steps_per_unit: int
    axis: Axis | None
    id: str

    @staticmethod
    def of(
        cost: Cost,
        steps: int | None,
        axis: Axis | None,
        name: str,
        **protected: Unpack[Protected],
    ) -> StreamTerms:
        """The terms of a stream of so many steps, or of any number, each of them checked."""
        from trueup._kernels.noise.gauss_tables import checked_variance
        from trueup._kernels.noise.laplace_tables import checked_scale

        if cost.delta:
            raise InputError("A stream spends no delta: give epsilon or rho alone.")
        many = whole_number(protected.pop("steps_per_unit", 1), "steps_per_unit")
        if many < 1:
            raise InputError(f"steps_per_unit must be at least 1, got {many}.")
        if axis is not None and not isinstance(axis, Axis):
            raise InputError(f"axis must be an Axis, got {type(axis).__name__}.")
        relation = check_neighbours(protected.pop("neighbours", "add-remove"))
        unit = check_unit(protected.pop("unit", "row"))
        rows = rows_for(unit, protected.pop("rows_per_unit", None))
        if protected:
            raise InputError(f"A stream has no option {next(iter(protected))!r}.")
        schedule: Schedule | PastSchedule
        if cost.rho is not None:
            schedule = PastSchedule.best(steps, 1 if axis is None else axis.size)
        else:
            schedule = Schedule.endless() if steps is None else Schedule.best(steps)
        terms = StreamTerms(schedule, cost, relation, unit, rows, many, axis, name)
        for scale in terms.scales:
            (checked_scale if cost.rho is None else checked_variance)(scale)
        if schedule.levels * terms.cells > _MOST_NUMBERS:
            raise InputError(
                f"A step of this stream has {schedule.levels} × {terms.cells:,} numbers; at most "
                f"{_MOST_NUMBERS:,} can be kept at every step. Use a coarser axis."
            )
        return terms

    @property
    def rows(self) -> int:
        """How many rows of a unit count in all its steps together."""
        return check_rows_per_unit(self.rows_per_unit * self.steps_per_unit)

    @property
    def cells(self) -> int:
        """How many counts a step has."""
        return 1 if self.axis is None else self.axis.size

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """The exact noise scale of the nodes of each level; of Gaussian noise, the variance."""
        if isinstance(self.schedule, PastSchedule):
            assert self.cost.rho is not None
            return (self.schedule.variance(self.cost.rho, self.neighbours, self.rows),)
        assert self.cost.epsilon is not None
        return self.schedule.noise(self.cost.epsilon, self.neighbours, self.rows)

    @property
    def protected(self) -> str:
        """Whom the cost protects: a unit, or what it has in one step if it may be in many."""
        whole = self.unit in ("row", "edge") or self.steps_per_unit > 1
        return self.unit if whole else f"{self.unit} in one step"

    def request(self) -> dict[str, Any]:
        """What the ledger is told that the cost is for."""
        asked = {key: value for key, value in self.to_json().items() if key != "id"}
        return {**asked, "stream": True, "unit": self.protected}

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            **_written(self.schedule),
            "rho" if self.cost.rho is not None else "epsilon": str(self.cost.amount),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit,
            "steps_per_unit": self.steps_per_unit,
            "axis": None if self.axis is None else self.axis.to_json(),
            "id": self.id,
        }

    @staticmethod
    def from_json(written: dict[str, Any]) -> StreamTerms:
        """Those that were written."""
        axis = written["axis"]
        return StreamTerms(
            _read(written),
            Cost.of(written.get("epsilon"), written.get("rho")),
            check_neighbours(written["neighbours"]),
            written["unit"],
            written["rows_per_unit"],
            written["steps_per_unit"],
            None if axis is None else Axis.from_json(axis),
            written["id"],
        )


def _written(schedule: Schedule | PastSchedule) -> dict[str, Any]:
    if isinstance(schedule, PastSchedule):
        return {"first": schedule.first, "most": schedule.most}
    shares = [str(share) for share in schedule.shares]
    return {"radices": list(schedule.radices), "shares": shares}


def _read(written: dict[str, Any]) -> Schedule | PastSchedule:
    if "rho" in written:
        return PastSchedule(written["first"], written["most"])
    return Schedule(tuple(written["radices"]), tuple(map(Fraction, written["shares"])))
