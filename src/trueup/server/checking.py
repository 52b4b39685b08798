"""Whether a server would start: all that is checked then, without making or writing anything."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

from trueup.budget import Budget
from trueup.config import Config, Dataset
from trueup.errors import FileError, LedgerError
from trueup.owner import Ledger
from trueup.server.auth import Tokens, open_ledger
from trueup.server.datasets import check_some, open_table
from trueup.server.settings import Settings, read_settings
from trueup.standing import read_series

_MISSING = "Give its limit to make one."


def check(config: Config) -> list[str]:
    """What the owner should know of a configuration; one that would not start is refused."""
    settings = read_settings(config)
    check_some(config)
    read_series(config)
    said = []
    with tempfile.TemporaryDirectory(prefix="trueup-check-") as folder:
        for number, dataset in enumerate(config.datasets.values()):
            try:
                ledger = _existing(dataset)
            except LedgerError as wrong:
                if not str(wrong).endswith(_MISSING):
                    raise
                _check_folder(dataset)
                said.append(
                    f"Dataset '{dataset.name}' has no ledger yet: the server makes it, with "
                    f"{dataset.budget}, when it starts."
                )
                ledger = Ledger(Path(folder) / f"{number}.ledger", **dataset.ledger_options)
            open_table(dataset, ledger)
    _check_tokens(settings)
    return [*said, *coinciding(config.datasets)]


def _existing(dataset: Dataset) -> Ledger:
    """The ledger of a dataset, as a server opens it; refused if there is none."""
    Ledger(dataset.ledger, anchor=dataset.anchor)
    return open_ledger(dataset)


def _check_folder(dataset: Dataset) -> None:
    """Refuses a ledger that could not be made where it is declared."""
    if "://" not in dataset.ledger:
        folder = Path(dataset.ledger).parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise FileError(
                f"Dataset '{dataset.name}': its ledger cannot be made, because {folder} is no "
                f"folder that can be written."
            )


def _check_tokens(settings: Settings) -> None:
    if isinstance(settings.tokens, str) or settings.tokens.exists():
        Tokens(settings.tokens)


def coinciding(datasets: Mapping[str, Dataset]) -> list[str]:
    """Pairs of datasets that read the same table on different ledgers, in words."""
    return [
        f"Datasets '{one.name}' and '{other.name}' read the same table but have different ledgers: "
        f"together {_both(one.budget, other.budget)} may be spent on the same people. Give them "
        f"one ledger."
        for one, other in combinations(datasets.values(), 2)
        if (_place(one), one.table) == (_place(other), other.table) and one.ledger != other.ledger
    ]


def _both(one: Budget, other: Budget) -> str:
    """What two budgets come to."""
    if one.notion != other.notion:
        return f"{one} and {other}"
    return f"{'' if one.notion == 'epsilon' else 'rho '}{one.limit + other.limit}"


def _place(dataset: Dataset) -> str:
    """The source of a dataset, the same however it is written."""
    return dataset.source if "://" in dataset.source else os.path.realpath(dataset.source)
