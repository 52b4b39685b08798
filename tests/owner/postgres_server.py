"""A PostgreSQL server of our own, started as an ordinary user in a folder of its own."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Postgres:
    """A PostgreSQL server in a folder, run by an ordinary user.

    A durable one syncs what it writes, as ledgers demand, into memory, where that takes no time.
    """

    folder: Path
    as_user: list[str]
    durable: bool = False

    @property
    def address(self) -> str:
        return self.database("postgres")

    def database(self, name: str) -> str:
        """The address of one of its databases."""
        return f"postgresql://trueup@/{name}?host={self.folder}"

    @staticmethod
    def made(durable: bool = False) -> Postgres:
        """A new server, started. FileNotFoundError where PostgreSQL is not installed."""
        memory = "/dev/shm" if durable and os.path.isdir("/dev/shm") else None
        initdb = program("initdb")
        folder = Path(tempfile.mkdtemp(prefix="trueup-pg", dir=memory))
        as_user: list[str] = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            user = pwd.getpwnam("nobody")
            os.chown(folder, user.pw_uid, user.pw_gid)
            places = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin" + os.pathsep + "/sbin"
            as_user = [str(shutil.which("runuser", path=places)), "-u", "nobody", "--"]
        made = Postgres(folder, as_user, durable)
        settings = ["-U", "trueup", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        made._run(initdb, *settings)
        made.start()
        return made

    def _run(self, name: str, *arguments: str) -> None:
        command = [*self.as_user, name, "-D", str(self.folder / "data"), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd="/")

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=200"
        options += " -c dynamic_shared_memory_type=mmap"  # in the folder, and removed with it
        options += f" -c fsync={'on' if self.durable else 'off'}"
        options += " -c timezone=America/New_York"  # which must not matter
        log = str(self.folder / "log")
        self._run(program("pg_ctl"), "-w", "-o", options, "-l", log, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run(program("pg_ctl"), "-m", mode, "stop")

    def processes(self) -> list[int]:
        """The postmaster and all its children, the postmaster first."""
        first = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def kill(self) -> None:
        """kill -9 of the postmaster and of every process of the server, at once."""
        doomed = self.processes()
        for one in doomed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        while any(_lives(one) for one in doomed):
            time.sleep(0.002)
        # In some containers nobody buries the dead, and PostgreSQL takes them for the living. So
        # what it would clean up on starting is cleaned up here.
        segment = (self.folder / "data" / "postmaster.pid").read_text().splitlines()[6].split()[-1]
        subprocess.run(["ipcrm", "-m", segment], check=False, capture_output=True)
        for left in ("data/postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"):
            (self.folder / left).unlink(missing_ok=True)

    def kill_a_backend(self, pid: int) -> None:
        """kill -9 of one backend, upon which the server ends the others and recovers."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def dump(self, database: str, schema: str) -> bytes:
        """What pg_dump writes of one schema."""
        command = [program("pg_dump"), "--schema", schema, self.database(database)]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def restore(self, database: str, dump: bytes) -> None:
        """Read a dump into a database."""
        command = [program("psql"), "-q", "-v", "ON_ERROR_STOP=1", self.database(database)]
        subprocess.run(command, check=True, capture_output=True, input=dump)

    def remove(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")  # unless it is stopped
        shutil.rmtree(self.folder)


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def program(name: str) -> str:
    """A program of PostgreSQL's; FileNotFoundError where it is not installed."""
    found = next(
        iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)), None
    ) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"PostgreSQL's {name} is not installed")
    return found
