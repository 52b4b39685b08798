"""The owner's door: charged before drawn, the same bytes for the same key, and nothing else out."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup._kernels.noise import laplace
from trueup.errors import BudgetError, InputError, NoiseError, SourceError, TrueupError
from trueup.owner import where as filters
from trueup.paper.noise import measure_for_experiment

HOUR = tu.Axis.integers("hour", 0, 23)
CANARY = "canary-7f3a91"
CANARY_NUMBER = 918273645


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "ledger", limit=100)


def trips(rows: int = 200, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "hour": rng.integers(0, 24, rows),
            "fare": rng.uniform(0, 50, rows),
            "user": [f"u{i}" for i in rng.integers(0, 20, rows)],
            "to": [f"v{i}" for i in rng.integers(0, 20, rows)],
        }
    )


def engine_of(table: pa.Table, name: str) -> Any:
    import polars as pl

    return pl.from_arrow(table) if name == "polars" else table


def test_a_measurement_is_charged_and_tells_all_about_itself(ledger: tu.Ledger) -> None:
    owner = tu.Owner(trips(), ledger, unit="user", rows_per_unit=3)
    question = tu.TreeCounts(HOUR, branching=4)
    m = owner.measure(question, "1/2", where="fare > 10")
    assert ledger.spent == Fraction(1, 2)
    assert (m.question, m.epsilon, m.unit, m.rows_per_unit) == (question, Fraction(1, 2), "user", 3)
    assert m.noise.scales == tuple([Fraction(question.sensitivity() * 3 * 2)] * len(m.noise.scales))
    (charge,) = ledger.history()
    assert '"where":"fare > 10"' in charge.request
    assert '"source":{"kind":"arrow"}' in charge.request
    assert '"unit":"user"' in charge.request
    assert tu.infer(m).counts().shape == (24,)


def test_the_same_key_returns_the_same_measurement_even_when_the_source_is_gone(
    ledger: tu.Ledger, tmp_path: Path
) -> None:
    pq.write_table(trips(), tmp_path / "trips.parquet")
    owner = tu.Owner(tmp_path / "trips.parquet", ledger)
    question = tu.CellCounts(HOUR)
    first = owner.measure(question, 1, key="k")
    assert owner.measure(question, 1, key="k") == first
    (tmp_path / "trips.parquet").unlink()
    assert owner.measure(question, 1, key="k") == first
    assert ledger.spent == 1
    with pytest.raises(InputError, match="different request"):
        owner.measure(question, 1, key="k", where="fare > 1")
    with pytest.raises(SourceError, match="cannot be opened, or is no longer as it was"):
        owner.measure(question, 1)
    assert ledger.spent == 1


def test_an_adaptive_tree_is_charged_once_and_kept_with_what_it_asked(ledger: tu.Ledger) -> None:
    owner = tu.Owner(trips(), ledger)
    question = tu.TreeCounts(tu.Axis.integers("hour", 0, 999), adaptive=True)
    first = owner.measure(question, "1/2", key="adaptive")
    assert ledger.remaining == 100 - Fraction(1, 2)
    assert first.question.settled
    assert owner.measure(question, "1/2", key="adaptive") == first
    assert ledger.remaining == 100 - Fraction(1, 2)


def test_without_a_key_each_measurement_is_new_and_charged(ledger: tu.Ledger) -> None:
    owner = tu.Owner(trips(), ledger)
    assert owner.measure(tu.CellCounts(HOUR), 1) != owner.measure(tu.CellCounts(HOUR), 1)
    assert ledger.spent == 2


def test_every_filter_is_charged_in_full(ledger: tu.Ledger) -> None:
    owner = tu.Owner(trips(), ledger)
    owner.measure(tu.CellCounts(HOUR), 1, where="fare > 10")
    owner.measure(tu.CellCounts(HOUR), 1, where="fare <= 10")
    assert ledger.spent == 2


def test_the_limit_holds_at_the_door(tmp_path: Path) -> None:
    owner = tu.Owner(trips(), tu.Ledger(tmp_path / "small", limit=1))
    owner.measure(tu.CellCounts(HOUR), "3/4")
    with pytest.raises(BudgetError, match="1/4 of 1 is left"):
        owner.measure(tu.CellCounts(HOUR), "1/2")


def test_rho_goes_through_the_door_where_the_ledger_counts_it(tmp_path: Path) -> None:
    table = pa.table({"hour": [0, 0, 2, 3]})
    axis = tu.Axis.integers("hour", 0, 3)
    ledger = tu.Ledger(tmp_path / "rho", rho="1/2")
    owner = tu.Owner(table, ledger)
    first = owner.measure(tu.CellCounts(axis), rho="1/8", key="k")
    assert (first.rho, first.epsilon) == (Fraction(1, 8), None)
    assert first.noise.scales == (4,)  # the variance, 1/(2ρ)
    assert owner.measure(tu.CellCounts(axis), rho="1/8", key="k").id == first.id
    assert ledger.spent == Fraction(1, 8)
    owner.measure(tu.CellCounts(axis), epsilon="1/2")
    release = owner.publish(axis, rho="1/8")
    assert release.facts.rho == Fraction(1, 8)
    owner.count_groups("hour", rho="1/16")
    assert ledger.spent == Fraction(7, 16)
    with pytest.raises(tu.BudgetError, match="This costs rho 1/8; 1/16 of 1/2 is left"):
        owner.publish(axis, rho="1/8")
    pure = tu.Owner(table, tu.Ledger(tmp_path / "epsilon", limit=1))
    for ask in (pure.check, pure.measure):
        with pytest.raises(tu.InputError, match="the ledger counts epsilon"):
            ask(tu.CellCounts(axis), rho="1/8")
    with pytest.raises(tu.InputError, match="the ledger counts epsilon"):
        pure.publish(axis, rho="1/8")
    with pytest.raises(tu.InputError, match="got neither"):
        pure.measure(tu.CellCounts(axis))
    assert pure.ledger.history() == ()


def test_gaussian_noise_that_cannot_be_drawn_is_refused_before_it_is_charged(
    tmp_path: Path,
) -> None:
    ledger = tu.Ledger(tmp_path / "rho", rho=10**40)
    owner = tu.Owner(pa.table({"hour": [0]}), ledger)
    for rho in (10**39, Fraction(1, 10**39)):
        with pytest.raises(tu.InputError):
            owner.measure(tu.CellCounts(tu.Axis.integers("hour", 0, 3)), rho=rho)
    assert ledger.spent == 0


def test_noise_that_cannot_be_drawn_is_refused_before_it_is_charged(ledger: tu.Ledger) -> None:
    owner = tu.Owner(trips(), ledger)
    with pytest.raises(InputError, match="scale"):
        owner.measure(tu.CellCounts(HOUR), "1e-30")
    assert ledger.spent == 0


def test_weights_that_leave_no_room_for_records_are_refused_whatever_the_table(
    ledger: tu.Ledger,
) -> None:
    # Refused by the weights alone: an error for "too many records" would say how many there are.
    heavy = tu.WeightedCounts(HOUR, np.eye(24, dtype=np.int64) * 2**30 + np.eye(24, dtype=int, k=1))
    for rows in (0, 1, 200):
        with pytest.raises(InputError, match=r"weighs cells by up to 1,073,741,824; an owner"):
            tu.Owner(trips(rows), ledger).measure(heavy, 2**20)
    assert ledger.spent == 0


def test_more_rows_a_unit_than_noise_can_hide_are_refused_before_any_charge(
    ledger: tu.Ledger,
) -> None:
    with pytest.raises(InputError, match=r"rows_per_unit must lie between 1 and 1,000,000,000"):
        tu.Owner(trips(), ledger, unit="user", rows_per_unit=2 * 10**9)


def test_a_measurement_that_is_not_private_is_never_handed_out(ledger: tu.Ledger) -> None:
    owner = tu.Owner(trips(), ledger)
    question = tu.CellCounts(HOUR)
    owner.measure(question, 1, key="honest")
    request = __import__("json").loads(ledger.history()[0].request)
    planted = measure_for_experiment(np.zeros(24, int), question, 1, seed=1).to_bytes()
    ledger.spend(request, 1, draw=lambda: planted, key="planted")
    with pytest.raises(NoiseError, match="NOT PRIVATE"):
        owner.measure(question, 1, key="planted")


def test_threads_may_ask_at_once(ledger: tu.Ledger, tmp_path: Path) -> None:
    import duckdb

    table = trips(5000)
    connection = duckdb.connect()
    connection.register("arrow", table)
    pq.write_table(table, tmp_path / "trips.parquet")
    expected = HOUR.count(table["hour"].to_numpy()).tolist()
    for source in (connection.table("arrow"), tmp_path / "trips.parquet"):
        owner = tu.Owner(source, tu.Ledger(tmp_path / f"{id(source)}", limit=10**6))
        seen: list[list[int]] = []
        threads = [
            threading.Thread(
                target=lambda o=owner, s=seen: s.append(
                    o.measure(tu.CellCounts(HOUR), 1000).noisy.tolist()
                )
            )
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [expected] * 6  # at ε = 1000 the noise is zero


# Neighbouring tables, the noise frozen: what may move, moves by the declared bound at most.


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same noise, and the same choice among a unit's rows, in every measurement."""

    def add_frozen(values: Any, lengths: Any, scales: Any) -> None:
        values += np.random.default_rng(7).integers(-9, 9, len(values))

    monkeypatch.setattr(laplace, "add_noise_blocks", add_frozen)
    monkeypatch.setattr(
        "trueup.owner.declared.secrets.token_hex", lambda size: "5eed" * (size // 2)
    )


QUESTIONS = [
    tu.CellCounts(HOUR),
    tu.TreeCounts(HOUR, branching=2),
    tu.TreeCounts(tu.Axis.regular("fare", 0, 40, bins=60), branching=4, root=False),
    tu.NamedCounts(HOUR, {"all": slice(None), "night": slice(0, 6), "early": slice(4, 9)}),
    tu.SortedCounts(25, by="user", adaptive=False),
]


@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize(("unit", "bound"), [(None, 1), ("user", 1), ("user", 4)])
def test_neighbours_move_the_answers_by_the_sensitivity_at_most(
    engine: str, unit: str | None, bound: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    moved = 0.0
    for turn in range(2):
        table = trips(seed=turn)
        victim = int(rng.integers(len(table)))
        keep = np.ones(len(table), bool)
        if unit is None:
            keep[victim] = False
        else:
            keep = table["user"].to_numpy() != table["user"][victim].as_py()
        for question in QUESTIONS:
            seen = []
            for number, rows in enumerate((table, table.filter(pa.array(keep)))):
                ledger = tu.Ledger(tmp_path / f"{turn}{id(question)}{number}", limit=100)
                owner = tu.Owner(engine_of(rows, engine), ledger, unit=unit, rows_per_unit=bound)
                seen.append(owner.measure(question, 1, where="fare > 2"))
            move = np.abs(seen[0].noisy - seen[1].noisy).sum()
            assert move <= question.sensitivity() * bound, f"{question} moved by {move}"
            moved = max(moved, move / question.sensitivity())
            assert replace(seen[0].facts, id=seen[1].id) == seen[1].facts
    assert moved == bound  # the bound is met, so the test could have failed


@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
def test_an_edge_moves_a_degree_sequence_by_its_ends_at_most(kind: str, tmp_path: Path) -> None:
    table = trips(60).select(["user", "to"])
    ends = 2 if kind == "undirected" else 1
    ledger, question = (
        tu.Ledger(tmp_path / "ledger", limit=1),
        tu.SortedCounts(50, ends=ends, adaptive=False),
    )

    def degrees(rows: pa.Table) -> Any:
        owner = tu.Owner(rows, ledger, edges=("user", "to"), graph=kind)
        return question.answers(owner.prepared(question, None, False)())

    largest, whole = 0, degrees(table)
    for victim in range(0, len(table), 4):
        without = degrees(pa.concat_tables([table[:victim], table[victim + 1 :]]))
        largest = max(largest, int(np.abs(whole - without).sum()))
    assert largest == ends


def test_a_unit_with_a_million_rows_moves_the_counts_by_its_bound(
    frozen: None, tmp_path: Path
) -> None:
    table = trips(1000)
    many = pa.table(
        {
            "hour": np.random.default_rng(1).integers(0, 24, 10**6),
            "fare": np.full(10**6, 5.0),
            "user": pa.array(["greedy"] * 10**6),
            "to": pa.array(["v"] * 10**6),
        }
    )
    for bound in (1, 5):
        seen = [
            tu.Owner(rows, tu.Ledger(tmp_path / f"{bound}{len(rows)}", limit=9), unit="user",
                     rows_per_unit=bound).measure(tu.CellCounts(HOUR), 1).noisy
            for rows in (table, pa.concat_tables([table, many]))
        ]  # fmt: skip
        assert np.abs(seen[0] - seen[1]).sum() == bound


# Errors, logs and bytes that leave.


def said(action: Callable[[], object]) -> str:
    """All that an error tells, with whatever it carries along."""
    try:
        action()
    except TrueupError as error:
        carried = (error.args, error.__cause__, error.__context__)
        return "".join(traceback.format_exception_only(error)) + repr(carried)
    return "no error"


def hostile(table: pa.Table) -> pa.Table:
    """A neighbour: one more row, with the worst that its types allow."""
    worst = pa.table(
        {
            "hour": pa.array([-(2**63)]),
            "fare": pa.array([float("nan")]),
            "user": pa.array([CANARY]),
            "to": pa.array([CANARY]),
        }
    )
    return pa.concat_tables([table, worst])


REQUESTS: list[Callable[[tu.Owner], object]] = [
    lambda o: o.measure(tu.CellCounts(tu.Axis.integers("minute", 0, 59)), 1),
    lambda o: o.measure(tu.CellCounts(tu.Axis.integers("user", 0, 59)), 1),
    lambda o: o.measure(tu.CellCounts(HOUR), 1, where="fare > 1 / 0"),
    lambda o: o.measure(tu.CellCounts(HOUR), 1, where="user > 'a'"),
    lambda o: o.measure(tu.CellCounts(HOUR), 1000),
    lambda o: o.measure(tu.CellCounts(HOUR), 0),
    lambda o: o.measure(tu.SortedCounts(3, adaptive=False), 1),
    lambda o: o.measure(tu.SortedCounts(3, by="fare", adaptive=False), 1),
    lambda o: o.measure(
        tu.SortedCounts(3, by="user", adaptive=False), 1
    ),  # more users than three: no error
    lambda o: o.measure("how many?", 1),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("engine", ["duckdb", "polars", "csv", "parquet"])
def test_errors_and_outputs_are_the_same_on_neighbouring_tables(
    engine: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    from pyarrow import csv

    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, "numba")  # compiling comes first for one of the two
    table = trips()
    told = []
    for rows in (table, hostile(table)):
        place = tmp_path / str(len(rows))
        place.mkdir()
        source: Any = engine_of(rows, engine)
        options: dict[str, Any] = {}
        if engine == "csv":
            csv.write_csv(rows, place / "trips.csv")
            source = place / "trips.csv"
            options["columns"] = {"fare": "number", "user": "text"}
        elif engine == "parquet":
            pq.write_table(rows, place / "trips.parquet")
            source = place / "trips.parquet"
        owner = tu.Owner(source, tu.Ledger(place / "ledger", limit=10), **options)
        words = [said(lambda ask=ask, o=owner: ask(o)) for ask in REQUESTS]
        if engine in ("csv", "parquet"):
            Path(source).write_bytes(b"PAR1 no longer a table")
            gone = said(lambda o=owner: o.measure(tu.CellCounts(HOUR), 1, key="k"))
            words.append(gone)
        told.append((words, capfd.readouterr(), caplog.text, str(owner.ledger.spent)))
        assert CANARY not in repr(told[-1])
    assert told[0] == told[1]
    assert told[0][1:3] == (("", ""), "")
    assert [word == "no error" for word in told[0][0][: len(REQUESTS)]].count(True) == (
        2 if engine == "csv" else 1  # where all is text, any axis may be asked
    )


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_planted_person_is_in_no_byte_that_leaves(
    engine: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    planted = pa.table(
        {
            "hour": pa.array([CANARY_NUMBER, 5]),
            "fare": pa.array([float(CANARY_NUMBER), 3.0]),
            "user": pa.array([CANARY, CANARY]),
            "to": pa.array([CANARY, "v1"]),
        }
    )
    table = pa.concat_tables([trips(), planted])
    out = tmp_path / "out"
    out.mkdir()
    ledger = tu.Ledger(out / "ledger", limit=100)
    source = engine_of(table, engine)
    rows = tu.Owner(source, ledger)
    users, edges = (tu.Ledger(out / name, limit=100) for name in ("users", "edges"))
    people = tu.Owner(source, users, unit="user", rows_per_unit=2)
    graph = tu.Owner(source, edges, edges=("user", "to"))
    answers = [
        *(owner.measure(q, 1) for q in QUESTIONS for owner in (rows, people)),
        rows.measure(tu.CellCounts(tu.Axis.categories("user", ["u1", "u2"])), 1),
        rows.count_groups("user", 1),
        graph.measure(tu.SortedCounts(40, ends=2, adaptive=False), 1),
        graph.count_groups(None, 1),
    ]
    words = "".join(said(lambda ask=ask: ask(rows)) for ask in REQUESTS)
    for number, answer in enumerate(answers):
        answer.save(out / f"{number}.parquet")
        answer.save(out / f"{number}.json")
    shown = capfd.readouterr()
    emitted = b"".join(file.read_bytes() for file in out.rglob("*") if file.is_file())
    emitted += (words + shown.out + shown.err + repr(answers) + repr(ledger.history())).encode()
    assert len(emitted) > 10_000
    for trace in (CANARY, str(CANARY_NUMBER), CANARY.encode().hex()):
        assert trace.encode() not in emitted


def test_a_source_that_fails_while_it_is_read_says_so_in_our_words_and_can_be_asked_again(
    ledger: tu.Ledger, tmp_path: Path
) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT 1 AS hour, '{CANARY}' AS name")
    # A view that fails on its data, with the data in DuckDB's message.
    connection.execute("CREATE VIEW v AS SELECT CAST(name AS INTEGER) AS hour FROM t")
    owner = tu.Owner(connection.table("v"), ledger)
    words = said(lambda: owner.measure(tu.CellCounts(HOUR), 1, key="k"))
    assert "could not be read" in words
    assert CANARY not in words
    assert ledger.spent == 1
    connection.execute("UPDATE t SET name = '3'")
    m = owner.measure(tu.CellCounts(HOUR), 1, key="k")
    assert len(m.noisy) == 24
    assert ledger.spent == 1


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_every_measurement_chooses_rows_anew(engine: str, tmp_path: Path) -> None:
    table = pa.table({"user": np.repeat(np.arange(4000), 24), "hour": np.tile(np.arange(24), 4000)})
    owner = tu.Owner(
        engine_of(table, engine),
        tu.Ledger(tmp_path / "ledger", limit=1),
        unit="user",
        rows_per_unit=1,
    )
    first, second = (owner.prepared(tu.CellCounts(HOUR), None, False)() for _ in range(2))
    assert first.sum() == second.sum() == 4000
    assert (first != second).any()  # 24 counts of about 167, all the same: once in 10^30


def test_wrong_arguments_are_refused(ledger: tu.Ledger, tmp_path: Path) -> None:
    table = trips()
    for options, words in [
        ({"unit": None, "rows_per_unit": 2}, "goes with a unit"),
        ({"edges": ("user",)}, "two columns"),
        ({"edges": ("user", "user")}, "two columns"),
        ({"edges": ("user", "to"), "graph": "round"}, "undirected, directed, bipartite"),
        ({"edges": ("user", "hour")}, "columns of one type"),
        ({"columns": {"hour": "date"}}, "must be one of"),
        ({"table": "trips"}, "database file"),
    ]:
        with pytest.raises(InputError, match=words):
            tu.Owner(table, ledger, **options)
    with pytest.raises(SourceError, match="text or whole numbers"):
        tu.Owner(table, ledger, unit="fare", rows_per_unit=1)
    with pytest.raises(InputError, match="needs a Ledger"):
        tu.Owner(table, "trips.ledger")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="A source is a path"):
        tu.Owner([1, 2, 3], ledger)
    graph = tu.Owner(table, ledger, edges=("user", "to"))
    with pytest.raises(InputError, match="degree sequence"):
        graph.measure(tu.CellCounts(HOUR), 1)
    with pytest.raises(InputError, match="ends=2"):
        graph.measure(tu.SortedCounts(9, adaptive=False), 1)
    with pytest.raises(InputError, match="leave by= out"):
        graph.measure(tu.SortedCounts(9, by="user", ends=2, adaptive=False), 1)
    with pytest.raises(InputError, match="count_groups"):
        graph.count_groups("user", 1)
    declared = tu.Owner(table, ledger, columns={"fare": "number"})
    with pytest.raises(SourceError, match="was not declared"):
        declared.measure(tu.CellCounts(HOUR), 1, where="user = 'u1'")
    assert ledger.spent == 0


def test_the_question_reads_no_row_before_the_charge(ledger: tu.Ledger) -> None:
    """Preparing a count builds a query and runs nothing: the source may even be unable to run."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE VIEW v AS SELECT CAST(error('row read') AS INTEGER) AS hour")
    owner = tu.Owner(connection.table("v"), ledger)
    prepared = owner.prepared(tu.CellCounts(HOUR), filters.parse("hour > 3"), False)
    with pytest.raises(duckdb.Error, match="row read"):
        prepared()
