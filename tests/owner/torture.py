"""Torture the ledger: kills, power cuts, failing disks, races and tampered copies.

    python tests/owner/torture.py --kills 200
    python tests/owner/torture.py --store postgresql --kills 200 --crashes 50
    python tests/owner/torture.py --notion rho --kills 200

Each part prints one line of figures, or stops at the first broken promise. PostgreSQL's own disk
is its own affair; instead its processes are killed, one or all of them, while clients spend.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import disk
import tampering
from homes import Home, PostgresHome, SqliteHome
from postgres_server import Postgres

from trueup.cost import Cost
from trueup.errors import BudgetError, LedgerError
from trueup.owner.ledger import Ledger

COSTS = {"epsilon": Fraction(1, 1000), "rho": Fraction(1, 5000)}  # what a request is charged
PRICES = {
    "epsilon": [Cost.of(Fraction(1, 1000))],
    "rho": [Cost.of(rho=Fraction(1, 5000)), Cost.of(Fraction(1, 50))],
}
NOTION = ["epsilon"]  # what the ledgers count
ASKED = {"question": "how many?", "unit": "row"}


SERVERS: list[Postgres] = []  # one, where the ledgers live in PostgreSQL


def made_home(folder: Path) -> Home:
    """A home for a ledger that is not there yet."""
    if SERVERS:
        return PostgresHome.made(SERVERS[0], folder, NOTION[0])
    return SqliteHome.made(folder, NOTION[0])


def spent(ledger: Ledger, key: str | None = None, draw: Callable[[], bytes] | None = None) -> bytes:
    """The answer to a request; in a ledger that counts ρ, half of the keys are asked with ε."""
    prices = PRICES[NOTION[0]]
    price = prices[hashlib.sha256((key or "").encode()).digest()[0] % len(prices)]
    return Ledger.spend(ledger, ASKED, price, draw=draw or _noise, key=key)


class World:
    """A ledger, and the record of every answer that ever left it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "disk"
        self.folder.mkdir()
        self.home = made_home(self.folder)
        self.home.anchor = self.folder / "elsewhere" / "anchor"
        self.home.anchor.parent.mkdir()
        self.inbox, self.outbox = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.inbox.setblocking(False)
        self.released: dict[str, set[bytes]] = {}

    def ledger(self) -> Ledger:
        """The ledger, opened afresh."""
        return self.home.ledger(1000)

    def ask(self, key: str) -> None:
        """Spend, and hand the answer out: from here on it cannot be taken back."""
        answer = spent(self.ledger(), key)
        self.outbox.send(key.encode() + b"=" + answer)

    def collect(self) -> None:
        """Read what was handed out."""
        with contextlib.suppress(BlockingIOError):
            while True:
                key, _, answer = self.inbox.recv(4096).partition(b"=")
                self.released.setdefault(key.decode(), set()).add(answer)

    def check(self, *keys: str) -> None:
        """Every release is recorded, no key is charged twice, and a retry gives the same bytes."""
        self.collect()
        self.ledger().verify()
        before = self.charged()
        for key in keys:
            self.ask(key)
        self.collect()
        after = self.charged()
        assert all(count == 1 for count in after.values()), "a key was charged twice"
        assert set(after) == set(before) | set(keys), "a retry was charged again"
        assert self.ledger().spent == COSTS[NOTION[0]] * len(after), "the sum is wrong"
        recorded: dict[str, list[str]] = {}
        for fact in self.facts("answer"):
            recorded.setdefault(fact["key"], []).append(fact["sha256"])
        for key, answers in self.released.items():
            assert len(answers) == 1, f"{key} has two answers"
            (answer,) = answers
            assert recorded[key] == [hashlib.sha256(answer).hexdigest()], f"{key} is unrecorded"

    def facts(self, kind: str) -> list[dict[str, str]]:
        """What the database says, read without our code."""
        bodies = [json.loads(entry.body) for entry in self.home.entries()]
        return [body for body in bodies if body["kind"] == kind]

    def charged(self) -> Counter[str]:
        """How often each key was charged."""
        return Counter(fact["key"] for fact in self.facts("charge"))


