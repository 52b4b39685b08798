"""The script that kills publishers, for its short run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
collect_ignore = ["kills.py"]
