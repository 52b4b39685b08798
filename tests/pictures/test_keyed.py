"""Pictures of keys say what was published, and no key is markup."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.pictures import keyed


def test_bars_are_the_highest_counts_with_their_intervals() -> None:
    asked = tu.KeyCounts(tu.Universe.bytes(20))
    release = tu.measure_keys({"<b>fig</b>": 9000, "pear": 5000, "plum": 7000}, asked, 1).infer()
    figure = release.plot(2)
    (bars,) = figure.data
    assert list(bars.x) == ["&lt;b&gt;fig&lt;/b&gt;", "plum"]
    assert list(bars.y) == [release.count("<b>fig</b>").value, release.count("plum").value]
    low, high = release.count("plum").interval()
    assert bars.error_y.array[1] == high - bars.y[1]
    assert bars.error_y.arrayminus[1] == bars.y[1] - low
    assert f"{release.others():,}" in figure.layout.title.text


@pytest.mark.parametrize("kind", ["treemap", "sunburst"])
def test_areas_of_a_tree_are_its_counts_and_nest(kind: str) -> None:
    hosts = {f"10.0.{a}.{b}": 50 for a in range(3) for b in range(20)}
    for step in (4, 8):  # children told one by one, and with others
        asked = tu.PrefixCounts(tu.Universe.ipv4(), step=step)
        tree = tu.measure_prefixes(hosts, asked, 1).infer()
        (areas,) = tree.plot(kind).data  # type: ignore[arg-type]
        assert areas.type == kind
        assert areas.values[0] == tree.total()
        inside = dict.fromkeys(areas.ids, 0)
        for parent, value in zip(areas.parents[1:], areas.values[1:], strict=True):
            inside[parent] += value
        whole = dict(zip(areas.ids, areas.values, strict=True))
        assert all(inside[each] in (0, whole[each]) for each in areas.ids)


def test_a_large_tree_is_drawn_by_its_largest_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed, "_MOST", 3)
    facts = tu.measure_keys({}, tu.KeyCounts(tu.Universe.ipv4()), 1).facts
    counts, parents = np.array([10, 1, 5, 4, 0]), np.array([-1, 0, 0, 0, 0])
    (areas,) = keyed.tree_picture(facts, ["all", "a", "<i>", "c", "d"], parents, counts).data
    assert list(areas.labels) == ["all", "&lt;i&gt;", "c"]
    with pytest.raises(InputError, match="treemap"):
        keyed.tree_picture(facts, ["all"], parents[:1], counts[:1], "pie")  # type: ignore[arg-type]
