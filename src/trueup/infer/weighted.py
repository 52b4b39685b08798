"""Least squares on a strategy: any rows of weights."""

from __future__ import annotations

from trueup.ask import WeightedCounts
from trueup.infer.least_squares import LeastSquares


class WeightedModel(LeastSquares[WeightedCounts]):
    """The nearest counts to noisy weighted sums.

    A plan offers none: `trueup.optimize` searches for weights, and takes its time.
    """

    asks = WeightedCounts
