"""Least squares on a strategy: any rows of weights."""

from __future__ import annotations

from collections.abc import Sequence

from trueup.ask import WeightedCounts
from trueup.axis import Axis
from trueup.infer.least_squares import LeastSquares
from trueup.infer.model import Candidate
from trueup.workload import Workload


class WeightedModel(LeastSquares):
    """The nearest counts to noisy weighted sums."""

    asks = WeightedCounts

    @classmethod
    def candidates(
        cls, axes: Sequence[Axis], workloads: Sequence[Workload], nonnegative: bool
    ) -> list[Candidate]:
        """None: `trueup.optimize` searches for weights, and takes its time."""
        return []
