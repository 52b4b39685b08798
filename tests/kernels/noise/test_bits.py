from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import trueup as tu
from trueup._kernels.noise import bits
from trueup.errors import NoiseError
from trueup.facts import Facts
from trueup.onepass import release_in_one_pass


def blocks(stream: bits.Keystream, count: int = 64) -> set[bytes]:
    buffer = np.zeros(16 * count, np.uint8)
    stream.fill(buffer)
    return {buffer[i : i + 16].tobytes() for i in range(0, buffer.size, 16)}


def in_children(work: Callable[[], bytes], children: int) -> list[bytes]:
    """What each of several forked children answers."""
    answers = []
    for _ in range(children):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, work())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answers.append(pipe.read())
        os.waitpid(child, 0)
    return answers


def test_the_keystream_is_aes_of_a_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = bytes(range(48))
    monkeypatch.setattr(os, "urandom", lambda size: seed[:size])
    buffer = np.zeros(200_000, np.uint8)
    bits.Keystream().fill(buffer)
    first = int.from_bytes(seed[32:], "big")
    counters = b"".join((first + i).to_bytes(16, "big") for i in range(buffer.size // 16))
    block_cipher = Cipher(algorithms.AES(seed[:32]), modes.ECB()).encryptor()
    assert buffer.tobytes() == block_cipher.update(counters)


def test_no_block_comes_twice() -> None:
    stream = bits.Keystream()
    assert len(blocks(stream, 4096) | blocks(stream, 4096)) == 8192


def test_each_measurement_in_each_thread_has_a_keystream_of_its_own() -> None:
    streams: list[bits.Keystream] = [bits.keystream()]

    def measurement() -> None:
        with bits.one_measurement():
            streams.append(bits.keystream())
            with bits.one_measurement():
                assert bits.keystream() is streams[-1]

    with bits.one_measurement():
        streams.append(bits.keystream())
        for _ in range(4):
            thread = threading.Thread(target=measurement)
            thread.start()
            thread.join()
        assert bits.keystream() is streams[1]
    measurement()
    streams.append(bits.keystream())
    assert len({id(stream) for stream in streams}) == 8


def measured() -> bytes:
    return tu.measure(np.zeros(64, np.int64), tu.CellCounts(64), 1).noisy.tobytes()


def adaptively() -> bytes:
    found = tu.measure(np.arange(300), tu.SortedCounts(300), 1)
    return found.noisy[:32].tobytes() + found.id.encode()


def in_one_pass(size: int, threads: int) -> bytes:
    facts = Facts.of(tu.TreeCounts(size, branching=2), 1)
    made = release_in_one_pass(np.zeros(size, np.int64), facts, threads)
    return made.counts()[:: size >> 8].tobytes()


def in_one_thread() -> bytes:
    return in_one_pass(1 << 10, 1)


def in_two_threads() -> bytes:
    return in_one_pass(1 << 18, 2)


def named() -> bytes:
    from trueup.measure import new_id

    return new_id().encode()


@pytest.mark.parametrize("work", [measured, adaptively, in_one_thread, in_two_threads, named])
def test_no_key_outlives_a_snapshot(
    work: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork that keeps its number and all its memory stands for a machine resumed twice."""
    work()  # whatever is made on first use is made
    kept, number = bits._own, os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number)

    def resumed() -> bytes:
        bits._own = kept  # as it was before the hook of the fork
        return work()

    answers = [*in_children(resumed, 3), resumed()]
    assert all(answers)
    assert len(set(answers)) == 4


def test_forked_children_share_no_block() -> None:
    bits.keystream().fill(np.zeros(16, np.uint8))
    answers = in_children(lambda: b"".join(blocks(bits.keystream())), 16)
    drawn = [answer[i : i + 16] for answer in answers for i in range(0, len(answer), 16)]
    drawn += blocks(bits.keystream())
    assert len(drawn) == 17 * 64
    assert len(set(drawn)) == len(drawn)


def test_a_stream_held_across_a_fork_is_keyed_afresh() -> None:
    held = bits.keystream()
    blocks(held)
    answers = in_children(lambda: b"".join(blocks(held)), 4)
    drawn = [answer[i : i + 16] for answer in answers for i in range(0, len(answer), 16)]
    drawn += blocks(held)
    assert len(set(drawn)) == len(drawn) == 5 * 64


def test_a_stream_shared_across_a_fork_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of the tests: without the process check, children repeat their parent's blocks."""
    held = bits.Keystream()
    monkeypatch.setattr(os, "getpid", lambda: held._process)
    answers = in_children(lambda: b"".join(blocks(held)), 2)
    assert answers[0] == answers[1]
    assert len(answers[0]) == 16 * 64


def test_a_key_serves_a_bounded_volume(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "BYTES_PER_KEY", 1 << 17)
    stream = bits.Keystream()
    keys = {id(stream._encrypt): stream._encrypt}
    for _ in range(8):
        stream.fill(np.zeros(1 << 16, np.uint8))
        keys[id(stream._encrypt)] = stream._encrypt
    assert len(keys) == 4


def test_a_key_serves_no_more_than_64_mebibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/noise.md says: the operating system is asked again."""
    asked, urandom = [0], os.urandom

    def counted(size: int) -> bytes:
        asked[0] += 1
        return urandom(size)

    monkeypatch.setattr(os, "urandom", counted)
    stream, buffer = bits.Keystream(), np.zeros(1 << 20, np.uint8)
    for number in range(65):
        stream.fill(buffer)
        assert asked[0] == (1 if number < 64 else 2)


def test_a_child_forked_within_a_measurement_forgets_its_keystream() -> None:
    with bits.one_measurement():
        parent = bits.keystream()
        (forgot,) = in_children(lambda: b"no" if bits.keystream() is parent else b"yes", 1)
        assert forgot == b"yes"
        assert bits.keystream() is parent


def test_a_failing_source_gives_no_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(size: int) -> bytes:
        raise OSError("no entropy")

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(NoiseError, match="random source"):
        bits.Keystream()


def test_a_short_seed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: b"short")
    with pytest.raises(NoiseError, match="too few"):
        bits.Keystream()


def test_a_wrong_cipher_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "_PLAIN", bytes(16))
    with pytest.raises(NoiseError, match="test vector"):
        bits.Keystream()


class Stuck:
    """A cipher whose counter does not move."""

    def update_into(self, plain: memoryview, out: np.ndarray) -> int:
        out[:] = 7
        return len(plain)


class Short:
    def update_into(self, plain: memoryview, out: np.ndarray) -> int:
        return len(plain) - 1


class Raising:
    def update_into(self, plain: memoryview, out: np.ndarray) -> int:
        raise MemoryError


@pytest.mark.parametrize(
    ("cipher", "message"), [(Stuck, "repeats"), (Short, "short"), (Raising, "failed")]
)
@pytest.mark.parametrize("size", [16, 32])
def test_a_failing_cipher_gives_no_bits(cipher: type, message: str, size: int) -> None:
    stream = bits.Keystream()
    stream._encrypt = cipher()
    stream._last = bytes([7] * 16)
    with pytest.raises(NoiseError, match=message):
        stream.fill(np.zeros(size, np.uint8))


@pytest.mark.parametrize(
    "buffer", [np.zeros(8, np.int64), np.zeros((4, 4), np.uint8), np.zeros(16, np.uint8)[::2]]
)
def test_bits_go_only_to_a_run_of_bytes(buffer: np.ndarray) -> None:
    with pytest.raises(NoiseError, match="contiguous"):
        bits.Keystream().fill(buffer)
