"""IPv4 prefixes against the standard library's own networks."""

from __future__ import annotations

import ipaddress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup import Axis, InputError
from trueup.axis.levels import below, nodes_inside


@st.composite
def axes(draw):
    outer = draw(st.integers(0, 32))
    length = draw(st.integers(outer, min(32, outer + 12)))
    base = draw(st.integers(0, 2**32 - 1)) >> (32 - outer) << (32 - outer)
    network = ipaddress.IPv4Network((base, outer))
    return Axis.ipv4("host", str(network), length), network, length


@given(axes(), st.lists(st.integers(0, 2**32 - 1), max_size=10), st.randoms(use_true_random=False))
def test_an_address_is_in_the_prefix_that_holds_it(made, numbers, random):
    axis, network, length = made
    numbers += [int(network[0]), int(network[-1])]
    numbers += [random.randrange(int(network[0]), int(network[-1]) + 1) for _ in range(5)]
    outside = [int(network[0]) - 1, int(network[-1]) + 1]
    numbers += [n for n in outside if 0 <= n < 2**32]
    cells = axis.locate(np.array(numbers, np.int64)).tolist()
    assert axis.locate([str(ipaddress.IPv4Address(n)) for n in numbers]).tolist() == cells
    for number, cell in zip(numbers, cells, strict=True):
        host = ipaddress.IPv4Address(number)
        assert (cell >= 0) == (host in network)
        if cell >= 0:
            low, _ = axis.interval(cell)
            prefix = ipaddress.IPv4Network((low, length))
            assert host in prefix
            assert prefix.subnet_of(network)
            assert axis.node(str(prefix)) == (cell, cell + 1)


@given(axes(), st.data())
def test_the_interval_of_a_prefix_gives_its_cell_back(made, data):
    axis, network, _ = made
    cell = data.draw(st.integers(0, axis.size - 1))
    low, high = axis.interval(cell)
    assert axis.locate([low])[0] == cell
    assert axis.span(low, high) == (cell, cell + 1)
    last_address = axis.columns(np.array([cell]), np.array([cell + 1]))["last_address"][0]
    assert axis.locate([last_address])[0] == cell
    if high is None:
        assert network[-1] == ipaddress.IPv4Address("255.255.255.255")
        assert axis.span(low, 2**32) == (cell, cell + 1)
    else:
        assert int(ipaddress.IPv4Address(high)) == int(ipaddress.IPv4Address(last_address)) + 1
        numbers = [int(ipaddress.IPv4Address(end)) for end in (low, high)]
        assert axis.spans(*np.array(numbers)[:, None]) == (cell, cell + 1)


@given(axes(), st.data())
def test_a_prefix_holds_the_cells_under_it(made, data):
    axis, network, length = made
    deep = data.draw(st.integers(network.prefixlen, length))
    inside = data.draw(st.integers(int(network[0]), int(network[-1])))
    prefix = ipaddress.IPv4Network((inside >> (32 - deep) << (32 - deep), deep))
    start, stop = axis.node(str(prefix))
    firsts = [axis.interval(cell)[0] for cell in (start, stop - 1)]
    assert all(ipaddress.IPv4Address(first) in prefix for first in firsts)
    assert stop - start == 1 << (length - deep)


def test_levels_are_the_prefix_lengths():
    axis = Axis.ipv4("host", "10.0.0.0/8", 12)
    assert {name: len(starts) for name, starts in axis.levels().items()} == {
        "/9": 2, "/10": 4, "/11": 8, "/12": 16,
    }  # fmt: skip
    assert axis.coarsen("/10") == Axis.ipv4("host", "10.0.0.0/8", 10)


