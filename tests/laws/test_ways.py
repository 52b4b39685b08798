"""Law: every public way from records to noise draws the noise that its question, unit and relation
call for, fresh, and publishes truth plus that noise.

The scales expected here are worked out by hand: what one record, or a unit of three rows, can move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.ask import Question
from trueup.budget import Budget
from trueup.config import Config, Dataset
from trueup.server.datasets import open_tables
from trueup.server.jobs import Job

from .recorded import recording

EPSILON = Fraction(100_003, 99_991)
HOUR = tu.Axis.integers("hour", 0, 3)
TREE = tu.TreeCounts(HOUR, radices=(2, 2), shares=("1/2", "1/3", "1/6"))
COUNTS = np.array([3, 2, 0, 1])
GROUPS = tu.SortedCounts(9, by="hour")
TRIPS = pa.table({"user": [1, 1, 2, 3, 4, 4], "hour": [0, 0, 1, 1, 3, 0]})
EDGES = pa.table({"src": [1, 2, 3], "dst": [2, 3, 4]})
PAIRS = [(0, 1), (1, 2), (2, 3)]
WORDS = ["a", "b", "a", "c", "a"]


@dataclass(frozen=True)
class Case:
    """A way to ask, and the scales that one record's moves call for, in units of 1/ε."""

    ask: Callable[[Path], Any]
    scales: tuple[object, ...]


def owner(folder: Path, source: Any = TRIPS, **named: Any) -> tu.Owner:
    return tu.Owner(source, tu.Ledger(folder / "ledger", limit=100), **named)


def users(folder: Path) -> tu.Owner:
    return owner(folder, unit="user", rows_per_unit=3)


def graph(folder: Path, kind: str) -> tu.Owner:
    return owner(folder, EDGES, edges=("src", "dst"), graph=kind)


def served(folder: Path, question: Question, **named: Any) -> tu.Measurement:
    """A measurement as a server makes one."""
    import pyarrow.parquet as pq

    pq.write_table(TRIPS, folder / "trips.parquet")
    declared = Dataset(
        name="trips",
        source=str(folder / "trips.parquet"),
        ledger=str(folder / "ledger"),
        budget=Budget("epsilon", Fraction(100)),
        axes={"hour": HOUR},
        **named,
    )
    table = open_tables(Config({"trips": declared}, {}, folder / "trueup.toml"))["trips"]
    Job(table, question, tu.Cost.of(EPSILON), "a key", None, "ana").make()
    charge = table.ledger.find("a key")
    assert charge is not None
    return tu.Measurement.from_bytes(table.ledger.stored(charge))


