"""The state of the house: figures that a change must not make worse, and the picture of its rooms.

python scripts/house.py             prints the figures
python scripts/house.py --picture   draws docs/images/rooms.svg from the imports
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "trueup"
TESTS = ROOT / "tests"
QUESTIONS = (
    r"(Cell|Tree|Sorted|Hat|Wavelet|Weighted|Named|Grid|Box)Counts|Histogram|Factor|Adaptive\w*"
)
CELLS = r"(Integer|Regular|Edge|Date|Ipv4|Category|Hierarchy|Code)Cells"
LONG, WIDE = 60, 8
BEFORE = 31_449  # lines under src in version 0.1
UNTESTED = {
    "arrays.py": "names of types, which mypy checks",
    "version.py": "one constant, which tests/test_package.py compares with the package's",
}
"""Modules that need no test of their name, and why."""

LATER = {
    "adaptive trees and boxes": "*adaptive* ask.pooled infer.pooled_boxes _kernels.tree.pooled "
    "_kernels.error.pooled_paths reconcile.averaged",
    "keys that nobody can list": "keys owner.keys owner.keyed owner.distinct owner.tally cli.keys "
    "server.keyed server.routes.keyed pictures.keyed _kernels.tree.prefixes",
    "people: bounds and features of their rows": "owner.people owner.person owner.bounding "
    "owner.reweighted rows_bound reweighting release.reweighted _kernels.rows cli.people",
    "releases larger than memory": "scale owner.folder files.dataset files.packed files.parts "
    "files.stored_blocks files.stored_table reconcile.folders _kernels.tree.slabs axis.codes "
    "intervaltree.narrow",
    "streams and series": "stream standing owner.together server.series server.over_time "
    "server.routes.series server.routes.told_series cli.streaming ask.past ask.windows infer.past "
    "infer.windows _kernels.windows",
    "budgets by period": "period owner.dated server.by_period",
    "Gaussian noise and concentrated privacy": "cost ask.moves _kernels.noise.gauss* "
    "_kernels.law.gaussian_sum",
    "the record of what a publisher did": "record cli.recording",
    "unions of regions": "intervaltree.unions infer.unions release.unions server.regions",
    "servers that share their state": "server.shared_store server.sharing",
}
"""What could not be done in version 0.1, and the rooms and modules that are for it alone.

