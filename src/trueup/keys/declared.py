"""A question about keys as trueup.toml declares it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueup.about import refuse_unknown
from trueup.errors import InputError, shown
from trueup.keys.prefixes import PrefixCounts
from trueup.keys.question import KeyCounts
from trueup.keys.universe import Universe

_LIST = ("keys_per_unit", "false_keys", "total", "number")
_TREE = ("step", "levels")
WORDS = ("title", "description")
"""What may be said beside the question itself."""


def declared_keys(name: str, spec: Mapping[str, Any]) -> KeyCounts | PrefixCounts:
    """The question of this name: a list of keys, or with tree = true a tree of prefixes.

    >>> declared_keys("host", {"universe": "ipv4"}).universe.size == 2**32
    True
    """
    tree = spec.get("tree", False)
    if not isinstance(tree, bool):
        raise InputError(f"keys '{name}': tree must be true or false, got {shown(tree)}.")
    own = _TREE if tree else _LIST
    known = ("universe", "column", "columns", "duplicates", "tree", *own, *WORDS)
    refuse_unknown(spec, sorted(known), f"keys '{name}': ")
    if "universe" not in spec:
        raise InputError(f"keys '{name}': universe is missing, such as \"text:a-z0-9:12\".")
    universe = _universe(spec["universe"])
    by = _columns(name, spec, universe)
    given = {word: spec[word] for word in (*own, "duplicates") if word in spec}
    return PrefixCounts(universe, by, **given) if tree else KeyCounts(universe, by, **given)


def _universe(given: object) -> Universe:
    return Universe.typed(given) if isinstance(given, str) else Universe.from_json(given)


def _columns(name: str, spec: Mapping[str, Any], universe: Universe) -> tuple[str, ...]:
    if "column" in spec and "columns" in spec:
        raise InputError(f"keys '{name}': give column, or columns of a place, not both.")
    given = [spec["column"]] if "column" in spec else list(universe.columns or [name])
    given = spec.get("columns", given)
    if not isinstance(given, list):
        raise InputError(f"keys '{name}': columns must be a list, got {shown(given)}.")
    return tuple(given)
