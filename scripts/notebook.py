"""Runs docs/notebook.ipynb and keeps its outputs, which the site shows.

.venv/bin/python scripts/notebook.py            # docs/notebook.ipynb, in place
.venv/bin/python scripts/notebook.py COPY.ipynb # into a copy
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbconvert.preprocessors import ExecutePreprocessor

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"
SOURCE = Path(__file__).parents[1] / "src"


def run(target: Path) -> None:
    """Runs the notebook in a folder of its own, by this Python, and saves it with its outputs."""
    found = nbformat.read(NOTEBOOK, as_version=4)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(
            found, {"metadata": {"path": folder}}
        )
    for cell in found.cells:
        cell.metadata.pop("execution", None)  # times: no two runs have the same
    found.metadata["language_info"] = {"name": "python"}
    # Kernels name their files after the process; nothing of this machine goes into the docs.
    text = re.sub(r"/tmp/[\w/.-]+", "/tmp/…", nbformat.writes(found))
    target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK)
