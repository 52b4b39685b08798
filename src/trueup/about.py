"""Words for people: what an owner calls an axis, its units, and where its regions are drawn."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.errors import InputError, shown

WORDS = ("title", "description", "units", "regions")
"""What the table of an axis may say beside the axis itself."""
_REGIONS = ("file", "key")


@dataclass(frozen=True)
class RegionsFile:
    """A GeoJSON file with a region for every label, named by a property of each feature."""

    file: Path
    key: str


@dataclass(frozen=True)
class About:
    """What is said of an axis; nothing here changes what is counted."""

    title: str | None = None
    description: str = ""
    units: str | None = None
    regions: RegionsFile | None = None


def about(spec: Mapping[str, Any], beside: Path) -> About:
    """What the table of an axis says to people; the regions' file is relative to a folder."""
    return About(
        text(spec.get("title"), "title"),
        text(spec.get("description"), "description") or "",
        text(spec.get("units"), "units"),
        _regions(spec.get("regions"), beside),
    )


def _regions(given: object, beside: Path) -> RegionsFile | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise InputError(
            f'regions must be such as {{file = "towns.geojson", key = "name"}}, got {shown(given)}.'
        )
    refuse_unknown(given, _REGIONS, "regions: ")
    for word in _REGIONS:
        if not isinstance(given.get(word), str):
            raise InputError(f"regions needs {word}, which must be text.")
    return RegionsFile(beside / given["file"], given["key"])


def text(value: object, name: str) -> str | None:
    """A text, or nothing; anything else is refused."""
    if value is None or isinstance(value, str):
        return value
    raise InputError(f"{name} must be text, got {shown(value)}.")


def refuse_unknown(given: Iterable[str], known: Iterable[str], what: str = "") -> None:
    """Refuses a word that is not known, with the nearest one that is.

    >>> refuse_unknown(["limt"], ["limit", "ledger"])
    Traceback (most recent call last):
    trueup.errors.InputError: limt is not known. Did you mean limit? Known: limit, ledger.
    """
    listed = list(known)
    for word in given:
        if word not in listed:
            near = difflib.get_close_matches(word.lower(), listed, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise InputError(f"{what}{word[:60]} is not known.{meant} Known: {', '.join(listed)}.")
