"""Keys that nobody can list: counts over a universe that is declared and never enumerated."""

from trueup.keys.measurement import KeyMeasurement, measure_keys
from trueup.keys.prefix_release import PrefixMeasurement, PrefixRelease, measure_prefixes
from trueup.keys.prefixes import PrefixCounts, PrefixTerms
from trueup.keys.question import KeyCounts
from trueup.keys.release import KeyRelease
from trueup.keys.terms import KeyTerms
from trueup.keys.universe import Universe

__all__ = [
    "KeyCounts",
    "KeyMeasurement",
    "KeyRelease",
    "KeyTerms",
    "PrefixCounts",
    "PrefixMeasurement",
    "PrefixRelease",
    "PrefixTerms",
    "Universe",
    "measure_keys",
    "measure_prefixes",
]
