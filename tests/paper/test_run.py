"""The command: prints, writes pictures, takes the user's data, refuses nonsense."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from trueup.paper.run import EXPERIMENTS, main


def test_one_experiment_is_printed_and_pictured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["figure3", "--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "NOT PRIVATE" in printed
    assert "held" in printed
    picture = (tmp_path / "figure3.svg").read_text()
    ElementTree.fromstring(picture)
    assert "NOT PRIVATE" in picture
    page = (tmp_path / "results.md").read_text()
    assert "NOT PRIVATE" in page
    assert "](figure3.svg)" in page


def test_the_same_seed_gives_the_same_page(tmp_path: Path) -> None:
    pages = []
    for seed, workers in (("5", "1"), ("5", "2"), ("6", "2")):
        out = tmp_path / f"{seed}-{workers}"
        main(["figure3", "--quick", "--out", str(out), "--seed", seed, "--workers", workers])
        pages.append((out / "results.md").read_text())
    assert pages[0] == pages[1] != pages[2]


def test_the_users_vectors_take_the_place_of_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    np.save(data / "mine.npy", np.random.default_rng(0).poisson(2, 300))
    out = ["--quick", "--out", str(tmp_path / "out"), "--data", str(data)]
    assert main(["figure5", "figure6", "figure7", *out]) == 0
    printed = capsys.readouterr().out
    assert "mine" in printed
    assert "network trace" not in printed


def test_nonsense_is_refused_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["figure99"]) == 2
    assert "figure5" in capsys.readouterr().err
    assert main(["figure5", "--data", str(tmp_path / "missing")]) == 2
    assert "needs a folder" in capsys.readouterr().err


def test_discrete_noise_holds_the_claims_too(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["figure5", "figure7", "--quick", "--law", "discrete", "--out", str(out)]) == 0
    assert "NOT HELD" not in (out / "results.md").read_text()


def test_python_m_runs_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trueup.paper", "figure3", "--quick", "--out", str(tmp_path)]
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "NOT PRIVATE" in done.stdout
    assert done.stderr == ""


def test_every_experiment_is_a_module_of_its_own() -> None:
    folder = Path(__file__).parents[2] / "src" / "trueup" / "paper"
    assert all((folder / f"{name}.py").exists() for name in EXPERIMENTS)
