"""The script that kills publishers, for its short run."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "owner")]
collect_ignore = ["kills.py"]
