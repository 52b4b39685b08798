"""Noise that cannot be drawn is refused before anything is charged."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import trueup as tu
from trueup._kernels.noise import bits, gauss_tables, laplace_tables
from trueup.cost import Cost
from trueup.errors import FileError, InputError, NoiseError
from trueup.measurement import Measurement
from trueup.noise import Noise
from trueup.owner.rehearsal import check_noise


def test_noise_is_tried_without_data() -> None:
    question = tu.CellCounts(tu.Axis.integers("n", 0, 3))
    for cost in (Cost.of(1), Cost.of(rho=1)):
        check_noise(question, cost, "add-remove", 1)
    with pytest.raises(InputError):
        check_noise(question, Cost.of("1e-14"), "replace", 10**9)


@pytest.mark.parametrize("cost", [Cost.of(1), Cost.of(rho=1)])
def test_tables_of_every_scale_are_made_before_the_charge(
    cost: Cost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that one scale alone has not must not be missed after the charge."""
    tree = tu.TreeCounts(12, radices=(3, 4), shares=("1/6", "1/3", "1/2"))
    scales = Noise(tree, cost.epsilon, rho=cost.rho).scales
    assert len(set(scales)) == 3
    room: Any = gauss_tables if cost.rho else laplace_tables
    name = "gauss_tables" if cost.rho else "tables"
    real = getattr(room, name)
    for missing in scales:

        def made(scale: Fraction, missing: Fraction = missing) -> Any:
            if scale == missing:
                raise NoiseError("There is none.")
            return real(scale)

        monkeypatch.setattr(room, name, made)
        with pytest.raises(NoiseError):
            check_noise(tree, cost, "add-remove", 1)


def test_weights_leave_room_for_all_records_and_no_more() -> None:
    """2^34 records, more than any table is asked about, times 2^28: below 2^63 with any noise."""
    for weight in ((1 << 28), (1 << 28) + 1):
        question = tu.WeightedCounts(2, [[weight, 1], [1, weight]])
        if weight == 1 << 28:
            check_noise(question, Cost.of(weight), "add-remove", 1)
        else:
            with pytest.raises(InputError, match="answers up to 268,435,456"):
                check_noise(question, Cost.of(weight), "add-remove", 1)


def test_what_no_memory_holds_or_was_asked_already_is_refused_before_the_charge() -> None:
    hosts, kinds = tu.Axis.integers("host", 0, (1 << 27) - 1), tu.Axis.integers("kind", 0, 1)
    large = tu.GridCounts(tu.CellCounts(kinds), tu.TreeCounts(hosts, branching=2))
    asked = tu.measure([3, 0, 9], tu.TreeCounts(3, branching=2, adaptive=True), 1).question
    for question, words in ((large, "more than are kept in memory"), (asked, "asked already")):
        with pytest.raises(InputError, match=words):
            check_noise(question, Cost.of(1), "add-remove", 1)
    check_noise(large, Cost.of(1), "add-remove", 1, in_memory=False)  # line by line


LONG = Fraction(10**98 + 1, 10**98 + 9)


@pytest.mark.parametrize("cost", [{"epsilon": LONG}, {"rho": LONG}])
def test_a_cost_of_many_digits_is_charged_and_its_answer_read(tmp_path: Path, cost: Any) -> None:
    """Whatever number can be charged can be read back from the stored answer."""
    kind = {"rho": 9} if "rho" in cost else {"limit": 9}
    ledger = tu.Ledger(tmp_path / "x.ledger", **kind)
    rows = pa.table({"user": [1, 1, 2], "hour": [0, 3, 3]})
    hours = tu.CellCounts(tu.Axis.integers("hour", 0, 3))
    owner = tu.Owner(rows, ledger, unit="user", rows_per_unit=2)
    auto = tu.Owner(rows, ledger, unit="user", rows_per_unit="auto", at_most=3)
    for each in (owner, auto):
        measured = each.measure(hours, **cost, key=f"{each.at_most}")
        assert measured == each.measure(hours, **cost, key=f"{each.at_most}")
    if "epsilon" in cost:
        assert tu.adaptive(owner, hours.axis, LONG, rounds=2).facts.epsilon == LONG
        ledger = tu.Ledger(tmp_path / "delta.ledger", limit=3, delta_limit=LONG)
        ledger.spend({"unit": "row"}, LONG, delta=LONG / 2, draw=lambda: b"1")
    assert tu.Ledger(ledger.name).verify() == len(ledger.charges) * 2 + 1


def test_an_answer_that_could_not_be_read_back_is_found_before_the_charge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(data: bytes) -> Measurement:
        raise FileError("The file's facts make no sense.")

    monkeypatch.setattr(Measurement, "from_bytes", staticmethod(fails))
    with pytest.raises(FileError):
        check_noise(tu.CellCounts(4), Cost.of(1), "add-remove", 1)


WORDS = tu.Universe.text("a-z", 3)
DOORS: dict[str, Callable[[tu.Owner], object]] = {
    "counts": lambda owner: owner.measure(tu.CellCounts(tu.Axis.integers("hour", 0, 3)), 1),
    "counts at a rho": lambda owner: owner.measure(
        tu.CellCounts(tu.Axis.integers("hour", 0, 3)), rho=1
    ),
    "keys": lambda owner: owner.keys.measure(tu.KeyCounts(WORDS, by="word"), 1),
    "keys with a delta": lambda owner: owner.keys.measure(
        tu.KeyCounts(WORDS, by="word"), tu.Cost.of(1, delta="1e-6")
    ),
    "keys at a rho": lambda owner: owner.keys.measure(
        tu.KeyCounts(WORDS, by="word"), tu.Cost.of(rho=1, delta="1e-6")
    ),
    "prefixes": lambda owner: owner.keys.measure_prefixes(tu.PrefixCounts(WORDS, by="word"), 1),
    "a folder": lambda owner: owner.publish(
        tu.CellCounts(tu.Axis.integers("hour", 0, 3)), 1, to=Path(owner.ledger.name + ".folder")
    ),
}


@pytest.mark.parametrize("broken", ["randomness", "Laplace tables", "Gaussian tables"])
@pytest.mark.parametrize("door", DOORS)
def test_nothing_is_charged_where_no_noise_can_be_drawn(
    tmp_path: Path, door: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through every door: the operating system has no random bytes, or a table cannot be made."""
    gaussian = door.endswith("rho")
    limits = {"rho": 9, "delta_limit": "1e-3"} if gaussian else {"limit": 9, "delta_limit": "1e-3"}
    ledger = tu.Ledger(tmp_path / "x.ledger", **limits)  # type: ignore[arg-type]
    rows = pa.table({"word": ["a", "b", "b"], "hour": [0, 3, 3]})
    owner = tu.Owner(rows, ledger)

    def none(*_: object) -> bytes:
        raise NoiseError("There is none.")

    if broken == "randomness":
        monkeypatch.setattr(bits, "os", SimpleNamespace(urandom=none, getpid=os.getpid))
    elif broken == "Laplace tables":
        monkeypatch.setattr(laplace_tables, "tables", none)
    else:
        monkeypatch.setattr(gauss_tables, "gauss_tables", none)
    if broken == "randomness" or gaussian == (broken == "Gaussian tables"):
        with pytest.raises(NoiseError):
            DOORS[door](owner)
        assert not ledger.history()
    monkeypatch.undo()
    DOORS[door](owner)
    assert len(ledger.history()) == 1
