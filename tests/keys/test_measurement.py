"""Measurements of keys: what is counted, what is kept in a file, what a file may not say."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.errors import FileError, InputError
from trueup.files.codec import encode
from trueup.keys.measurement import KeyMeasurement, keys_of, measure_all_keys, measure_keys
from trueup.keys.terms import KeyTerms

WORDS = tu.Universe.text("a-z", 4)
ASKED = tu.KeyCounts(WORDS, number="1/10")


@pytest.fixture(scope="module")
def measured() -> KeyMeasurement:
    return measure_keys({"pear": 1000, "fig": 2000, "Fig": 10**6, "banana": 10**6}, ASKED, 1)


def test_what_is_no_key_is_not_counted(measured: KeyMeasurement) -> None:
    assert {"fig", "pear"} <= set(measured.labels)
    assert abs(measured.total - 3000) < 1000  # type: ignore[operator]
    assert list(measured.keys) == sorted(measured.keys)


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_measurements_are_saved_and_loaded(
    measured: KeyMeasurement, tmp_path: Path, ending: str
) -> None:
    measured.save(tmp_path / f"keys{ending}")
    assert tu.load(tmp_path / f"keys{ending}", KeyMeasurement) == measured
    assert KeyMeasurement.from_bytes(measured.to_bytes()) == measured


def test_a_file_that_was_made_up_is_refused(measured: KeyMeasurement) -> None:
    def loaded(columns=None, **others):
        said = json.loads(json.dumps(measured.to_json()))
        said["keys"].update(others)
        return KeyMeasurement.from_bytes(
            encode("key measurement", columns or measured.columns(), said)
        )

    assert loaded() == measured
    low = np.full(len(measured.keys), measured.terms.threshold - 1)
    terms = {**measured.terms.to_json(), "threshold": 1}
    for wrong in (
        lambda: loaded({"key": list(measured.labels), "noisy": low}),
        lambda: loaded({"key": ["Fig"] * len(low), "noisy": measured.noisy}),
        lambda: loaded({"key": list(measured.labels)[::-1], "noisy": measured.noisy}),
        lambda: loaded({"key": ["fig", "fig"], "noisy": np.array([2000, 2000])}),
        lambda: loaded(terms=terms),
        lambda: loaded(total=None),
        lambda: loaded(number="many"),
        lambda: KeyMeasurement.from_bytes(encode("release", measured.columns(), {})),
    ):
        with pytest.raises(FileError):
            wrong()


def test_numbers_are_keys_too() -> None:
    asked = tu.KeyCounts(tu.Universe.integers(), total=0)
    found = measure_keys({7: 10**6, -(2**63): 10**6}, asked, 1)  # type: ignore[dict-item]
    assert {"7", str(-(2**63))} <= set(found.labels)
    assert found.total is None


@pytest.mark.parametrize("counts", [[1, 2], {"fig": -1}, {"fig": 0.5}, {"fig": 2**62}, None])
def test_counts_that_are_none_are_refused(counts: object) -> None:
    with pytest.raises(InputError):
        measure_keys(counts, ASKED, 1)  # type: ignore[arg-type]


def test_the_total_and_the_number_have_noise_of_their_own() -> None:
    asked = tu.KeyCounts(WORDS, total="1/4", number="1/4")
    found = [measure_keys({"fig": 5000, "pear": 9}, asked, 1) for _ in range(60)]
    for name, true in (("total", 5009), ("number", 2)):
        values = [getattr(each, name) - true for each in found]
        assert len(set(values)) > 5
        assert 2 < np.std(values) < 12  # √2 · 4 = 5.7


@pytest.mark.parametrize("cost", [tu.Cost.of(1), tu.Cost.of(rho=1, delta="1e-6")])
def test_the_total_and_the_number_are_drawn_each_with_its_own_scale(
    cost: tu.Cost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every noise that is added to one number is recorded: what is told is the truth and that."""
    law = "gauss.add_gaussian_noise" if cost.rho else "laplace.add_noise"
    module, name = f"trueup._kernels.noise.{law}".rsplit(".", 1)
    real, drawn = getattr(importlib.import_module(module), name), []

    def recording(values: np.ndarray, scale: object) -> None:
        before = values.copy()
        real(values, scale)
        drawn.append((scale, values - before))

    monkeypatch.setattr(f"{module}.{name}", recording)
    asked = tu.KeyCounts(WORDS, total="1/4", number="1/9", keys_per_unit=3)
    terms = KeyTerms.of(asked, cost, unit="user", rows_per_unit=3)
    for _ in range(3):
        drawn.clear()
        found = measure_all_keys(*keys_of({"fig": 5000, "pear": 9}, WORDS), terms)
        (of_total, of_number) = drawn[-2:]
        assert (of_total[0], of_number[0]) == (terms.total_scale, terms.number_scale)
        assert ([found.total], [found.number]) == (5009 + of_total[1], 2 + of_number[1])


def test_spellings_of_one_key_are_added_up() -> None:
    counts = {"::1": 3, "0:0::1": 4, "fe80::1%eth0": 9, "::ffff:1.2.3.4": 5, "1.2.3.4": 6}
    keys, found = keys_of(counts, tu.Universe.ipv6())
    assert len(keys) == len(set(keys.to_pylist())) == 2
    assert sorted(found.tolist()) == [7, 11]


@pytest.mark.parametrize("cost", [tu.Cost.of("1/2"), tu.Cost.of(rho=1, delta="1e-6")])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_measurement_has_the_terms_that_were_asked(cost: tu.Cost, neighbours: str) -> None:
    found = measure_keys({"fig": 9}, ASKED, cost, neighbours, unit="user", keys_per_unit=3)  # type: ignore[arg-type]
    assert found.terms == KeyTerms(ASKED, cost, neighbours, "user", 3)  # type: ignore[arg-type]
    facts = found.facts
    assert (facts.epsilon, facts.rho, facts.neighbours) == (cost.epsilon, cost.rho, neighbours)
    assert (facts.unit, facts.rows_per_unit, facts.id) == ("user", 3, found.id)
    assert KeyMeasurement.from_bytes(found.to_bytes()).facts == facts


def test_a_key_that_nobody_has_is_none_of_those_present() -> None:
    """Else it would count in how many different keys there are."""
    for universe, counts in (
        (WORDS, {"fig": 0, "pear": 3}),
        (tu.Universe.integers(0, 99), {"7": 0, "8": 3}),
    ):
        keys, found = keys_of(counts, universe)
        assert (len(keys), found.tolist()) == (1, [3])
