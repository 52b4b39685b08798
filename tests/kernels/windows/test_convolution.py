"""Exact convolution: against whole numbers of any length, at the worst that digits can be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trueup._kernels.windows import convolution
from trueup._kernels.windows.convolution import cyclic_convolution, digit_bits, relative_error


def written_out(numbers, kernel):
    """The same with whole numbers of any length: as digits of one long number."""
    width = 64 + 20 + len(kernel).bit_length() + 3
    pack = lambda values: sum(int(v) << (width * i) for i, v in enumerate(values))  # noqa: E731
    product, length = pack(numbers) * pack(kernel), len(kernel)
    mask, found = (1 << width) - 1, [0] * length
    for i in range(2 * length):
        digit = product & mask
        product >>= width
        if digit >> (width - 1):  # a negative digit borrowed from the next
            digit -= 1 << width
            product += 1
        found[i % length] += digit
    return np.array([value % 2**64 for value in found], np.uint64).view(np.int64)


@pytest.mark.parametrize("length", [1, 2, 8, 64, 1024])
def test_any_64_bits_are_convolved_exactly(length):
    generator = np.random.default_rng(length)
    kernel = generator.integers(-4095, 4096, length)
    for numbers in (
        generator.integers(-(2**63), 2**63 - 1, length),
        np.full(length, -(2**63)),
        np.full(length, 2**63 - 1),
        generator.choice([0x7FFF7FFF7FFF7FFF, -0x7FFF7FFF7FFF8000], length),
    ):
        found = cyclic_convolution(numbers, kernel, length)
        np.testing.assert_array_equal(found, written_out(numbers, kernel))


@pytest.mark.parametrize("bits", convolution._DIGITS)
def test_digits_of_every_width_give_the_same(bits, monkeypatch):
    monkeypatch.setattr(convolution, "_DIGITS", (bits,))
    generator = np.random.default_rng(bits)
    numbers, kernel = generator.integers(-(2**63), 2**63 - 1, 256), generator.integers(0, 99, 256)
    found = cyclic_convolution(numbers, kernel, 256)
    np.testing.assert_array_equal(found, written_out(numbers, kernel))


def test_few_bits_need_few_digits():
    numbers, kernel = np.array([5, -3, 2047, -2048] * 16), np.arange(64)
    found = cyclic_convolution(numbers, kernel, 64, width=12)
    np.testing.assert_array_equal(found, written_out(numbers, kernel))


@pytest.mark.parametrize("length", [1 << 6, 1 << 12, 1 << 18])
def test_the_error_stays_far_below_what_is_proven(length):
    from scipy.fft import fft, ifft

    generator = np.random.default_rng(length)
    for numbers in (generator.choice([-(2**15), 2**15 - 1], length), np.full(length, 2**15 - 1)):
        kernel = np.zeros(length, np.int64)
        kernel[: length // 2] = 4095 // np.sqrt(np.arange(1, length // 2 + 1))
        off = ifft(fft(numbers * (1 + 1j)) * fft(kernel.astype(complex))).real
        norms = math.sqrt(2) * np.linalg.norm(numbers) * np.linalg.norm(kernel)
        far = np.abs(off - np.rint(off)).max()
        assert far <= norms * relative_error(length) / 4


def test_digits_are_narrower_where_the_proof_needs_it():
    # Worked out by hand: √(2·2^21)·2^(b−1) · norm · 480·2^−53 ≤ 1/4.
    assert digit_bits(1 << 21, 1 << 21, 2.0**15.2) == 16
    assert digit_bits(1 << 21, 1 << 21, 2.0**18) == 12
    assert 450 * 2**-53 < relative_error(1 << 22) < 500 * 2**-53
    with pytest.raises(ValueError, match="proven"):
        digit_bits(1 << 30, 1 << 30, 2.0**40)
    with pytest.raises(ValueError, match="power of two"):
        cyclic_convolution(np.zeros(6, np.int64), np.zeros(6, np.int64), 6)
