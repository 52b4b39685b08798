"""Numbers for Prometheus: requests of all worker processes, and what is left of each budget.

Every worker counts for itself, and writes its counts into a file of its own in a folder that they
share, once a second while they change. Whoever is asked adds the files up. A worker that ended
leaves its file, so that no counter falls. Nothing here tells of the data: no duration and no size.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from trueup.budget import Balance
from trueup.errors import TrueupError
from trueup.server.datasets import Table

FOLDER = "TRUEUP_METRICS"  # the environment variable by which workers find the folder
_PAUSE = 1.0  # seconds between two writes of a worker
Key = tuple[str, str, int]  # method, route, status


class Metrics:
    """The counts of this process, and how to add those of the others."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.requests: Counter[Key] = Counter()
        self._later: asyncio.TimerHandle | None = None

    def count(self, method: str, route: str, status: int) -> None:
        """One more request; the file follows within a second."""
        self.requests[method, route, status] += 1
        if self.folder is not None and self._later is None:
            self._later = asyncio.get_running_loop().call_later(_PAUSE, self.write)

    def write(self) -> None:
        """Writes the counts of this process where the others find them."""
        self._later = None
        if self.folder is not None:
            rows = [[*key, number] for key, number in self.requests.items()]
            draft = self.folder / f"{os.getpid()}.draft"
            with contextlib.suppress(OSError):  # a full disk is no reason to refuse anybody
                draft.write_text(json.dumps(rows))
                draft.replace(self.folder / f"{os.getpid()}.json")

    def all_requests(self) -> Counter[Key]:
        """The requests of all workers, those that ended included."""
        if self.folder is None:
            return self.requests
        self.write()
        found: Counter[Key] = Counter()
        for file in self.folder.glob("*.json"):
            for method, route, status, number in json.loads(file.read_bytes()):
                found[method, route, status] += number
        return found

    def text(self, tables: Mapping[str, Table]) -> str:
        """All of it, as Prometheus reads it."""
        lines = [
            "# HELP trueup_requests_total Requests answered, by all worker processes.",
            "# TYPE trueup_requests_total counter",
        ]
        for (method, route, status), number in sorted(self.all_requests().items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"trueup_requests_total{{{labels}}} {number}")
        for name, what in (("limit", "may be spent in all"), ("spent", "has been spent")):
            lines.append(f"# HELP trueup_budget_{name} The epsilon or rho that {what}, by dataset.")
            lines.append(f"# TYPE trueup_budget_{name} gauge")
            for dataset, table in tables.items():
                try:
                    value = float(getattr(_fullest(table), name).amount)
                except TrueupError:  # a ledger that cannot be read has no number
                    continue
                per = "" if table.per is None else f',per="{table.per}"'
                lines.append(f'trueup_budget_{name}{{dataset="{dataset}"{per}}} {value!r}')
        return "\n".join(lines) + "\n"


def _fullest(table: Table) -> Balance:
    """Limit and spent; where each period has the limit, of the period that is spent most."""
    if table.per is None:
        return table.ledger.balance
    charged = table.ledger.periods.values()
    return max(charged, key=lambda each: each.spent.amount, default=table.ledger.of_each)
