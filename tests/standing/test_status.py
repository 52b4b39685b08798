"""The status names what is missing, and spends nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from kills import NOW, Shop

from trueup.errors import LedgerError
from trueup.owner.ledger import Ledger
from trueup.standing import statuses


def test_the_status_tells_published_due_and_price(tmp_path: Path) -> None:
    shop = Shop(tmp_path, days=4, series=2)
    shop.publish("2026-01-02")
    found = statuses(shop.declared, NOW, shop.last)
    assert [each.word for each in found] == ["due", "due"]
    assert found[0].missing == ("2026-01-03", "2026-01-04")
    assert found[0].price == "ε = 0.001 for each day"
    assert found[0].to_json()["last"] == "2026-01-02"
    assert found[0].published == ("2026-01-01", "2026-01-02")
    assert [each.word for each in statuses(shop.declared, NOW, "2026-01-02")] == ["published"] * 2


def test_what_was_charged_and_never_answered_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, days=2, series=1)
    shop.publish("2026-01-01")

    def killed(*_: object) -> None:
        raise LedgerError("as by a kill")

    with monkeypatch.context() as during:
        during.setattr(Ledger, "_record", killed)
        with pytest.raises(LedgerError):
            shop.publish("2026-01-02")
    (found,) = statuses(shop.declared, NOW, "2026-01-02")
    assert (found.published, found.unanswered) == (("2026-01-01",), ("2026-01-02",))
    assert (found.missing, found.unwritten, found.word) == ((), (), "due")
    shop.publish("2026-01-02")
    (found,) = statuses(shop.declared, NOW, "2026-01-02")
    assert (found.published[-1], found.unanswered, found.word) == ("2026-01-02", (), "published")