def test_what_is_missing_or_no_address_is_in_no_cell():
    axis = Axis.ipv4("host")
    values = [None, np.nan, "", "10.0.0", "10.0.0.256", "::1", "ten", " 10.0.0.1", -1, 2**32, 1.0,
              True, b"10.0.0", "10.0.0.0/8", "010.0.0.1"]  # fmt: skip
    assert axis.locate(np.fromiter(values, dtype=object)).tolist() == [-1] * len(values)
    assert axis.locate([-1, 2**32, 2**63 - 1]).tolist() == [-1, -1, -1]
    assert axis.locate(np.array([2**64 - 1], np.uint64)).tolist() == [-1]
    with pytest.raises(InputError, match="takes IPv4 addresses, but this column holds numbers"):
        axis.locate(np.array([1.0]))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Axis.ipv4("h", "10.0.0.1/8"), "must be a prefix such as"),
        (lambda: Axis.ipv4("h", "ten"), "got 'ten'"),
        (lambda: Axis.ipv4("h", None), "got None"),
        (lambda: Axis.ipv4("h", True), "got True"),
        (lambda: Axis.ipv4("h", "::/0"), "got '::/0'"),
        (lambda: Axis.ipv4("h", "10.0.0.0/8", 7), "must lie between 8 and 32, got 7"),
        (lambda: Axis.ipv4("h", "10.0.0.0/8", 33), "must lie between 8 and 32, got 33"),
        (lambda: Axis.ipv4("h", "10.0.0.0/8", 8.5), "must be a whole number, got 8.5"),
    ],
)
def test_a_network_that_makes_no_sense_is_refused(make, told):
    with pytest.raises(InputError) as refusal:
        make()
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda axis: axis.span("10.0.0.1", None), "nearest edges are 10.0.0.0 and 10.1.0.0"),
        (lambda axis: axis.span("9.0.0.0", None), "'9.0.0.0' is outside axis 'h', which runs from"),
        (lambda axis: axis.span("ten", None), "must be an IPv4 address such as"),
        (lambda axis: axis.spans([1], [2]), "1 is outside axis 'h'"),
        (lambda axis: axis.spans([10 << 24 | 5], [11 << 24]), "nearest edges are 10.0.0.0 and"),
        (lambda axis: axis.span("10.2.0.0", "10.1.0.0"), "reversed"),
        (lambda axis: axis.node("11.0.0.0/8"), "11.0.0.0/8 is outside axis 'h', which is 10."),
        (lambda axis: axis.node("10.0.0.0/24"), "10.0.0.0/24 is finer than the cells"),
        (lambda axis: axis.node("ten"), "is a prefix such as \"10.1.0.0/16\", got 'ten'"),
        (lambda axis: axis.node(), "got None"),
    ],
)  # fmt: skip
def test_a_range_or_node_off_the_grid_is_refused(ask, told):
    with pytest.raises(InputError) as refusal:
        ask(Axis.ipv4("h", "10.0.0.0/8", 16))
    assert told in str(refusal.value)


def test_numbers_of_addresses_are_range_ends_and_those_off_the_network_are_refused():
    axis, base = Axis.ipv4("h", "10.0.0.0/8", 16), 10 << 24
    ends = np.array([0, 1, 200, 256]) * 2**16 + base
    assert axis.spans(ends[:-1], ends[1:])[1].tolist() == [1, 200, 256]
    for off in (base - 2**16, base + 257 * 2**16):
        with pytest.raises(InputError, match="is outside axis 'h'"):
            axis.spans(np.array([off]), np.array([off]))
        with pytest.raises(InputError, match="is outside axis 'h'"):
            axis.spans(np.array([base, off]), np.array([base, off]))


@pytest.mark.parametrize("value", [True, b"\x0a\x00\x00\x00", 167772160.0, None, -1, 1 << 33])
def test_an_end_is_an_address_as_text_or_as_its_number(value):
    axis = Axis.ipv4("h")
    assert axis.span(10 << 24, None) == axis.span("10.0.0.0", None) == (10 << 8, 1 << 16)
    with pytest.raises(InputError, match="must be an IPv4 address"):
        axis.cells.boundary(value)


def test_the_last_range_of_all_addresses_is_said_in_words():
    with pytest.raises(InputError, match=r"nearest edges are 255\.255\.0\.0 and the end"):
        Axis.ipv4("h").span("255.255.255.0", None)


def test_levels_of_all_addresses_are_named_sized_and_entered_without_listing_them():
    axis = tu.Axis.ipv4("host", "0.0.0.0/0", 32)
    sizes = axis.level_sizes()
    assert list(sizes) == list(axis.levels()) == [f"/{length}" for length in range(1, 33)]
    assert sizes["/32"] == 1 << 32
    assert "/32" in axis.every_level()
    assert "/0" not in axis.every_level()
    start, stop = axis.node("10.1.2.0/24")
    starts, stops = nodes_inside(axis, "/30", start, stop)
    assert (starts[0], stops[-1], len(starts)) == (start, stop, 64)
    with pytest.raises(tu.InputError, match="4,294,967,296 nodes are more than the 100"):
        nodes_inside(axis, "/32", 0, 1 << 40, 100)
    level, halves, _ = next(below(axis, ("10.0.0.0/8",), None))
    assert (level, len(halves)) == ("/9", 2)


@pytest.mark.parametrize("level", ["/25", "/26", "/28"])
@pytest.mark.parametrize("span", [(0, 16), (3, 13), (4, 8), (5, 7), (0, 99)])
def test_the_nodes_inside_some_cells_are_those_of_the_level(level, span):
    axis = tu.Axis.ipv4("host", "10.0.0.0/24", 28)
    cuts = axis.levels()[level]
    ends = np.append(cuts[1:], axis.size)
    inside = (cuts >= span[0]) & (ends <= span[1])
    starts, stops = nodes_inside(axis, level, *span)
    assert starts.tolist() == cuts[inside].tolist()
    assert stops.tolist() == ends[inside].tolist()
    assert axis.level_sizes()[level] == len(cuts)
