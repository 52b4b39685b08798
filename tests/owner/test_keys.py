"""Keys through the door: what is refused costs nothing, what is charged is answered, once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest

import trueup as tu
from trueup.errors import (
    BudgetError,
    InputError,
    LedgerError,
    NoiseError,
    SourceError,
    TrueupError,
)
from trueup.keys import KeyTerms, PrefixTerms
from trueup.owner import keys as door

TABLE = pa.table({"word": ["fig"] * 500 + ["pear"] * 400, "user": [n % 90 for n in range(900)]})
WORDS = tu.Universe.text("a-z", 8)
ASKED = tu.KeyCounts(WORDS, by="word")


@pytest.fixture
def owner(tmp_path: Path) -> tu.Owner:
    return tu.Owner(TABLE, tu.Ledger(tmp_path / "ledger", limit=2))


def test_the_same_key_has_the_same_answer_and_one_charge(owner: tu.Owner) -> None:
    first = owner.keys.measure(ASKED, 1, key="words")
    assert owner.keys.measure(ASKED, 1, key="words") == first
    assert owner.ledger.remaining == 1
    assert {"fig", "pear"} <= set(first.labels)
    with pytest.raises(InputError, match="different request"):
        owner.keys.measure(tu.KeyCounts(WORDS, by="word", false_keys=2), 1, key="words")


def test_what_is_refused_costs_nothing(owner: tu.Owner) -> None:
    refused: list[tuple[tu.KeyCounts, object, dict[str, str], type[TrueupError]]] = [
        (tu.KeyCounts(WORDS), 1, {}, InputError),
        (tu.KeyCounts(WORDS, by="words"), 1, {}, SourceError),
        (tu.KeyCounts(WORDS, by="user"), 1, {}, SourceError),
        (tu.KeyCounts(WORDS, by="word", keys_per_unit=2), 1, {}, InputError),
        (ASKED, 10**6, {}, InputError),
        (ASKED, 1, {"where": "no such filter"}, InputError),
        (ASKED, 1, {"where": "gone = 1"}, SourceError),
        (ASKED, 3, {}, BudgetError),
        (ASKED, None, {}, InputError),
    ]
    for asked, epsilon, options, wrong in refused:
        with pytest.raises(wrong):
            owner.keys.measure(asked, epsilon, **options)  # type: ignore[arg-type]
    assert owner.ledger.remaining == 2


def test_the_charge_stands_before_the_noise_is_drawn(
    owner: tu.Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Fraction] = []

    def broken(*_: object) -> None:
        seen.append(owner.ledger.remaining)
        raise OSError("the machine stops")

    with monkeypatch.context() as patched:
        patched.setattr(door, "measure_all_keys", broken)
        with pytest.raises(OSError, match="stops"):
            owner.keys.measure(ASKED, 1, key="words")
    assert seen == [1]
    assert "fig" in owner.keys.measure(ASKED, 1, key="words").labels
    assert owner.ledger.remaining == 1


def test_whom_a_ledger_protects_holds_for_keys(tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "ledger", limit=2)
    tu.Owner(TABLE, ledger).keys.measure(ASKED, 1)
    people = tu.Owner(TABLE, ledger, unit="user", rows_per_unit=1)
    with pytest.raises(LedgerError, match="protects"):
        people.keys.measure(ASKED, 1)


def test_a_unit_counts_once_in_each_of_its_keys(tmp_path: Path) -> None:
    owner = tu.Owner(TABLE, tu.Ledger(tmp_path / "l", limit=10**5), unit="user", rows_per_unit=9)
    once = owner.keys.measure(ASKED, 9000)
    assert once.noisy.tolist() == [90, 90]
    many = owner.keys.measure(tu.KeyCounts(WORDS, by="word", duplicates="many"), 9000)
    assert many.total == 810
    assert once.terms.keys_per_unit == 9
    assert "counted once in at most 9 keys" in repr(once)


def test_a_graph_has_no_keys(tmp_path: Path) -> None:
    edges = pa.table({"a": [1], "b": [2]})
    owner = tu.Owner(edges, tu.Ledger(tmp_path / "l", limit=1), edges=("a", "b"))
    with pytest.raises(InputError, match="graph"):
        owner.keys.measure(ASKED, 1)


def test_terms_are_said_before_anything_is_spent(owner: tu.Owner) -> None:
    terms = owner.keys.check(ASKED, tu.Cost.of(1))
    assert str(terms.threshold) in terms.lines()["threshold"]
    assert owner.ledger.remaining == 2


def test_a_ledger_in_rho_is_charged_for_a_pure_epsilon(tmp_path: Path) -> None:
    owner = tu.Owner(TABLE, tu.Ledger(tmp_path / "rho", rho="1/2"))
    owner.keys.measure(ASKED, "1/2")
    assert owner.ledger.remaining == Fraction(3, 8)


@pytest.mark.parametrize("cost", [tu.Cost.of(1, delta="1e-6"), tu.Cost.of(rho="1/8", delta="1e-6")])
def test_a_delta_is_spent_exactly_from_a_ledger_that_has_some(
    cost: tu.Cost, tmp_path: Path
) -> None:
    free = tu.KeyCounts(tu.Universe.bytes(1000), by="word")
    limit = {"limit": 3} if cost.epsilon else {"rho": 1}
    owner = tu.Owner(TABLE, tu.Ledger(tmp_path / "delta", **limit, delta_limit="2e-6"))
    found = owner.keys.measure(free, cost)
    assert found.labels == ("fig", "pear")
    assert tu.KeyMeasurement.from_bytes(found.to_bytes()) == found
    assert "somebody has every key" in found.infer().statement()
    low, high = found.infer().total().interval(1 - 1e-9)
    assert low < 900 < high
    owner.keys.measure(free, cost)
    assert owner.ledger.balance.remaining.delta == 0
    with pytest.raises(BudgetError, match="delta"):
        owner.keys.measure(free, cost)
    plain = tu.Owner(TABLE, tu.Ledger(tmp_path / "plain", **limit))
    with pytest.raises(BudgetError, match="delta"):
        plain.keys.measure(free, cost)
    assert plain.ledger.balance.spent.amount == 0


def test_prefixes_go_through_the_same_door(tmp_path: Path) -> None:
    table = pa.table({"host": ["10.0.0.1"] * 500 + ["10.0.9.9"] * 300, "user": list(range(800))})
    owner = tu.Owner(table, tu.Ledger(tmp_path / "l", limit=2), unit="user", rows_per_unit=1)
    asked = tu.PrefixCounts(tu.Universe.ipv4(), by="host", step=8)
    tree = owner.keys.measure_prefixes(asked, 1, key="tree")
    assert owner.keys.measure_prefixes(asked, 1, key="tree") == tree
    assert owner.ledger.remaining == 1
    assert tree.infer().count("10.0.0.0/16") == pytest.approx(800, abs=100)
    words = tu.PrefixCounts(tu.Universe.text("a-z", 3), by="host")
    assert owner.keys.measure_prefixes(words, "1/2").infer().total() < 100
    for wrong in (tu.PrefixCounts(tu.Universe.ipv4()), tu.PrefixCounts(tu.Universe.ipv4(), by="x")):
        with pytest.raises(TrueupError):
            owner.keys.measure_prefixes(wrong, "1/2")
    with pytest.raises(InputError):
        owner.keys.measure_prefixes(asked, tu.Cost.of("1/2", delta="1e-6"))
    assert owner.ledger.remaining == Fraction(1, 2)


@pytest.mark.parametrize(("duplicates", "counted"), [("once", 2), ("many", 3)])
def test_a_unit_counts_in_a_tree_as_its_question_says(
    tmp_path: Path, duplicates: Literal["once", "many"], counted: int
) -> None:
    """Forty people with many rows of two hosts each: two keys of each, or three rows."""
    rows = [(user, f"10.0.0.{host}") for user in range(40) for host in (1, 2) for _ in range(9)]
    table = pa.table({"user": [user for user, _ in rows], "host": [host for _, host in rows]})
    ledger = tu.Ledger(tmp_path / "l", limit=10**6)
    owner = tu.Owner(table, ledger, unit="user", rows_per_unit=3)
    asked = tu.PrefixCounts(tu.Universe.ipv4(), "host", step=8, duplicates=duplicates)
    tree = owner.keys.measure_prefixes(asked, 3000).infer()
    assert tree.count("10.0.0.0/24") == tree.total() == 40 * counted
    listed = tu.KeyCounts(tu.Universe.ipv4(), "host", duplicates=duplicates)
    found = owner.keys.measure(listed, 900).infer()
    assert found.total().value == 40 * counted


def test_a_key_pays_for_one_request_alone(owner: tu.Owner) -> None:
    """Another filter, relation or question under the key of a stored answer is refused."""
    tree = tu.PrefixCounts(WORDS, by="word")
    owner.keys.measure(ASKED, "1/4", key="keys", where="user < 40")
    owner.keys.measure_prefixes(tree, "1/4", key="tree", where="user < 40")
    for measure, question, key in (
        (owner.keys.measure, ASKED, "keys"),
        (owner.keys.measure_prefixes, tree, "tree"),
    ):
        measure(question, "1/4", key=key, where="user  <  40")  # type: ignore[operator]
        for other in (
            {"where": "user < 41"}, {}, {"where": "user < 40", "neighbours": "replace"},
        ):  # fmt: skip
            with pytest.raises(InputError, match="different request"):
                measure(question, "1/4", key=key, **other)  # type: ignore[operator]
        with pytest.raises(InputError, match="different request"):
            measure(question, "1/3", key=key, where="user < 40")  # type: ignore[operator]
    assert owner.ledger.remaining == Fraction(3, 2)


def test_what_could_fail_fails_before_the_charge(
    owner: tu.Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise NoiseError("No randomness.")

    tree = tu.PrefixCounts(WORDS, by="word")
    for terms in (KeyTerms, PrefixTerms):
        monkeypatch.setattr(terms, "rehearse", broken)
    for measure, question in ((owner.keys.measure, ASKED), (owner.keys.measure_prefixes, tree)):
        with pytest.raises(NoiseError):
            measure(question, 1)  # type: ignore[operator]
    assert not owner.ledger.history()


def test_keys_of_people_are_those_of_their_records(tmp_path: Path) -> None:
    """A table of people, one record each: a person has one key, however many rows."""
    table = pa.table({"user": [1] * 50 + list(range(2, 102)), "shop": ["fig"] * 150})
    ledger = tu.Ledger(tmp_path / "l", limit=10**6)
    owner = tu.Owner(table, ledger, unit="user", rows_per_unit=3)
    people = owner.people(shop=tu.Person(distinct="shop"))
    asked = tu.KeyCounts(tu.Universe.integers(0, 9), by="shop")
    assert people.keys.measure(asked, 900).noisy.tolist() == [101]


def test_who_asks_for_keys_in_the_wrong_place_is_sent_to_the_right_one(owner: tu.Owner) -> None:
    measured = tu.measure_keys({"fig": 900}, ASKED, 1)
    for wrong, right in (
        (lambda: tu.measure([1], ASKED, 1), "measure_keys"),  # type: ignore[type-var]
        (lambda: owner.measure(ASKED, 1), "owner.keys"),  # type: ignore[type-var]
        (lambda: tu.infer(measured), "infer() of its own"),  # type: ignore[call-overload]
    ):
        with pytest.raises(InputError) as told:
            wrong()
        assert right in str(told.value)
    assert owner.ledger.remaining == 2


def test_what_another_process_stored_first_is_the_answer(
    owner: tu.Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two draw under one key: only one answer leaves, to both of them."""
    real, others = door.measure_all_keys, list[tu.KeyMeasurement]()

    def slow(*given: object) -> object:
        monkeypatch.setattr(door, "measure_all_keys", real)
        others.append(owner.keys.measure(ASKED, 1, key="words"))
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(door, "measure_all_keys", slow)
    found = owner.keys.measure(ASKED, 1, key="words")
    assert found == others[0]
    assert owner.ledger.remaining == 1


def test_what_is_answered_is_what_was_stored(owner: tu.Owner) -> None:
    first = owner.keys.measure(ASKED, 1, key="words")
    (charge,) = owner.ledger.history()
    assert tu.KeyMeasurement.from_bytes(owner.ledger.stored(charge)) == first
