"""Mechanisms of any make as one function: an input and a number of runs to a row of numbers a run.

A Python function, an OpenDP measurement, something of diffprivlib, or a command line that reads an
input as JSON and prints numbers.
"""

from __future__ import annotations

import copy
import importlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.arrays import Floats
from trueup.errors import InputError, SourceError

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|[-+]?inf", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    """A mechanism under audit: its name, and how to run it so many times on an input.

    `seeded(seed, input)` runs it once with its randomness fixed, where it lets itself be.
    """

    name: str
    run: Callable[[Any, int], Floats]
    seeded: Callable[[int, Any], Floats] | None = None


def target(spec: str, *, bulk: bool = False) -> Target:
    """The mechanism that a text names: "module:function", or "command: words of a command line".

    >>> found = target("trueup.audit.targets:_doubled")
    >>> found.run(3, 2).tolist()
    [[6.0], [6.0]]
    """
    if spec.startswith("command:"):
        return of_command(shlex.split(spec.removeprefix("command:")), bulk=bulk)
    module, colon, name = spec.partition(":")
    if not colon or not module or not name:
        raise InputError(
            f'A mechanism is named as "module:function", or as "command: ./program --option"; '
            f"got {spec!r}."
        )
    if "" not in sys.path:
        sys.path.insert(0, "")  # a module in the working folder, as with python -m
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as wrong:
        raise InputError(f"{spec!r} cannot be found: {wrong}.") from None
    return of_object(found, spec, bulk=bulk)


def of_object(found: Any, name: str, *, bulk: bool = False) -> Target:
    """A function; a measurement of OpenDP, which is called; a mechanism or model of diffprivlib."""
    kind = type(found).__module__.partition(".")[0]
    if hasattr(found, "randomise"):
        return _repeated(found.randomise, name)
    if hasattr(found, "fit"):
        return _repeated(lambda given: _fitted(found, given), name)
    if not callable(found):
        raise InputError(f"{name!r} is no mechanism: it cannot be called, and has no fit.")
    if kind == "opendp":
        return _repeated(found, name)
    if bulk:
        return Target(name, lambda given, times: _rows(found(given, times), times))
    return _repeated(found, name, recordable=True)


def _doubled(given: float) -> float:
    return 2 * given


def _repeated(once: Callable[[Any], Any], name: str, recordable: bool = False) -> Target:
    def run(given: Any, times: int) -> Floats:
        return _rows([_flat(once(given)) for _ in range(times)], times)

    def seeded(number: int, given: Any) -> Floats:
        import random

        before, legacy = random.getstate(), np.random.get_state()
        random.seed(number)
        np.random.seed(number)
        try:
            return _flat(once(given))
        finally:
            random.setstate(before)
            np.random.set_state(legacy)

    return Target(name, run, seeded if recordable else None)


def _flat(output: Any) -> Floats:
    """An output as a flat row of numbers; of a measurement, its noisy answers."""
    if hasattr(output, "noisy"):
        output = output.noisy
    elif callable(getattr(output, "counts", None)):
        output = output.counts()
    if isinstance(output, Mapping):
        output = [output[key] for key in sorted(output)]
    if isinstance(output, (list, tuple)) and output and not np.isscalar(output[0]):
        return np.concatenate([_flat(one) for one in output])
    try:
        return np.asarray(output, np.float64).ravel()
    except (TypeError, ValueError):
        pass
    raise InputError(f"A mechanism must give numbers, got {type(output).__name__}.")


def _fitted(model: Any, given: Any) -> Floats:
    """All numbers that a model learnt: its attributes that end in _, by name.

    An input with names, {"X": …, "y": …}, is given to `fit` by them.
    """
    own = copy.deepcopy(model)
    own.fit(**given) if isinstance(given, Mapping) else own.fit(given)
    learnt = {
        name: value
        for name, value in vars(own).items()
        if name.endswith("_") and not name.startswith("_") and _numeric(value)
    }
    if not learnt:
        raise InputError("The model has learnt no numbers: no attribute that ends in _ holds any.")
    return _flat(learnt)


def _numeric(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "iuf" if not isinstance(value, (str, bytes)) else False


def _rows(outputs: Any, times: int) -> Floats:
    try:
        found = np.asarray(outputs, np.float64)
    except (TypeError, ValueError):
        raise InputError("The runs gave rows of different lengths: replay shows how.") from None
    if found.shape[:1] != (times,):
        raise InputError(f"{times:,} runs must give {times:,} rows, got shape {found.shape}.")
    return found.reshape(times, -1)


def of_command(words: list[str], *, bulk: bool = False, patience: float = 600.0) -> Target:
    """A command line that reads an input as JSON on standard input, and prints numbers.

    "{input}" among its words is the input's JSON in a file, "{times}" how many runs it should make
    (one line each), "{seed}" a number that fixes its randomness. Without "{times}" it is started
    anew for every run.
    """
    if not words:
        raise InputError("command: needs the words of a command line.")
    many = bulk or any("{times}" in word for word in words)

    def started(given: Any, times: int, number: int = 0) -> list[list[float]]:
        import tempfile

        text = json.dumps(given)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "input.json"
            file.write_text(text)
            put = {"{input}": str(file), "{times}": str(times), "{seed}": str(number)}
            said = [_replaced(word, put) for word in words]
            try:
                run = subprocess.run(
                    said, input=text, capture_output=True, text=True, timeout=patience
                )
            except (OSError, subprocess.TimeoutExpired) as wrong:
                raise SourceError(f"{words[0]!r} could not be run: {wrong}.") from None
        if run.returncode:
            raise SourceError(f"{words[0]!r} ended with code {run.returncode}.")
        lines = [line for line in run.stdout.splitlines() if line.strip()]
        return [[float(x) for x in _NUMBER.findall(line)] for line in lines]

    def run(given: Any, times: int) -> Floats:
        if many:
            return _rows(started(given, times), times)
        return _rows([once(given) for _ in range(times)], times)

    def once(given: Any, number: int = 0) -> Floats:
        lines = started(given, 1, number)
        return np.array([x for line in lines for x in line], np.float64)

    seeded = any("{seed}" in word for word in words)
    name = "command: " + shlex.join(words)
    return Target(name, run, (lambda number, given: once(given, number)) if seeded else None)


def _replaced(word: str, put: Mapping[str, str]) -> str:
    for mark, value in put.items():
        word = word.replace(mark, value)
    return word
