"""Families of neighbouring tables and the questions put to them, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import neighbour_files as files
import neighbour_stores as stores
import neighbour_values as nv
from neighbour_tables import NAMES, Raw
from neighbour_values import Form, Value

import trueup as tu

CellCounts = getattr(tu, "CellCounts", None) or tu.UnitCounts  # type: ignore[attr-defined]
GridCounts = getattr(tu, "GridCounts", None) or tu.Grid  # type: ignore[attr-defined]
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Ask:
    """One question: `groups` is False, or the column whose groups are counted (None: nodes).

    With `people` it is put to the table of people, who have these features.
    """

    question: Any
    where: str | None
    groups: Any = False
    key: str | None = None
    people: Any = None


@dataclass(frozen=True)
class Family:
    """Tables of the rows `base`, each with `extras` of its own put in at some place."""

    engine: str
    relation: str
    columns: dict[str, Form]
    base: list[Row]
    extras: list[list[Row]]
    asks: list[Ask]
    options: dict[str, Any]
    writing: int  # the seed of the writer's settings and of where the extra rows go
    named: tuple[str, str | None] = ("t", None)  # a file, and one that its name matches
    together: bool = False  # all tables are counted by one query, which tells them apart

    @property
    def tables(self) -> list[list[Row]]:
        """The rows of each table."""
        made = []
        for rows in self.extras:
            random = Random(self.writing)
            table = list(self.base)
            for row in rows:
                table.insert(random.randint(0, len(table)), row)
            made.append(table)
        return made

    def told(self) -> str:
        """The family as text, to be seen again by hand."""
        lines = [
            f"  {self.engine}, {self.relation}, {self.options}",
            "  columns " + ", ".join(f"{name}: {form}" for name, form in self.columns.items()),
            f"  {_told(self.asks[0])}",
            f"  rows in both: {_counted(self.base)}",
        ]
        if self.named[1] is not None:
            lines[0] += f", file named {self.named[0]!r} beside one named {self.named[1]!r}"
        lines += [
            f"  rows in {name} alone: {rows}" for name, rows in zip("AB", self.extras, strict=True)
        ]
        return "\n".join(lines)


def _counted(rows: list[Row]) -> str:
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[repr(row)] = kinds.get(repr(row), 0) + 1
    return ", ".join(f"{n} × {row}" if n > 1 else row for row, n in kinds.items()) or "none"


def _told(ask: Ask) -> str:
    if ask.groups is not False:
        return f"count_groups({ask.groups!r}, where={ask.where!r})"
    name, spec = type(ask.question).__name__, ask.question.to_json()
    features = f", people {ask.people}" if ask.people else ""
    return f"{name} {spec}, where={ask.where!r}{features}"


# What each engine can hold.

_TEXTS = [nv.TEXT, nv.TEXT]
_COMMON = [*nv.INTEGERS, *nv.FLOATS, *nv.FLOATS, *nv.DECIMALS, nv.DATE, nv.BOOLEAN]
_ARROW = [*_COMMON, *nv.TIMES, *_TEXTS, replace(nv.TEXT, spelled="large")]
_ARROW += [replace(nv.TEXT, spelled="dictionary")]
_SLOW = [form for form in _COMMON if form.family != "integer" or form.signed]
_SLOW += [form for form in nv.TIMES if form.step == "us" and form.zone in (None, "UTC")]
_WIDE = [Form("integer", 64), *nv.FLOATS[1:], *nv.DECIMALS, nv.DATE, nv.BOOLEAN, *_TEXTS]
_WIDE += [Form("time", step="us"), Form("time", step="ns")]
_LOOSE = [replace(nv.TEXT, spelled=f"COLLATE {name}") for name in ("NOCASE", "NOACCENT.NOCASE")]
_POSTGRES = [form for form in _SLOW if form.bits != 8 or form.family != "integer"]
_DUCKDB = [*_COMMON, *(f for f in nv.TIMES if f.zone != "America/New_York"), *_TEXTS, *_LOOSE]
FORMS: dict[str, list[Form]] = {
    "parquet-pyarrow": _ARROW,
    "parquet-polars": [form for form in _ARROW if form.step != "s"],
    "parquet-duckdb": [*_COMMON, *nv.TIMES, *_TEXTS],
    "parquet-spark": [*_SLOW, *_TEXTS],
    "csv": _WIDE,
    "jsonl": _WIDE,
    "arrow": [*_ARROW, replace(nv.TEXT, spelled="view")],
    "arrow-file": _ARROW,
    "duckdb-file": _DUCKDB,
    "duckdb-relation": _DUCKDB,
    "pandas": [*_COMMON, *nv.TIMES, *_TEXTS],
    "polars": [form for form in _ARROW if form.step != "s" and form.spelled != "dictionary"],
    "postgresql": [*_POSTGRES, *(replace(nv.TEXT, spelled=s) for s in stores.POSTGRES_TEXT)],
    "spark": [*_SLOW, *_TEXTS],
}
_STRICT = ("polars", "parquet-polars", "duckdb-file", "duckdb-relation", "parquet-duckdb")


def fits(engine: str, form: Form, value: Value) -> bool:
    """Whether the engine can be given such a value at all."""
    if value is None or isinstance(value, Raw):
        return True
    if form.family == "text" and engine in (*_STRICT, "postgresql"):
        if engine == "postgresql" and b"\x00" in value:
            return False
        try:
            value.decode()
        except UnicodeDecodeError:
            return False
    if engine == "postgresql" and form.family == "date":
        return -2_440_588 <= value <= 2_145_031_948 or value in (2**31 - 1, -(2**31))
    if engine == "postgresql" and form.family == "time":
        return abs(value) > 2**63 - 3 or -(2 * 10**17) <= value <= 9 * 10**18
    if form.family == "time" and engine in _STRICT[2:]:
        most = {"s": 9 * 10**12, "ms": 9 * 10**15}.get(form.step, 2**63 - 2)
        return abs(value) <= most
    if form.family == "time" and engine == "parquet-pyarrow" and form.step == "s":
        return abs(value) <= 9 * 10**15  # Parquet has no seconds: they are written as thousandths
    if form.family == "time" and engine == "parquet-spark":
        return abs(value) < 9 * 10**15
    return True


class _Draw:
    """One family in the making."""

    def __init__(self, engine: str, seed: int) -> None:
        self.engine = engine
        self.random = Random(f"{engine}/{seed}")
        self.seed = seed
        self.columns: dict[str, Form] = {}
        self.values: dict[str, list[Value]] = {}
        self.axes: dict[str, tu.Axis] = {}
        self.odd_share = self.random.choice([0.0, 0.0, 0.1, 0.3])

    def form(self, *families: str) -> Form:
        """A form of one of these families (or of any) that the engine can hold."""
        known = FORMS[self.engine]
        chosen = self.random.choice(families) if families else self.random.choice(known).family
        return self.random.choice([form for form in known if form.family == chosen])

    def odd(self, form: Form) -> Value:
        """An odd value that the engine can be given."""
        if self.engine in ("csv", "jsonl") and self.random.random() < 0.4:
            raw = files.ODD_FIELDS if self.engine == "csv" else files.ODD_JSON
            if self.random.random() < 0.003:
                size = 3_000_000 if self.engine == "csv" else 20_000_000
                return Raw(b'"' + b"1" * size + b'"')
            return Raw(self.random.choice(raw))
        while True:
            value = nv.odd(form, self.random)
            if fits(self.engine, form, value):
                return value

    def counted(self, name: str) -> None:
        """A column to be counted over an axis."""
        family = self.random.choice(
            [
                "integer",
                "float",
                "float",
                "float",
                "decimal",
                "text",
                "text",
                "date",
                "time",
                "time",
            ]
        )
        form = self.form(family)
        values: list[Value] = []
        while not values:
            axis, values = nv.axis_for(name, form, self.random)
            values = [value for value in values if fits(self.engine, form, value)]
        self.columns[name], self.axes[name] = form, axis
        self.values[name] = self.palette(form, values)

    def palette(self, form: Form, values: list[Value]) -> list[Value]:
        """A few values on the axis, and often one odd value that is common."""
        few = self.random.sample(values, min(len(values), self.random.randint(1, 4)))
        if self.random.random() < 0.45:
            few += [self.odd(form)] * self.random.randint(1, 3)
        return few

    def named(self, name: str, form: Form | None = None) -> None:
        """A column of names: units, groups or nodes."""
        form = form or self.form(self.random.choice(["integer", "text", "text", "decimal"]))
        if form.family == "decimal" and self.engine not in ("csv", "jsonl", "pandas"):
            form = replace(form, scale=0) if form.scale > 2 else form
        self.columns[name] = form
        names = nv.names_for(form, self.random, 12)
        self.values[name] = [value for value in names if fits(self.engine, form, value)]

    def compared(self, name: str) -> None:
        """A column that filters look at."""
        form = self.form()
        values = [True, False] if form.family == "boolean" else [b"a", b"b", b"A"]
        if form.family not in ("boolean", "text"):
            values = nv.axis_for(name, form, self.random)[1]
            values = [value for value in values if fits(self.engine, form, value)] or [0]
        self.columns[name], self.values[name] = form, self.palette(form, values)

    def row(self, share: float, **fixed: Value) -> Row:
        """A row; each value is odd with this chance, but for those given."""
        cells = []
        for name, form in self.columns.items():
            if name in fixed:
                cells.append(fixed[name])
            elif self.random.random() < share:
                cells.append(self.odd(form))
            else:
                cells.append(self.random.choice(self.values[name]))
        return tuple(cells)

    def where(self) -> str | None:
        """A filter, or none."""
        if self.random.random() < 0.45:
            return None
        names = [name for name in ("f", "v") if name in self.columns]
        tests = []
        for _ in range(self.random.choice([1, 1, 2])):
            name = self.random.choice(names)
            values = [v for v in self.values[name] if not isinstance(v, Raw)]
            form = self.columns[name]
            values = [v for v in values if v is not None] or [_zero(form)]
            tests.append(nv.comparison(name, form, values, self.random))
        text = self.random.choice([" and ", " or "]).join(tests)
        return f"not ({text})" if self.random.random() < 0.25 else text


def _zero(form: Form) -> Value:
    return {"text": b"a", "boolean": True}.get(form.family, 0)


def plain_sorted(groups: int, by: str | None, ends: int = 1) -> Any:
    """S, as the paper has it, whichever way this version spells it."""
    try:
        return tu.SortedCounts(groups, by, ends=ends, adaptive=False)  # type: ignore[call-arg]
    except TypeError:
        return tu.SortedCounts(groups, by, ends=ends)


def _question(draw: _Draw, together: bool) -> Any:
    axis, random = draw.axes["v"], draw.random
    way = random.choice(["cells", "cells", "tree", "hats", "cells" if together else "grid"])
    if way == "grid":
        first = random.choice([CellCounts(axis), tu.TreeCounts(axis, branching=2)])
        second = random.choice([CellCounts, lambda one: tu.TreeCounts(one, branching=2)])
        return GridCounts(first, second(draw.axes["w"]))
    if way == "tree":
        return tu.TreeCounts(axis, branching=random.choice([2, 3]))
    if way == "hats" and axis.size >= 2:
        return tu.HatCounts(axis)
    return CellCounts(axis)


def _ask(draw: _Draw, graph: str | None, together: bool) -> Ask:
    random = draw.random
    where = draw.where()
    groups = random.randint(1, 6)
    if graph is not None:
        if random.random() < 0.3:
            return Ask(None, where, None)
        return Ask(plain_sorted(groups, None, 2 if graph == "undirected" else 1), where)
    way = 1.0 if together else random.random()
    if way < 0.12:
        return Ask(plain_sorted(groups, "n"), where)
    if way < 0.2:
        return Ask(None, where, "n")
    return Ask(_question(draw, together), where)


def _of_people(draw: _Draw) -> list[Ask]:
    """Questions about features of people, drawn apart: other families stay as they were."""
    random = draw.random = Random(f"people/{draw.engine}/{draw.seed}")
    few, axis = tu.Axis.integers("p", 0, 4), draw.axes["v"]
    same = tu.Axis.from_json({**axis.to_json(), "name": "p"})
    kind = nv.kind_of(draw.columns["v"])
    times = [name for name in "wf" if nv.kind_of(draw.columns[name]) == "time"]
    ways: list[tuple[dict[str, Any], tu.Axis]] = [
        ({"count": random.choice("*v")}, few),
        ({"any": "*"}, few),
        ({"distinct": "v"}, few),
    ]
    if kind in ("integer", "number", "time"):
        ways += [({random.choice(["min", "max"]): "v"}, same)] * 2
    if kind in ("integer", "number"):
        grid = {"low": -4, "high": random.choice([4, 8]), "step": random.choice([1, "0.5", 2])}
        ways += [({"sum": "v", **grid}, tu.Axis.regular("p", -12, 20, 16))]
    if times and axis.traits.kind != "ipv4":
        ways += [({random.choice(["first", "last"]): "v", "by": random.choice(times)}, same)] * 2
    asks = []
    for _ in range(2):
        (made, over), second = random.choice(ways), tu.Person(count="*", where=draw.where())
        people = {"p": tu.Person(where=draw.where(), **made), "q": second}
        where = random.choice([None, "q > 1"])
        question = random.choice([CellCounts, tu.TreeCounts])(over)
        if random.random() < 0.3:
            question = GridCounts(CellCounts(over), tu.Axis.integers("q", 0, 3))
        asks.append(Ask(question, where, people=people))
    return asks


def family(engine: str, seed: int, members: int) -> Family:
    """The family of this seed: so many tables, and the questions put to each."""
    draw = _Draw(engine, seed)
    random = draw.random
    relation = random.choice(["add-remove", "replace"])
    options: dict[str, Any] = {}
    graph = random.choice(["undirected", "directed"]) if random.random() < 0.08 else None
    if graph is not None:
        form = draw.form(random.choice(["integer", "text"]))
        draw.named("src", form)
        draw.named("dst", form)
        options |= {"edges": ("src", "dst"), "graph": graph}
    else:
        draw.counted("v")
        draw.counted("w")
        draw.named("n")
    draw.compared("f")
    unit = graph is None and random.random() < 0.45
    if unit:
        draw.named("unit")
        options |= {"unit": "unit", "rows_per_unit": random.randint(1, 3)}
    together = engine == "spark" and graph is None and not unit and random.random() < 0.9
    if engine == "spark" and not together:
        members = min(members, 4)  # a query each
    base, extras = _rows(draw, unit, members)
    if relation == "add-remove":
        extras[0] = []
    decimal = any(draw.columns.get(name, nv.TEXT).family == "decimal" for name in ("n", "unit"))
    if decimal or random.random() < 0.3 or engine in ("csv", "jsonl", "pandas"):
        options["columns"] = _declared(draw.columns)
    asks = [_ask(draw, graph, together) for _ in range(3)]
    if unit:
        asks += _of_people(draw)
    writing = random.getrandbits(31)
    named = random.choice(NAMES)
    if together:
        options = {**options, "columns": None}
    return Family(
        engine, relation, draw.columns, base, extras, asks, options, writing, named, together
    )


def _declared(columns: dict[str, Form]) -> dict[str, str]:
    kinds = {name: nv.kind_of(form) for name, form in columns.items()}
    for name in ("n", "unit", "src", "dst"):
        if kinds.get(name) == "number":
            kinds[name] = "integer"
    return kinds


def _rows(draw: _Draw, unit: bool, members: int) -> tuple[list[Row], list[list[Row]]]:
    random, share = draw.random, draw.odd_share
    if not unit:
        base = [draw.row(share) for _ in range(random.choice([0, 1, 5, 12, 24]))]
        base += [random.choice(base) for _ in range(random.choice([0, 10])) if base]
        return base, [[draw.row(0.5)] for _ in range(members)]
    names = draw.values["unit"]
    half = len(names) // 2
    base = []
    for name in names[: random.randint(0, half)]:
        base += [draw.row(share, unit=name) for _ in range(random.randint(1, 5))]
    extras = []
    for _ in range(members):
        name = random.choice([*names[half:], None])
        extras.append([draw.row(0.5, unit=name) for _ in range(random.randint(1, 5))])
    return base, extras
