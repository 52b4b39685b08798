"""Random bits: an AES-256 keystream in counter mode, keyed by the operating system.

A keystream lives no longer than one measurement in one thread. So a process that is frozen and
resumed twice (a snapshot of its machine, a checkpoint) draws other noise each time: no key from
before the snapshot is used after it, but by a measurement that was just being drawn. A keystream
is also keyed afresh after 64 MiB and in every forked child, keeps no bits between calls, and
raises NoiseError rather than hand out bits it cannot vouch for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.errors import NoiseError

Bits = Callable[[NDArray[np.uint8]], None]
"""Fills a run of bytes with fresh random bits."""

# 2^22 blocks under one key: telling the stream from ideal bits then succeeds with an advantage
# of at most 2^44 / 2^129, AES itself aside.
BYTES_PER_KEY = 1 << 26
_BLOCK = 16
_STRIDE = 1 << 17  # bytes encrypted in one call: plaintext and output stay in the L2 cache
_ZEROS = bytes(_STRIDE)

# NIST SP 800-38A, F.5.5: the first block of CTR-AES256. Known plaintext, known ciphertext.
_KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
_COUNTER = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
_PLAIN = bytes.fromhex("6bc1bee22e409f96e93d7e117393172a")
_CIPHER = bytes.fromhex("601ec313775789a5b7a7f504bbf3d228")


def _encryptor(key: bytes, counter: bytes) -> Any:
    """AES-256 in counter mode."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()


class Keystream:
    """Bits that nobody can predict, for one thread of one process.

    >>> buffer = np.zeros(64, np.uint8)
    >>> Keystream().fill(buffer)
    >>> bool(buffer.any())
    True
    """

    def __init__(self) -> None:
        self._last = b""
        try:
            if _encryptor(_KEY, _COUNTER).update(_PLAIN) != _CIPHER:
                raise NoiseError("AES-256 gave a wrong answer to a published test vector.")
        except NoiseError:
            raise
        except Exception as error:
            raise NoiseError("AES-256 is not available; no noise can be drawn.") from error
        self._rekey()

    def _rekey(self) -> None:
        try:
            seed = os.urandom(32 + _BLOCK)
            if len(seed) != 32 + _BLOCK:
                raise NoiseError("The operating system gave too few random bytes.")
            self._encrypt = _encryptor(seed[:32], seed[32:])
        except NoiseError:
            raise
        except Exception as error:
            raise NoiseError("The operating system's random source failed.") from error
        self._process = os.getpid()
        self._left = BYTES_PER_KEY

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        """Every byte of the buffer is made fresh: independent, uniform, never handed out twice."""
        if buffer.dtype != np.uint8 or buffer.ndim != 1 or not buffer.flags.c_contiguous:
            raise NoiseError("Random bits are drawn into one contiguous run of bytes.")
        for start in range(0, buffer.size, _STRIDE):
            self._advance(buffer[start : start + _STRIDE])

    def _advance(self, run: NDArray[np.uint8]) -> None:
        if self._left < run.size or self._process != os.getpid():
            self._rekey()
        try:
            written = self._encrypt.update_into(memoryview(_ZEROS)[: run.size], run)
        except Exception as error:
            raise NoiseError("The keystream failed; nothing was released.") from error
        if written != run.size:
            raise NoiseError("The keystream fell short; nothing was released.")
        self._left -= run.size
        if run.size >= _BLOCK:
            first = run[:_BLOCK].tobytes()
            if first == self._last:  # chance 2^-128: the cipher is stuck
                raise NoiseError("The keystream repeats itself; nothing was released.")
            self._last = first


_own = threading.local()


def keystream() -> Keystream:
    """A keystream with a key of its own; within `one_measurement`, the measurement's."""
    stream: Keystream | None = getattr(_own, "stream", None)
    return Keystream() if stream is None else stream


@contextmanager
def one_measurement() -> Iterator[None]:
    """While this lasts the thread draws from one keystream, which is keyed now."""
    if getattr(_own, "stream", None) is not None:
        yield  # within another measurement, or lent a stream
        return
    with lent(Keystream()):
        yield


def _forget() -> None:
    """In a forked child: no keystream of the parent remains."""
    global _own
    _own = threading.local()


os.register_at_fork(after_in_child=_forget)


@contextmanager
def lent(stream: Any) -> Iterator[None]:
    """While this lasts the thread draws from the stream given. For `trueup.audit`, and tests."""
    own = getattr(_own, "stream", None)
    _own.stream = stream
    try:
        yield
    finally:
        _own.stream = own
