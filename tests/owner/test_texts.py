"""Texts are counted as Python counts them, by Arrow and by the table of our own."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from trueup._kernels import compiled
from trueup._kernels.cells.texts import count_texts
from trueup.owner import texts as module
from trueup.owner.texts import TextTable, TextTally, counted

SOME = [
    b"",
    b"\0",
    b"fig",
    b"fig\0",
    b"pear",
    b"Z\xc3\xbcrich",
    b"\xff\xfe",
    b"a" * 4000,
    b"quince",
]


def found(tallies: list[TextTally]) -> dict[bytes, int]:
    keys, counts = counted(tallies)
    assert keys.type == pa.large_binary()
    assert len(set(keys.to_pylist())) == len(keys)
    return dict(zip(keys.to_pylist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("worth", [0, 700, 10**9])  # all in tables; some before; none
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_texts_of_several_threads_are_counted(
    worth: int, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "WORTH_ELEMENTS", worth)
    monkeypatch.setattr(module, "worth_compiling", _asked())
    rng = np.random.default_rng(worth % 97)
    tallies, seen = [TextTally(), TextTally(), TextTally()], Counter[bytes]()
    for number in range(12):
        some = [SOME[n] for n in rng.integers(0, len(SOME), 100)]
        some += [b"new %d" % n for n in rng.integers(0, 3000, 50 * (number % 3))]
        column = pa.array([b"before", *some], kind)
        tallies[number % 2].add(column.slice(1))
        seen.update(some)
    tallies[2].few = [pa.array([b"late", b"fig"], kind)]  # of a thread that has no table yet
    seen.update([b"late", b"fig"])
    assert [tally.table is not None for tally in tallies] == [worth < 10**9] * 2 + [False]
    assert found(tallies) == dict(seen)


def _asked():
    """As `worth_compiling`, of a kernel that has met nothing yet and is not compiled."""
    met = 0

    def worth(_: object, elements: int) -> bool:
        nonlocal met
        met += elements
        return met >= compiled.WORTH_ELEMENTS

    return worth


def test_no_text_is_none() -> None:
    assert found([]) == {}
    assert found([TextTally()]) == {}
    table = TextTable()
    table.add(pa.array([], pa.binary()))
    keys, counts = table.whole()
    assert (len(keys), len(counts)) == (0, 0)


def test_a_table_grows_with_its_texts_and_not_with_its_rows() -> None:
    many = [b"%d" % n for n in range(30_000)]
    tally = TextTally()
    tally.table = TextTable()
    for _ in range(3):
        tally.add(pa.array(many, pa.binary()))
    assert found([tally]) == dict.fromkeys(many, 3)
    size = tally.table._records.nbytes + tally.table._slots.nbytes
    for _ in range(5):
        tally.add(pa.array(many, pa.binary()))
    assert tally.table._records.nbytes + tally.table._slots.nbytes == size < 4 << 20
    assert count_texts.size((None, np.zeros(7))) == 7  # texts, by which it is decided


def test_two_tables_look_in_other_places() -> None:
    """Nobody who does not know its secret can write texts that are slow to count."""
    assert TextTable()._salt != TextTable()._salt
