"""Questions of every kind, and the variance of each of their ranges by dense linear algebra."""

from __future__ import annotations

import numpy as np

import trueup as tu

PLACES = tu.Axis.hierarchy(
    "place", {"a": ["b", "c", "d"], "e": ["f"], "g": ["h", "i"]}, levels=["state", "county"]
)


QUESTIONS = {
    "unit": tu.CellCounts(90),
    "paper": tu.TreeCounts(128, branching=2),
    "sixteen": tu.TreeCounts(256, branching=16, root=False),
    "best": tu.TreeCounts(200),
    "uneven": tu.TreeCounts(101, radices=(4, 3, 9), shares=("0.1", "0.2", "0.3", "0.4")),
    "skipping": tu.TreeCounts(101, radices=(4, 3, 9), shares=(0, "0.5", 0, "0.5")),
    "haar": tu.WaveletCounts(128),
    "haar of 77": tu.WaveletCounts(77),
    "hats": tu.HatCounts(100),
    "windows": tu.WindowCounts(77),
    "windows for prefixes": tu.WindowCounts(64, "prefixes"),
    "windows over the past": tu.PastCounts(77),
    "and in two blocks": tu.PastCounts(50, first=5),
    "two strides of hats": tu.HatCounts(90, (4, 12), ends=False),
    "hats with ends": tu.HatCounts(70, (4, 20), ("0.2", "0.5", "0.3"), ends=True),
    "hierarchy": tu.TreeCounts(PLACES, shares=("0.2", "0.3", "0.5")),
}


def covariance(question, epsilon, law, neighbours="add-remove"):
    measurement = tu.Measurement(
        question,
        np.zeros(question.length, int),
        epsilon,
        neighbours,
        private=law == "discrete",
        law=law,
    )
    rows = question.matrix().toarray()
    return np.linalg.inv(rows.T @ ((1 / measurement.variances)[:, None] * rows))


def by_brute_force(question, epsilon, law, neighbours="add-remove"):
    size = question.size
    cells = covariance(question, epsilon, law, neighbours)
    prefix = np.vstack([np.zeros(size), np.tril(np.ones((size, size)))])
    between = prefix @ cells @ prefix.T
    own = np.diag(between)
    return own[:, None] + own[None, :] - 2 * between
