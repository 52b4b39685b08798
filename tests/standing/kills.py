"""Kill publishers: every period of every series is published once, whoever is killed when.

    python tests/standing/kills.py --days 3650 --series 100 --kills 9500 --commands 500 \
        --folder /dev/shm

Children of a warm process, which has read the ledger so far, publish what is due and are killed at
random instants; some are whole command lines. Two publishers at once come in between. Afterwards
the ledger is read without our code: 0 missing, 0 twice, 0 double charges, and what is spent of each
period is exact.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import hashlib
import json
import os
import random
import select
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
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import trueup as tu
from trueup.config import read_config
from trueup.standing import publish_due, read_series, statuses
from trueup.standing.publisher import Desk, desks, publish_at

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
    ledger: str = "trips.ledger"
    seen: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chance = np.random.default_rng(1)
        rows = 4 * self.days
        days = np.datetime64(FIRST, "D") + chance.integers(0, self.days, rows)
        columns = {"fare": chance.integers(0, 4, rows), "zone": chance.integers(0, 10, rows)}
        table = pa.table(columns | {"day": pa.array(days)})
        pq.write_table(table, self.folder / "trips.parquet")
        text = [f'[datasets.trips]\nsource = "trips.parquet"\nledger = "{self.ledger}"']
        text += ['anchor = "trips.anchor"']
        text += [f'limit = "{COST * self.series}"\nper = "day"\ndate = "day"']
        text += ['columns = {zone = "integer"}\n[datasets.trips.axes.fare]\nkind = "integers"']
        text += ["first = 0\nlast = 3"]
        for number in range(self.series):
            text += [f'[publish.s{number}]\ncolumn = "fare"\nstrategy = "flat"']
            text += [f'epsilon = "{COST}"\nwhere = "zone = {number % 10}"\nfirst = "{FIRST}"']
            text += ['nonnegative = false\nformats = ["json"]']
        self.config.write_text("\n".join(text))
        self.declared = read_series(read_config(self.config))

    @cached_property
    def desks(self) -> list[Desk]:
        """Where the warm process and its children publish."""
        return desks(self.declared)

    @property
    def config(self) -> Path:
        return self.folder / "trueup.toml"

    @property
    def last(self) -> str:
        return str(FIRST + dt.timedelta(days=self.days - 1))

    def publish(self, through: str | None = None) -> None:
        publish_due(self.declared, NOW, through or self.last)

    def warm(self, through: str) -> int:
        """Reads what is new in the ledger and on disk, so that children need not.

        How many days a child has to publish, or to finish.
        """
        (desk,) = self.desks
        desk.look()
        last = desk.owner.calendar.period(through)
        return len(desk.missing(NOW, last)) + len(desk.unwritten()) + len(desk.unanswered)

    def publish_warm(self, through: str) -> None:
        publish_at(self.desks, NOW, through)

    def bodies(self) -> list[dict[str, Any]]:
        """The entries of the ledger, read without our code."""
        asked = "SELECT body FROM entries ORDER BY number"
        if "://" not in self.ledger:
            with sqlite3.connect(self.folder / self.ledger) as database:
                return [json.loads(body) for (body,) in database.execute(asked)]
        import psycopg

        address, _, schema = self.ledger.partition("#")
        with psycopg.connect(address) as connection:
            connection.execute(f"SET search_path = {schema}".encode())
            return [json.loads(body) for (body,) in connection.execute(asked.encode())]

    def command(self, through: str) -> list[str]:
        said = ["publish", "--due", "--through", through, "--config", str(self.config)]
        return [sys.executable, "-c", COMMAND, *said]

    def started(self, through: str) -> subprocess.Popen[bytes]:
        """The command line, running the very code that this process runs.

        pytest finds that code by its own settings; a program that it starts does not, and would
        run whichever trueup is installed.
        """
        source = str(Path(tu.__file__).parents[1])
        environment = {**os.environ, "PYTHONPATH": source}
        return subprocess.Popen(self.command(through), stdout=subprocess.DEVNULL, env=environment)

    def seconds(self, through: str) -> float:
        """How long the command line takes if nobody kills it."""
        began = time.monotonic()
        assert self.started(through).wait() == 0, "a command failed"
        return time.monotonic() - began

    def look(self, again: int | None = None) -> int:
        """Every file that is there is whole, and is what it was when it was first seen.

        Of those that were seen before, so many are read again; all without a number.
        """
        known = list(self.seen)
        old = known if again is None else random.sample(known, min(again, len(known)))
        there = {
            f"{folder.name}/{name}"
            for folder in (self.folder / "published").glob("*")
            for name in os.listdir(folder)
            if name[0] != "."
        }
        assert there >= set(known), "a file is gone"
        for name in [*(there - self.seen.keys()), *old]:
            found = hashlib.sha256((self.folder / "published" / name).read_bytes()).digest()
            assert self.seen.setdefault(name, found) == found, f"{name} was published twice"
        return len(self.seen)

    def check(self) -> None:
        """The ledger, read without our code, and the files: each series once a day."""
        bodies = self.bodies()
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
        assert files == {f"{day}.json" for day in days}
        assert self.look() == self.days * self.series
        assert all(each.word == "published" for each in statuses(self.declared, NOW, self.last))
        where = self.ledger if "://" in self.ledger else self.folder / self.ledger
        tu.Ledger(where, anchor=self.folder / "trips.anchor").verify()
        random_file = self.folder / "published" / random.choice(list(self.seen))
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
    """Waits for a child; whether we killed it. One that failed by itself is an error."""
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), f"a publisher failed: {code}"
    return code != 0


def until_ended(child: int, seconds: float) -> None:
    """Waits so long, or until the child has ended by itself."""
    handle = os.pidfd_open(child)
    try:
        select.select([handle], [], [], seconds)
    finally:
        os.close(handle)


def torture(
    days: int,
    series: int,
    kills: int,
    commands: int,
    seed: int,
    ledger: str = "trips.ledger",
    minutes: float = 10_000,
    place: str | None = None,
) -> dict[str, float]:
    """Publishes all days under so many kills; figures of how it went.

    Children and commands come in turn, evenly over the days. After so many minutes it goes no
    further, and checks the days so far.
    """
    chance, begun = random.Random(seed), time.monotonic()
    killed, all_kills = Counter[str](), kills + commands
    with tempfile.TemporaryDirectory(prefix="kills", dir=place) as folder:
        shop = Shop(Path(folder), days, series, ledger)
        shop.publish_warm(str(FIRST))
        began = time.monotonic()
        shop.publish_warm(str(FIRST + dt.timedelta(days=1)))
        each = time.monotonic() - began  # what one day takes, once all is warm
        cold = shop.seconds(str(FIRST + dt.timedelta(days=2))) if commands else 0.0
        idle = 0.01  # what a child takes that looks, and finds nothing
        every, tries = max(50, all_kills // 40), 0
        while killed.total() < all_kills and time.monotonic() < begun + 60 * minutes:
            tries += 1
            shop.days = max(3, 1 + (days - 1) * killed.total() // all_kills)
            through = shop.last
            if tries % every == 0:  # the longer the ledger, the longer a command reads it
                cold = shop.seconds(through) if commands else 0.0
                shop.look(again=1_000)
                took = time.monotonic() - begun
                print(f"{dict(killed)} of {tries} tries, {through}, {took:.0f} s", flush=True)
            waiting = shop.warm(through)
            work = each * min(waiting, 40) if waiting else idle
            if killed["command"] * kills < killed["child"] * commands or killed["child"] >= kills:
                process = shop.started(through)
                until_ended(process.pid, chance.uniform(0, cold + work))
                process.send_signal(signal.SIGKILL)
                code = process.wait()
                assert code in (0, -signal.SIGKILL), f"a command failed: {code}"
                killed["command"] += code != 0
                continue
            gc.freeze()  # children leave alone what they share with us
            both = [forked(partial(shop.publish_warm, through)) for _ in range(1 + (tries % 5 < 1))]
            until_ended(both[0], chance.uniform(0, work))
            for child in both:
                os.kill(child, signal.SIGKILL)
                died = ended(child)
                killed["child"] += died
                if not waiting:  # so that about half of those that find nothing are killed
                    idle *= 1.05 if died else 0.95
        if killed.total() >= all_kills:
            shop.days = days
        assert not ended(forked(shop.publish))
        two = [forked(shop.publish) for _ in range(2)]
        assert not any(map(ended, two))
        shop.check()
    return {
        "days": shop.days,
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
    parser.add_argument("--minutes", type=float, default=10_000)
    parser.add_argument("--folder", help="where all of it lies; without a disk it is quickest")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    asked = given.days, given.series, given.kills, given.commands, seed
    found = torture(*asked, minutes=given.minutes, place=given.folder)
    print(", ".join(f"{name} {value:,}" for name, value in found.items()))
    print("0 days missing, 0 published twice, 0 double charges; spent per period exact")


if __name__ == "__main__":
    main()
