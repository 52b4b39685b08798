"""A plan's table: its figures, and its rows in a notebook."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.plan.table import figure, html_table


def test_in_a_notebook_a_plan_is_a_table():
    age = tu.Axis.integers("<age>", 0, 39)
    found = tu.plan([age, 7], 1)
    page = found._repr_html_()
    assert page.count("<tr>") == 1 + len(found.strategies)
    assert "&lt;age&gt;" in page


def test_figures_have_four_digits():
    assert [figure(x) for x in (0, 0.5, 99.96, 1234.5)] == ["0", "0.5", "99.96", "1,234"]


@given(st.floats(1e-6, 1e9))
def test_a_figure_is_within_its_last_digit(number):
    shown = float(figure(number).replace(",", ""))
    assert abs(shown - number) <= max(0.5 if number >= 1000 else 0.0, 5.1e-4 * number)


def test_a_table_of_markdown_is_the_same_table_of_html():
    markdown = "| a | **b** |\n|---|---:|\n| 1 < 2 | x & y |\n| 3 | **4** |"
    page = ElementTree.fromstring(html_table(markdown))
    rows = [[cell.text for cell in row] for row in page]
    assert rows == [["a", "b"], ["1 < 2", "x & y"], ["3", "4"]]
    assert [cell.tag for cell in page[0]] == ["th", "th"]
