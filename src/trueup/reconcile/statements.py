"""What the counts must obey: linear equations, read from text, mappings or sparse rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from trueup.epsilon import exact
from trueup.errors import InputError, shown

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))"""
    r"""|(?P<name>[^\s+\-−*=<>"']+)|(?P<sign>==|[+\-−*=<>]))"""
)


@dataclass(frozen=True)
class Statement:
    """Σ coefficient · count = constant, and the words in which it was given."""

    words: str
    coefficients: Mapping[str, Fraction]
    constant: Fraction


@dataclass(frozen=True)
class Row:
    """A statement reduced until it defines one count, the pivot, by counts that come later."""

    pivot: str
    coefficients: Mapping[str, Fraction]
    constant: Fraction


def statements(
    constraints: object, known: Mapping[str, object] | None, names: Sequence[str]
) -> list[Statement]:
    """Everything the counts must obey, every name checked."""
    found = list(_read(constraints, names))
    for name, value in (known or {}).items():
        found.append(Statement(f"{name} = {value}", {str(name): Fraction(1)}, _number(value)))
    listed = set(names)
    for statement in found:
        for name in statement.coefficients:
            if name not in listed:
                raise InputError(
                    f"{statement.words!r} names {name!r}, for which no estimate was given. "
                    f"If it was not measured, give it as None. Names: {_listing(names)}."
                )
    return found


def _read(constraints: object, names: Sequence[str]) -> Iterable[Statement]:
    if constraints is None:
        return
    if isinstance(constraints, str):
        yield from (_from_text(line) for line in re.split(r"[\n;]", constraints) if line.strip())
    elif isinstance(constraints, Mapping):
        yield from _from_mapping(constraints)
    elif hasattr(constraints, "tocsr") or isinstance(constraints, np.ndarray):
        yield from _from_rows(constraints, None, names)
    elif (
        isinstance(constraints, tuple)
        and len(constraints) == 2
        and hasattr(constraints[0], "shape")
    ):
        yield from _from_rows(*constraints, names)
    elif isinstance(constraints, Iterable):
        for constraint in constraints:
            yield from _read(constraint, names)
    else:
        raise InputError(
            f"Constraints are text such as 'total = passing + F', mappings, or sparse rows; "
            f"got {shown(constraints)}."
        )


def _number(value: object) -> Fraction:
    if isinstance(value, (float, np.floating)) and np.isfinite(value):
        return Fraction(str(float(value)))  # a known total is what was typed, however long
    return exact(value, "A known value")


def _from_text(text: str) -> Statement:
    """One equation: sums of names, numbers and number * name on both sides of =."""
    coefficients: dict[str, Fraction] = {}
    constant, side, sides = Fraction(0), 1, 0
    factor: Fraction | None = None
    sign, position, term_open = Fraction(1), 0, True
    text = text.strip()
    wrong = InputError(
        f"Cannot read the constraint {text!r}. Write it as 'total = passing + F', with numbers as "
        f"'2 * edges = ends', and names that hold spaces or signs in quotes."
    )
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise wrong
        position = token.end()
        kind, word = token.lastgroup, token.group().strip()
        if kind == "sign" and word == "*":
            if factor is None or not term_open:
                raise wrong
            continue
        if kind == "sign":
            if factor is not None:
                constant -= side * sign * factor
                factor, term_open = None, False
            if word in ("=", "=="):
                if term_open or sides:
                    raise wrong
                side, sides, sign = -1, 1, Fraction(1)
            elif word in "<>":
                raise InputError(f"{text!r}: only equations are understood, and nonnegative=True.")
            elif term_open and sign == -1:
                raise wrong
            else:
                sign = Fraction(1 if word == "+" else -1)
            term_open = True
        elif kind == "number" and term_open and factor is None:
            factor = Fraction(word)
        elif kind in ("quoted", "name") and term_open:
            name = word[1:-1] if kind == "quoted" else word
            add = side * sign * (1 if factor is None else factor)
            coefficients[name] = coefficients.get(name, Fraction(0)) + add
            factor, term_open = None, False
        else:
            raise wrong
    if factor is not None:
        constant -= side * sign * factor
        term_open = False
    if term_open or not sides:
        raise wrong
    kept = {name: c for name, c in coefficients.items() if c}
    return Statement(text, kept, constant)


