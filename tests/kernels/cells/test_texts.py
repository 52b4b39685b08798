"""A table of texts counts as a dictionary of Python's does, whatever bytes the texts have."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from trueup._kernels.cells.texts import HEAD, count_texts, find_slots, spread_texts

SEED = np.uint64(0x0123456789ABCDEF)
ODD = [b"", b"\0", b"\0\0", b"a", b"a\0", b"a" * 7, b"a" * 8, b"a" * 8 + b"\0", b"a" * 9]
ODD += [b"b" * 16, b"b" * 17, b"\xff" * 8, b"\xff" * 15, bytes(range(256))]


def laid_out(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of texts in words, with one to spare, and where they end."""
    data = b"".join(texts)
    words = np.frombuffer(data + bytes(16 - len(data) % 8), np.uint64)
    return words, np.cumsum([0, *map(len, texts)])


def counted(texts: list[bytes], times: list[int], slots: np.ndarray, records: np.ndarray, used=0):
    words, ends = laid_out(texts)
    many = np.array(times, np.uint64)
    return count_texts(words, ends, many, slots, records, SEED, used)[:2]


def told(records: np.ndarray, texts: int) -> dict[bytes, int]:
    ends, counts = np.zeros(texts + 1, np.int64), np.zeros(texts, np.int64)
    data = np.zeros(8 * records.size, np.uint8)
    spread_texts(records, ends, data, counts)
    each = [data[low:high].tobytes() for low, high in pairwise(ends)]
    assert len(set(each)) == texts
    return dict(zip(each, counts.tolist(), strict=True))


@pytest.mark.parametrize("size", [32, 512])  # slots: crowded, and hardly used
def test_texts_are_counted_as_python_counts_them(size: int) -> None:
    rng = np.random.default_rng(size)
    texts = [ODD[n] for n in rng.integers(0, len(ODD), 300)]
    slots, records = np.zeros(size, np.uint64), np.zeros(200, np.uint64)
    used = texts_found = 0
    for begin in (0, 100, 101):
        stop = {0: 100, 100: 101, 101: 300}[begin]
        used, fresh = counted(texts[begin:stop], [1] * (stop - begin), slots, records, used)
        texts_found += fresh
    assert used == sum(HEAD + -(-len(text) // 8) for text in set(texts))
    assert told(records[:used], texts_found) == dict(Counter(texts))
    assert np.count_nonzero(slots) == texts_found


def test_hashes_that_are_all_alike_make_no_two_texts_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel by hand, as Python, with a hash that tells nothing apart."""
    from trueup._kernels.cells import texts as module

    monkeypatch.setattr(module, "_hash", lambda *_: np.uint64(1 << 45 | 3))
    for name in ("_word", "_is", "_shift", "_added"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    slots, records = np.zeros(32, np.uint64), np.zeros(200, np.uint64)
    words, ends = laid_out(ODD * 2)
    times = np.ones(len(ODD) * 2, np.uint64)
    used, fresh, _ = count_texts.py_func(words, ends, times, slots, records, SEED, 0)  # type: ignore[attr-defined]
    assert told(records[:used], fresh) == dict.fromkeys(ODD, 2)


def test_texts_may_be_there_many_times() -> None:
    slots, records = np.zeros(64, np.uint64), np.zeros(200, np.uint64)
    used, many = counted(ODD[:9], [1, 2, 3, 4, 5, 6, 7, 8, 2**40], slots, records)
    used, fresh = counted(ODD[4:], list(range(10, 20)), slots, records, used)
    wanted = Counter(dict(zip(ODD[:9], [1, 2, 3, 4, 5, 6, 7, 8, 2**40], strict=True)))
    wanted.update(dict(zip(ODD[4:], range(10, 20), strict=True)))
    assert told(records[:used], many + fresh) == dict(wanted)


def test_slots_are_found_anew() -> None:
    """In more slots every text is where it is looked for."""
    records = np.zeros(200, np.uint64)
    used, many = counted(ODD, [1] * len(ODD), np.zeros(32, np.uint64), records)
    slots = np.zeros(128, np.uint64)
    find_slots(records[:used], slots, SEED)
    after, fresh = counted(ODD[::-1], [1] * len(ODD), slots, records, used)
    assert (after, fresh) == (used, 0)
    assert told(records[:used], many) == dict.fromkeys(ODD, 2)
