"""Trees of every shape, asked adaptively, and what their fit takes from each answer."""

from __future__ import annotations

import numpy as np

import trueup as tu
from trueup.ask import AdaptiveTreeCounts
from trueup.infer import axis_model
from trueup.measurement import Measurement
from trueup.paper.noise import measure_for_experiment

PLACE = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": {"Clark": ["East"]}, "DC": []})
TREES = {
    "three levels": tu.TreeCounts(60, radices=(4, 4, 4), shares=("2/5", "3/10", "3/10")),
    "root asked": tu.TreeCounts(60, branching=4),
    "binary": tu.TreeCounts(32, branching=2, root=False),
    "a level left out": tu.TreeCounts(50, radices=(3, 4, 5), shares=("1/2", 0, "1/2")),
    "levels of its own": tu.TreeCounts(PLACE),
    "cells alone": tu.TreeCounts(7, radices=(7,), root=False),
    "wide": tu.TreeCounts(200, radices=(2, 100), shares=("1/3", "2/3")),
}


def measured(tree: tu.TreeCounts, seed: int, epsilon: object = "1/2") -> Measurement:
    g = np.random.default_rng(seed)
    counts = g.poisson(400, tree.size) * (g.random(tree.size) < 0.3)
    return measure_for_experiment(counts, AdaptiveTreeCounts(tree), epsilon, seed)


def fit_matrix(m: Measurement) -> np.ndarray:
    """What each cell of the fit takes from each answer: the fit of one answer at a time."""
    model = axis_model(m.noise)
    each = [model.fit(row) for row in np.eye(len(m.noisy), dtype=np.int64)]
    return np.array(each).T


def spikes(height: int) -> np.ndarray:
    counts = np.zeros(60, np.int64)
    counts[2::8] = height
    return counts


THRESHOLD = 5 * 2**0.5 / 0.4 * 2  # of a node of the first level at ε = 1/2, in counts
WORST = {
    "empty": np.zeros(60, np.int64),
    "ones": np.ones(60, np.int64),
    "spikes at the threshold": spikes(round(THRESHOLD / 2)),
    "spikes above it": spikes(round(THRESHOLD / 2) + 6),
    "spikes that are a node": np.where(np.arange(60) % 16 == 5, round(THRESHOLD), 0),
    "comb": np.where(np.arange(60) % 2, 9, 0),
    "ramp": np.arange(60) // 2,
    "one cell": np.where(np.arange(60) == 33, round(THRESHOLD) + 5, 0),
}
