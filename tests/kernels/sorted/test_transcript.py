"""What a transcript tells of the total."""

from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.sorted import transcript, young

from .rising_counts import FAMILIES, drawing


def test_the_measured_total_is_unbiased():
    rising = FAMILIES["zipf"]
    errors = []
    for seed in range(200):
        found = young.walk(rising, 10.0, drawing(seed, 10.0))
        deviation = np.sqrt(200.0 * len(found.noisy))
        errors.append((transcript.measured_total(found) - rising.sum()) / deviation)
    assert abs(np.mean(errors)) < 4 / np.sqrt(len(errors))
    assert 0.8 < np.std(errors) < 1.25


@pytest.mark.parametrize("name", FAMILIES)
def test_a_walk_without_noise_measures_the_total_itself(name):
    rising = FAMILIES[name]
    found = young.walk(rising, 10.0, lambda size: np.zeros(size, np.int64))
    assert transcript.measured_total(found) == rising.sum()


def test_cells_taken_for_granted_are_all_rows_up_to_the_first_edge_of_each_stretch():
    parts = [
        transcript.Stretch(0, 0, 2, 0, None),
        transcript.Stretch(2, 2, 9, 0, np.array([5, 6, 10])),
        transcript.Stretch(3, 3, 4, 10, None),
        transcript.Stretch(4, 4, 9, 0, np.array([13, 20])),
        transcript.Stretch(5, 5, 9, 20, None),
    ]
    noisy = np.array([1, -2, 30, 40, 5, 60, 7, 8, 9, 10])
    found = transcript.Transcript(parts, noisy)
    assert transcript.measured_total(found) == noisy.sum() + 7 * 5 + 5 * 3
