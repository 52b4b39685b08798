"""Streams at a ρ from opening to closing: kept, resumed, paid for, trued up."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.stream.mechanism import ByNodes, ByWindows, mechanism_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.stream"


def test_epsilon_takes_nodes_and_rho_takes_windows(path: Path) -> None:
    with tu.Stream.open(path, epsilon=1) as nodes:
        assert isinstance(mechanism_of(nodes.terms), ByNodes)
    with tu.Stream.open(path.with_name("b"), rho="1/2") as windows:
        assert isinstance(mechanism_of(windows.terms), ByWindows)
        assert repr(windows) == "Stream(open, 0 steps, rho=1/2)"
        assert windows.mean_error(365) == pytest.approx(9.2, abs=0.1)  # 7.1 if 365 were said
    for wrong in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(InputError, match="epsilon"):
            tu.Stream.open(path.with_name("c"), **wrong)
    with pytest.raises(InputError, match="spends no delta"):
        tu.Stream.open(path.with_name("c"), epsilon=tu.Cost.of(rho=1, delta="1e-6"))


@pytest.mark.parametrize("steps", [30, 5, None])
def test_a_stream_at_a_rho_is_resumed_and_becomes_one_measurement(
    path: Path, steps: int | None
) -> None:
    ledger = tu.Ledger(path.with_name("l"), rho=200)
    given = {"rho": 100, "steps": steps, "ledger": ledger, "unit": "user", "rows_per_unit": 2}
    tu.Stream.open(path, **given).leave()  # type: ignore[arg-type]
    for count in range(9):
        with tu.Stream.resume(path, ledger) as stream:
            total = stream.step(count)
    assert ledger.spent == 100
    facts = total.facts
    assert (facts.rho, facts.epsilon, facts.neighbours) == (100, None, "add-remove")
    assert (facts.unit, facts.rows_per_unit, facts.id) == ("user", 2, stream.terms.id)
    assert total.value == pytest.approx(36, abs=2)
    with tu.Stream.resume(path, ledger) as stream:
        assert stream.total(9).value == pytest.approx(total.value)
        assert stream.window(3, 6).value == pytest.approx(12, abs=2)
        low, high = stream.window(3, 6).interval(1 - 1e-9)
        assert low < 12 < high
        table = stream.totals(level=0.9)
        assert table["std_error"][8] == pytest.approx(total.std_error)
        stream.close()
        measured, release = stream.measurement(), stream.release()
        assert stream.revisions()["revision"] == pytest.approx(np.zeros(9), abs=1e-9)
    assert measured.noise.scales == stream.terms.scales
    assert measured.rho is not None
    assert 25 < measured.rho <= 100
    assert measured.rows_per_unit == 2
    assert measured.id == release.facts.id == stream.terms.id is not None
    assert release.range(1, 10).std_error == pytest.approx(total.std_error)
    assert release.total().value == pytest.approx(total.value)


def test_every_cell_of_an_axis_has_its_history(path: Path) -> None:
    axis = tu.Axis.categories("borough", ["Bronx", "Brooklyn", "Queens"])
    for cost in ({"rho": 1000}, {"epsilon": 100}):
        place = path.with_name(next(iter(cost)))
        with tu.Stream.open(place, steps=10, axis=axis, **cost) as stream:  # type: ignore[arg-type]
            for step in range(12):  # longer than said
                total = stream.step([step, 2 * step, 0])
            assert total.value == pytest.approx(198, abs=6)
            stream.close()
            one = stream.release(cell=1)
            assert np.asarray(one.counts()) == pytest.approx(2 * np.arange(12), abs=3)
            with pytest.raises(InputError, match="Cells go from 0 to 2, got 3"):
                stream.measurement(3)
            if "rho" in cost:
                with pytest.raises(InputError, match="cell by cell"):
                    stream.release()
            first, revised = (stream.revisions()[name][-1] for name in ("first", "revised"))
            assert first == pytest.approx(revised, abs=6)


def test_the_noise_drawn_at_a_rho_is_that_which_is_declared(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trueup._kernels.noise import gauss

    drawn: list[tuple[int, Fraction]] = []

    def draw(size: int, variance: Fraction) -> np.ndarray:
        drawn.append((size, variance))
        return np.zeros(size, np.int64)

    monkeypatch.setattr(gauss, "draw", draw)
    axis = tu.Axis.integers("age", 0, 3)
    with tu.Stream.open(path, rho="1/3", steps=3, axis=axis, steps_per_unit=2) as stream:
        for _ in range(5):
            stream.step([1, 2, 3, 4])
        assert drawn == [(4, stream.terms.scales[0])] * 5
        assert stream.terms.scales[0] == Fraction(2**48 * 4, 2) * 3
