"""Facts: a record that is written and read whole, and what it says wherever a number stands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import trueup as tu
from trueup.cli import app
from trueup.facts import Facts, NumberOfGroups, counted_rows
from trueup.server.opened import caption

HOUR = tu.Axis.integers("hour", 0, 23)
TRIPS = pa.table(
    {
        "user": np.repeat(np.arange(50), 20),
        "hour": np.tile(np.arange(20), 50),
        "fare": np.tile(np.arange(20), 50) % 7,
    }
)
CAPPED = "t most 3 rows of each user are counted: true totals may be higher"
"""With or without a capital letter."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tu.Measurement:
    ledger = tu.Ledger(tmp_path_factory.mktemp("ledger") / "l", limit=9)
    owner = tu.Owner(TRIPS, ledger, unit="user", rows_per_unit=3)
    return owner.measure(tu.TreeCounts(HOUR), 1)


def run(*arguments: object) -> str:
    ran = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert ran.exit_code == 0, ran.output
    return " ".join(ran.output.split())


def words(markup: str) -> str:
    """The words of a drawing or caption, without its tags and lines."""
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


SHOWN: dict[str, Callable[[Any], str]] = {
    "repr of a release": repr,
    "repr of a total": lambda release: repr(release.total()),
    "repr of a share": lambda release: repr(release.range(0, 5) / release.total()),
    "describe": lambda release: release.total().describe(),
    "describe of a share": lambda release: (release.range(0, 5) / release.total()).describe(),
    "notebook": lambda release: words(release._repr_html_()),
    "picture": lambda release: words(release.plot().layout.annotations[0].text),
}


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("way", [{}, {"nonnegative": True, "integers": True}])
def test_every_number_says_that_rows_of_a_unit_are_left_out(
    shown: str, way: dict[str, bool], measured: tu.Measurement
) -> None:
    release = tu.infer(measured, **way)
    assert CAPPED in SHOWN[shown](release)


@pytest.mark.parametrize("command", ["query", "show", "quantile", "infer"])
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_every_command_that_prints_numbers_says_so(
    command: str, as_json: list[str], measured: tu.Measurement, tmp_path: Path
) -> None:
    file = tmp_path / "m.parquet"
    measured.save(file)
    given = {"query": ["0:12"], "quantile": ["0.5"], "infer": ["-o", tmp_path / "r.parquet"]}
    if command == "infer" and as_json:
        return  # it prints no number
    assert CAPPED in run(command, file, *given.get(command, []), *as_json)


def test_files_and_server_say_so(measured: tu.Measurement, tmp_path: Path) -> None:
    assert CAPPED in repr(measured)
    assert CAPPED in caption(measured.facts)
    measured.save(tmp_path / "m.parquet")
    tu.infer(measured).save(tmp_path / "r.json")
    assert CAPPED in str(pq.read_schema(tmp_path / "m.parquet").metadata)
    assert CAPPED in (tmp_path / "r.json").read_text()
    assert tu.load(tmp_path / "m.parquet").facts == measured.facts
    both = tu.reconcile([measured, tu.measure(np.full(24, 6), tu.CellCounts(HOUR), 1)])
    assert CAPPED in repr(both)
    assert CAPPED in repr(both.total())


def test_counts_of_rows_say_nothing_of_the_kind() -> None:
    release = tu.publish(TRIPS, HOUR, 1)
    for words in (repr(release), release.total().describe(), release._repr_html_()):
        assert "true totals" not in words
    assert Facts.of(tu.CellCounts(HOUR), 1, unit="edge").capped == ""
    assert counted_rows("user", 1) == (
        "at most 1 row of each user is counted: true totals may be higher"
    )


