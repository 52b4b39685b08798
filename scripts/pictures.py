"""Makes the pictures of the README and of the tutorial again, in docs/images.

The tutorial's are those that a notebook shows: its own code is run and its releases are drawn.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import trueup as tu

DOCS = Path(__file__).parents[1] / "docs"
IMAGES = DOCS / "images"


def tutorial() -> dict[str, Any]:
    """What the names of the tutorial stand for, once its code has run."""
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(code, names)
        os.chdir(home)
    return names


if __name__ == "__main__":
    (IMAGES / "consistency.svg").write_text(tu.plan(4096, epsilon=1).picture(), encoding="utf-8")
    made = tutorial()
    for name, release in (("age", made["release"]), ("grid", made["both"])):
        drawing = release._repr_html_().strip() + "\n"
        (IMAGES / f"tutorial-{name}.svg").write_text(drawing, encoding="utf-8")
