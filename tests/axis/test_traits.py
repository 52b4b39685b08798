"""What an axis declares of itself is what it does."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.axis.traits import CellTraits

AXES = {
    "integers": tu.Axis.integers("x", 0, 9),
    "regular": tu.Axis.regular("x", 0, 10, bins=5),
    "edges": tu.Axis.edges("x", [0, 1, 10]),
    "open": tu.Axis.edges("x", [0, 1, np.inf]),
    "dates": tu.Axis.dates("x", "2020-01", "2020-06", "month"),
    "ipv4": tu.Axis.ipv4("x", "10.0.0.0/24", 28),
    "codes": tu.Axis.codes("x", [3, 17], {"ten": 1, "one": 2}),
    "categories": tu.Axis.categories("x", ["a", "b", 3]),
    "hierarchy": tu.Axis.hierarchy("x", {"CA": ["Kern", "Napa"], "NV": ["Clark"]}),
}
every_axis = pytest.mark.parametrize("name", AXES)


@every_axis
def test_the_word_for_its_kind_is_the_one_in_files(name: str) -> None:
    axis = AXES[name]
    assert axis.traits.kind == axis.to_json()["kind"]


@pytest.mark.parametrize("name", ["integers", "regular", "edges", "open"])
def test_cells_of_bins_hold_several_numbers_and_others_one(name: str) -> None:
    axis = AXES[name]
    values = {"integer": np.arange(10), "number": np.linspace(0, 9.99, 200)}[axis.traits.values]
    cells = axis.locate(values)
    assert (np.bincount(cells[cells >= 0]).max() > 1) == axis.traits.bins


@every_axis
def test_labels_stand_nowhere_on_a_line_and_only_nested_ones_under_others(name: str) -> None:
    axis = AXES[name]
    traits = axis.traits
    assert traits.labelled == (traits.values == "label") == (name in ("categories", "hierarchy"))
    assert traits.nested == (name in ("hierarchy", "codes"))
    assert bool(axis.paths) == (name == "hierarchy")
    assert traits.coded == (name == "codes")
    if traits.labelled:
        assert traits.scale is None
    assert traits.scale == {
        "integers": "number", "regular": "number", "edges": "number", "dates": "time",
    }.get(name)  # fmt: skip


@every_axis
def test_uhi_is_told_that_none_goes_round_and_which_are_names(name: str) -> None:
    traits = AXES[name].traits
    assert traits.circular is False
    assert traits.discrete == (name in ("open", "ipv4", "codes", "categories", "hierarchy"))


def test_traits_do_not_change() -> None:
    one = CellTraits("edges", "number")
    with pytest.raises(AttributeError):
        one.bins = True  # type: ignore[misc]
    assert (one.scale, one.bins, one.labelled, one.nested) == (None, False, False, False)