CASES = {
    "measure": Case(lambda f: tu.measure(COUNTS, TREE, EPSILON), (2, 3, 6)),
    "measure, replace": Case(
        # Replacing moves two nodes on each level but the root: 2/3 + 1/3 = 1.
        lambda f: tu.measure(COUNTS, TREE, EPSILON, "replace"), (2, 3, 6)
    ),
    "measure, replace, without root": Case(
        lambda f: tu.measure(COUNTS, tu.TreeCounts(HOUR, 2, root=False), EPSILON, "replace"),
        (4,),
    ),
    "publish counts": Case(
        lambda f: tu.publish(COUNTS, TREE, EPSILON, unit="person", rows_per_unit=3), (6, 9, 18)
    ),
    "publish a table": Case(lambda f: tu.publish(TRIPS, TREE, EPSILON), (2, 3, 6)),
    "publish a table of users": Case(
        lambda f: tu.publish(TRIPS, TREE, EPSILON, unit="user", rows_per_unit=3), (6, 9, 18)
    ),
    "publish, replace": Case(
        lambda f: tu.publish(TRIPS, tu.CellCounts(HOUR), EPSILON, "replace"), (2,)
    ),
    "publish groups": Case(
        lambda f: tu.publish(TRIPS, GROUPS, EPSILON, unit="user", rows_per_unit=2),
        (2,),
    ),
    "owner": Case(lambda f: owner(f).measure(TREE, EPSILON), (2, 3, 6)),
    "owner, replace": Case(
        lambda f: owner(f).measure(tu.CellCounts(HOUR), EPSILON, neighbours="replace"), (2,)
    ),
    "owner of users": Case(lambda f: users(f).measure(TREE, EPSILON), (6, 9, 18)),
    "owner of users, replace": Case(
        lambda f: users(f).measure(tu.CellCounts(HOUR), EPSILON, neighbours="replace"), (6,)
    ),
    "owner publishes": Case(lambda f: users(f).publish(TREE, EPSILON), (6, 9, 18)),
    "owner publishes, replace": Case(
        lambda f: users(f).publish(tu.CellCounts(HOUR), EPSILON, neighbours="replace"), (6,)
    ),
    "owner's groups": Case(lambda f: users(f).measure(GROUPS, EPSILON), (3,)),
    "number of groups": Case(lambda f: owner(f).count_groups("hour", EPSILON), (1,)),
    "number of groups, by users": Case(lambda f: users(f).count_groups("hour", EPSILON), (3,)),
    "nodes of a graph": Case(lambda f: graph(f, "undirected").count_groups(None, EPSILON), (2,)),
    "nodes of a directed graph": Case(
        lambda f: graph(f, "directed").count_groups(None, EPSILON), (1,)
    ),
    "degrees": Case(
        lambda f: graph(f, "undirected").measure(tu.SortedCounts(9, ends=2), EPSILON), (2,)
    ),
    "degrees, replace": Case(
        lambda f: graph(f, "undirected").measure(
            tu.SortedCounts(9, ends=2), EPSILON, neighbours="replace"
        ),
        (4,),
    ),
    "degrees of first nodes": Case(
        lambda f: graph(f, "bipartite").measure(tu.SortedCounts(9), EPSILON), (1,)
    ),
    "histogram": Case(
        lambda f: tu.histogram([1, 2, 2.5], bins=4, range=(0, 4), epsilon=EPSILON),
        tuple(1 / share for share in tu.TreeCounts(4).shares if share),
    ),
    "degree sequence": Case(lambda f: tu.degree_sequence(PAIRS, nodes=4, epsilon=EPSILON), (2,)),
    "degree sequence, odd numbers": Case(
        lambda f: tu.degree_sequence([(7, 70), (70, 700)], nodes=4, epsilon=EPSILON), (2,)
    ),
    "degree sequence, directed": Case(
        lambda f: tu.degree_sequence(PAIRS, nodes=4, epsilon=EPSILON, kind="directed"), (1,)
    ),
    "degrees of unknown nodes": Case(
        lambda f: tu.degree_sequence(PAIRS, None, epsilon=EPSILON), (20, Fraction(20, 9))
    ),
    "degrees of unknown first nodes": Case(
        lambda f: tu.degree_sequence(PAIRS, None, epsilon=EPSILON, kind="bipartite"),
        (10, Fraction(10, 9)),
    ),
    "frequencies": Case(lambda f: tu.frequency_list(WORDS, groups=5, epsilon=EPSILON), (1,)),
    "frequencies of unknown groups": Case(
        lambda f: tu.frequency_list(WORDS, None, epsilon=EPSILON), (10, Fraction(10, 9))
    ),
    "server": Case(lambda f: served(f, TREE), (2, 3, 6)),
    "server, replace": Case(
        lambda f: served(f, tu.CellCounts(HOUR), neighbours="replace"), (2,)
    ),
    "server of users, replace": Case(
        lambda f: served(
            f, tu.CellCounts(HOUR), neighbours="replace", unit="user", rows_per_unit=3,
            columns={"user": "integer"},
        ),
        (6,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", CASES)
def test_every_way_draws_the_noise_that_a_record_calls_for(way: str, tmp_path: Path) -> None:
    case = CASES[way]
    with recording() as found:
        made = case.ask(tmp_path)
    found.check_fresh(1)
    expected = [Fraction(scale) / EPSILON for scale in case.scales]  # type: ignore[arg-type]
    assert list(dict.fromkeys(found.scales)) == expected
    if isinstance(made, tu.Measurement) and isinstance(
        made.question, tu.TreeCounts | tu.CellCounts
    ):
        axis = made.question.axis
        truth = COUNTS if axis == HOUR else [4 if way == "nodes of a graph" else 3]
        assert np.array_equal(made.noisy - made.question.answers(truth), found.noise)
        assert made.epsilon == EPSILON


@pytest.mark.parametrize(
    "way", ["measure", "publish a table", "owner", "server", "degree sequence"]
)
def test_every_call_draws_anew(way: str, tmp_path: Path) -> None:
    with recording() as found:
        for place in ("one", "two"):
            (tmp_path / place).mkdir()
            CASES[way].ask(tmp_path / place)
    assert len(found.draws) >= 2
    found.check_fresh(2)


def test_every_call_chooses_anew_which_rows_of_a_unit_count(tmp_path: Path) -> None:
    """One user with a row in each of 64 cells, of which one counts: not the same one each time."""
    cells = tu.Axis.integers("cell", 0, 63)
    rows = pa.table({"user": [1] * 64, "cell": list(range(64))})
    question, named = tu.CellCounts(cells), {"unit": "user", "rows_per_unit": 1}
    mine = owner(tmp_path, rows, **named)
    chosen: dict[str, set[int]] = {"publish": set(), "owner": set()}
    for _ in range(8):  # the same one eight times running: chance 64^-7
        published = tu.publish(rows, question, 900, **named).counts()
        measured = mine.measure(question, 12).noisy
        chosen["publish"].add(int(np.argmax(published)))
        chosen["owner"].add(int(np.argmax(measured)))
    assert min(map(len, chosen.values())) > 1


def test_the_charge_of_an_owner_is_the_cost_of_the_noise(tmp_path: Path) -> None:
    """What the ledger lost is what the noise drawn protects for, whatever the way."""
    for number, way in enumerate(
        ("owner", "owner of users", "number of groups, by users", "degrees")
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        CASES[way].ask(folder)
        assert tu.Ledger(folder / "ledger").spent == EPSILON


def test_noise_is_drawn_after_its_charge_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trueup._kernels.noise import bits

    seen: list[Fraction] = []
    fill = bits.Keystream.fill

    def filled(stream: Any, buffer: np.ndarray) -> None:
        seen.append(tu.Ledger(tmp_path / "ledger").spent)
        fill(stream, buffer)

    mine = users(tmp_path)
    monkeypatch.setattr(bits.Keystream, "fill", filled)
    mine.measure(TREE, EPSILON)
    mine.count_groups("hour", EPSILON)
    assert seen
    assert seen[0] == EPSILON
    assert seen[-1] == 2 * EPSILON
