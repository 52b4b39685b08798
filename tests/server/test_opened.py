"""A release in a folder is served like any other, and no answer reads more than a little of it."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup._kernels.tree import blocks
from trueup.config import read_config
from trueup.files import parts
from trueup.files.dataset import StoredPrefix, open_dataset
from trueup.release import rising
from trueup.scale import job
from trueup.server import releases, written
from trueup.server.auth import open_ledger
from trueup.server.opened import OpenedFolder

CELLS = 1 << 17
CONFIG = f"""
[server]
port = 0
warm = false
[datasets.places]
title = "Places"
source = "places.parquet"
ledger = "places.ledger"
limit = 100
axes.place = {{kind = "integers", first = 0, last = {CELLS - 1}}}
"""


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """A folder of a few thousand cells a part, of which no answer may read all."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blocks, "SPAN", 1 << 10)
        patched.setattr(job, "SLAB", 1 << 15)
        patched.setattr(parts, "ROWS", 1 << 12)
        patched.setattr(parts, "BLOCK", 1 << 9)
        patched.setattr(rising, "READ", 1 << 12)
        patched.setattr(written, "_MOST_WRITTEN", 1 << 12)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration, and a folder that the owner published."""
    folder = tmp_path_factory.mktemp("places")
    rng = np.random.default_rng(1)
    rows = np.minimum(rng.gamma(2, CELLS / 8, 40_000).astype(np.int64), CELLS - 1)
    pq.write_table(pa.table({"place": rows}), folder / "places.parquet")
    (folder / "trueup.toml").write_text(CONFIG)
    return folder


def owner(place: Path) -> tu.Owner:
    config = read_config(place / "trueup.toml").datasets["places"]
    return tu.Owner(place / "places.parquet", open_ledger(config))


@pytest.fixture(scope="module")
def shown(place: Path) -> tu.Release:
    axis = tu.Axis.integers("place", 0, CELLS - 1)
    found = owner(place).publish(axis, 1, to=place / "out")
    assert isinstance(found, tu.Release)
    return found


@pytest.fixture(scope="module")
def released(shown: tu.Release) -> tu.Release:
    return shown.unbiased


@pytest.fixture(scope="module")
def serving(place: Path, released: tu.Release, running_at: Callable[..., Any]) -> Iterator[Any]:
    with running_at(place / "trueup.toml") as found:
        yield found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many numbers were read from the disk, for each time that it was asked for some."""
    found, at, run = list[int](), StoredPrefix._at, StoredPrefix._run

    def reads_at(self: StoredPrefix, places: Any) -> Any:
        found.append(len(places))
        return at(self, places)

    def reads_run(self: StoredPrefix, start: int, stop: int) -> Any:
        found.append(stop - start)
        return run(self, start, stop)

    monkeypatch.setattr(StoredPrefix, "_at", reads_at)
    monkeypatch.setattr(StoredPrefix, "_run", reads_run)
    return found


ADDRESS = "/api/v1/releases/places.1"


def test_a_folder_is_listed_and_described(serving: Any, released: tu.Release, place: Path) -> None:
    (line,) = serving("rea").get("/api/v1/releases").json()["releases"]
    assert (line["id"], line["cells"], line["kind"]) == ("places.1", CELLS, "histogram")
    said = serving("rea").get(ADDRESS).json()
    assert said["versions"] == ["unbiased", "whole"]
    assert said["answers"] == released.facts.noise.question.length
    files = [each for each in (place / "out").rglob("*") if each.is_file()]
    sizes = sum(each.stat().st_size for each in files if each.name != "manifest.json")
    assert said["folder_bytes"] == sizes


def test_every_answer_is_the_library_s_and_reads_little(
    serving: Any, released: tu.Release, read: list[int]
) -> None:
    ask, post = serving("rea").get, serving("rea").post
    low, high = CELLS // 5, CELLS // 3
    one = ask(f"{ADDRESS}/range?low={low}&high={high}").json()
    count = released.range(low, high)
    assert one["count"] == count.value
    assert [one["low"], one["high"]] == pytest.approx(count.interval(0.95), rel=1e-6)
    many = post(f"{ADDRESS}/ranges", json={"ranges": [[0, low], [low, None], [None, None]]})
    first, second, total = (each["count"] for each in many.json()["answers"])
    assert first + second == total
    less = post(f"{ADDRESS}/difference", json={"first": [0, low], "second": [low, high]}).json()
    assert less["count"] == (released.range(0, low) - released.range(low, high)).value
    assert ask(f"{ADDRESS}/view?points=200&raw=true").json()["raw"] is None
    sums = post(f"{ADDRESS}/sum", json={"ranges": [[0, low], [high, None]]}).json()
    assert sums["count"] == (released.range(0, low) + released.range(high, None)).value
    shares = post(f"{ADDRESS}/shares", json={"ranges": [[0, low]]}).json()["answers"]
    assert shares[0]["share"] == (released.range(0, low) / released.total()).value
    assert sum(read) < 2_000


def test_a_view_zooms_to_single_cells(serving: Any, released: tu.Release, read: list[int]) -> None:
    start, stop = 0, CELLS
    while True:
        span = f"start={start}&stop={stop}&points=50"
        view = serving("rea").get(f"{ADDRESS}/view?{span}").json()
        cells = np.array(view["cells"])
        assert view["counts"] == np.diff(released.prefix[cells]).tolist()
        assert all(low < high for low, high in zip(view["low"], view["high"], strict=True))
        if view["cells_per_point"] == 1:
            break
        start, stop = view["cells"][10], view["cells"][20]
    assert sum(read) < 2_000