def _from_mapping(mapping: Mapping[Any, Any]) -> Iterable[Statement]:
    """{"total": ["passing", "F"]} is a sum; {"a": 1, "b": -1} is a row that equals 0."""
    if all(isinstance(v, (int, float, Fraction, np.number)) for v in mapping.values()):
        row = {str(name): _number(value) for name, value in mapping.items()}
        words = " + ".join(f"{value} * {name}" for name, value in row.items()) + " = 0"
        yield Statement(words, {name: v for name, v in row.items() if v}, Fraction(0))
        return
    for whole, parts in mapping.items():
        if isinstance(parts, str) or not isinstance(parts, Iterable):
            raise InputError(f"The parts of {whole!r} must be a list of names, got {shown(parts)}.")
        summed = Counter(str(part) for part in parts)
        coefficients = {name: Fraction(-count) for name, count in summed.items()}
        coefficients[str(whole)] = coefficients.get(str(whole), Fraction(0)) + 1
        words = f"{whole} = {' + '.join(summed)}"
        yield Statement(words, {n: c for n, c in coefficients.items() if c}, Fraction(0))


def _from_rows(matrix: Any, right: Any, names: Sequence[str]) -> Iterable[Statement]:
    """The rows of a matrix whose columns are the estimates in order; right sides 0 if absent."""
    from scipy.sparse import csr_array

    rows = csr_array(matrix)
    if rows.shape[1] != len(names):
        raise InputError(f"There are {len(names)} estimates, but rows of {rows.shape[1]} columns.")
    right = np.zeros(rows.shape[0]) if right is None else np.asarray(right).ravel()
    if len(right) != rows.shape[0]:
        raise InputError(f"There are {rows.shape[0]} rows, but {len(right)} right sides.")
    for i in range(rows.shape[0]):
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        coefficients: dict[str, Fraction] = {}
        for column, value in zip(rows.indices[start:stop], rows.data[start:stop], strict=True):
            name = names[column]
            coefficients[name] = coefficients.get(name, Fraction(0)) + _number(value)
        kept = {name: c for name, c in coefficients.items() if c}
        yield Statement(f"row {i}", kept, _number(right[i]))


def independent(found: Sequence[Statement]) -> list[Row]:
    """The statements without those that follow from others; refused if they contradict.

    Exact elimination. A count that few statements name is taken as pivot, so that the equations
    of a tree stay as short as they were given.
    """
    often = Counter(name for statement in found for name in statement.coefficients)
    rows: list[Row] = []
    made_of: list[set[int]] = []
    at: dict[str, int] = {}
    for number, statement in enumerate(found):
        row, constant, used = dict(statement.coefficients), statement.constant, {number}
        waiting = [name for name in row if name in at]
        while waiting:
            name = waiting.pop()
            factor = row.get(name)
            if not factor:
                continue
            pivot = rows[at[name]]
            factor /= pivot.coefficients[name]
            constant -= factor * pivot.constant
            used |= made_of[at[name]]
            for other, coefficient in pivot.coefficients.items():
                row[other] = row.get(other, Fraction(0)) - factor * coefficient
                if not row[other]:
                    del row[other]
                elif other in at:
                    waiting.append(other)
        if row:
            pivot_name = min(row, key=lambda name: (abs(row[name]) != 1, often[name]))
            at[pivot_name] = len(rows)
            rows.append(Row(pivot_name, row, constant))
            made_of.append(used)
        elif constant:
            words = "; ".join(repr(found[i].words) for i in sorted(used))
            raise InputError(
                f"These constraints contradict each other: {words}. Together they say that "
                f"0 = {float(constant):g}. Leave one of them out."
            )
    return rows


def _listing(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
