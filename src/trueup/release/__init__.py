"""What is published: consistent answers, each with its error."""

from trueup.release.estimate import Estimate
from trueup.release.grid import GridRelease
from trueup.release.histogram import Release
from trueup.release.marginals import MarginalRelease
from trueup.release.queries import QueryRelease
from trueup.release.sorted import SortedRelease

__all__ = [
    "Estimate",
    "GridRelease",
    "MarginalRelease",
    "QueryRelease",
    "Release",
    "SortedRelease",
]
