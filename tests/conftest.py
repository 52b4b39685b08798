"""How Hypothesis searches, and the browser that pictures and the page are tested in.

Hypothesis: the same examples on every run, and quickly; `HYPOTHESIS_PROFILE=search pytest …` looks
further, at examples of its own. The browser: Debian's Chromium driven by Playwright.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from .dense_trees import small_tree, tree  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Browser

collect_ignore = ["toy_question.py"]  # importing it registers its question for good

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

settings.register_profile(
    "daily",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "daily"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for one module: while Playwright runs, no other event loop can in its thread."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    assert chromium, "no Chromium on this machine: run make system"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
        yield found
        found.close()
