"""Regions: the outline of every label of an axis, from a GeoJSON file that the owner gives.

Outlines are public, as axes are: nothing of them is read from the data. The file is checked when
the server starts, and kept as it is sent, compressed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trueup.about import RegionsFile
from trueup.axis import Axis
from trueup.config import Dataset
from trueup.errors import FileError

_MOST_BYTES = 64 << 20
_DEPTH = {"Polygon": 2, "MultiPolygon": 3}  # of lists around each point


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of an axis, as a GeoJSON FeatureCollection: `label` names the cell of each."""

    compressed: bytes
    tag: str

    @property
    def plain(self) -> bytes:
        """The same, as it was before it was compressed."""
        return gzip.decompress(self.compressed)


def open_regions(dataset: Dataset) -> dict[str, Regions]:
    """The regions of every axis that has some, checked against its labels."""
    found = {}
    for column, about in dataset.about.items():
        if about.regions is not None:
            where = f"Dataset '{dataset.name}', regions of '{column}': "
            try:
                found[column] = _read(about.regions, dataset.axes[column])
            except _RegionError as wrong:
                raise FileError(f"{where}{wrong}") from None
    return found


class _RegionError(Exception):
    """What is wrong with a file of regions."""


def _read(given: RegionsFile, axis: Axis) -> Regions:
    if not axis.traits.labelled:
        raise _RegionError("the axis has no labels; regions go with categories or a hierarchy.")
    name = given.file.name
    try:
        if given.file.stat().st_size > _MOST_BYTES:
            raise _RegionError(f"{name} has more than {_MOST_BYTES >> 20} MiB: simplify it.")
        said = json.loads(given.file.read_bytes(), parse_constant=_no_number)
    except OSError:
        raise _RegionError(f"there is no file {given.file}.") from None
    except (ValueError, RecursionError):
        raise _RegionError(f"{name} is not JSON.") from None
    said = said if isinstance(said, dict) else {}
    features = said.get("features")
    if said.get("type") != "FeatureCollection" or not isinstance(features, list):
        raise _RegionError(f"{name} is not a GeoJSON FeatureCollection.")
    wanted = dict.fromkeys(labels(axis))
    kept = [found for each in features if (found := _feature(each, given.key, wanted)) is not None]
    known = {feature["properties"]["label"] for feature in kept}
    missing = [label for label in wanted if label not in known]
    if missing:
        listed = ", ".join(missing[:3])
        raise _RegionError(
            f"{name} has no region whose {given.key!r} is {listed}"
            f"{f' and {len(missing) - 3:,} more' if len(missing) > 3 else ''}. "
            f"Every label of the axis needs one."
        )
    told = {"type": "FeatureCollection", "features": kept}
    data = json.dumps(told, separators=(",", ":")).encode()
    return Regions(gzip.compress(data, 6, mtime=0), hashlib.sha256(data).hexdigest()[:32])


def labels(axis: Axis) -> list[str]:
    """The label of every cell, as text; of a hierarchy, the last of its path."""
    if axis.paths:
        return [str(path[-1]) for path in axis.paths]
    return [str(axis.edge(cell)) for cell in range(axis.size)]


def _feature(each: Any, key: str, wanted: Mapping[str, None]) -> dict[str, Any] | None:
    """A feature with nothing but its label and its outline; None if it is no label's."""
    properties = each.get("properties") if isinstance(each, dict) else None
    if not isinstance(properties, dict) or key not in properties:
        raise _RegionError(f"a feature has no property {key!r}.")
    label = str(properties[key])
    if label not in wanted:
        return None
    geometry = each.get("geometry")
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind not in _DEPTH or not _is_outline(geometry.get("coordinates"), _DEPTH[kind]):
        raise _RegionError(f"the region of {label!r} is no Polygon or MultiPolygon.")
    outline = {"type": kind, "coordinates": geometry["coordinates"]}
    return {"type": "Feature", "properties": {"label": label}, "geometry": outline}


def _is_outline(part: Any, depth: int) -> bool:
    """Whether a part is lists, so many deep, around points of finite numbers."""
    if not isinstance(part, list) or not part:
        return False
    if depth:
        return all(_is_outline(inner, depth - 1) for inner in part)
    return 2 <= len(part) <= 4 and all(
        type(number) in (int, float) and math.isfinite(number) for number in part
    )


def _no_number(word: str) -> Any:
    raise ValueError(word)
