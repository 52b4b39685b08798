"""The bar is shown on a terminal, with the time that is left, and nowhere else."""

from __future__ import annotations

import io

import pytest

from trueup.scale.progress import Progress


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_the_time_left_and_a_file_sees_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for shown in (Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stderr", shown)
        with Progress("Fitting", 10) as bar:
            bar.advance(5)
        assert ("Fitting" in shown.getvalue() and "left" in shown.getvalue()) == shown.isatty()
