"""What mkdocs does besides: lists the decisions in the menu, and turns the notebook into a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

NOTEBOOK = "notebook.ipynb"


def on_config(config: Any) -> Any:
    """Every decision is in the menu, whoever wrote it last."""
    docs = Path(config["docs_dir"])
    found = sorted(path.relative_to(docs).as_posix() for path in docs.glob("decisions/*.md"))
    for section in config["nav"]:
        for pages in section.values():
            if isinstance(pages, list) and {"Decisions": "decisions"} in pages:
                pages[pages.index({"Decisions": "decisions"})] = {"Decisions": found}
    return config


def on_files(files: Files, config: Any) -> Files:
    """The notebook as a page, with the outputs it was saved with: nothing is run here."""
    path = Path(config["docs_dir"]) / NOTEBOOK
    page = File.generated(config, "notebook.md", content=as_markdown(path))
    files.append(page)
    return files


def as_markdown(path: Path) -> str:
    """The cells and outputs of a notebook as a Markdown page."""
    import nbformat
    from nbconvert import MarkdownExporter

    found = nbformat.read(path, as_version=4)
    for cell in found.cells:
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html")
            if html:  # Markdown ends a block of HTML at a blank line
                lines = (line.strip() for line in html.splitlines())
                kept = "\n".join(line for line in lines if line)
                output["data"]["text/html"] = f"<div>\n{kept}\n</div>"
    text, _ = MarkdownExporter().from_notebook_node(found)
    return str(text)
