"""Axes as an owner declares them: in trueup.toml, or by options of a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trueup.about import refuse_unknown
from trueup.axis import Axis
from trueup.errors import InputError, shown

_KINDS: dict[str, tuple[Callable[..., Axis], tuple[str, ...], tuple[str, ...]]] = {
    "integers": (Axis.integers, ("first", "last"), ()),
    "regular": (Axis.regular, ("low", "high", "bins"), ()),
    "edges": (Axis.edges, ("edges",), ()),
    "categories": (Axis.categories, ("labels",), ()),
    "dates": (Axis.dates, ("first", "last"), ("unit",)),
    "ipv4": (Axis.ipv4, ("network",), ("length",)),
    "hierarchy": (Axis.hierarchy, ("tree",), ("levels",)),
    "codes": (Axis.codes, ("codes", "levels"), ()),
}
"""What makes each kind, the words that it needs, and those that it may have."""


def declared_axis(column: str, spec: Mapping[str, Any]) -> Axis:
    """The axis of a column, declared by its kind and what that needs; nothing else may be said.

    >>> declared_axis("age", {"kind": "integers", "first": 0, "last": 99}).size
    100
    """
    kind = spec.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(
            f"The kind of axis '{column}' must be one of {', '.join(_KINDS)}, got {shown(kind)}."
        )
    make, needed, allowed = _KINDS[kind]
    given = {word: value for word, value in spec.items() if word not in ("kind", "name")}
    if kind == "hierarchy" and "paths" in given:
        given["tree"] = given.pop("paths")
    refuse_unknown(given, (*needed, *allowed), f"Axis '{column}' ({kind}): ")
    for word in needed:
        if word not in given:
            raise InputError(f"Axis '{column}' lacks {word}: {kind} needs {', '.join(needed)}.")
    try:
        return make(spec.get("name", column), **given)
    except TypeError:
        raise InputError(
            f"Axis '{column}' cannot be read: something in it is of a wrong type."
        ) from None
