"""The sampler against exact probabilities: enumeration, a second interval library, refusals."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from itertools import product
from pathlib import Path

import mpmath
import numba
import numpy as np
import pytest

from trueup._kernels.noise import bits, inversion, laplace, laplace_tables
from trueup._kernels.noise.laplace_tables import SamplerPart, Tables, tables
from trueup.audit import noise_fit
from trueup.errors import InputError

from .sampler_oracle import LEVEL, SCALES, UndecidedError, sampler, seeded, strings_inside


class Script:
    """Bits for four equal draws: a prefix for each part, then one word for the reserve."""

    def __init__(self, law: Tables, words: tuple[int, ...]) -> None:
        self.law, self.words, self.calls = law, words, 0

    def __call__(self, buffer: np.ndarray) -> None:
        self.calls += 1
        if self.calls > 1:
            raise UndecidedError
        count = len(self.law.parts)
        prefixes = buffer[: 8 * count].view(np.uint16).reshape(count, 4)
        reserve = buffer[8 * count :].view(np.uint64)
        used = 0
        for number, (part, word) in enumerate(zip(self.law.parts, self.words, strict=True)):
            rest = part.word - part.prefix
            prefixes[number] = (word >> rest) << (16 - part.prefix)
            if part.outcomes[prefixes[number, 0]] & inversion.OPEN:
                reserve[used : used + 4] = (word & ((1 << rest) - 1)) << (64 - rest)
                used += 4


# (scale, word, scale of the top part, bits a digit): short words need coarse parts to decide at all
SHORT = [("1/3", 4, 12, 9), ("1", 4, 12, 9), ("7/2", 4, 12, 9), ("3/2", 4, 1, 1), ("3", 4, 1, 1)]
SHORT += [("7/2", 4, 1, 2), ("2/3", 6, 12, 9), ("5/2", 6, 1, 2), ("11", 8, 12, 9)]
MANY_PARTS = [("3", 4, 1, 1), ("5/2", 6, 1, 2)]  # a quarter of a million strings each


@pytest.mark.parametrize(
    ("scale", "word", "top", "digit", "prefix"),
    [(*case, prefix) for case in SHORT for prefix in ((2,) if case in MANY_PARTS else (1, 2, 3))],
)
def test_every_string_of_a_short_word_is_sampled_exactly(
    scale: str, word: int, top: int, digit: int, prefix: int
) -> None:
    """The whole sampler, over all strings: as many lead to x as lie inside its interval."""
    law = tables(Fraction(scale), word, prefix, top, digit)
    drawn: Counter[int] = Counter()
    for words in product(range(1 << word), repeat=len(law.parts)):
        values = np.zeros(1, np.int64)
        try:
            laplace.sample_into(values, law, Script(law, words))
        except UndecidedError:
            continue
        drawn[int(values[0])] += 1
    assert len(drawn) >= min(2, law.low_bits + 1)
    half = 1 << law.low_bits
    for x in range(-40 * half, 40 * half):
        magnitude = x if x >= 0 else -1 - x
        high, low = divmod(magnitude, half)
        expected = strings_inside(law.parts[0], high if x >= 0 else -1 - high, word)
        for part, value in zip(law.parts[1:], digits(low, law), strict=True):
            expected *= strings_inside(part, value, word)
        assert drawn.pop(x, 0) == expected
    assert not drawn


def digits(low: int, law: Tables) -> list[int]:
    """The low bits cut into the digits of the law, highest first."""
    found = []
    for part in reversed(law.parts[1:]):
        found.append(low & ((1 << part.bits) - 1))
        low >>= part.bits
    return found[::-1]


def test_moments_are_those_of_the_law() -> None:
    for scale in (Fraction(1, 2), Fraction(3), Fraction(50), Fraction(5000), Fraction(10**8)):
        samples = laplace.draw(400_000, scale).astype(float)
        p = float(mpmath.exp(-1 / mpmath.mpf(scale.numerator) * scale.denominator))
        variance = 2 * p / (1 - p) ** 2
        fourth = variance * (p * p + 10 * p + 1) / (1 - p) ** 2
        assert abs(samples.mean()) < 7 * (variance / samples.size) ** 0.5
        spread = ((fourth - variance**2) / samples.size) ** 0.5
        assert abs((samples**2).mean() - variance) < 8 * spread


def test_noise_is_added_in_place_and_blocks_keep_their_scales() -> None:
    values = np.arange(100_000, dtype=np.int64)
    lengths, scales = [40_000, 0, 20_000, 20_000, 20_000], [Fraction(1, 1000), 1, 9, 9, "1e6"]
    laplace.add_noise_blocks(values, lengths, scales)
    noise = values - np.arange(100_000)
    assert not noise[:40_000].any()
    assert 5 < np.abs(noise[40_000:80_000]).mean() < 13
    assert 9e5 < np.abs(noise[80_000:]).mean() < 1.1e6


def test_every_length_is_drawn_to_its_end() -> None:
    for size in [0, 1, 2, 3, 4, 5, 63, 64, 65, laplace.BATCH - 1, laplace.BATCH + 1]:
        assert (laplace.draw(size, 10**9) != 0).sum() >= size - 1


def test_sums_are_exact_modulo_two_to_the_64() -> None:
    values = np.full(10_000, np.iinfo(np.int64).max)
    laplace.add_noise(values, 1000)
    noise = [(int(value) - (2**63 - 1) + 2**63) % 2**64 - 2**63 for value in values]
    assert max(map(abs, noise)) < 100_000


class Late:
    """Bits that are all 0, or all 1, for the first 110 words that a sample asks for."""

    def __init__(self, byte: int) -> None:
        self.byte, self.calls = byte, 0

    def __call__(self, buffer: np.ndarray) -> None:
        self.calls += 1
        buffer[:] = self.byte if self.calls <= 110 else 0x5A


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(12), Fraction(1000), Fraction(10**6)])
@pytest.mark.parametrize("byte", [0x00, 0xFF])
def test_a_sample_beyond_the_table_is_drawn_in_full(scale: Fraction, byte: int) -> None:
    """An event of chance 2^-7040, in which nothing is cut: |X| is about 7040 ln 2 scales."""
    values = np.zeros(4, np.int64)
    laplace.sample_into(values, tables(scale), Late(byte))
    x = int(values[0])
    assert (x < 0) == (byte == 0)
    low, high = (float(bits * mpmath.log(2) * float(scale)) for bits in (7030, 7050))
    assert low < abs(x) < high


@pytest.mark.parametrize(
    "scale", [0, -1, Fraction(1, 1001), 10**9 + 1, float("nan"), float("inf"), True, None, "b"]
)
def test_a_scale_out_of_reach_is_refused(scale: object) -> None:
    values = np.zeros(3, np.int64)
    with pytest.raises(InputError):
        laplace.add_noise(values, scale)
    assert not values.any()


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(3),
        np.zeros(3, np.int32),
        np.zeros((3, 3), np.int64),
        np.zeros(6, np.int64)[::2],
        np.frombuffer(bytes(24), np.int64),
        [0, 0],
    ],
)
def test_only_flat_int64_takes_noise(values: np.ndarray) -> None:
    with pytest.raises(InputError):
        laplace.add_noise(values, 1)


@pytest.mark.parametrize(
    ("lengths", "scales"), [([2], [1, 1]), ([1], [1]), ([-1, 3], [1, 1]), ([1, 1], [1, 0])]
)
def test_bad_blocks_change_nothing(lengths: list[int], scales: list[int]) -> None:
    values = np.zeros(2, np.int64)
    with pytest.raises(InputError):
        laplace.add_noise_blocks(values, lengths, scales)
    assert not values.any()


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(InputError, match="-1"):
        laplace.draw(-1, 1)


KERNELS = [laplace.decide, laplace.add_top, laplace.add_top_and_digit, laplace.add_top_and_digits]


def test_no_float_is_in_the_machine_code_that_samples() -> None:
    laplace.draw(10, 1), laplace.draw(10, 100), laplace.draw(10, 10**6)
    compiled = [(kernel, kernel.machine.signatures) for kernel in KERNELS]
    for given in laplace.decide.machine.signatures:  # which calls these two with what it was given
        compiled.append((laplace.look_up, [(given[0], given[1], given[8], given[5])]))
        compiled.append((laplace.complete, [(given[0], *given[2:])]))
    for kernel, signatures in compiled:
        fresh = numba.njit(kernel.py_func)  # code read back from the disk cache hides its text
        for signature in signatures:
            fresh.compile(signature)
        code = fresh.inspect_llvm()
        assert code
        for text in code.values():
            assert " double" not in text
            assert " float" not in text


@pytest.mark.parametrize("module", [bits, laplace, laplace_tables])
def test_no_float_and_no_seeded_generator_is_in_the_source(module: object) -> None:
    tree = ast.parse(Path(inspect.getfile(module)).read_text())  # type: ignore[arg-type]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            assert not isinstance(node.value, (float, complex))
        if isinstance(node, ast.Div):
            assert module is laplace_tables  # of Fractions and of balls
        names = [getattr(node, "id", ""), getattr(node, "attr", "")]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
        for name in names:
            assert not {"random", "float", "math", "default_rng"} & set(name.split("."))
            assert not name.startswith("float")


def imported(module: str, seen: set[str]) -> set[str]:
    """The modules of trueup that a module leads to, wherever in it the import stands."""
    spec = importlib.util.find_spec(module) if module not in seen else None
    if spec is None or spec.origin is None:
        return seen
    seen.add(module)
    for node in ast.walk(ast.parse(Path(spec.origin).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trueup."):
            imported(node.module or "", seen)
            for alias in node.names:
                with suppress(ModuleNotFoundError):
                    imported(f"{node.module}.{alias.name}", seen)
    return seen


# They make rows of counts that are published already: no noise is drawn there, and none is seen.
MADE_OF_RELEASES = {
    "trueup.axis.inside",
    "trueup.release.joint",
    "trueup.release.rows",
    "trueup._kernels.rows.attach",
    "trueup._kernels.rows.moves",
}


def test_nothing_that_releases_can_reach_a_seeded_generator() -> None:
    reached: set[str] = set()
    for door in ("trueup.measure", "trueup.onepass", "trueup.shortcuts", "trueup.owner"):
        imported(door, reached)
    assert {
        "trueup._kernels.noise.laplace",
        "trueup._kernels.tree.fused",
        "trueup.ask.tree",
    } <= reached
    assert not any(name.startswith("trueup.paper") for name in reached)
    for name in reached:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        source = Path(spec.origin).read_text()
        if name in MADE_OF_RELEASES:
            assert not re.search(r"import.*(noise|measure\b|owner)|from trueup.*noise", source), (
                name
            )
            continue
        for node in ast.walk(ast.parse(source)):
            words = [getattr(node, "attr", ""), getattr(node, "module", "") or ""]
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                words += [alias.name for alias in node.names]
            for word in words:
                assert not {"random", "default_rng", "RandomState"} & set(word.split(".")), name


def test_threads_draw_noise_of_their_own() -> None:
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: laplace.draw(50_000, 10**9), range(8)))
    assert len(np.unique(np.concatenate(drawn))) > 399_000
    assert all(abs(np.abs(one).mean() / 1e9 - 1) < 0.05 for one in drawn)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_samples_fit_their_law_point_by_point(scale: Fraction) -> None:
    assert noise_fit(lambda size: laplace.draw(size, scale), scale, 10_000_000) > LEVEL


@pytest.mark.parametrize(("word", "prefix"), [(8, 4), (10, 6), (12, 8), (16, 10)])
@pytest.mark.parametrize("scale", ["2/3", "5", "60"])
def test_samples_fit_their_law_when_ties_are_common(scale: str, word: int, prefix: int) -> None:
    law = tables(Fraction(scale), word, prefix)
    fill = seeded(word)
    settled = 0

    def counting(buffer: np.ndarray) -> None:
        nonlocal settled
        settled += buffer.size == 8  # more bits for one tied word
        fill(buffer)

    draws = {8: 6_000, 10: 10_000, 12: 20_000, 16: 100_000}[word]
    assert noise_fit(sampler(law, counting), law.scale, draws) > 1e-4  # a fixed seed
    expected = draws * sum(np.unique(part.boundaries).size for part in law.parts) / 2**word
    assert 0.5 * expected < settled < 2 * expected


def test_a_cut_tail_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = sampler(tables(Fraction(20)), seeded(5))
    assert noise_fit(lambda size: right(size).clip(-160, 160), 20, 4_000_000) < LEVEL
    # Cut where the table ends, at a chance of 2^-64, no statistics can tell: the bits can.
    monkeypatch.setattr(SamplerPart, "settle", lambda part, word, more: min(1, word) * 2**9)
    with pytest.raises(AssertionError):
        test_a_sample_beyond_the_table_is_drawn_in_full(Fraction(1000), 0xFF)
