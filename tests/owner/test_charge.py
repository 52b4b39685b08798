"""A charge says what was asked and what the ledger charged; the history is a table of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from trueup.cost import Cost
from trueup.owner.charge import Charge, history_table


def test_an_epsilon_charged_in_rho_keeps_both() -> None:
    cost = Cost.of("1/10", delta="1e-9")
    charged = cost.counted_in("rho")
    charge = Charge(1, "k", cost, charged, charged + charged, "{}", None, "now")
    assert (charge.epsilon, charge.rho, charge.delta) == (
        Fraction(1, 10),
        Fraction(1, 200),
        Fraction(1, 10**9),
    )
    assert (charge.spent, charge.spent_delta) == (Fraction(1, 100), Fraction(2, 10**9))
    (row,) = history_table([charge], plain=False).to_pylist()
    assert (row["epsilon"], row["rho"], row["spent"]) == ("1/10", "1/200", "1/100")
    assert (row["delta"], row["spent_delta"]) == ("1/1000000000", "1/500000000")
    assert "rho" not in history_table([charge]).column_names


def test_a_rho_has_no_epsilon_in_the_table() -> None:
    cost = Cost.of(rho="1/8")
    (row,) = history_table([Charge(1, "k", cost, cost, cost, "{}", None, "")], False).to_pylist()
    assert (row["epsilon"], row["rho"]) == (None, "1/8")


def test_the_table_tells_periods_only_where_a_charge_has_some() -> None:
    cost = Cost.of("1/10")
    whole = Charge(1, "k", cost, cost, cost, "{}", None, "now")
    assert "periods" not in history_table([]).column_names
    assert "periods" not in history_table([whole]).column_names
    days = replace(whole, periods=("2026-01-01", "2026-01-02"))
    assert history_table([days, whole])["periods"].to_pylist() == ["2026-01-01, 2026-01-02", ""]