def test_a_unit_without_a_number_of_rows_is_refused(tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "l", limit=1)
    for ask in (
        lambda: tu.Owner(TRIPS, ledger, unit="user"),
        lambda: tu.publish(TRIPS, HOUR, 1, unit="user"),
        lambda: tu.measure(np.zeros(24, int), tu.CellCounts(HOUR), 1, unit="user"),
    ):
        with pytest.raises(tu.InputError, match=r"unit='user' goes with rows_per_unit="):
            ask()
    assert ledger.spent == 0
    (tmp_path / "trueup.toml").write_text(
        "[datasets.x]\nsource='x.parquet'\nledger='x.ledger'\nlimit='1'\nunit='user'\n"
    )
    from trueup.config import read_config

    with pytest.raises(tu.FileError, match="goes with rows_per_unit="):
        read_config(tmp_path / "trueup.toml")


ID, OTHER = "0123456789abcdef" * 2, "f" * 32
AXIS = tu.Axis.integers("a", 0, 7)
MEASURED = Facts.of(tu.TreeCounts(AXIS, branching=2), "1/3", "replace", "user", 4, id=ID)

costs = st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=10_000)
some = st.builds(
    Facts.of,
    st.sampled_from([tu.CellCounts(AXIS), tu.TreeCounts(AXIS, branching=2), tu.SortedCounts(5)]),
    costs,
    st.sampled_from(["add-remove", "replace"]),
    st.sampled_from(["row", "user"]),
    st.integers(1, 10**9),
    id=st.sampled_from([None, ID, OTHER]),
    private=st.booleans(),
    inferred=st.sampled_from([None, "least squares"]),
)


def through_a_file(facts: Facts) -> Facts:
    return Facts.from_json(json.loads(json.dumps(facts.to_json())))


@given(some, st.sampled_from([None, NumberOfGroups(12, Fraction(1, 7))]))
def test_the_facts_of_a_measurement_are_read_as_they_were_written(facts, number):
    whole = replace(facts, number_of_groups=number, slice=((0, 3), None), constraints=("a = b",))
    assert through_a_file(whole) == whole


@given(st.lists(some, min_size=1, max_size=4), st.sampled_from(["combined", "sources"]))
def test_several_cost_their_sum_and_are_private_if_all_are(parts, how):
    whole = Facts.together(parts, **{how: tuple(parts)})
    assert whole.epsilon == sum(part.epsilon for part in parts)
    assert whole.private == all(part.private for part in parts)
    assert whole.stamp == ("" if whole.private else " NOT PRIVATE")
    assert set(whole.measured) == {part.id for part in parts if part.id}
    for word in ("unit", "neighbours"):
        assert set(getattr(whole, word).split(" and ")) == {getattr(p, word) for p in parts}
    assert through_a_file(whole) == whole


def test_what_is_typed_in_by_hand_has_no_cost_and_no_noise():
    typed = Facts()
    assert Facts.together([MEASURED, typed]).epsilon is None
    assert through_a_file(typed) == typed
    assert not through_a_file(Facts(private=False)).private
    with pytest.raises(tu.InputError, match="no single measurement"):
        typed.noise  # noqa: B018


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1/2"},
        {"neighbours": "add-remove"},
        {"rows_per_unit": 3},
        {"scales": ["1"]},
        {"epsilon": "0"},
        {"id": "short"},
        {"id": ID.upper()},
        {"law": "gauss"},
        {"law": "continuous"},
        {"private": "yes"},
        {"unit": ""},
        {"inferred": 3},
        {"slice": [[1]]},
        {"number_of_groups": {"estimated": 1.5, "epsilon": "1"}},
        {"number_of_groups": {"estimated": 2, "epsilon": "-1"}},
        {"question": None},
        {"question": {"kind": "nothing"}},
    ],
)
def test_facts_that_disagree_or_make_no_sense_are_refused(change):
    with pytest.raises((tu.FileError, tu.InputError)):
        Facts.from_json({**MEASURED.to_json(), **change})


@pytest.mark.parametrize(
    "lost", ["epsilon", "neighbours", "unit", "rows_per_unit", "scales", "law"]
)
def test_a_fact_that_is_missing_is_refused(lost):
    said = {name: value for name, value in MEASURED.to_json().items() if name != lost}
    with pytest.raises(tu.FileError, match="make no sense"):
        Facts.from_json(said)


