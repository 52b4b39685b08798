"""Laws of an order: what is recorded of a question, and that it is paid for once, in one order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import trueup as tu
from trueup.cost import Cost
from trueup.errors import BudgetError, InputError, NoiseError
from trueup.owner.order import Order, check_private


@pytest.fixture
def owner(tmp_path: Path) -> tu.Owner:
    return tu.Owner(pa.table({"age": [1, 2]}), tu.Ledger(tmp_path / "book", limit=1))


def test_an_order_is_recorded_whole(owner: tu.Owner) -> None:
    order = Order.of(owner, Cost.of(1), "key", {"where": "age>=1", "neighbours": "replace"})
    assert order.request(owner, {"kind": "any"}, rows_per_unit=1) == {
        "question": {"kind": "any"},
        "neighbours": "replace",
        "unit": "row",
        "rows_per_unit": 1,
        "where": "age >= 1",
        "source": owner.source,
    }


def test_without_a_key_every_order_is_another(owner: tu.Owner) -> None:
    first, second = (Order.of(owner, Cost.of(1), None, {}) for _ in range(2))
    assert first.key != second.key
    assert first.neighbours == "add-remove"


@pytest.mark.parametrize(
    "asked", [{"where": "age +"}, {"neighbours": "both"}, {"period": "2026-03-01"}]
)
def test_an_order_that_cannot_be_is_refused(owner: tu.Owner, asked: dict[str, str]) -> None:
    with pytest.raises(InputError):
        Order.of(owner, Cost.of(1), None, asked)  # type: ignore[arg-type]


def test_a_word_that_no_question_has_is_refused(owner: tu.Owner) -> None:
    with pytest.raises(TypeError, match="'wher'"):
        Order.of(owner, Cost.of(1), None, {"wher": "age > 1"})  # type: ignore[typeddict-unknown-key]


def test_rho_is_refused_in_a_ledger_of_epsilon(owner: tu.Owner) -> None:
    with pytest.raises(InputError):
        Order.of(owner, Cost.of(None, "1/2"), None, {})


def test_what_can_fail_is_tried_then_charged_then_drawn_and_paid_once(owner: tu.Owner) -> None:
    order, seen = Order.of(owner, Cost.of("1/2"), "key", {"by": "ana"}), list[str]()
    request = order.request(owner, {})

    def ready() -> Callable[[], bytes]:
        seen.append(f"tried at {owner.ledger.spent}")
        return draw

    def draw() -> bytes:
        seen.append(f"drawn at {owner.ledger.spent}")
        return b"noise"

    assert order.paid(owner, request, ready) == order.paid(owner, request, ready) == b"noise"
    assert seen == ["tried at 0", "drawn at 1/2"]
    assert [charge.by for charge in owner.ledger.history()] == ["ana"]
    for other in ({"by": "ben"}, {}):
        with pytest.raises(InputError):  # the key is ana's
            Order.of(owner, Cost.of("1/2"), "key", other).paid(owner, request, ready)
    assert seen == ["tried at 0", "drawn at 1/2"]
    with pytest.raises(BudgetError):
        Order.of(owner, Cost.of(1), "other", {}).paid(owner, request, ready)
    assert seen[2:] == ["tried at 1/2"]


def test_an_answer_that_is_not_private_stays_here() -> None:
    check_private(True)
    with pytest.raises(NoiseError, match="NOT PRIVATE"):
        check_private(False)
