"""Convolution of whole numbers modulo 2^64, exact though fast Fourier transforms are floats.

The numbers are cut into digits so small that the error of the transforms is proven to stay below
a quarter: rounding then gives the whole number. How small follows from the lengths and from the
kernel alone, never from the numbers. docs/windows.md has the proof.
"""

from __future__ import annotations

import math

import numpy as np

from trueup.arrays import Ints, Words
from trueup.errors import InputError

_UNIT = 2.0**-53  # rounding of a float
_ROOTS = 4 * _UNIT  # how far a root of unity in the transform's tables may be off
_ERROR = 0.25
_DIGITS = (16, 12, 11, 8, 4)  # bits of a digit


def relative_error(length: int) -> float:
    """The most by which a cyclic convolution of a power of two is off, over the two norms.

    Brent, Percival and Zimmermann (2007), theorem 5.1, with roots of unity that are less exact.
    """
    levels = length.bit_length() - 1
    rounded = 3 * levels * math.log1p(_UNIT) + 3 * levels * math.log1p(_ROOTS)
    return math.expm1(rounded + (3 * levels + 1) * math.log1p(_UNIT * math.sqrt(5)))


def digit_bits(length: int, filled: int, norm: float) -> int:
    """The widest digits for which the error is proven to stay below a quarter.

    `filled` is how many of the numbers are not 0, `norm` the Euclidean norm of the kernel.
    """
    for bits in _DIGITS:
        # Two digits are one complex number; each is at most 2^(bits − 1).
        numbers = math.sqrt(2 * filled) * 2.0 ** (bits - 1)
        if numbers * norm * relative_error(length) <= _ERROR:
            return bits
    raise InputError("The answers cannot be proven exact for so many cells: ask hats or a tree.")


def cyclic_convolution(numbers: Ints, kernel: Ints, filled: int, width: int = 64) -> Ints:
    """Σ numbers[j] · kernel[i − j], cyclic in a power of two, modulo 2^64 as int64.

    At most `filled` of the numbers are not 0, and they fit into `width` bits, the sign included:
    public figures, not read off the numbers.
    """
    from scipy.fft import fft, ifft

    length = len(kernel)
    if length & (length - 1) or len(numbers) != length:
        raise ValueError("Lengths must be one power of two.")
    norm = math.sqrt(float(np.square(kernel.astype(np.float64)).sum())) * (1 + length * _UNIT)
    bits = digit_bits(length, filled, norm)
    spectrum = fft(kernel.astype(np.complex128))
    left = numbers.astype(np.int64, copy=True).view(np.uint64)
    found = np.zeros(length, np.uint64)
    for place in range(0, width, 2 * bits):
        pair = np.empty(length, np.complex128)
        pair.real, left = _lowest(left, bits)
        pair.imag, left = _lowest(left, bits)
        product = ifft(fft(pair, overwrite_x=True) * spectrum, overwrite_x=True)
        for shift, part in ((place, product.real), (place + bits, product.imag)):
            if shift < width:
                whole = np.rint(part).astype(np.int64).view(np.uint64)
                found += whole << np.uint64(shift)
    return found.view(np.int64)


def _lowest(left: Words, bits: int) -> tuple[Ints, Words]:
    """The lowest digit, between −2^(bits−1) and 2^(bits−1) − 1, and what is left, over 2^bits."""
    half = np.uint64(1 << (bits - 1))
    digit = ((left + half) & np.uint64((1 << bits) - 1)).view(np.int64) - np.int64(half)
    rest = (left - digit.view(np.uint64)).view(np.int64) >> np.int64(bits)
    return digit, rest.view(np.uint64)
