"""Kill publishers: every period of every series is published once, whoever is killed when.

    python tests/standing/kills.py --days 3650 --series 100 --kills 10000 --commands 500

Children of a warm process publish what is due and are killed at random instants; some are whole
command lines. Two publishers at once come in between. Afterwards the ledger is read without our
code: 0 missing, 0 twice, 0 double charges, and what is spent of each period is exact.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import trueup as tu
from trueup.config import read_config
from trueup.standing import publish_due, read_series, statuses

NOW = dt.datetime(2036, 6, 1, tzinfo=dt.UTC)
FIRST = dt.date(2026, 1, 1)
COST = Fraction(1, 1000)
COMMAND = "from trueup.cli import main; main()"


@dataclass
class Shop:
    """A table, a configuration with some series, and all that was ever seen of the results."""

    folder: Path
    days: int
    series: int
    seen: dict[Path, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chance = np.random.default_rng(1)
        rows = 4 * self.days
        days = np.datetime64(FIRST, "D") + chance.integers(0, self.days, rows)
        columns = {"fare": chance.integers(0, 4, rows), "zone": chance.integers(0, 10, rows)}
        table = pa.table(columns | {"day": pa.array(days)})
        pq.write_table(table, self.folder / "trips.parquet")
        text = ['[datasets.trips]\nsource = "trips.parquet"\nledger = "trips.ledger"']
        text += [f'limit = "{COST * self.series}"\nper = "day"\ndate = "day"']
        text += ['columns = {zone = "integer"}\n[datasets.trips.axes.fare]\nkind = "integers"']
        text += ["first = 0\nlast = 3"]
        for number in range(self.series):
            text += [f'[publish.s{number}]\ncolumn = "fare"\nstrategy = "flat"']
            text += [f'epsilon = "{COST}"\nwhere = "zone = {number % 10}"\nfirst = "{FIRST}"']
        self.config.write_text("\n".join(text))
        self.declared = read_series(read_config(self.config))

    @property
    def config(self) -> Path:
        return self.folder / "trueup.toml"

    @property
    def last(self) -> str:
        return str(FIRST + dt.timedelta(days=self.days - 1))

    def publish(self, through: str | None = None) -> None:
        publish_due(self.declared, NOW, through or self.last)

    def command(self, through: str) -> list[str]:
        said = ["publish", "--due", "--through", through, "--config", str(self.config)]
        return [sys.executable, "-c", COMMAND, *said]

    def look(self) -> int:
        """Every file that is there is whole, and is what it was when it was first seen."""
        for path in (self.folder / "published").glob("*/2*"):
            found = hashlib.sha256(path.read_bytes()).hexdigest()
            assert self.seen.setdefault(path, found) == found, f"{path} was published twice"
        return len(self.seen)

    def check(self) -> None:
        """The ledger, read without our code, and the files: each series once a day."""
        with sqlite3.connect(self.folder / "trips.ledger") as database:
            bodies = [json.loads(body) for (body,) in database.execute("SELECT body FROM entries")]
        charges = [body for body in bodies if body["kind"] == "charge"]
        paid, spent = Counter[tuple[str, str]](), Counter[str]()
        for charge in charges:
            ((day, _, _),) = charge["request"]["period"]["periods"]
            paid.update((each["name"], day) for each in charge["request"]["publishes"])
            spent[day] += Fraction(charge["epsilon"])  # type: ignore[assignment]
        days = [str(FIRST + dt.timedelta(days=number)) for number in range(self.days)]
        names = [f"s{number}" for number in range(self.series)]
        assert paid == Counter((name, day) for name in names for day in days), "missing or twice"
        assert spent == dict.fromkeys(days, COST * self.series), "what is spent is not exact"
        answers = Counter(body["key"] for body in bodies if body["kind"] == "answer")
        assert answers == Counter(charge["key"] for charge in charges), "an answer too many"
        found = {path.name for path in (self.folder / "published" / "s0").iterdir()}
        files = {name for name in found if name[0] != "."}  # drafts of the killed are hidden
        assert files == {f"{day}.parquet" for day in days}
        assert self.look() == self.days * self.series
        assert all(each.word == "published" for each in statuses(self.declared, NOW, self.last))
        tu.Ledger(self.folder / "trips.ledger").verify()
        random_file = random.choice(list(self.seen))
        assert tu.load(random_file).facts.period.names == (random_file.stem,)


def forked(action: Callable[[], None]) -> int:
    """A child that acts and ends, never returning into our own stack."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        action()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended(child: int) -> bool:
    """Waits for a child; whether it was killed. One that failed by itself is an error."""
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "a publisher failed"
    return os.WIFSIGNALED(status)


def torture(days: int, series: int, kills: int, commands: int, seed: int) -> dict[str, float]:
    """Publishes all days under so many kills; figures of how it went."""
    chance, begun = random.Random(seed), time.monotonic()
    killed = Counter[str]()
    with tempfile.TemporaryDirectory(prefix="kills") as folder:
        shop = Shop(Path(folder), days, series)
        shop.publish(str(FIRST))
        began = time.monotonic()
        shop.publish(str(FIRST + dt.timedelta(days=1)))
        each = time.monotonic() - began  # what one run takes, once all is warm
        tries = 0
        while killed.total() < kills + commands:
            tries += 1
            share = max(killed.total(), tries / 3) / (kills + commands)
            through = str(FIRST + dt.timedelta(days=int((days - 1) * min(share, 1))))
            if killed["command"] < commands:
                process = subprocess.Popen(shop.command(through), stdout=subprocess.DEVNULL)
                time.sleep(chance.uniform(0, 4 * each + 1))
                process.send_signal(signal.SIGKILL)
                killed["command"] += process.wait() < 0
                continue
            both = [forked(lambda day=through: shop.publish(day))]  # type: ignore[misc]
            if tries % 5 == 0:  # two at once
                both.append(forked(lambda day=through: shop.publish(day)))  # type: ignore[misc]
            time.sleep(chance.uniform(0, each))
            for child in both:
                os.kill(child, signal.SIGKILL)
                killed["child"] += ended(child)
            if tries % 50 == 0:
                shop.look()
        assert not ended(forked(shop.publish))
        two = [forked(shop.publish) for _ in range(2)]
        assert not any(map(ended, two))
        shop.check()
    return {
        "days": days,
        "series": series,
        "children killed": killed["child"],
        "commands killed": killed["command"],
        "seconds": round(time.monotonic() - begun, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--series", type=int, default=10)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--commands", type=int, default=25)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    found = torture(given.days, given.series, given.kills, given.commands, seed)
    print(", ".join(f"{name} {value:,}" for name, value in found.items()))
    print("0 days missing, 0 published twice, 0 double charges; spent per period exact")


if __name__ == "__main__":
    main()
