"""Differentially private histograms that add up, and are more accurate because they do."""

from trueup.ask import CountQueries, SortedCounts, TreeCounts, UnitCounts
from trueup.axis import Axis
from trueup.errors import (
    BudgetError,
    FileError,
    InputError,
    LedgerError,
    NoiseError,
    SourceError,
    TrueupError,
)
from trueup.infer import infer
from trueup.measure import measure
from trueup.measurement import Measurement
from trueup.release import Estimate, QueryRelease, Release, SortedRelease
from trueup.shortcuts import degree_sequence, histogram
from trueup.store import load

__version__ = "0.1.0"

__all__ = [
    "Axis",
    "BudgetError",
    "CountQueries",
    "Estimate",
    "FileError",
    "InputError",
    "LedgerError",
    "Measurement",
    "NoiseError",
    "QueryRelease",
    "Release",
    "SortedCounts",
    "SortedRelease",
    "SourceError",
    "TreeCounts",
    "TrueupError",
    "UnitCounts",
    "__version__",
    "degree_sequence",
    "histogram",
    "infer",
    "load",
    "measure",
]
