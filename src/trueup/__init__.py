"""Differentially private counts that add up, and are more accurate because they do.

    import trueup as tu
    age = tu.Axis.integers("age", 0, 99)          # declare the values; never read them from data
    release = tu.publish(table, age, epsilon=0.5) # count, add noise, make the counts agree
    release.range(18, 65)                         # ages 18 to 64, with the error

What is counted over    Axis.integers .regular .edges .categories .dates .ipv4 .hierarchy .codes
In one call             publish, histogram, frequency_list, degree_sequence, adaptive
In three steps          a question, then measure (costs epsilon), then infer (free)
Questions               CellCounts, TreeCounts, AdaptiveTreeCounts, HatCounts, WaveletCounts,
                        WeightedCounts, WindowCounts, PastCounts, NamedCounts, SortedCounts,
                        GridCounts, BoxCounts, AdaptiveBoxCounts
What comes back         Release, SortedRelease, NamedRelease; numbers are Estimates, a / b a Ratio
Before spending         plan, epsilon_for, rho_for, error_for, compare, Workload, optimize
With an account         Owner (a table) and Ledger (its limit); connect (a server)
People, not rows        owner.people(visits=Person(count="*")): each person is one record;
                        rows_per_unit="auto" and bounded choose how many rows of a person count;
                        left_out says what that leaves out
What it costs           Cost.of(epsilon=…) or Cost.of(rho=…); .shown_at(delta) as (ε, δ)
Files                   release.save("x.parquet"), load("x.parquet")
Several releases        reconcile
Step after step         Stream.open, Stream.resume
Keys nobody can list    Universe, KeyCounts, measure_keys; KeyMeasurement, KeyRelease; PrefixCounts,
                        measure_prefixes; PrefixMeasurement, PrefixRelease
Errors                  all are TrueupError; InputError is a ValueError, too

`help(tu.publish)` explains one of them; `trueup -h` is the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trueup.ask import (
    AdaptiveBoxCounts,
    AdaptiveTreeCounts,
    BoxCounts,
    CellCounts,
    GridCounts,
    HatCounts,
    NamedCounts,
    PastCounts,
    SortedCounts,
    TreeCounts,
    WaveletCounts,
    WeightedCounts,
    WindowCounts,
)
from trueup.axis import Axis
from trueup.cost import Cost
from trueup.errors import (
    BudgetError,
    FileError,
    InputError,
    LedgerError,
    NoiseError,
    ServerError,
    SourceError,
    TrueupError,
)
from trueup.infer import infer
from trueup.measure import measure
from trueup.measurement import Measurement
from trueup.optimize import Optimized, optimize
from trueup.plan import Plan, Workload, epsilon_for, error_for, plan, rho_for
from trueup.plan.compare import compare
from trueup.reconcile import reconcile
from trueup.release import Estimate, NamedRelease, Release, SortedRelease
from trueup.version import __version__

if TYPE_CHECKING:
    from trueup.client import connect
    from trueup.keys import (
        KeyCounts,
        KeyMeasurement,
        KeyRelease,
        PrefixCounts,
        PrefixMeasurement,
        PrefixRelease,
        Universe,
        measure_keys,
        measure_prefixes,
    )
    from trueup.owner import Ledger, Owner
    from trueup.owner.bounding import bounded, left_out
    from trueup.owner.person import Person
    from trueup.owner.reweighted import adaptive
    from trueup.publishing import publish
    from trueup.release.ratio import Ratio
    from trueup.saved import load
    from trueup.shortcuts import degree_sequence, frequency_list, histogram
    from trueup.stream import Stream

__all__ = [
    "AdaptiveBoxCounts",
    "AdaptiveTreeCounts",
    "Axis",
    "BoxCounts",
    "BudgetError",
    "CellCounts",
    "Cost",
    "Estimate",
    "FileError",
    "GridCounts",
    "HatCounts",
    "InputError",
    "KeyCounts",
    "KeyMeasurement",
    "KeyRelease",
    "Ledger",
    "LedgerError",
    "Measurement",
    "NamedCounts",
    "NamedRelease",
    "NoiseError",
    "Optimized",
    "Owner",
    "PastCounts",
    "Person",
    "Plan",
    "PrefixCounts",
    "PrefixMeasurement",
    "PrefixRelease",
    "Ratio",
    "Release",
    "ServerError",
    "SortedCounts",
    "SortedRelease",
    "SourceError",
    "Stream",
    "TreeCounts",
    "TrueupError",
    "Universe",
    "WaveletCounts",
    "WeightedCounts",
    "WindowCounts",
    "Workload",
    "__version__",
    "adaptive",
    "bounded",
    "compare",
    "connect",
    "degree_sequence",
    "epsilon_for",
    "error_for",
    "frequency_list",
    "histogram",
    "infer",
    "left_out",
    "load",
    "measure",
    "measure_keys",
    "measure_prefixes",
    "optimize",
    "plan",
    "publish",
    "reconcile",
    "rho_for",
]


def __dir__() -> list[str]:
    """The public names, and no others."""
    return sorted(__all__)


_LATER = {
    "KeyCounts": "keys",
    "KeyMeasurement": "keys",
    "KeyRelease": "keys",
    "Ledger": "owner",
    "Owner": "owner",
    "Person": "owner.person",
    "PrefixCounts": "keys",
    "PrefixMeasurement": "keys",
    "PrefixRelease": "keys",
    "Ratio": "release.ratio",
    "Stream": "stream",
    "Universe": "keys",
    "adaptive": "owner.reweighted",
    "bounded": "owner.bounding",
    "left_out": "owner.bounding",
    "connect": "client",
    "degree_sequence": "shortcuts",
    "frequency_list": "shortcuts",
    "histogram": "shortcuts",
    "load": "saved",
    "measure_keys": "keys",
    "measure_prefixes": "keys",
    "publish": "publishing",
}


def __getattr__(name: str) -> Any:
    """What not everybody needs is imported when it is first used, so that `import` is quick."""
    if name not in _LATER:
        raise AttributeError(f"module 'trueup' has no attribute {name!r}")
    found = getattr(import_module(f"trueup.{_LATER[name]}"), name)
    globals()[name] = found
    return found
