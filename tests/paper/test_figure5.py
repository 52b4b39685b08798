"""Unattributed histograms: S̄ far below S̃, more so as ε falls."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.paper import figure5
from trueup.paper.claims import Figure
from trueup.paper.datasets import Datasets, PaperDataset
from trueup.paper.draws import EPSILONS, Setting

SETTING = Setting(quick=True)
Found = dict[figure5.Case, list[np.ndarray]]


@pytest.fixture(scope="module")
def found() -> Found:
    return {
        case: [figure5.errors(SETTING, case, e) for e in EPSILONS]
        for case in figure5.cases(SETTING)
    }


@pytest.fixture(scope="module")
def figure() -> Figure:
    return figure5.run(SETTING)


def test_noise_has_the_error_that_its_law_gives(found: Found) -> None:
    for case, by_epsilon in found.items():
        for epsilon, values in zip(EPSILONS, by_epsilon, strict=True):
            expected = 2 * len(case.data.counts) * (case.ends / float(epsilon)) ** 2
            assert values[0] == pytest.approx(expected, rel=0.05)


def test_inference_gains_an_order_of_magnitude_everywhere(found: Found) -> None:
    for by_epsilon in found.values():
        for noisy, _, inferred, *_ in by_epsilon:
            assert inferred < noisy / 10


def test_relative_gain_grows_as_epsilon_falls(found: Found) -> None:
    for by_epsilon in found.values():
        gains = [noisy / inferred for noisy, _, inferred, *_ in by_epsilon]
        assert gains[0] < gains[1] < gains[2]


def test_an_undirected_graph_is_shown_with_both_sensitivities(found: Found) -> None:
    ends = [case.ends for case in found if case.data.name == "social network"]
    assert ends == [1, 2]


def test_every_claim_of_the_paper_holds(figure: Figure) -> None:
    assert all(claim.held for claim in figure.claims)
    assert len(figure.claims) == 4


def test_a_claim_that_fails_is_said_to_fail() -> None:
    apart = PaperDataset("all different", np.arange(0, 400_000, 1_000))
    data = Datasets((apart,), (), "")
    claims = figure5.run(Setting(data, quick=True)).claims
    assert not claims[0].held
