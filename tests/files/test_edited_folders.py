"""Folders that were edited by hand are refused, or answer: never with a word that is not ours."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.errors import TrueupError
from trueup.files.dataset import MANIFEST, manifest_bytes

KIND = tu.Axis.categories("kind", ["a", "b", "c"])
QUESTIONS = {
    "table": tu.GridCounts(tu.CellCounts(KIND), tu.TreeCounts(40, branching=4)),
    "tree": tu.TreeCounts(120, branching=4),
    "hats": tu.HatCounts(120, strides=(10,)),
}
WRONG = (None, -1, 10**30, 1.5, "x", [], True, 0, 2)


def places(said: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value of a manifest; of a list, its first and its last."""
    if path:
        yield path
    if isinstance(said, dict):
        for name in said:
            yield from places(said[name], (*path, name))
    elif isinstance(said, list):
        for number in {0, len(said) - 1} if said else ():
            yield from places(said[number], (*path, number))


def changed(said: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy in which one value is another; `...` takes it out."""
    copy = json.loads(json.dumps(said))
    *above, last = path
    place = copy
    for step in above:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return copy


def signed(said: Any) -> bytes:
    """A manifest whose checksum was made again."""
    return manifest_bytes({name: value for name, value in said.items() if name != "digest"})


def used(folder: Path) -> None:
    """Opens a folder, and asks what reads its files."""
    release = tu.load(folder)
    str(release), release.total().value
    for own in (release, release.unbiased):
        own.counts()
        if len(own.axes) == 1:
            own.quantile(0.5)
            own.range(3, 7).interval(0.9)
        else:
            own.union(kind=["a"]).interval(0.9)


@pytest.fixture(scope="module", params=QUESTIONS)
def folder(request: Any, tmp_path_factory: Any) -> Path:
    place: Path = tmp_path_factory.mktemp("edited") / request.param
    asked = QUESTIONS[request.param]
    sizes = [axis.size for axis in asked.space.axes]
    tu.publish(np.arange(np.prod(sizes)).reshape(sizes) % 4, asked, 1, to=place)
    return place


def test_every_edit_of_a_manifest_is_refused_or_harmless(folder: Path) -> None:
    """Without its checksum every edit is refused; with one, in our words or not at all."""
    manifest = folder / MANIFEST
    true = manifest.read_bytes()
    said = json.loads(true)
    every = [path for path in places(said) if path[0] not in ("digest", "about")]
    about, found = [path for path in places(said) if path[0] == "about"], list[str]()
    try:
        for number, path in enumerate((*every, *about[::5])):
            values = (..., *WRONG) if path in every[:200] else (..., None, -1, "x")
            for value in values:
                other = changed(said, path, value)
                if json.dumps(other) == json.dumps(said):
                    continue
                if number % 7 == 0:
                    manifest.write_text(json.dumps(other))
                    with pytest.raises(TrueupError):
                        tu.load(folder)
                manifest.write_bytes(signed(other))
                try:
                    used(folder)
                except TrueupError:
                    pass
                except Exception as wrong:
                    found.append(f"{path} = {value!r}: {wrong!r}")
    finally:
        manifest.write_bytes(true)
    assert not found, "\n".join(found)


def test_every_file_that_was_cut_lengthened_or_swapped_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    names = [each.relative_to(folder) for each in folder.rglob("*") if each.is_file()]
    for name in names:
        for edit in ("cut", "longer", "gone", "folder"):
            copy = tmp_path / "copy"
            shutil.copytree(folder, copy)
            path = copy / name
            data = path.read_bytes()
            if edit == "cut":
                path.write_bytes(data[:-1])
            elif edit == "longer":
                path.write_bytes(data + b" }")
            else:
                path.unlink()
                if edit == "folder":
                    path.mkdir()
            if not data and edit in ("cut", "folder"):
                shutil.rmtree(copy)
                continue
            with pytest.raises(TrueupError):
                tu.load(copy)
            shutil.rmtree(copy)


def test_a_manifest_reads_no_file_outside_and_no_whole_number_as_another(folder: Path) -> None:
    manifest = folder / MANIFEST
    true = manifest.read_bytes()
    said = json.loads(true)
    outside = folder.parent / "outside.parquet"
    shutil.copy(folder / said["parts"][0]["file"], outside)
    least = {**said["about"], "inferred": "least squares"}
    no_unbiased = {name: value for name, value in said.items() if name != "unbiased_blocks"}
    edits = [
        changed(said, ("parts", 0, "file"), "../outside.parquet"),
        changed(said, ("parts", 0, "file"), str(outside)),
        changed(said, ("parts", 0, "file"), "answers/../../outside.parquet"),
        changed(said, ("about",), least),
        no_unbiased,
    ]
    try:
        for other in edits:
            manifest.write_bytes(signed(other))
            with pytest.raises(TrueupError):
                tu.load(folder)
    finally:
        manifest.write_bytes(true)
    used(folder)


def test_every_byte_that_was_changed_is_found(folder: Path, tmp_path: Path) -> None:
    from trueup.files.dataset import open_dataset

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    for part in open_dataset(copy).files:
        path = copy / part.file
        data = path.read_bytes()
        for at in {0, len(data) // 2, len(data) - 1} if data else ():
            other = bytearray(data)
            other[at] ^= 1
            path.write_bytes(other)
            with pytest.raises(TrueupError, match="damaged"):
                open_dataset(copy).verify()
        path.write_bytes(data)


def test_numbers_end_in_their_file_and_a_newer_format_is_not_read(tmp_path: Path) -> None:
    tu.publish(np.full(120, 5), QUESTIONS["tree"], 1, to=tmp_path / "out")
    path = tmp_path / "out" / MANIFEST
    said = json.loads(path.read_text())
    bytes_ = said["parts"][0]["bytes"]

    def edited(place: tuple[Any, ...], value: Any) -> None:
        made = changed(said, place, value)
        path.write_bytes(signed(made))

    for name in ("begins", "unbiased"):
        edited(("parts", 0, name, 0), bytes_ - 8 * 120)  # the last that fits
        tu.load(tmp_path / "out")
        for beyond in (1, 4, 8, 8 * 120):
            edited(("parts", 0, name, 0), bytes_ - 8 * 120 + beyond)
            with pytest.raises(tu.FileError, match="where its numbers are"):
                tu.load(tmp_path / "out")
    edited(("format",), said["format"] + 1)
    with pytest.raises(tu.FileError, match="newer trueup"):
        tu.load(tmp_path / "out")
    edited(("format",), 1)
    with pytest.raises(tu.FileError, match="no released trueup wrote"):
        tu.load(tmp_path / "out")


@pytest.mark.parametrize("file", ["blocks.float64", "unbiased-blocks.float64"])
def test_blocks_of_which_one_bit_is_another_decide_no_quantile(file: str, tmp_path: Path) -> None:
    tu.publish(np.full(120, 5), QUESTIONS["tree"], 1, to=tmp_path / "out")
    path = tmp_path / "out" / file
    data = bytearray(path.read_bytes())
    data[17] ^= 4
    path.write_bytes(data)
    release = tu.load(tmp_path / "out")
    with pytest.raises(tu.FileError, match="damaged"):
        (release if file == "blocks.float64" else release.unbiased).quantile(0.5)
