"""The parts of the torture are a script of their own, not tests to collect."""

from __future__ import annotations

collect_ignore = ["disk.py", "tampering.py", "torture.py"]
