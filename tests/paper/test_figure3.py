"""The worked toy: noise averaged out of a run, a lone count left as it came."""

from __future__ import annotations

import numpy as np

from trueup.paper import figure3
from trueup.paper.draws import Setting, each_draw


def test_claims_hold() -> None:
    figure = figure3.run(Setting(quick=True))
    assert [claim.held for claim in figure.claims] == [True, True]


def test_a_run_of_twenty_has_the_error_of_a_harmonic_number() -> None:
    setting = Setting()
    draws = each_draw(setting, "toy", 4_000, lambda g: figure3.one_draw(setting, g))
    squared = ((draws[:, 1, :20] - 10) ** 2).sum(axis=1)
    expected = 2 * sum(1 / i for i in range(1, 21))
    # The neighbours lie five scales away and touch the run in a few draws of a hundred.
    assert abs(squared.mean() - expected) < 5 * squared.std() / np.sqrt(4_000) + 0.1