The list is short of what came later: what such a capability needs in a shared module (a branch, a
form of the server, an option of the command line) counts among the rest.
"""

Graph = dict[str, set[str]]


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of a module, the module itself first; each file is parsed and walked once."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def lines() -> int:
    """The lines of Python under src."""
    return sum(len(path.read_text().splitlines()) for path in modules().values())


def by_capability() -> dict[str, int]:
    """The lines of each thing that came after version 0.1, and of all the rest."""
    found: dict[str, int] = {}
    for name, path in modules().items():
        place = name.removeprefix("trueup.")
        above = [place.rsplit(".", up)[0] for up in range(place.count(".") + 1)]
        later = [
            capability
            for capability, names in LATER.items()
            if any(fnmatch(each, name) for each in above for name in names.split())
        ]
        if len(later) > 1:
            raise SystemExit(f"{place} is named twice: {', '.join(later)}.")
        which = later[0] if later else "all the rest: what 0.1 could do, and what is shared"
        found[which] = found.get(which, 0) + len(path.read_text().splitlines())
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def unnamed() -> list[str]:
    """Names in the list of what came later that are those of no module."""
    places = [name.removeprefix("trueup.") for name in modules()]
    return [
        name
        for names in LATER.values()
        for name in names.split()
        if not any(fnmatch(place, name) for place in places)
    ]


def switches(classes: str, but: tuple[str, ...]) -> list[str]:
    """Where isinstance or a match asks for one of these classes outside some rooms."""
    wanted = re.compile(rf"\b({classes})\b")
    found = []
    for name, path in modules().items():
        if name.split(".")[1:2] and name.split(".")[1] in but:
            continue
        for node in nodes(path):
            asked: ast.AST | None = None
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                asked = node.args[1]
            elif isinstance(node, ast.MatchClass):
                asked = node.cls
            if asked is not None and wanted.search(ast.unparse(asked)):
                found.append(f"{name}:{getattr(node, 'lineno', 0)}")
    return found


def fact_dictionaries() -> list[str]:
    """Where facts are passed as a dictionary of anything."""
    said = re.compile(r"\b(about|facts)\b\s*:\s*(dict|Mapping)\[str, Any\]")
    return [
        f"{name}:{number}"
        for name, path in modules().items()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if said.search(line) and not name.startswith(("trueup.files", "trueup.saved"))
    ]


def functions() -> Iterator[tuple[str, int, int]]:
    """Every function: where it is, how many lines it has, how many parameters."""
    for name, path in modules().items():
        for node in nodes(path):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if any(ast.unparse(each) == "overload" for each in node.decorator_list):
                    continue  # a signature for type checkers, of a function that is counted
                given = node.args
                names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                number = len([each for each in names if each not in ("self", "cls")])
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                yield f"{name}.{node.name}", length, number


def imports() -> Graph:
    """Which module imports which, lazily or not; what only type checkers see is left out."""
    known = modules()
    graph: Graph = {name: set() for name in known}
    for name, path in known.items():
        unseen = {
            id(inner)
            for node in nodes(path)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for inner in ast.walk(node)
        }
        for node in nodes(path):
            if id(node) in unseen:
                continue
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                wanted = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for each in wanted:
                while each and each not in known:
                    each = each.rpartition(".")[0]
                if each and each not in (name, "trueup"):
                    graph[name].add(each)
    return graph


def cycles(graph: Graph) -> list[list[str]]:
    """Sets of modules that import each other in a circle (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def twins() -> list[str]:
    """Names of classes that stand for two."""
    found: dict[str, list[str]] = {}
    for name, path in modules().items():
        module = nodes(path)[0]
        for part in module.body if isinstance(module, ast.Module) else ():
            if isinstance(part, ast.ClassDef):
                found.setdefault(part.name, []).append(name)
    return [f"{name}: {', '.join(places)}" for name, places in found.items() if len(places) > 1]


def unmirrored() -> list[str]:
    """Modules without a test of their name: a/_b/c.py is tested by tests/a/b/test_c.py."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.name.startswith("__") or place.as_posix() in UNTESTED:
            continue
        folders = [part.lstrip("_") for part in place.parts[:-1]]
        test = TESTS.joinpath(*folders, f"test_{place.stem.lstrip('_')}.py")
        if not test.exists():
            found.append(place.as_posix())
    return found


def figures() -> dict[str, int]:
    """The figures by name."""
    sizes = list(functions())
    return {
        "lines of Python under src": lines(),
        "isinstance on questions outside ask and infer": len(switches(QUESTIONS, ("ask", "infer"))),
        "isinstance on axis cells outside axis": len(switches(CELLS, ("axis",))),
        "facts passed as dict[str, Any]": len(fact_dictionaries()),
        f"functions above {LONG} lines": sum(length > LONG for _, length, _ in sizes),
        f"functions above {WIDE} parameters": sum(number > WIDE for _, _, number in sizes),
        "import cycles, lazy ones included": len(cycles(imports())),
        "names of two classes": len(twins()),
        "modules without a test of their name": len(unmirrored()),
    }


def rooms(graph: Graph) -> Graph:
    """Which room imports which: the modules and packages directly under the root."""
    found: Graph = {}
    for name, others in graph.items():
        room = name.split(".")[1] if "." in name else ""
        if not room or room == "__main__":
            continue
        mine = found.setdefault(room, set())
        mine |= {other.split(".")[1] for other in others if "." in other} - {room}
    return found


def picture() -> str:
    """The rooms, each above all it imports, with arrows to the nearest of those."""
    graph = rooms(imports())
    height: dict[str, int] = {}

    def level(room: str) -> int:
        if room not in height:
            height[room] = 0
            height[room] = 1 + max((level(other) for other in graph.get(room, ())), default=-1)
        return height[room]

    def reached(room: str) -> set[str]:
        return {far for near in graph.get(room, ()) for far in (near, *reached(near))}

    for room in graph:
        level(room)
    floors = [
        sorted(room for room in graph if height[room] == each)
        for each in range(max(height.values()) + 1)
    ]
    near = {
        room: others - {far for other in others for far in reached(other)}
        for room, others in graph.items()
    }
    wide, apart, box = 920, 62, 30
    place: dict[str, tuple[float, float]] = {}
    for sweep in range(6):  # each room over the middle of what it calls, then under its callers
        for number, floor in enumerate(floors if sweep % 2 == 0 else reversed(floors)):
            level_of = number if sweep % 2 == 0 else len(floors) - 1 - number

            def middle(room: str) -> float:
                linked = near[room] | {other for other in near if room in near[other]}
                known = [place[other][0] for other in linked if other in place]
                return round(sum(known) / len(known), 3) if known else wide / 2

            for at, room in enumerate(sorted(floor, key=lambda room: (middle(room), room))):
                x = wide * (at + 0.5) / len(floor)
                place[room] = (x, apart * (len(floors) - level_of) - 16)
    tall = apart * len(floors) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" role="img" '
        f'font-family="sans-serif" font-size="13">',
        "<title>The rooms of trueup: each calls only rooms below it</title>",
        f'<rect width="{wide}" height="{tall}" fill="white"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0,0L8,4L0,8Z" fill="#808080"/></marker></defs>',
    ]
    for room, others in sorted(near.items()):
        for other in sorted(others):
            (x, y), (a, b) = place[room], place[other]
            parts.append(
                f'<line x1="{x:.0f}" y1="{y + box / 2:.0f}" x2="{a:.0f}" y2="{b - box / 2:.0f}" '
                f'stroke="#b0b0b0" marker-end="url(#tip)"/>'
            )
    for room, (x, y) in place.items():
        size = 8.2 * len(room) + 18
        parts.append(
            f'<rect x="{x - size / 2:.0f}" y="{y - box / 2:.0f}" width="{size:.0f}" '
            f'height="{box}" rx="6" fill="#eaf3fa" stroke="#0072b2"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{escape(room)}</text>'
        )
    return "".join([*parts, "</svg>\n"])


def main() -> None:
    """Prints the figures, or draws the rooms."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--picture", action="store_true", help="draw docs/images/rooms.svg")
    arguments.add_argument("--where", action="store_true", help="say where each one stands")
    given = arguments.parse_args()
    if given.picture:
        (ROOT / "docs" / "images" / "rooms.svg").write_text(picture())
        return
    for name, number in figures().items():
        print(f"{number:>7,}  {name}")
    print(f"\nof them (version 0.1 had {BEFORE:,}):")
    for name, number in by_capability().items():
        print(f"{number:>7,}  {name}")
    if given.where:
        print("\nquestions:", *switches(QUESTIONS, ("ask", "infer")), sep="\n  ")
        print("cells:", *switches(CELLS, ("axis",)), sep="\n  ")
        print("facts:", *fact_dictionaries(), sep="\n  ")
        long = [f"{n} {m}" for n, m, _ in functions() if m > LONG]
        many = [f"{n} {p}" for n, _, p in functions() if p > WIDE]
        print("long:", *long, "wide:", *many, sep="\n  ")
        print("cycles:", *cycles(imports()), sep="\n  ")
        print("without a test of their name:", *unmirrored(), sep="\n  ")


if __name__ == "__main__":
    main()
