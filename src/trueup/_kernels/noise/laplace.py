"""Exact discrete Laplace noise: P(X = x) ∝ exp(−|x|/b), for any rational scale b.

No floating-point number takes part. docs/noise.md gives the algorithm and its proof.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from trueup._kernels.compiled import ARRAY_ELEMENTS, compiled
from trueup._kernels.noise.bits import Bits, keystream
from trueup._kernels.noise.inversion import OPEN, Inverted
from trueup._kernels.noise.laplace_tables import Tables, checked_scale, tables
from trueup.arrays import Ints, Words
from trueup.errors import InputError

BATCH = 1 << 17  # samples at a time: enough that two threads seldom wait for each other
_PARTS = 4  # at the largest scale
RESERVE = BATCH // 32 + 16  # words for draws that 16 bits do not decide: 3 % where 2.6 % is most
_TIES = 256
_OPEN_FOUR = np.uint64(OPEN * 0x0001_0001_0001_0001)
_LANES = (np.uint64(1 << 15), np.uint64(1 << 31), np.uint64(1 << 47))


def _look_up_plain(
    prefixes: NDArray[np.uint16],
    outcomes: NDArray[np.uint16],
    chosen: NDArray[np.int16],
    undecided: Ints,
) -> int:
    chosen[:] = outcomes[prefixes].view(np.int16)
    opened = chosen.view(np.uint64) & _OPEN_FOUR != 0
    count = int(np.count_nonzero(opened))
    undecided[:count] = np.flatnonzero(opened)
    if opened.size and not opened[-1]:
        undecided[count] = opened.size - 1  # as machine code leaves it, which nobody reads
    return count


@compiled(work=0, most=ARRAY_ELEMENTS, plain=_look_up_plain)
def look_up(
    prefixes: NDArray[np.uint16],
    outcomes: NDArray[np.uint16],
    chosen: NDArray[np.int16],
    undecided: Ints,
) -> int:
    """Indices of one part from 16-bit draws, four at a time; how many fours have one undecided.

    Those are marked OPEN, and their fours are listed. There is no branch to mispredict here:
    that the list is kept apart is half of the sampler's speed.
    """
    draws, packed = prefixes.view(np.uint64), chosen.view(np.uint64)
    last = np.uint64(0xFFFF)
    count = 0
    for four in range(draws.size):
        draw = draws[four]
        indices = (
            np.uint64(outcomes[draw & last])
            | (np.uint64(outcomes[(draw >> np.uint64(16)) & last]) << np.uint64(16))
            | (np.uint64(outcomes[(draw >> np.uint64(32)) & last]) << np.uint64(32))
            | (np.uint64(outcomes[draw >> np.uint64(48)]) << np.uint64(48))
        )
        packed[four] = indices
        undecided[count] = four
        count += indices & _OPEN_FOUR != 0
    return count


@compiled(work=0)
def complete(
    prefixes: NDArray[np.uint16],
    unused: int,
    boundaries: Words,
    rest: int,
    undecided: Ints,
    reserve: Words,
    used: int,
    chosen: NDArray[np.int16],
    tied_at: Ints,
    tied_word: Words,
) -> tuple[int, int, int]:
    """Completes undecided draws with `rest` bits of the reserve; (fours done, used, ties met).

    It stops before four that the reserve or the room for ties might not do for. That depends
    on the draws, never on the reserve's bits, and the draws are kept: stopping favours no
    outcome.
    """
    lost, moved = np.uint64(64 - rest), np.uint64(rest)
    packed = chosen.view(np.uint64)
    ties = 0
    for number in range(undecided.size):
        if used + 4 > reserve.size or ties + 4 > tied_at.size:
            return number, used, ties
        four = undecided[number]
        lanes = packed[four] & _OPEN_FOUR
        while lanes != 0:
            lowest = lanes & (~lanes + np.uint64(1))
            lanes ^= lowest
            lane = int(lowest > _LANES[0]) + int(lowest > _LANES[1]) + int(lowest > _LANES[2])
            i = 4 * four + lane
            word = (np.uint64(prefixes[i] >> unused) << moved) | (reserve[used] >> lost)
            used += 1
            index = np.int64(chosen[i] & np.int16(0x7FFF))
            index += boundaries[index] < word  # an open draw has a boundary here; most have one
            while index < boundaries.size and boundaries[index] < word:
                index += 1
            chosen[i] = index
            if index < boundaries.size and boundaries[index] == word:
                tied_at[ties] = i
                tied_word[ties] = word
                ties += 1
    return undecided.size, used, ties


@compiled(work=0, most=ARRAY_ELEMENTS)
def decide(
    prefixes: NDArray[np.uint16],
    outcomes: NDArray[np.uint16],
    unused: int,
    boundaries: Words,
    rest: int,
    undecided: Ints,
    reserve: Words,
    used: int,
    chosen: NDArray[np.int16],
    tied_at: Ints,
    tied_word: Words,
) -> tuple[int, int, int, int]:
    """`look_up`, then `complete`: (fours undecided, fours done, used, ties met).

    One call, because a thread that comes back from one may have to wait for another thread.
    """
    count = look_up(prefixes, outcomes, chosen, undecided)
    done, used, ties = complete(
        prefixes,
        unused,
        boundaries,
        rest,
        undecided[:count],
        reserve,
        used,
        chosen,
        tied_at,
        tied_word,
    )
    return count, done, used, ties


def _add_top_plain(values: Ints, top: NDArray[np.int16], lowest: int) -> None:
    values += top[: values.size] + np.int64(lowest)


@compiled(work=0, most=ARRAY_ELEMENTS, plain=_add_top_plain)
def add_top(values: Ints, top: NDArray[np.int16], lowest: int) -> None:
    """Adds the top part where it is all there is."""
    for i in range(values.size):
        values[i] += np.int64(top[i]) + lowest


def _add_top_and_digit_plain(
    values: Ints,
    top: NDArray[np.int16],
    lowest: int,
    low_bits: int,
    digit: NDArray[np.int16],
) -> None:
    m = top[: values.size] + np.int64(lowest)
    mask = np.int64((1 << low_bits) - 1)
    values += (m << np.int64(low_bits)) + (digit[: values.size] ^ ((m >> np.int64(63)) & mask))


@compiled(work=0, most=ARRAY_ELEMENTS, plain=_add_top_and_digit_plain)
def add_top_and_digit(
    values: Ints,
    top: NDArray[np.int16],
    lowest: int,
    low_bits: int,
    digit: NDArray[np.int16],
) -> None:
    """Adds (m << L) + low, the low bits complemented where m < 0."""
    mask = (np.int64(1) << low_bits) - 1
    for i in range(values.size):
        m = np.int64(top[i]) + lowest
        values[i] += (m << low_bits) + (np.int64(digit[i]) ^ ((m >> 63) & mask))


def _add_top_and_digits_plain(
    values: Ints,
    top: NDArray[np.int16],
    lowest: int,
    low_bits: int,
    digits: NDArray[np.int16],
    widths: Ints,
) -> None:
    low = np.zeros(values.size, np.int64)
    for own, width in zip(digits[: widths.size, : values.size], widths, strict=True):
        low = (low << width) | own
    m = top[: values.size] + np.int64(lowest)
    mask = np.int64((1 << low_bits) - 1)
    values += (m << np.int64(low_bits)) + (low ^ ((m >> np.int64(63)) & mask))


@compiled(work=0, most=ARRAY_ELEMENTS, plain=_add_top_and_digits_plain)
def add_top_and_digits(
    values: Ints,
    top: NDArray[np.int16],
    lowest: int,
    low_bits: int,
    digits: NDArray[np.int16],
    widths: Ints,
) -> None:
    """As `add_top_and_digit`, the low bits in two or three digits, highest first."""
    mask = (np.int64(1) << low_bits) - 1
    middle, last = widths[-2], widths[-1]
    for i in range(values.size):
        m = np.int64(top[i]) + lowest
        low = np.int64(digits[0, i])
        if widths.size == 3:
            low = (low << middle) | np.int64(digits[1, i])
        low = (low << last) | np.int64(digits[widths.size - 1, i])
        values[i] += (m << low_bits) + (low ^ ((m >> 63) & mask))


class _Workspace(threading.local):
    """Preallocated memory, one a thread. Holds nothing between calls that is used again."""

    def __init__(self) -> None:
        self.fresh = np.empty(_PARTS * BATCH * 2 + RESERVE * 8, np.uint8)
        self.chosen = np.empty((_PARTS, BATCH), np.int16)
        self.undecided = np.empty(BATCH // 4 + 1, np.int64)
        self.tied_at = np.empty(_TIES, np.int64)
        self.tied_word = np.empty(_TIES, np.uint64)


_workspace = _Workspace()


def _settle(
    part: Inverted,
    word: int,
    at: int,
    chosen: NDArray[np.int16],
    far: dict[int, int],
    bits: Bits,
) -> None:
    """Puts the index of a tied word in its place.

    Only a tie can lead past the table. Such an index, of the top part, may not fit an int16:
    m is then put at 0 or −1, which have its sign, and what is missing of m is kept in `far`.
    """

    def more() -> int:
        eight = np.empty(8, np.uint8)
        bits(eight)
        return int.from_bytes(eight.tobytes(), "little") >> (64 - part.word)

    index = part.settle(word, more)
    if not 0 <= index < 1 << 15:
        near = -part.lowest - (index < -part.lowest)
        far[at] = index - near
        index = near
    chosen[at] = index


def draw_part(
    part: Inverted,
    draws: NDArray[np.uint16],
    chosen: NDArray[np.int16],
    reserve: NDArray[np.uint8],
    used: int,
    far: dict[int, int],
    bits: Bits,
) -> int:
    """Fills `chosen` with the indices of one part; how many words of the reserve are used now.

    What `_settle` keeps goes to `far`.
    """
    space, words = _workspace, reserve.view(np.uint64)
    given = (16 - part.prefix, part.boundaries, part.word - part.prefix)
    kept = (chosen, space.tied_at, space.tied_word)
    count, done, used, ties = decide(
        draws, part.outcomes, *given, space.undecided, words, used, *kept
    )
    undecided = space.undecided[done:count]
    while ties or undecided.size:
        for tie in range(ties):
            word, at = int(space.tied_word[tie]), int(space.tied_at[tie])
            _settle(part, word, at, chosen, far, bits)
        if used + 4 > words.size:
            bits(reserve)
            used = 0
        done, used, ties = complete(draws, *given, undecided, words, used, *kept)
        undecided = undecided[done:]
    return used


def _draw_parts(
    law: Tables, prefixes: NDArray[np.uint16], reserve: NDArray[np.uint8], bits: Bits
) -> dict[int, int]:
    """Fills the workspace with the indices of all parts; gives what `_settle` kept in `far`."""
    used = 0
    far: dict[int, int] = {}
    for part, draws, chosen in zip(law.parts, prefixes, _workspace.chosen, strict=False):
        used = draw_part(part, draws, chosen[: draws.size], reserve, used, far, bits)
    return far


def sample_into(values: Ints, law: Tables, bits: Bits) -> None:
    """Adds a sample to each value, in place, from the bits given.

    Sums are exact modulo 2^64: a fixed function of the ideal sum, so privacy never hangs on
    the size of a value.
    """
    space = _workspace
    count = len(law.parts)
    lowest, low_bits = law.parts[0].lowest, law.low_bits
    widths = np.array([part.bits for part in law.parts[1:]], np.int64)
    for start in range(0, values.size, BATCH):
        batch = values[start : start + BATCH]
        size = -(-batch.size // 4) * 4  # draws are looked up four at a time
        reserve = 8 * min(RESERVE, size // 32 + 16)
        fresh = space.fresh[: 2 * count * size + reserve]
        bits(fresh)
        prefixes = fresh[: 2 * count * size].view(np.uint16).reshape(count, size)
        far = _draw_parts(law, prefixes, fresh[2 * count * size :], bits)
        if count == 1:
            add_top(batch, space.chosen[0], lowest)
        elif count == 2:
            add_top_and_digit(batch, space.chosen[0], lowest, low_bits, space.chosen[1])
        else:
            add_top_and_digits(
                batch, space.chosen[0], lowest, low_bits, space.chosen[1:count], widths
            )
        for at, missing in far.items():
            if at < batch.size:
                wrapped = ((missing << low_bits) + (1 << 63)) % (1 << 64) - (1 << 63)
                batch[at : at + 1] += np.int64(wrapped)


def checked_values(values: Ints) -> None:
    """Refuses what noise cannot be added to in place."""
    if not isinstance(values, np.ndarray) or values.dtype != np.int64:
        raise InputError("Noise is added to an int64 numpy array: convert the counts first.")
    if values.ndim != 1 or not values.flags.c_contiguous or not values.flags.writeable:
        raise InputError("Noise is added in place to a contiguous, writeable, flat array.")


def add_noise(values: Ints, scale: object) -> None:
    """Adds independent discrete Laplace noise of the given scale to each value, in place.

    The scale is a positive rational from 1/1000 to 10^9.

    >>> counts = np.zeros(1000, np.int64)
    >>> add_noise(counts, "1/2")
    >>> bool(counts.any())
    True
    """
    checked_values(values)
    law = tables(checked_scale(scale))
    sample_into(values, law, keystream().fill)


def add_noise_blocks(values: Ints, lengths: Sequence[int], scales: Sequence[object]) -> None:
    """Adds noise to consecutive runs of the values, each run with a scale of its own.

    Every length and scale is checked before the first value changes.
    """
    exact = [checked_scale(scale) for scale in scales]
    fill = keystream().fill
    for begin, end, scale in runs_of(values, lengths, exact):
        sample_into(values[begin:end], tables(scale), fill)


def runs_of(
    values: Ints, lengths: Sequence[int], scales: Sequence[Fraction]
) -> list[tuple[int, int, Fraction]]:
    """Where runs of values of one scale begin and end; refused unless they are all the values."""
    checked_values(values)
    if len(lengths) != len(scales):
        raise InputError(f"{len(lengths)} lengths were given with {len(scales)} scales.")
    if any(length < 0 for length in lengths) or sum(lengths) != values.size:
        raise InputError(f"Lengths must be >= 0 and add up to {values.size}, got {sum(lengths)}.")
    found = []
    begin = end = 0
    for number, (length, scale) in enumerate(zip(lengths, scales, strict=True)):
        end += length
        if number + 1 < len(scales) and scales[number + 1] == scale:
            continue  # neighbours with one scale are drawn together
        if end > begin:
            found.append((begin, end, scale))
        begin = end
    return found


def draw(size: int, scale: object) -> Ints:
    """Independent discrete Laplace samples of the given scale.

    >>> draw(3, 10).dtype
    dtype('int64')
    """
    if size < 0:
        raise InputError(f"The number of samples must be >= 0, got {size}.")
    values = np.zeros(size, np.int64)
    add_noise(values, scale)
    return values
