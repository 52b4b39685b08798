"""Draws: reproducible by seed, whoever shares the work."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.errors import InputError
from trueup.paper.draws import Setting, each_draw


def draws(setting: Setting, name: str = "x") -> np.ndarray:
    return each_draw(setting, name, 20, lambda generator: generator.random(3))


def test_draws_do_not_depend_on_the_number_of_workers() -> None:
    assert np.array_equal(draws(Setting(workers=1)), draws(Setting(workers=3)))


def test_draws_follow_the_seed_and_the_name() -> None:
    first = draws(Setting(seed=1))
    assert np.array_equal(first, draws(Setting(seed=1)))
    assert not np.array_equal(first, draws(Setting(seed=2)))
    assert not np.array_equal(first, draws(Setting(seed=1), "y"))


def test_draws_differ_from_each_other() -> None:
    assert len(np.unique(draws(Setting()))) == 60


def test_no_bar_unless_a_terminal_watches(capfd: pytest.CaptureFixture[str]) -> None:
    draws(Setting())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("wrong", [{"law": "normal"}, {"workers": 0}, {"seed": -1}])
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Setting(**wrong)  # type: ignore[arg-type]
