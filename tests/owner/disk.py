"""A disk that forgets: what a power cut would leave of the files a traced process wrote.

The system calls of a process are read from strace's log and replayed on a model in which a write
is safe only once its file was synced, a name only once its folder was synced, and a write whose
sync failed is lost for good. `survivors` gives the files after a cut: nothing that was not synced,
or some random part of it.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import subprocess
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

WRITES = ("pwrite64", "write", "ftruncate")
SYNCS = ("fsync", "fdatasync")
NAMES = ("openat", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat")
FOLDERS = ("mkdir", "mkdirat")
RELEASE = "sendto"  # how the traced process hands an answer out
TRACED = ",".join((*WRITES, *SYNCS, *NAMES, *FOLDERS, RELEASE))

_CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)(?:</[^>]*>)?( .*)?$")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass
class Call:
    """One system call: its name, the texts and the numbers among its arguments, its result."""

    name: str
    texts: list[bytes]
    numbers: list[int]
    result: int
    creates: bool


def read_log(log: Path) -> list[Call]:
    """The calls of a log written by `traced`."""
    calls = []
    for line in log.read_text().splitlines():
        match = _CALL.match(line)
        if match:
            name, arguments, result, _ = match.groups()
            texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(arguments)]
            numbers = [int(word) for word in re.findall(r"\b\d+\b", _TEXT.sub("", arguments))]
            calls.append(Call(name, texts, numbers, int(result), "O_CREAT" in arguments))
    return calls


def traced(action: Callable[[], None], log: str, calls: str, *inject: str) -> int:
    """Fork, trace some calls of the child from outside; its exit code, -9 if it was killed.

    `inject` is strace's word for what to do to one system call, such as `fsync:signal=KILL:when=2`.
    """
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(go)
            os.read(ready, 1)
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(ready)
    command = ["strace", "-qq", "-xx", "-s", "99999999", "-e", f"trace={calls}", "-p", str(child)]
    command += ["-o", log, *(f"--inject={what}" for what in inject)]
    # strace prints the child's death by signal to its own error stream; nothing else is lost.
    tracer = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    status = Path(f"/proc/{child}/status")
    try:
        # Until strace waits for the child, it may not have asked for its system calls yet.
        while "TracerPid:\t0\n" in status.read_text() or not _sleeps(tracer.pid):
            if tracer.poll() is not None:
                if "State:\tZ" in status.read_text():
                    break  # it was killed in the very read that it waits in
                raise OSError("strace could not attach to a child: is ptrace allowed here?")
            time.sleep(0.0005)
        with contextlib.suppress(BrokenPipeError):
            os.write(go, b"!")
    finally:
        os.close(go)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        tracer.wait()
    return code


def _sleeps(process: int) -> bool:
    """Whether a process waits for something."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@dataclass
class File:
    """An inode: the bytes that are safe, and the changes since its last sync, in order."""

    safe: bytes = b""
    folder: bool = False
    changes: list[tuple[str, int, bytes]] = field(default_factory=list)

    def content(self, changes: list[tuple[str, int, bytes]]) -> bytes:
        """The bytes after some of the changes."""
        data = bytearray(self.safe)
        for kind, place, new in changes:
            if kind == "truncate":
                del data[place:]
                data.extend(bytes(place - len(data)))
            else:
                data.extend(bytes(max(0, place - len(data))))
                data[place : place + len(new)] = new
        return bytes(data)

    def sync(self) -> None:
        """All changes become safe."""
        self.safe, self.changes = self.content(self.changes), []

    def fail(self) -> None:
        """A failed sync: the changes are in the cache, but no later sync will write them."""
        self.changes = []


class Disk:
    """The files under one folder, as a traced process left them and as a power cut would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now: dict[str, File] = {}
        for path in folder.rglob("*"):
            folder = path.is_dir()
            self.now[str(path)] = File(b"" if folder else path.read_bytes(), folder)
        self.safe = dict(self.now)
        self.renames: dict[str, list[tuple[str, File | None]]] = {}  # by folder, not yet synced
        self.handles: dict[int, tuple[str, File | None, int]] = {}
        self.releases = 0

    def apply(self, call: Call) -> None:
        """Take one system call into account."""
        if call.name == RELEASE:
            self.releases += call.result > 0
        elif call.name in WRITES or call.name in SYNCS:
            self._write_or_sync(call)
        elif call.result >= 0:
            paths = [text.decode() for text in call.texts]
            if call.name == "openat":
                self._open(paths[0], call)
            elif call.name.startswith("rename"):
                self._name(paths[1], self.now.get(paths[0]))
                self._name(paths[0], None)
            elif call.name.startswith("mkdir"):
                self._name(paths[0], File(folder=True))
            elif call.name.startswith("link"):
                self._name(paths[1], self.now.get(paths[0]))
            elif call.name.startswith("unlink"):
                self._name(paths[0], None)

    def _open(self, path: str, call: Call) -> None:
        if not path.startswith(str(self.folder)):
            self.handles.pop(call.result, None)
            return
        if call.creates and path not in self.now:
            self._name(path, File())
        self.handles[call.result] = (path, self.now.get(path), 0)

    def _write_or_sync(self, call: Call) -> None:
        handle = call.numbers[0]
        if handle not in self.handles:
            return
        path, file, end = self.handles[handle]
        if call.name in SYNCS:
            if file is None or file.folder:
                if call.result == 0:
                    self._sync_folder(path)
            elif call.result == 0:
                file.sync()
            else:
                file.fail()
        elif file is not None and call.result >= 0:
            if call.name == "ftruncate":
                file.changes.append(("truncate", call.numbers[1], b""))
            else:
                place = end if call.name == "write" else call.numbers[-1]
                file.changes.append(("write", place, call.texts[0][: call.result]))
                if call.name == "write":
                    self.handles[handle] = (path, file, end + call.result)

    def _name(self, path: str, file: File | None) -> None:
        if not path.startswith(str(self.folder)):
            return
        self.renames.setdefault(os.path.dirname(path), []).append((path, file))
        _set(self.now, path, file)

    def _sync_folder(self, folder: str) -> None:
        for path, file in self.renames.pop(folder.rstrip("/"), []):
            _set(self.safe, path, file)

    def survivors(self, chance: random.Random | None = None) -> dict[str, bytes]:
        """The files a power cut leaves: what was synced, and by `chance` some of what was not."""
        names = dict(self.safe)
        if chance:
            for renames in self.renames.values():
                for path, file in renames[: chance.randint(0, len(renames))]:
                    _set(names, path, file)
        files = {}
        for path, file in names.items():
            parent = os.path.dirname(path)
            if file.folder or (parent not in names and parent != str(self.folder)):
                continue  # a file is lost with its folder
            kept = [change for change in file.changes if chance and chance.random() < 0.5]
            if not path.endswith("-shm"):  # an index in memory, which no power cut leaves
                files[path] = file.content(kept)
        return files

    def restore(self, files: dict[str, bytes]) -> None:
        """Put the survivors on the real disk, in place of what is there."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        for path, file in self.safe.items():
            if file.folder:
                Path(path).mkdir(parents=True, exist_ok=True)
        for path, data in files.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(data)


def _set(names: dict[str, File], path: str, file: File | None) -> None:
    if file is None:
        names.pop(path, None)
    else:
        names[path] = file
