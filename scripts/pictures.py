"""Makes the README's picture again: docs/images/consistency.svg."""

from __future__ import annotations

from pathlib import Path

import trueup as tu

TARGET = Path(__file__).parents[1] / "docs" / "images" / "consistency.svg"

if __name__ == "__main__":
    TARGET.write_text(tu.plan(4096, epsilon=1).picture(), encoding="utf-8")
