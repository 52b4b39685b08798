"""Where the error of S̄ lies: at the changes, not inside the runs."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from trueup.paper import figure7
from trueup.paper.draws import Setting

SETTING = Setting(quick=True)


def test_runs_are_those_of_groupby() -> None:
    descending = np.array([9, 7, 7, 7, 3, 3, 0])
    starts, lengths = figure7.runs(descending)
    assert lengths.tolist() == [len(list(group)) for _, group in groupby(descending)]
    assert starts.tolist() == [0, 1, 4, 6]


def test_error_is_near_zero_inside_long_runs_and_whole_where_counts_stand_alone() -> None:
    data = SETTING.datasets.unattributed[0]
    descending, noisy, inferred = figure7.by_position(SETTING, data)
    starts, lengths = figure7.runs(descending)
    longest = int(np.argmax(lengths))
    middle = slice(starts[longest] + lengths[longest] // 4, starts[longest] + lengths[longest] // 2)
    assert inferred[middle].mean() < 0.001 * noisy[middle].mean()
    alone = starts[:10]
    assert inferred[alone].mean() > 0.5 * noisy[alone].mean()


def test_claims_hold() -> None:
    claims = figure7.run(SETTING).claims
    assert len(claims) == 3
    assert all(claim.held for claim in claims)
