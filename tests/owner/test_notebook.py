"""An owner in a Jupyter notebook, with ipywidgets and without: the real kernel, run by nbclient."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

WITHOUT = "import sys; sys.modules['ipywidgets'] = None  # as if it were not installed\n"
OWNED = """
import duckdb, pandas as pd, trueup as tu
age = tu.Axis.integers("age", 0, 99)
frame = pd.DataFrame({"age": [34, 35, 36]})
duckdb.sql("select 1 as one").fetchall()
for number, source in enumerate([frame, duckdb.from_df(frame), "people.duckdb"]):
    table = "people" if isinstance(source, str) else None
    owner = tu.Owner(source, tu.Ledger(f"{number}.ledger", limit=1), table=table)
    print(owner.publish(age, epsilon="1/2").total().value is not None, owner.ledger.remaining)
"""


def run(folder: Path, *cells: str) -> list[str]:
    """What the cells of a notebook print; an error in one of them is raised."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    return [str(output.get("text", output.get("data"))) for output in outputs]


@pytest.mark.parametrize("before", ["", WITHOUT], ids=["with widgets", "without widgets"])
def test_an_owner_counts_in_a_notebook(tmp_path: Path, before: str) -> None:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("create table people as select 34 as age from range(3)")
    printed = "".join(run(tmp_path, before + OWNED))
    assert printed.count("True 1/2") == 3