@pytest.mark.parametrize("change", [{"epsilon": "1"}, {"unit": "row"}, {"private": False}])
def test_what_several_are_said_to_be_follows_from_the_parts(change):
    whole = Facts.together([MEASURED, MEASURED], combined=(MEASURED, MEASURED))
    with pytest.raises(tu.FileError, match="do not follow from its parts"):
        Facts.from_json({**whole.to_json(), **change})
    with pytest.raises(tu.FileError, match="combined of no parts"):
        Facts.from_json({**whole.to_json(), "combined": []})


def test_facts_do_not_change_and_continuous_noise_is_never_private():
    with pytest.raises(FrozenInstanceError):
        MEASURED.private = False  # type: ignore[misc]
    with pytest.raises(tu.InputError, match="never private"):
        Facts.of(tu.CellCounts(3), 1, law="continuous")
    assert Facts.of(tu.CellCounts(3), 1, law="continuous", private=False).stamp == " NOT PRIVATE"
    assert MEASURED.made("least squares").inferred == "least squares"


def test_the_price_tells_what_the_number_of_groups_cost():
    learnt = replace(MEASURED, number_of_groups=NumberOfGroups(12, Fraction(1, 7)))
    assert learnt.paid == "1/3 + 1/7 for the number of groups"
    assert MEASURED.noise.scales == tuple(
        MEASURED.question.price("replace") * 4 * 3 / weight
        for _, weight in MEASURED.question.blocks
    )


def test_costs_in_rho_and_epsilon_add_up_in_rho() -> None:
    parts = [Facts.of(tu.CellCounts(3), "1/10"), Facts.of(tu.CellCounts(3), rho="1/200")]
    both = Facts.together(parts)
    assert (both.epsilon, both.rho) == (None, Fraction(1, 100))
    assert both.cost == "rho=1/100"
    assert Facts.together(parts[:1]).cost == "epsilon=1/10"
    assert Facts.together([parts[1], Facts()]).rho is None
    again = Facts.from_json(Facts.together(parts, sources=tuple(parts)).to_json())
    assert (again.rho, again.sources) == (Fraction(1, 100), tuple(parts))


def test_laplace_and_gaussian_counts_are_not_combined_as_one_noise() -> None:
    cells = tu.CellCounts(HOUR)
    some = [tu.infer(tu.measure([5] * 24, cells, **cost)) for cost in ({"epsilon": 1}, {"rho": 1})]
    with pytest.raises(tu.InputError, match="Laplace noise and some have Gaussian"):
        tu.reconcile(some)
    twice = tu.reconcile([some[1], tu.infer(tu.measure([5] * 24, cells, rho="1/2"))])
    assert twice.facts.rho == Fraction(3, 2)
    assert "ρ = 1 " in tu.pictures.theme.price(some[1].facts)
    assert caption(some[1].facts) == "Protects one row: rho = 1, add-remove."


def test_only_what_least_squares_found_is_said_to_be_of_least_squares() -> None:
    """Where noise had a say in what was asked, files keep the word and people read another."""
    first, second = (
        tu.measure(np.zeros(60, int), tu.TreeCounts(60, adaptive=True), epsilon=1) for _ in "ab"
    )
    alone, both = tu.infer(first), tu.reconcile([first, second])
    at_once = tu.infer(tu.measure(np.zeros(60, int), tu.TreeCounts(60), epsilon=1))
    assert at_once.facts.how_inferred == "least squares"
    assert (first.facts.how_inferred, alone.facts.inferred) == (None, "least squares")
    assert str(alone.facts.how_inferred).startswith("from the top down")
    assert str(both.facts.how_inferred).startswith("a mean")
    shown = tu.infer(first, nonnegative=True, integers=True)
    assert shown.facts.how_inferred == shown.facts.inferred
    assert str(shown.unbiased.facts.how_inferred).startswith("from the top down")
