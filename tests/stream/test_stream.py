"""Streams from opening to closing: what they say, what they refuse, and how they are trued up."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.errors import InputError, TrueupError
from trueup.stream import Schedule, mean_error


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.stream"


@pytest.mark.parametrize("steps", [1, 30, 365, None])
@pytest.mark.parametrize("taken", [1, 2, 9, 37, 100])
def test_a_closed_stream_is_the_measurement_of_a_tree(
    path: Path, steps: int | None, taken: int
) -> None:
    """The closing total is exact least squares, and the price is that of the levels reached."""
    with tu.Stream.open(path, epsilon=50, steps=steps) as stream:
        for count in range(taken):
            total = stream.step(count)
        stream.close()
        measured, release = stream.measurement(), stream.release()
        kept = stream.terms.schedule
        used = next((k + 1 for k, w in enumerate(kept.widths) if w >= taken), kept.levels)
        assert measured.epsilon == 50 * sum(kept.shares[:used]) <= 50
        assert set(measured.noise.scales) == set(stream.terms.scales[:used])
        assert measured.id == release.facts.id == stream.terms.id is not None
    truth = taken * (taken - 1) // 2
    assert total.value == pytest.approx(truth, abs=25)
    assert release.total().value == pytest.approx(truth, abs=25)
    assert release.counts() == pytest.approx(np.arange(taken), abs=12)


def test_the_history_is_trued_up_and_revisions_are_named(path: Path) -> None:
    """Offline least squares of the same noise: at 4,096 steps below 205, beside 196 online."""
    with tu.Stream.open(path, epsilon=1, steps=60) as stream:
        for _ in range(60):
            stream.step(10)
        stream.close()
        table, release = stream.revisions(), stream.release()
        online, offline = stream.totals()["std_error"], []
    for stop in range(1, 61):
        estimate = release.range(1, stop + 1)
        offline.append(estimate.std_error)
        assert estimate.value == pytest.approx(table["revised"][stop - 1])
    assert (np.array(offline) <= online * (1 + 1e-9)).all()
    assert table["revision"] == pytest.approx(table["revised"] - table["first"])
    question = tu.TreeCounts(4096, radices=(5, 10, 10, 10), shares=_shares(Schedule.best(4096)))
    found = tu.infer(tu.Measurement(question, np.zeros(question.length, np.int64), epsilon=1))
    stops = np.arange(1, 4097)
    assert found.errors.range_variances(0 * stops, stops).mean() <= 205
    assert mean_error(Schedule.best(4096), 1, 4096) <= 197


def _shares(schedule: Schedule) -> list[Fraction]:
    assert schedule.radices == (10, 10, 10)
    return [Fraction(0), *reversed(schedule.shares)]


def test_windows_are_differences_with_their_own_error(path: Path) -> None:
    with tu.Stream.open(path, epsilon=1, steps=100) as stream:
        for count in range(50):
            stream.step(count)
        window, both = stream.window(10, 30), stream.total(30) - stream.total(10)
        assert window.value == pytest.approx(both.value)
        assert window.std_error == pytest.approx(both.std_error)
        assert window.interval(0.9) == pytest.approx(both.interval(0.9))
        assert stream.window(0, 30).std_error == pytest.approx(stream.total(30).std_error)
        table = stream.totals(level=0.9)
        assert table["std_error"][29] == pytest.approx(stream.total(30).std_error)
        assert (table["low"][29], table["high"][29]) == stream.total(30).interval(0.9)
        with pytest.raises(InputError, match="a later one among the 50 taken, got 30 to 30"):
            stream.window(30, 30)
        with pytest.raises(InputError, match="got 0 to 51"):
            stream.total(51)


def test_a_stream_over_an_axis_becomes_a_grid(path: Path) -> None:
    axis = tu.Axis.categories("borough", ["Bronx", "Brooklyn", "Queens"])
    with tu.Stream.open(path, epsilon=50, steps=40, axis=axis) as stream:
        for step in range(45):  # longer than said
            total = stream.step([step, 2 * step, 0])
        assert total.value == pytest.approx(3 * 990, abs=20)
        assert stream.total(cells=(1, 2)).value == pytest.approx(2 * 990, abs=20)
        assert stream.total(cells=(0, 3)).std_error == pytest.approx(total.std_error)
        with pytest.raises(InputError, match="Cells go from 0 to 3"):
            stream.total(cells=(2, 4))
        with pytest.raises(InputError, match="3 cells, but 2 counts"):
            stream.step([1, 2])
        assert stream.steps == 45
        stream.close()
        release = stream.release(nonnegative=True, integers=True)
    assert np.asarray(release.counts()).shape == (45, 3)
    assert np.asarray(release.counts())[:, 1] == pytest.approx(2 * np.arange(45), abs=12)


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": "1/2"}])
def test_totals_of_all_cells_have_the_errors_of_all_cells(path: Path, cost: Any) -> None:
    """Cells have noise of their own: variances add up, and a table says what each total says."""
    axis = tu.Axis.integers("cell", 0, 3)
    with tu.Stream.open(path, steps=6, axis=axis, **cost) as stream:
        for _ in range(9):  # longer than said: several blocks
            last = stream.step([1, 2, 3, 4])
        table = stream.totals(level=0.9)
        for step in range(1, 10):
            total = stream.total(step)
            one = stream.total(step, cells=(2, 3))
            assert total.std_error == pytest.approx(2 * one.std_error)
            assert table["std_error"][step - 1] == pytest.approx(total.std_error)
            assert (table["low"][step - 1], table["high"][step - 1]) == total.interval(0.9)
            assert table["total"][step - 1] == pytest.approx(total.value)
        assert last.std_error == pytest.approx(stream.total().std_error)
        assert table["std_error"][8] > table["std_error"][0]


def test_a_stream_that_was_closed_stays_closed(path: Path) -> None:
    ledger = tu.Ledger(path.with_name("ledger"), limit=3)
    for name, given in (("alone", {}), ("paid", {"ledger": ledger})):
        place = path.with_name(name)
        how: Any = {"key": name} if given else {}
        with tu.Stream.open(place, epsilon=1, steps=6, **given, **how) as stream:  # type: ignore[arg-type]
            stream.step(3)
            before = place.read_bytes()
            stream.close()
        with tu.Stream.resume(place, **given) as again:  # type: ignore[arg-type]
            assert (again.closed, again.steps) == (True, 1)
            with pytest.raises(InputError, match="takes no more steps"):
                again.step(3)
            again.measurement()
    # The ledger knows that it was closed: the state before that is an older copy.
    place.write_bytes(before)
    with pytest.raises(TrueupError):
        tu.Stream.resume(place, ledger=ledger)


def test_what_a_ledger_paid_for_goes_on_with_that_ledger_alone(path: Path) -> None:
    ledger = tu.Ledger(path.with_name("ledger"), limit=3)
    with tu.Stream.open(path, epsilon=1, steps=6, ledger=ledger, key="s") as stream:
        stream.step(3)
    with pytest.raises(InputError, match="opened with a ledger: give it"):
        tu.Stream.resume(path)
    with pytest.raises(InputError, match="does not know the stream"):
        tu.Stream.resume(path, tu.Ledger(path.with_name("other"), limit=3))
    for place in (path, path.with_name("second")):
        with pytest.raises(InputError):
            tu.Stream.open(place, epsilon=1, steps=6, ledger=ledger, key="s")
    assert not path.with_name("second").exists()
    assert ledger.spent == 1
    with tu.Stream.open(path.with_name("alone"), epsilon=1, steps=6) as alone:
        alone.step(3)
    with pytest.raises(InputError, match="opened with no ledger"):
        tu.Stream.resume(path.with_name("alone"), ledger)


def test_noise_follows_rows_and_steps_of_a_unit(path: Path) -> None:
    def scales(name: str, **given: object) -> tuple[Fraction, ...]:
        with tu.Stream.open(path.with_name(name), epsilon=1, steps=50, **given) as stream:  # type: ignore[arg-type]
            stream.step(3)
            stream.close()
            stream.measurement()
            return stream.terms.scales

    plain = scales("a")
    assert scales("b", steps_per_unit=7) == tuple(7 * each for each in plain)
    unit = scales("c", unit="user", rows_per_unit=3, steps_per_unit=2)
    assert unit == tuple(6 * each for each in plain)
    assert scales("d", neighbours="replace") == tuple(2 * each for each in plain)


def test_the_noise_drawn_is_that_which_is_declared(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trueup._kernels.noise import laplace

    drawn: list[Fraction] = []
    monkeypatch.setattr(
        laplace, "draw", lambda size, scale: drawn.append(scale) or np.zeros(size, np.int64)
    )
    with tu.Stream.open(path, epsilon="1/3", steps=30, steps_per_unit=2) as stream:
        assert not drawn
        stream.step(3)
        assert sum(2 / scale for scale in drawn) == Fraction(1, 3)
        assert drawn == list(reversed(stream.terms.scales))


def test_an_open_stream_keeps_back_what_later_steps_need(path: Path) -> None:
    with tu.Stream.open(path, epsilon=1) as stream:
        with pytest.raises(InputError, match="taken no step yet"):
            stream.close()
        stream.step(1)
        with pytest.raises(InputError, match=r"is open. Close it first"):
            stream.release()
        stream.close()
        with pytest.raises(InputError, match="is closed: it takes no more steps"):
            stream.step(1)
    with tu.Stream.resume(path) as again:
        assert again.closed
        assert repr(again) == "Stream(closed, 1 steps, epsilon=1)"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"steps": 0}, "steps must lie between"),
        ({"steps_per_unit": 0}, "steps_per_unit must be at least 1"),
        ({"axis": 12}, "axis must be an Axis, got int"),
        ({"unit": "user"}, "goes with rows_per_unit="),
        ({"neighbours": "all"}, "neighbours"),
        ({"rows": 3}, "no option 'rows'"),
        ({"epsilon": "1e-30"}, "scale"),
        ({"axis": tu.Axis.integers("x", 0, 1 << 23)}, "Use a coarser axis"),
    ],
)
def test_what_cannot_be_opened_is_refused_and_leaves_nothing(
    path: Path, given: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        tu.Stream.open(path, **({"epsilon": 1} | given))  # type: ignore[arg-type]
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("count", [-1, 2.5, "many", None, True, [3]])
def test_a_step_that_is_no_count_is_refused_and_not_taken(path: Path, count: object) -> None:
    with tu.Stream.open(path, epsilon=1) as stream:
        with pytest.raises(InputError):
            stream.step(count)  # type: ignore[arg-type]
        assert stream.steps == 0


def test_a_state_that_cannot_be_kept_is_no_step(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tu.Stream.open(path, epsilon=1) as stream:
        stream.step(1)

        def full(*_: object) -> None:
            raise OSError("no space left")

        with monkeypatch.context() as patched:
            patched.setattr("trueup.stream.keeping.write_whole", full)
            with pytest.raises(OSError, match="no space left"):
                stream.step(1)
        assert stream.steps == 1
        stream.step(1)
        assert stream.steps == 2


def test_an_answer_that_could_not_be_written_is_written_before_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    with tu.Stream.open(path, epsilon=1, steps=9) as stream:
        stream.step(1)
        for ask in (lambda: stream.step(1), lambda: stream.answers):
            with monkeypatch.context() as patched:
                patched.setattr(stream._keeping, "append", full)
                with pytest.raises(OSError, match="no space left"):
                    stream.step(1)
            taken, last = stream.steps, stream._state.answers()
            ask()
            assert (stream.answers[taken - 1] == last).all()
        assert stream.steps == 4
        every = stream.answers
    with tu.Stream.resume(path) as again:
        assert (again.answers == every).all()


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": "1/2"}])
def test_what_makes_no_sense_is_refused_by_name(path: Path, cost: Any) -> None:
    with tu.Stream.open(path, axis=tu.Axis.integers("cell", 0, 3), steps=9, **cost) as stream:
        stream.step([1, 2, 3, 4])
        for cells in (3, (1, 2, 3), "01", (0.5, 2), (0, True), {0, 1}):
            with pytest.raises(InputError, match="cell"):
                stream.total(cells=cells)  # type: ignore[arg-type]
        for steps in (0, -1, (1 << 40) + 1, 2.5):
            with pytest.raises(InputError, match="steps"):
                stream.mean_error(steps)  # type: ignore[arg-type]


def test_a_stream_at_a_rho_is_no_longer_than_its_question_can_be(path: Path) -> None:
    """Refused before it is paid for: no error could be told of its totals."""
    with pytest.raises(InputError, match="between 1 and 16,777,216 at a rho"):
        tu.Stream.open(path, rho=1, steps=(1 << 24) + 1)
    with tu.Stream.open(path, rho=1, steps=1 << 24) as stream:
        assert stream.mean_error(1 << 10) > 0
    with tu.Stream.open(path.with_name("nodes"), epsilon=1, steps=1 << 40) as stream:
        assert stream.mean_error(1 << 40) > 0
