"""L: the trace of the paper."""

from __future__ import annotations

from trueup import Axis, CellCounts


def test_the_cell_counts_of_the_trace():
    source = Axis.categories("source", ["000", "001", "010", "011"])
    trace = ["000"] * 2 + ["010"] * 10 + ["011"] * 2
    question = CellCounts(source)
    assert question.answers(source.count(trace)).tolist() == [2, 0, 10, 2]
    assert question.sensitivity() == 1
    assert question.sensitivity("replace") == 2
