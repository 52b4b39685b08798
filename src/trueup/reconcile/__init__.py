"""Reconcile: any noisy counts with any linear constraints, made to agree."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack, overload

from trueup.ask import QuestionOfCells
from trueup.measurement import Measurement
from trueup.release import NamedRelease, Release

__all__ = ["reconcile"]


class Agreement(TypedDict, total=False):
    """What `reconcile` takes beside the estimates and constraints."""

    known: Mapping[str, Any] | None
    nonnegative: bool
    integers: bool
    to: str | os.PathLike[str] | None


@overload
def reconcile(
    estimates: Sequence[Release | Measurement[QuestionOfCells]],
    constraints: Any = ...,
    **wanted: Unpack[Agreement],
) -> Release: ...


@overload
def reconcile(
    estimates: Mapping[str, Any], constraints: Any = ..., **wanted: Unpack[Agreement]
) -> NamedRelease: ...


@overload
def reconcile(estimates: Any, constraints: Any = ..., **wanted: Unpack[Agreement]) -> Any: ...


def reconcile(
    estimates: Any,
    constraints: Any = (),
    *,
    known: Mapping[str, Any] | None = None,
    nonnegative: bool = False,
    integers: bool = False,
    to: str | os.PathLike[str] | None = None,
) -> Any:
    """Estimates that agree: the nearest to the given ones, each weighed by its precision.

    `estimates` is a mapping from names to (value, variance) pairs, lists of such pairs (the same
    count measured several times), estimates of a release, or None for a count that was not
    measured; or triples (name, value, variance); or releases and measurements. `constraints` are
    equations: text such as "total = passing + F", mappings {"total": ["passing", "F"]}, or sparse
    rows over the estimates in order. `known` gives counts that are known exactly.

    Several releases or measurements over one axis give one Release. Anything else gives a
    NamedRelease: answers by name, their covariance as `errors.covariance`. Parts that contradict
    each other by more than noise explains, but for one time in a million, are refused. Releases in
    dataset folders that asked one tree are put together block by block, into the folder `to`.

    >>> agreed = reconcile(
    ...     {"total": (100, 9), "passing": (80, 9), "F": (14, 9)}, "total = passing + F"
    ... )
    >>> [round(agreed[name].value, 3) for name in agreed.names]
    [98.0, 82.0, 16.0]
    """
    from trueup.reconcile.agreeing import agreed

    return agreed(estimates, constraints, known, nonnegative, integers, to)
