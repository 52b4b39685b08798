"""Keeps a small picture of every view of the page, in docs/images/views, for docs/views.md.

    TRUEUP_SCREENSHOTS=shots .venv/bin/python -m pytest tests/page/test_look.py
    .venv/bin/python scripts/views.py shots

Look at them after a change of the page, beside those that were kept: numbers differ from run to
run, because noise does; nothing else should.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

PLACE = Path(__file__).parents[1] / "docs" / "images" / "views"
WIDTH, HEIGHT = 480, 1600  # of a kept picture: what is further down is cut off


def main(shots: Path) -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    for file in sorted(shots.glob("*-*-*.png")):
        if file.stem.rpartition("-")[2] not in ("light", "dark"):
            continue
        with Image.open(file) as picture:
            width = min(WIDTH, picture.width)
            whole = picture.convert("RGB").resize(
                (width, picture.height * width // picture.width), Image.Resampling.LANCZOS
            )
            whole.crop((0, 0, width, min(whole.height, HEIGHT))).save(
                PLACE / f"{file.stem}.webp", quality=45, method=6
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