# A first spend, which makes the ledger as well, and a later one.
STAGES: list[Callable[[World], None]] = [lambda here: None, lambda here: here.ask("warm")]


@contextlib.contextmanager
def world() -> Iterator[World]:
    """A world in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="torture") as folder:
        made = World(Path(folder))
        with made.inbox, made.outbox:
            yield made


def fork(action: Callable[[], None]) -> int:
    """A child that acts and ends, never returning into our own stack."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def killed_at_random(kills: int, chance: random.Random) -> int:
    """Two processes spend on the same keys, each killed at a random instant."""
    done = 0
    while done < kills:
        with world() as here:
            # One in eight worlds is killed while its ledger is being made.
            if chance.random() < 7 / 8:
                here.ask("warm")
            for turn in range(20):
                keys = [f"{turn}-{step}" for step in range(3)]

                def work(here: World = here, keys: list[str] = keys) -> None:
                    for key in keys:
                        here.ask(key)

                children = [fork(work) for _ in range(2)]
                for child in children:
                    time.sleep(chance.uniform(0, 0.02))
                    os.kill(child, signal.SIGKILL)
                    done += os.waitpid(child, 0)[1] == signal.SIGKILL
                here.check(*keys)
    return done


def system_calls(action: Callable[[World], None], prepare: Callable[[World], None]) -> Counter[str]:
    """How often each system call is made by an action."""
    with world() as here, tempfile.NamedTemporaryFile("r") as log:
        prepare(here)
        assert disk.traced(lambda: action(here), log.name, "all") == 0
        return Counter(re.findall(r"^(\w+)\(", log.read(), re.MULTILINE))


def killed_at_system_calls(most: int, chance: random.Random) -> tuple[int, int]:
    """Kill at the entry of each system call of a first and of a later spend."""
    places = [
        (prepare, name, number)
        for prepare in STAGES
        for name, count in system_calls(lambda here: here.ask("k"), prepare).items()
        for number in range(1, count + 1)
    ]
    done = 0
    for prepare, name, number in chance.sample(places, min(most, len(places))):
        with world() as here:
            prepare(here)

            def work(here: World = here) -> None:
                here.ask("k")

            kill = f"{name}:signal=KILL:when={number}"
            code = disk.traced(work, os.devnull, name, kill)
            assert code in (-signal.SIGKILL, 0), f"{name} {number} ended with {code}"
            done += code == -signal.SIGKILL
            here.check("k")
    return done, len(places)


def power_cuts(most: int, chance: random.Random) -> int:
    """Cut the power after every system call of two spends and a retry."""
    cuts = 0
    with world() as here, tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log"
        model = disk.Disk(here.folder)

        def work() -> None:
            for key in ("first", "second", "first"):
                here.ask(key)

        assert disk.traced(work, str(log), disk.TRACED) == 0
        here.collect()
        answers = dict(here.released)
        calls = disk.read_log(log)
        places = {(place, luck) for place in range(len(calls)) for luck in range(3)}
        chosen = set(chance.sample(sorted(places), min(most, len(places))))
        for place, call in enumerate(calls):
            model.apply(call)
            left = ("first", "second")[: model.releases]
            for luck in range(3):
                if (place, luck) in chosen:
                    here.released = {key: answers[key].copy() for key in left}
                    model.restore(model.survivors(chance if luck else None))
                    here.check("first", "second")
                    cuts += 1
        assert model.releases == 3
    return cuts


def failing_disk(most: int, chance: random.Random) -> tuple[int, int, int]:
    """Fail each write and each sync of a spend; whatever is released then outlives a power cut."""
    tried = refused = released = 0
    places = [
        (prepare, name, number, error)
        for prepare in STAGES
        for counts in [system_calls(lambda here: here.ask("k"), prepare)]
        for name in (*disk.WRITES, *disk.SYNCS, *disk.NAMES, *disk.FOLDERS)
        for number in range(1, counts[name] + 1)
        for error in ("EIO", "ENOSPC", "EROFS")
        if error != "EROFS" or name in disk.NAMES
    ]
    for prepare, name, number, error in chance.sample(places, min(most, len(places))):
        with world() as here, tempfile.TemporaryDirectory() as scratch:
            prepare(here)
            model = disk.Disk(here.folder)

            def work(here: World = here) -> None:
                try:
                    here.ask("k")
                except LedgerError:
                    os._exit(7)

            log = Path(scratch) / "log"
            failure = f"{name}:error={error}:when={number}"
            code = disk.traced(work, str(log), disk.TRACED, failure)
            assert code in (0, 7), f"{error} at {name} {number} was not refused in our words"
            tried += 1
            refused += code == 7
            released += code == 0
            here.collect()
            assert ("k" in here.released) == (code == 0)
            for call in disk.read_log(log):
                model.apply(call)
            model.restore(model.survivors(None))
            here.check("k")
    return tried, refused, released


