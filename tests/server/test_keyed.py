"""Releases of keys on the server: all pages are the list, and the list and others the total."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.keys import KeyMeasurement, KeyRelease, PrefixRelease
from trueup.server.keyed import OpenedKeys, key_line


@pytest.fixture(scope="module")
def opened() -> OpenedKeys:
    counts = {f"{a}{b}": 30 + 7 * i for i, (a, b) in enumerate(zip("abcdefgh" * 5, "xyz" * 14))}  # noqa: B905
    asked = tu.KeyCounts(tu.Universe.text("a-z", 4), number="1/10")
    measured = tu.measure_keys(counts, asked, epsilon=3)
    return OpenedKeys("words.1", measured.to_bytes(), asked)


@pytest.fixture(scope="module")
def tree() -> OpenedKeys:
    hosts = {f"10.{a}.{b}.9": 100 * (a + 1) for a in range(3) for b in range(9)}
    asked = tu.PrefixCounts(tu.Universe.ipv4(), step=8)
    return OpenedKeys("words.2", tu.measure_prefixes(hosts, asked, epsilon=1).to_bytes(), asked)


def test_pages_are_all_keys_once_and_with_the_others_make_the_sum(opened: OpenedKeys) -> None:
    release = KeyMeasurement.from_bytes(opened.stored).infer()
    lines, start = [], 0
    while start is not None:
        page = opened.listed("", "count", start, 4, 0.9)
        lines += page["keys"]
        start = page["next"]
    assert sorted(line["key"] for line in lines) == sorted(release.keys)
    assert [line["count"] for line in lines] == sorted(release.counts().tolist(), reverse=True)
    assert sum(line["count"] for line in lines) + page["others"] == page["sum"]["count"]
    for line in lines:
        assert (line["low"], line["high"]) == release.count(line["key"]).interval(0.9)
    by_key = opened.listed("", "key", 0, 1000, 0.9)["keys"]
    assert [line["key"] for line in by_key] == list(release.keys)
    assert page["statement"] == release.statement(0.9)
    assert page["number"]["count"] == release.number().value


def test_search_finds_letters_in_any_case(opened: OpenedKeys) -> None:
    found = opened.listed("X", "count", 0, 1000, 0.95)
    assert found["total"] == len(found["keys"]) < found["shown"]
    assert {line["key"] for line in found["keys"]} == {
        key for key in opened.keys.keys if "x" in key
    }
    assert opened.listed("no such", "count", 0, 9, 0.95)["keys"] == []
    asked = tu.KeyCounts(tu.Universe.text("A-Za-z", 4))
    stored = tu.measure_keys({"Fig": 900, "fIGs": 800, "Pear": 700}, asked, epsilon=3).to_bytes()
    mixed = OpenedKeys("words.9", stored, asked)
    for letters in ("fig", "FIG", "Fig"):
        assert mixed.listed(letters, "count", 0, 9, 0.95)["total"] == 2


def test_one_key_is_looked_up_shown_or_not(opened: OpenedKeys) -> None:
    best = opened.listed("", "count", 0, 1, 0.95)["keys"][0]
    assert opened.one(best["key"], 0.95) == {**best, "shown": True}
    absent = opened.one("zzzz", 0.95)
    assert (absent["shown"], absent["count"], absent["low"]) == (False, 0, 0)
    assert absent["high"] == opened.keys.terms.law.surely_shown(0.95) - 1
    with pytest.raises(InputError, match="no key of the universe"):
        opened.one("UPPER", 0.95)


@pytest.fixture(scope="module")
def tight(opened: OpenedKeys) -> OpenedKeys:
    """Keys whose noisy counts come to more than the noisy total: those shown are lower."""
    measured = opened.measurement
    assert isinstance(measured, KeyMeasurement)
    less = replace(measured, total=int(measured.noisy.sum()) - 400)
    return OpenedKeys("words.3", less.to_bytes(), opened.question)


@pytest.mark.parametrize("level", [0.5, 0.999])
@pytest.mark.parametrize("which", ["opened", "tight"])
def test_every_interval_is_of_its_own_answer_at_the_level_that_was_asked(
    which: str, level: float, request: pytest.FixtureRequest
) -> None:
    opened = request.getfixturevalue(which)
    release = KeyMeasurement.from_bytes(opened.stored).infer()
    if which == "tight":
        assert (release.counts() < release.noisy).any()
    said = opened.listed("", "count", 0, 1, level)
    (first,) = said["keys"]
    assert (first["low"], first["high"]) == release.count(first["key"]).interval(level)
    assert (said["sum"]["low"], said["sum"]["high"]) == release.total().interval(level)
    assert (said["number"]["low"], said["number"]["high"]) == release.number().interval(level)
    for key in (release.keys[0], "zzzz"):
        found = opened.one(key, level)
        assert (found["low"], found["high"]) == release.count(key).interval(level)


def test_parts_of_every_prefix_sum_to_it_exactly(tree: OpenedKeys) -> None:
    waiting, seen = ["all"], 0
    while waiting:
        at = waiting.pop()
        parts = tree.children(at, 0, 1000)
        assert sum(one["count"] for one in parts["prefixes"]) == parts["count"]
        waiting += [one["prefix"] for one in parts["prefixes"] if one["split"]]
        seen += 1
    assert seen > 5
    few = tree.children("10.0.0.0/8", 0, 2)
    assert (len(few["prefixes"]), few["next"]) == (2, 2)


def test_a_list_is_no_tree_and_a_tree_no_list(opened: OpenedKeys, tree: OpenedKeys) -> None:
    assert isinstance(opened.release, KeyRelease)
    assert isinstance(tree.release, PrefixRelease)
    with pytest.raises(InputError, match="ask for its keys"):
        opened.children("all", 0, 9)
    with pytest.raises(InputError, match="ask for its prefixes"):
        tree.listed("", "count", 0, 9, 0.95)


@pytest.mark.parametrize("measured", [True, False])
def test_files_are_those_of_the_library(
    opened: OpenedKeys, tree: OpenedKeys, measured: bool
) -> None:
    for one in (opened, tree):
        own: Any = one.measurement if measured else one.release
        kind, columns, _ = one.table(measured)
        assert kind.endswith("measurement" if measured else "release")
        assert columns.keys() == own.columns().keys()
    asked = tu.KeyCounts(tu.Universe.ipv6(), by="host")
    assert (key_line(asked)["kind"], key_line(asked)["column"]) == ("keys", "host")
