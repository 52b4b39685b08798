"""The notebook of the docs runs, with ipywidgets and without, and shows what the site shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
BLOCKED = "import sys\nsys.modules['ipywidgets'] = None\n"


def outputs(cell: Any) -> str:
    """All that a cell shows, as text."""
    shown = []
    for output in cell.get("outputs", ()):
        assert output["output_type"] != "error", output
        shown += [output.get("text", ""), *map(str, output.get("data", {}).values())]
    return "\n".join(shown)


def results(cell: Any) -> list[list[str]]:
    """In which forms a cell shows its result; a bar that was shown meanwhile is none."""
    shown = [each for each in cell.get("outputs", ()) if each["output_type"] == "execute_result"]
    return [sorted(each["data"]) for each in shown]


@pytest.mark.parametrize("widgets", [True, False], ids=["with-ipywidgets", "without-ipywidgets"])
def test_the_notebook_runs_from_top_to_bottom(widgets: bool, tmp_path: Path) -> None:
    path = [str(ROOT / "src")]
    if not widgets:
        (tmp_path / "sitecustomize.py").write_text(BLOCKED, encoding="utf-8")
        path.insert(0, str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    probe = [sys.executable, "-c", "import ipywidgets"]
    assert (subprocess.run(probe, env=environment, capture_output=True).returncode == 0) == widgets
    made = tmp_path / "made.ipynb"
    script = [sys.executable, str(ROOT / "scripts" / "notebook.py"), str(made)]
    ran = subprocess.run(script, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = nbformat.read(made, as_version=4)
    kept = nbformat.read(NOTEBOOK, as_version=4)
    shown = [outputs(cell) for cell in found.cells if cell.cell_type == "code"]
    assert sum("<svg" in text for text in shown) >= 4
    assert any("95 %" in text for text in shown), "no estimate shows its error"
    html, _ = HTMLExporter(template_name="basic").from_notebook_node(found)
    assert html.count("<svg") == sum(text.count("<svg") for text in shown)
    # The outputs kept in the docs are of the same code, and of the same kinds.
    assert [cell.source for cell in found.cells] == [cell.source for cell in kept.cells]
    assert [results(cell) for cell in kept.cells] == [results(cell) for cell in found.cells]


def test_the_notebook_says_nothing_about_the_machine_it_was_run_on() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    for word in ("/home/", "/root/", "/work/", "site-packages"):
        assert word not in text
