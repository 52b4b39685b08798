"""ε or ρ: the comparison says what the two plans say, scaled by how releases share a budget."""

from __future__ import annotations

from fractions import Fraction

import pytest

import trueup as tu


def test_from_two_releases_on_rho_serves_4096_cells_better():
    """One release within (1, 10⁻⁶): hats at ε = 1 have about 207, windows at ρ = 0.0244 351."""
    found = tu.compare(4096, epsilon=1, rho="0.0244", releases=2)
    assert found.error("epsilon", 1) == pytest.approx(207, rel=0.02)
    assert found.error("rho", 1) == pytest.approx(351, rel=0.01)
    assert (found.rho_from, found.better) == (2, "rho")
    assert tu.compare(4096, epsilon=1, rho="0.0244").better == "epsilon"
    assert "Take rho. From 2 on, rho is better." in str(found)
    assert "ε = 1" in str(found)


def test_releases_share_the_budget():
    found = tu.compare(32, epsilon=2, rho="1/8", releases=5)
    each = tu.plan(32, epsilon="2/5"), tu.plan(32, rho="1/40")
    errors = [min(s.continuous for s in part.strategies) for part in each]
    assert [found.error("epsilon"), found.error("rho")] == pytest.approx(errors)
    assert f"{found.releases} |" in found.table()
    assert repr(found) == "<TwoBudgets: epsilon=2, rho=1/8, 5 releases: rho is better>"
    assert found._repr_html_().startswith("<table>")


@pytest.mark.parametrize("releases", [0, -1, 1.5, True])
def test_there_is_at_least_one_release(releases):
    with pytest.raises(tu.InputError, match="releases must be"):
        tu.compare(8, epsilon=1, rho=1, releases=releases)


def test_without_a_rho_it_is_the_largest_that_means_no_more() -> None:
    """4,096 cells within (1, 1e-6): 207·k² against 351·k."""
    found = tu.compare(4096, epsilon=1)
    assert found.by_rho.rho == Fraction("0.02435")
    assert found.error("epsilon", 3) == pytest.approx(9 * 207, rel=0.01)
    assert found.error("rho", 3) == pytest.approx(3 * 351, rel=0.015)
    assert (found.better, found.rho_from) == ("epsilon", 2)