def test_shares_and_quantiles_read_little(
    serving: Any, released: tu.Release, read: list[int]
) -> None:
    shares = serving("rea").get(f"{ADDRESS}/cdf?points=100").json()
    assert shares["share"] == sorted(shares["share"])
    assert (shares["share"][0], shares["share"][-1]) == (0, 1)
    true = released.prefix[np.array(shares["cells"])] / released.total().value
    assert np.abs(np.array(shares["share"]) - true).max() < 0.05
    assert all(
        a <= b <= c for a, b, c in zip(*(shares[n] for n in ("low", "share", "high")), strict=True)
    )
    asked = {"quantiles": [0.25, 0.5, 0.75]}
    answers = serving("rea").post(f"{ADDRESS}/quantiles", json=asked).json()["answers"]
    assert sum(read) < CELLS // 4
    whole = tu.Release(released.axes, released.prefix[:], released.errors, released.facts)
    assert [each["value"] for each in answers] == whole.quantile([0.25, 0.5, 0.75])
    assert all(each["low"] is None for each in answers)  # they would read everything


@pytest.mark.parametrize("path", ["file", "file?format=csv", "measurement", "rows", "boxes"])
def test_what_would_read_everything_is_refused(serving: Any, read: list[int], path: str) -> None:
    if path == "boxes":
        said = serving("rea").post(f"{ADDRESS}/boxes", json={"boxes": [[[0, 1]]]})
    else:
        said = serving("rea").get(f"{ADDRESS}/{path}")
    assert said.status_code == 400
    assert sum(read) == 0


def test_whole_counts_are_served_beside_the_unbiased_ones(
    serving: Any, shown: tu.Release, released: tu.Release, read: list[int]
) -> None:
    ask, low, high = serving("rea").get, CELLS // 5, CELLS // 3
    one = ask(f"{ADDRESS}/range?low={low}&high={high}&version=whole").json()
    assert one["count"] == shown.range(low, high).value
    assert isinstance(one["count"], int)
    assert one["count"] != released.range(low, high).value
    view = ask(f"{ADDRESS}/view?points=50&version=whole").json()
    assert view["counts"] == np.diff(shown.prefix[np.array(view["cells"])]).tolist()
    assert min(view["counts"]) >= 0
    asked = {"quantiles": [0.25, 0.5, 0.75], "version": "whole"}
    answers = serving("rea").post(f"{ADDRESS}/quantiles", json=asked).json()["answers"]
    assert [each["value"] for each in answers] == shown.quantile([0.25, 0.5, 0.75])
    assert sum(read) < CELLS // 4


def test_a_folder_of_unbiased_counts_has_no_other(tmp_path: Path) -> None:
    tu.publish(np.ones(500, int), tu.TreeCounts(500), 1, nonnegative=False, to=tmp_path / "out")
    opened = OpenedFolder("one", tmp_path / "out")
    assert opened.versions == ("unbiased",)
    with pytest.raises(tu.InputError, match="unbiased counts alone"):
        opened.version("whole")


def test_a_folder_is_sent_whole_as_it_is(
    serving: Any, shown: tu.Release, place: Path, tmp_path: Path
) -> None:
    said = serving("rea").get(f"{ADDRESS}/file?format=tar")
    assert said.headers["content-length"] == str(len(said.content))
    assert said.headers["content-disposition"] == 'attachment; filename="places.1.tar"'
    with tarfile.open(fileobj=io.BytesIO(said.content)) as packed:
        packed.extractall(tmp_path, filter="data")
    for each in (place / "out").rglob("*"):
        if each.is_file():
            copy = tmp_path / "places.1" / each.relative_to(place / "out")
            assert copy.read_bytes() == each.read_bytes()
    assert tu.load(tmp_path / "places.1", tu.Release).total().value == shown.total().value


def test_a_client_saves_and_opens_a_folder(serving: Any, shown: tu.Release, tmp_path: Path) -> None:
    client = tu.connect(serving.url, token=serving.secrets["rea"])
    found = client.download("places.1", tmp_path / "mine")
    assert found.range(5, 500).value == shown.range(5, 500).value
    with pytest.raises(tu.InputError, match="is there already"):
        client.download("places.1", tmp_path / "mine")
    with pytest.raises(tu.InputError, match="download"):
        client.release("places.1")


def test_only_a_finished_folder_that_was_paid_for_is_seen(
    place: Path,
    running_at: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Last in this file: it moves the folder about."""
    axis = tu.Axis.integers("place", 0, CELLS - 1)
    with running_at(place / "trueup.toml", {"other": ("reader", None)}) as serving:
        ask = serving("other").get
        (place / "out").rename(place / "away")
        assert ask("/api/v1/releases").json()["releases"] == []
        assert ask(ADDRESS).status_code == 404
        tu.publish(np.ones(CELLS, int), axis, 1, nonnegative=False, to=place / "out")
        assert ask(ADDRESS).status_code == 404  # another noise than the one that was charged
        (place / "out").rename(tmp_path / "other")
        (place / "away").rename(place / "out")
        assert ask(ADDRESS).status_code == 200
        manifest = place / "out" / "manifest.json"
        said = json.loads(manifest.read_text())
        assert said["about"]["id"]
        # What the ledger has of it is its id and the hash of every answer: both must be as told.
        service = serving.guard.app.app.state.service
        table, charge = service.releases.find(ADDRESS.rpartition("/")[2])
        whole = open_dataset(place / "out")
        assert releases.folder_of(table, charge) == place / "out"
        torn = replace(whole.answers[0], sha256="0" * 64)
        for changed in (
            replace(whole, facts=replace(whole.facts, id="0" * 32)),
            replace(whole, answers=(torn, *whole.answers[1:])),
            replace(whole, answers=whole.answers[:-1]),
        ):
            monkeypatch.setattr(releases, "open_dataset", lambda _, one=changed: one)
            assert releases.folder_of(table, charge) is None
