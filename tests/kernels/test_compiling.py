"""The bar while kernels are compiled: on a terminal and in a notebook, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from trueup._kernels.compiling import WORDS

LARGE = """
import numpy as np, trueup as tu
from trueup.warming import machine_code_only
machine_code_only()
axis = tu.Axis.integers("x", 0, 99_999)
found = tu.measure(np.zeros(axis.size, int), tu.CellCounts(axis), 1)
from trueup._kernels.noise.laplace import decide
print("compiled", decide.is_compiled)
"""


def on_a_terminal(cache: Path) -> str:
    """What a process writes whose output is a terminal."""
    master, slave = pty.openpty()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-c", LARGE]
    with subprocess.Popen(command, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        written = b""
        while True:
            try:
                some = os.read(master, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not some:
                break
            written += some
        assert process.wait() == 0
    os.close(master)
    return written.decode()


def test_a_terminal_shows_a_bar_once_and_nothing_when_all_is_kept(tmp_path: Path) -> None:
    first = on_a_terminal(tmp_path)
    assert WORDS in first
    assert "compiled True" in first
    second = on_a_terminal(tmp_path)
    assert WORDS not in second
    assert second.startswith("compiled True")


def test_nothing_is_written_where_no_terminal_is(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", LARGE]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert (done.stdout, done.stderr) == ("compiled True\n", "")


@pytest.mark.parametrize("before", ["", "import sys; sys.modules['ipywidgets'] = None\n"])
def test_a_notebook_shows_a_bar_with_widgets_and_without(tmp_path: Path, before: str) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cache = f"import os; os.environ['NUMBA_CACHE_DIR'] = {str(tmp_path)!r}\n"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(before + cache + LARGE)])
    seen: list[str] = []
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.on_cell_executed = None
    shown = client.process_message

    def watched(msg: dict[str, dict[str, object]], cell: object, index: int) -> object:
        if "display" in str(msg["msg_type"]):
            seen.append(str(msg["content"]))
        return shown(msg, cell, index)

    client.process_message = watched
    client.execute()
    (cell,) = notebook.cells
    kinds = [output.output_type for output in cell.outputs]
    assert any(WORDS in content and "<progress" in content for content in seen)
    assert "error" not in kinds
    assert WORDS not in str(cell.outputs[0])  # gone when the work is done
    assert any("compiled True" in str(output.get("text")) for output in cell.outputs)
