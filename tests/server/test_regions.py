"""Regions: checked when the server starts, and served with their labels alone."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import trueup as tu
from trueup.about import About, RegionsFile
from trueup.config import Dataset
from trueup.server.regions import open_regions

TOWNS = tu.Axis.categories("town", ["Kern", "Napa"])
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}


def feature(name: object, geometry: Any = SQUARE) -> Any:
    return {"type": "Feature", "properties": {"name": name, "other": 1}, "geometry": geometry}


def opened(folder: Path, said: Any, axis: tu.Axis = TOWNS) -> Any:
    file = folder / "towns.geojson"
    file.write_text(said if isinstance(said, str) else json.dumps(said))
    about = {axis.name: About(regions=RegionsFile(file, "name"))}
    return open_regions(
        Dataset("trips", "", folder / "l", Fraction(1), axes={axis.name: axis}, about=about)
    )[axis.name]


def collection(*features: Any) -> Any:
    return {"type": "FeatureCollection", "features": list(features)}


def test_what_is_served_is_label_and_outline_and_nothing_else(tmp_path: Path) -> None:
    found = opened(tmp_path, collection(feature("Napa"), feature("Kern"), feature("Elsewhere")))
    told = json.loads(found.plain)
    assert [each["properties"] for each in told["features"]] == [
        {"label": "Napa"},
        {"label": "Kern"},
    ]
    assert told["features"][0]["geometry"] == SQUARE
    assert gzip.decompress(found.compressed) == found.plain


def test_labels_that_are_numbers_and_the_leaves_of_a_hierarchy_have_regions(
    tmp_path: Path,
) -> None:
    numbers = tu.Axis.categories("zip", [10, 11])
    assert opened(tmp_path, collection(feature(10), feature("11")), numbers)
    leaves = tu.Axis.hierarchy("place", {"West": ["Kern", "Napa"]})
    assert opened(tmp_path, collection(feature("Kern"), feature("Napa")), leaves)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("{", "is not JSON"),
        ('{"type": "FeatureCollection", "features": [NaN]}', "is not JSON"),
        ([], "not a GeoJSON FeatureCollection"),
        ({"type": "Feature"}, "not a GeoJSON FeatureCollection"),
        (collection(feature("Kern")), "no region whose 'name' is Napa"),
        (collection({"type": "Feature", "properties": {}}), "no property 'name'"),
        (collection(7), "no property 'name'"),
        (collection(feature("Kern", {"type": "Point", "coordinates": [0, 0]})), "no Polygon"),
        (collection(feature("Kern", None)), "no Polygon"),
        (collection(feature("Kern", {"type": "Polygon", "coordinates": [[0, 0]]})), "no Polygon"),
        (
            collection(feature("Kern", {"type": "Polygon", "coordinates": [[["0", 0]]]})),
            "no Polygon",
        ),
    ],
)
def test_a_file_that_cannot_be_drawn_stops_the_server(tmp_path: Path, said: Any, why: str) -> None:
    with pytest.raises(tu.FileError, match=f"Dataset 'trips', regions of 'town': .*{why}"):
        opened(tmp_path, said)


def test_regions_go_with_labels(tmp_path: Path) -> None:
    with pytest.raises(tu.FileError, match="the axis has no labels"):
        opened(tmp_path, collection(), tu.Axis.integers("age", 0, 9))


def test_regions_are_served_and_kept_by_the_browser(server: Any, fares: str) -> None:
    address = "/api/v1/datasets/trips/regions?column=borough"
    said = server("rea").get(address)
    assert said.headers["content-type"] == "application/geo+json"
    assert said.headers["content-encoding"] == "gzip"
    labels = [each["properties"]["label"] for each in said.json()["features"]]
    assert labels == ["Queens", "Bronx", "Kings"]
    plain = server("rea").get(address, headers={"Accept-Encoding": "identity"})
    assert plain.json() == said.json()
    kept = server("rea").get(address, headers={"If-None-Match": said.headers["etag"]})
    assert (kept.status_code, kept.content) == (304, b"")
    assert server("rea").get("/api/v1/datasets/trips/regions?column=age").status_code == 404
    release = server.measured("regions-of-a-release", column="borough")
    own = server("rea").get(f"/api/v1/releases/{release}/regions?column=borough")
    assert own.json() == said.json()
    link = server("boss").put(f"/api/v1/releases/{release}/public").json()["link"]
    public = server(None).get(f"/api/v1/public/{link}/regions?column=borough")
    assert public.json() == said.json()
