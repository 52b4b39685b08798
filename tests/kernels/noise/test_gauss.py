"""The Gaussian sampler against exact chances: enumeration, enclosures, samples, refusals."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from fractions import Fraction
from pathlib import Path

import mpmath
import numba
import numpy as np
import pytest

from trueup._kernels.noise import gauss, gauss_tables, inversion, laplace
from trueup._kernels.noise.gauss_tables import GaussTables
from trueup.audit import gaussian_fit
from trueup.errors import InputError

from .sampler_oracle import UndecidedError
from .test_gauss_tables import strings_inside

SIZES = [0, 1, 2, 3, 4, 5, 63, 64, 65, laplace.BATCH - 1, laplace.BATCH + 1]


class Script:
    """Bits for four equal draws of one part: a prefix, then words for the reserve."""

    def __init__(self, law: GaussTables, word: int) -> None:
        self.law, self.word, self.calls = law, word, 0

    def __call__(self, buffer: np.ndarray) -> None:
        self.calls += 1
        if self.calls > 1:
            raise UndecidedError
        part = self.law.part
        rest = part.word - part.prefix
        buffer[-8:].view(np.uint16)[:] = (self.word >> rest) << (16 - part.prefix)
        buffer[:-8].view(np.uint64)[:] = (self.word & ((1 << rest) - 1)) << (64 - rest)


@pytest.mark.parametrize("prefix", [1, 2, 3])
@pytest.mark.parametrize(("variance", "word"), [("1/3", 4), ("1", 4), ("7/2", 6), ("30", 8)])
def test_every_string_of_a_short_word_is_sampled_exactly(
    variance: str, word: int, prefix: int
) -> None:
    """As many strings lead to x as lie inside its interval."""
    law = gauss_tables.gauss_tables(Fraction(variance), word, prefix, 9)
    drawn: Counter[int] = Counter()
    for string in range(1 << word):
        values = np.zeros(1, np.int64)
        try:
            gauss.sample_into(values, law, Script(law, string))
        except UndecidedError:
            continue
        drawn[int(values[0])] += 1
    assert len(drawn) >= 2
    for x in range(-40, 40):
        assert drawn.pop(x, 0) == strings_inside(law.part, x, word)
    assert not drawn


def exact_chance(loss: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(loss.numerator) / loss.denominator) * 2**31


def test_the_chance_by_whole_numbers_is_within_four_units() -> None:
    generator = np.random.default_rng(7)
    losses = [0, 1, 2, 3, 1 << 29, (1 << 29) - 1, *generator.integers(0, 1 << 29, 3000).tolist()]
    with mpmath.workdps(40):
        for loss in losses:
            off = gauss.chance(loss) - exact_chance(Fraction(loss, 1 << 31))
            assert abs(off) < 3


@pytest.mark.parametrize("variance", ["16385", "99991", "1000000", "1e10", "1e14", "1e20", "1e24"])
def test_a_verdict_is_never_wrong_and_seldom_missing(variance: str) -> None:
    """For k and low all over their range: where the kernel changes its mind, the chance lies."""
    law = gauss_tables.gauss_tables(Fraction(variance))
    generator = np.random.default_rng(8)
    last = law.sure.size - 1
    for k in [0, 1, 2, last, *generator.integers(0, last, 30).tolist()]:
        most = (1 << law.low_bits) - 1
        for low in {1, most, int(generator.integers(1, most + 1))}:

            def told(draw: int, k: int = k, low: int = low) -> int:
                return int(gauss.verdict(k, low, law.low_bits, law.factor, law.shift, draw))

            with mpmath.workdps(40):
                exact = int(mpmath.floor(exact_chance(law.loss(k, low))))
            accepted = first(lambda draw: told(draw) != 1)
            rejected = first(lambda draw: told(draw) == 0)
            assert accepted <= exact  # below, all of [draw, draw + 1) lies under the chance
            assert rejected >= min(exact + 1, 1 << 31)  # from here on, above it
            assert rejected - accepted < 64


def first(holds: object) -> int:
    """The least draw of 31 bits from which on something holds."""
    low, high = -1, 1 << 31
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)  # type: ignore[operator]
    return high


KERNEL = [("16385", 128), ("1e10", 128), ("30", 1), ("1e24", 128)]


@pytest.mark.parametrize(("variance", "top"), KERNEL)
def test_the_kernel_adds_what_the_exact_rule_accepts(variance: str, top: int) -> None:
    """Every k, low, sign and draw around the thresholds, one at a time."""
    law = gauss_tables.gauss_tables(Fraction(variance), top=top)
    generator = np.random.default_rng(9)
    rows = []
    for k in [0, 1, 2, law.sure.size - 1, law.sure.size, *generator.integers(0, law.sure.size, 20)]:
        for low in {0, 1, (1 << law.low_bits) - 1}:
            with mpmath.workdps(40):
                exact = int(mpmath.floor(exact_chance(law.loss(int(k), low))))
            sure = int(law.sure[k]) if k < law.sure.size else 0
            for draw in {0, sure - 1, sure, sure + 1, exact - 1, exact + 1, (1 << 31) - 1}:
                rows += [(int(k), low, minus, draw) for minus in (0, 1) if 0 <= draw < 1 << 31]
    count = -(-law.low_bits // 16)
    lows = np.array([[low >> (16 * j) & 0xFFFF for _, low, _, _ in rows] for j in range(count)])
    values = np.zeros(len(rows), np.int64)
    left = np.empty((2, len(rows)), np.int64)
    lost, untold = gauss.accept(
        values,
        np.array([k for k, *_ in rows], np.int16),
        np.array([draw << 1 | minus for _, _, minus, draw in rows], np.uint32),
        lows.astype(np.uint16),
        (law.low_bits, law.factor, law.shift),
        law.sure,
        left,
    )
    gone, open_ = set(left[0, :lost].tolist()), set(left[1, :untold].tolist())
    assert open_ >= {i for i, (k, *_) in enumerate(rows) if k >= law.sure.size}
    for i, (k, low, minus, draw) in enumerate(rows):
        size = (k << law.low_bits) + low
        if i in open_:
            assert values[i] == 0
        elif i in gone:
            assert values[i] == 0
            assert (size == 0 and minus) or not law.accepts(k, low, draw, _none)
        else:
            assert values[i] == (-size if minus else size)
            assert law.accepts(k, low, draw, _none)
    assert any(size == 0 for size in values)


def _none() -> int:
    return 0


# (variance, word, prefix, top): tops so small that the kernel leaves most draws to exact numbers
ODD = [("3", 8, 4, 1), ("30", 8, 4, 2), ("700", 10, 6, 4), ("50", 64, 16, 3), ("20", 64, 16, 9)]


@pytest.mark.parametrize(("variance", "word", "prefix", "top"), ODD)
def test_samples_fit_their_law_when_ties_are_common(
    variance: str, word: int, prefix: int, top: int
) -> None:
    law = gauss_tables.gauss_tables(Fraction(variance), word, prefix, top)

    def sampler(size: int) -> np.ndarray:
        values = np.zeros(size, np.int64)
        gauss.sample_into(values, law, gauss.keystream().fill)
        return values

    assert gaussian_fit(sampler, variance, 30_000) > 1e-9


FITTED = ["1/4", "1", "10/3", "100", "16384", "16385", "65536", "1e6", "1e10", "1e14", "1e24"]


@pytest.mark.parametrize("variance", FITTED)
def test_samples_fit_their_law(variance: str) -> None:
    assert gaussian_fit(lambda size: gauss.draw(size, variance), variance, 1_000_000) > 1e-9


@pytest.mark.parametrize("variance", ["1", "100", "1e6", "1e14"])
def test_a_variance_two_percent_short_does_not_fit(variance: str) -> None:
    short = Fraction(variance) * Fraction(98, 100)
    assert gaussian_fit(lambda size: gauss.draw(size, short), variance, 1_000_000) < 1e-9


def test_noise_is_added_in_place_to_every_value() -> None:
    for size in SIZES:
        values = np.arange(size, dtype=np.int64)
        gauss.add_gaussian_noise(values, 10**20)
        assert (values != np.arange(size)).sum() >= size - 1
    still = np.arange(1000, dtype=np.int64)
    gauss.add_gaussian_noise(still, Fraction(1, 10**6))
    assert np.array_equal(still, np.arange(1000))


def test_sums_are_exact_modulo_two_to_the_64() -> None:
    for variance in (10**4, 10**8):
        values = np.full(10_000, np.iinfo(np.int64).max)
        gauss.add_gaussian_noise(values, variance)
        noise = [(int(value) - (2**63 - 1) + 2**63) % 2**64 - 2**63 for value in values]
        assert max(map(abs, noise)) < 8 * variance**0.5
        assert min(noise) < 0 < max(noise)


class Late:
    """Bits that are all 1 for the first words that a sample asks for, then mixed.

    Those that accept or reject are all 0, where there are some: everything is accepted.
    """

    def __init__(self, law: GaussTables, ones: int) -> None:
        self.law, self.ones, self.calls = law, ones, 0

    def __call__(self, buffer: np.ndarray) -> None:
        self.calls += 1
        buffer[:] = 0xFF if self.calls <= self.ones else 0x5A
        if self.calls == 1 and self.law.low_bits:
            end = buffer.size - 4 * (2 + 2 * -(-self.law.low_bits // 16))
            buffer[end - 16 : end] = 0


@pytest.mark.parametrize("variance", ["1/2", "50", "16385"])
def test_a_sample_beyond_the_table_is_drawn_in_full(variance: str) -> None:
    """An event of chance about 2^-704, in which nothing is cut: |X| is √(2·704 ln 2) σ or so."""
    law = gauss_tables.gauss_tables(Fraction(variance))
    values = np.zeros(4, np.int64)
    gauss.sample_into(values, law, Late(law, 11))
    low, high = (
        float(mpmath.sqrt(2 * bits * mpmath.log(2) * float(law.variance))) for bits in (640, 770)
    )
    assert low - 2 < int(values[0]) < high + 2


def test_a_sample_whose_index_fits_no_table_of_16_bits_keeps_its_size() -> None:
    """k above 2^15, an event that no draw of this universe will bring: it is kept beside."""
    law = gauss_tables.gauss_tables(Fraction(30), 8, 4, 1)
    far = 40_000
    settled = gauss._settled(law, far, 3, 0, lambda _: None)
    assert settled is None or settled == (far << law.low_bits) + 3
    assert gauss._settled(law, 0, 0, 1, lambda _: None) is None  # a zero with a minus
    assert gauss._settled(law, 0, 0, 0, lambda _: None) == 0
    assert gauss._settled(law, 7, 0, (2**31 - 1) << 1 | 1, lambda _: None) == -(7 << law.low_bits)


@pytest.mark.parametrize(
    "values", [np.zeros(3), np.zeros((3, 3), np.int64), np.zeros(6, np.int64)[::2], [0, 0]]
)
def test_only_flat_int64_takes_noise(values: np.ndarray) -> None:
    with pytest.raises(InputError):
        gauss.add_gaussian_noise(values, 1)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(InputError, match="-1"):
        gauss.draw(-1, 1)


def test_no_float_is_in_the_machine_code_that_samples() -> None:
    gauss.draw(10, 10**6)
    for kernel, given in [
        (gauss.accept, gauss.accept.machine.signatures[0]),  # type: ignore[attr-defined]
        (gauss.verdict, (numba.int64,) * 6),
        (gauss.chance, (numba.int64,)),
    ]:
        fresh = numba.njit(kernel.py_func)  # type: ignore[attr-defined]
        fresh.compile(given)
        for text in fresh.inspect_llvm().values():
            assert " double" not in text
            assert " float" not in text


@pytest.mark.parametrize("module", [gauss, gauss_tables, inversion])
def test_no_float_and_no_seeded_generator_is_in_the_source(module: object) -> None:
    tree = ast.parse(Path(inspect.getfile(module)).read_text())  # type: ignore[arg-type]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            assert not isinstance(node.value, (float, complex))
        if isinstance(node, ast.Div):
            assert module is not gauss  # of Fractions and of balls
        names = [getattr(node, "id", ""), getattr(node, "attr", "")]
        for name in names:
            assert not {"random", "float", "math", "default_rng"} & set(name.split("."))