def _wait_for(server: Postgres) -> None:
    """Waits until a server that has lost a process, or was killed, lets clients in again."""
    import psycopg

    for _ in range(600):
        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(server.database("postgres")),
        ):
            return
        time.sleep(0.05)
    raise AssertionError("the server did not come back")


def crashes(most: int, clients: int, chance: random.Random) -> tuple[int, int, int]:
    """Kill PostgreSQL under clients that spend: all its processes, or one that serves a client."""
    (server,) = SERVERS
    refused = spends = 0
    with world() as here:
        here.ask("warm")
        for turn in range(most):
            keys = [f"{turn}-{step}" for step in range(4)]

            tally_out, tally_in = os.pipe()

            def work(keys: list[str] = keys, here: World = here, tally_in: int = tally_in) -> None:
                """Each client has one ledger, as a server of ours has, and asks until answered."""
                held: list[Ledger] = []

                def asked(key: str) -> bytes:
                    held.extend([here.ledger()] if not held else [])
                    return spent(held[0], key)

                for key in keys:
                    for _ in range(60):
                        try:
                            here.outbox.send(key.encode() + b"=" + asked(key))
                        except LedgerError:
                            os.write(tally_in, b"r")
                            time.sleep(0.1)
                        else:
                            break
                    else:
                        raise AssertionError("it was never answered")

            children = [fork(work) for _ in range(clients)]
            time.sleep(chance.uniform(0, 0.15))
            if chance.random() < 0.5:
                server.kill()
                server.start()
            else:
                serving = _serving(server)
                if serving:
                    server.kill_a_backend(chance.choice(serving))
            for child in children:
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a client failed"
            os.close(tally_in)
            with open(tally_out, "rb") as tally:
                refused += len(tally.read())
            spends += len(keys)
            _wait_for(server)
            here.check(*keys)
        charged = here.charged()
        assert len(charged) == spends + 1, "a key was lost"
    return most, spends, refused


def _noise() -> bytes:
    return os.urandom(16)


def _serving(server: Postgres) -> list[int]:
    """The processes that serve clients of ours."""
    found = []
    for process in server.processes()[1:]:
        with contextlib.suppress(OSError):
            if b"[local]" in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
    return found


def old_dumps(most: int, chance: random.Random) -> int:
    """Restore dumps of every age under a running process and for a new one: all are refused."""
    refusals = 0
    with world() as here:
        ledger = here.ledger()
        dumps: list[bytes] = []
        while refusals < most:
            dumps = dumps[-5:]
            for _ in range(3):
                dumps.append(here.home.snapshot())
                spent(ledger)
            last = here.home.snapshot()
            for dump in chance.sample(dumps, min(3, most - refusals)):
                here.home.put(dump)
                for attempt in (here.ledger, lambda: spent(ledger, draw=_never)):
                    refusal = "none: it was accepted"
                    try:
                        attempt()
                    except LedgerError as error:
                        refusal = str(error)
                    assert "is an older copy" in refusal, refusal
                refusals += 1
            here.home.put(last)
    return refusals


def _never() -> bytes:
    raise AssertionError("noise was drawn")


def race(processes: int, asks: int) -> tuple[int, int]:
    """Many processes ask at once for a hundred times what there is."""
    with tempfile.TemporaryDirectory(prefix="torture") as folder:
        home = made_home(Path(folder))
        passing = processes * asks // 100
        tally_out, tally_in = os.pipe()

        def work() -> None:
            ledger = home.ledger(1)  # all of them race to make it, too
            for _ in range(asks):
                with contextlib.suppress(BudgetError):
                    ledger.spend(ASKED, Fraction(1, passing), draw=lambda: b"x")
                    os.write(tally_in, b"x")
            os.write(tally_in, b"d")

        for child in [fork(work) for _ in range(processes)]:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        os.close(tally_in)
        with open(tally_out, "rb") as tally:
            counted = Counter(tally.read())
        ledger = home.ledger(1)
        ledger.verify()
        assert counted[ord("d")] == processes, "a process died"
        assert counted[ord("x")] == passing == len(ledger.history())
        assert ledger.spent == ledger.limit == 1
        return processes * asks, passing


def tampered(copies: int, chance: random.Random) -> Counter[str]:
    """Open ledgers that were tampered with; every one must be refused."""
    words: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="torture") as folder:
        home = made_home(Path(folder))
        source = tampering.prepare(home, chance)
        for number in range(copies):
            kind, expected = tampering.tamper(home, source, number, chance)
            refusal = "none: it was accepted"
            try:
                home.ledger().verify()
            except LedgerError as error:
                refusal = str(error)
            assert expected in refusal, f"{kind}: {refusal}"
            words[kind] += 1
    return words


def parsed() -> argparse.Namespace:
    """What the command says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--notion", choices=("epsilon", "rho"), default="epsilon")
    parser.add_argument("--kills", type=int, default=200, help="about half at random instants")
    parser.add_argument("--cuts", type=int, default=10**6, help="of the power, at most; SQLite")
    parser.add_argument("--failures", type=int, default=10**6, help="of the disk, at most; SQLite")
    parser.add_argument("--crashes", type=int, default=50, help="of the server; PostgreSQL")
    parser.add_argument("--dumps", type=int, default=50, help="restored; PostgreSQL")
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--asks", type=int, default=25, help="by each process of the race")
    parser.add_argument("--tampered", type=int, default=500)
    parser.add_argument("--seed", type=int, default=None)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    parser.add_argument("--folder", default=memory, help="where the ledgers live: memory is fast")
    return parser.parse_args()


def torture(given: argparse.Namespace, chance: random.Random) -> None:
    """Run every part and print what was seen."""
    calls, places = killed_at_system_calls(given.kills // 2, chance)
    print(f"{calls} kills at system calls, of {places} that two spends make: all well", flush=True)
    instants = killed_at_random(given.kills - calls, chance)
    print(f"{instants} kills at random instants: all well", flush=True)
    print(f"{calls + instants} kills: 0 unrecorded releases, 0 double charges", flush=True)
    if SERVERS:
        died, spends, told = crashes(given.crashes, 4, chance)
        print(f"{died} crashes of the server: {spends} requests charged once each", flush=True)
        print(f"  {told} spends were refused meanwhile, and asked again", flush=True)
        print(f"{old_dumps(given.dumps, chance)} old dumps restored: all refused", flush=True)
    else:
        print(f"{power_cuts(given.cuts, chance)} power cuts: all well", flush=True)
        tried, refused, kept = failing_disk(given.failures, chance)
        print(f"{tried} failed calls: {refused} refused, {kept} durable all the same", flush=True)
    asked, passed = race(given.processes, given.asks)
    print(f"{given.processes} processes asked {asked} times: {passed} passed, spent == limit")
    refusals = tampered(given.tampered, chance)
    print(f"{sum(refusals.values())} tampered copies: {sum(refusals.values())} refusals")
    for kind, count in sorted(refusals.items()):
        print(f"  {count} {kind}")


def main() -> None:
    """Torture a ledger in the store that is named."""
    given = parsed()
    if shutil.which("strace") is None:
        sys.exit("The torture needs strace: install Debian's package of that name.")
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**9)
    tempfile.tempdir = given.folder
    NOTION[0] = given.notion
    print(f"seed {seed}", flush=True)
    if given.store == "postgresql":
        SERVERS.append(Postgres.made(durable=True))
    try:
        torture(given, random.Random(seed))
    finally:
        for server in SERVERS:
            server.remove()


if __name__ == "__main__":
    main()
