"""The package as a whole: what importing it loads, what its names say, what they never ask."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trueup as tu

SOURCE = Path(tu.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = ("numba", "scipy", "duckdb", "plotly", "pyarrow", "narwhals", "flint", "pandas", "polars")


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(SOURCE.parent)},
    ).stdout  # fmt: skip


def test_importing_it_loads_nothing_heavy():
    found = run(f"import sys, trueup; print([m for m in {HEAVY} if m in sys.modules])")
    assert found.strip() == "[]"


def test_declaring_and_asking_loads_nothing_heavy():
    code = (
        "import sys, trueup as tu\n"
        "q = tu.TreeCounts(tu.Axis.dates('day', '2013', '2013'), branching=2)\n"
        "q.answers([1] * 365); q.sensitivity('replace')\n"
        "m = tu.Measurement(q, [0] * q.length, epsilon='1/10'); m.scales; m.variances; repr(m)\n"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    assert run(code).strip() == "[]"


def test_every_public_name_is_there_and_says_what_it_is():
    assert sorted(tu.__all__) == sorted(set(tu.__all__))
    for name in tu.__all__:
        thing = getattr(tu, name)
        if name != "__version__":
            assert inspect.getdoc(thing), name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tu.nothing  # noqa: B018


def test_every_public_method_says_what_it_gives():
    silent = []
    for name in tu.__all__:
        thing = getattr(tu, name)
        if not inspect.isclass(thing) or issubclass(thing, Exception):
            continue
        for member, value in vars(thing).items():
            function = getattr(
                value, "__func__", getattr(value, "fget", getattr(value, "func", value))
            )
            if member.startswith("_") or not inspect.isroutine(function):
                continue
            if not inspect.getdoc(getattr(thing, member)):
                silent.append(f"{name}.{member}")
    protocol = {"size", "length", "blocks", "sensitivity", "price", "answers", "matrix"}
    protocol |= {"constraints", "to_json"}  # said once, in ask.question.Question
    assert [name for name in silent if name.split(".")[1] not in protocol] == []


def functions(module):
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield node.name, [argument.arg for argument in every]


# The demo's seed makes its data, which it brings itself; its noise has none.
SEEDED = (SOURCE / "paper", SOURCE / "demo.py")
UNSEEDED = [m for m in MODULES if not any(m.is_relative_to(home) for home in SEEDED)]


@pytest.mark.parametrize("module", UNSEEDED, ids=lambda m: str(m.relative_to(SOURCE)))
def test_no_public_function_takes_a_seed_but_the_paper_s(module):
    seeded = [
        name
        for name, arguments in functions(module)
        if not name.startswith("_")
        and name != "paper_command"  # `trueup paper` hands its seed to the paper's experiments
        and {"seed", "random_state", "rng", "generator"} & set(arguments)
    ]
    assert seeded == []


def test_no_axis_is_read_from_data():
    # What an axis is made from: ends, counts of bins, edges, labels. Nothing takes values.
    makers = {
        "integers": ["name", "first", "last"],
        "regular": ["name", "low", "high", "bins"],
        "edges": ["name", "edges"],
        "categories": ["name", "labels"],
        "dates": ["name", "first", "last", "unit"],
        "ipv4": ["name", "network", "length"],
        "hierarchy": ["name", "tree", "levels", "parents"],
        "codes": ["name", "codes", "levels"],  # a public list, as labels are
        "from_json": ["spec"],
    }
    static = {n for n, v in vars(tu.Axis).items() if isinstance(v, (staticmethod, classmethod))}
    assert static == set(makers)
    for name, arguments in makers.items():
        assert list(inspect.signature(getattr(tu.Axis, name)).parameters) == arguments
    # No question, and no shortcut, has a default for its domain.
    needed = [
        (tu.CellCounts, "axis"), (tu.TreeCounts, "axis"), (tu.NamedCounts, "axis"),
        (tu.SortedCounts, "groups"), (tu.degree_sequence, "nodes"),
    ]  # fmt: skip
    for thing, argument in needed:
        parameter = inspect.signature(thing).parameters[argument]
        assert parameter.default is inspect.Parameter.empty
    with pytest.raises(tu.InputError, match="looking at the data leaks"):
        tu.histogram([1, 2, 3], epsilon=1)
    with pytest.raises(tu.InputError, match="3 counts were given"):
        tu.measure([1, 2, 3], tu.CellCounts(4), epsilon=1)


def test_epsilon_has_no_default_anywhere():
    for thing in (tu.measure, tu.histogram, tu.degree_sequence, tu.publish, tu.Measurement):
        parameter = inspect.signature(thing).parameters["epsilon"]
        assert parameter.default in (inspect.Parameter.empty, None)
    for call in (
        lambda: tu.measure([1, 2], tu.CellCounts(2)),
        lambda: tu.publish([1, 2], tu.CellCounts(2)),
        lambda: tu.Measurement(tu.CellCounts(2), [1, 2]),
    ):
        with pytest.raises(tu.InputError, match="one of the two; got neither"):
            call()


def test_errors_are_all_of_one_family():
    errors = [getattr(tu, name) for name in tu.__all__ if name.endswith("Error")]
    assert len(errors) >= 6
    assert all(issubclass(error, tu.TrueupError) for error in errors)
    assert issubclass(tu.InputError, ValueError)


def test_modules_stay_short():
    long = {str(m.relative_to(SOURCE)): len(m.read_text().splitlines()) for m in MODULES}
    assert {name: lines for name, lines in long.items() if lines > 450} == {}


def test_the_names_that_a_user_can_complete_are_the_public_ones():
    assert sorted(dir(tu)) == sorted(tu.__all__)
    assert all(hasattr(tu, name) for name in dir(tu))


def test_help_says_on_its_first_screen_what_there_is():
    lines = pydoc.plain(pydoc.render_doc(tu)).splitlines()
    screen = "\n".join(lines[:32])
    assert all(len(line) <= 104 for line in lines[:32])
    assert "`trueup -h` is the command line." in screen
    nouns = [n for n in tu.__all__ if n != "__version__" and not n.endswith("Error")]
    missing = [n for n in nouns if not re.search(rf"\b{n}s?\b", screen)]
    assert missing == ["Measurement", "Optimized", "Plan"]  # what measure, optimize and plan give


@pytest.fixture(scope="module")
def nouns(tmp_path_factory):
    """One small and one large of every public noun, by its class."""
    age = tu.Axis.integers("age", 0, 99)
    town = tu.Axis.categories("town", [f"a town of number {i}" for i in range(5_000)])
    wide = [tu.Axis.integers(f"column {i}", 0, 1) for i in range(12)]
    ledger = tu.Ledger(tmp_path_factory.mktemp("nouns") / "table.ledger", limit=1)
    sizes = tu.measure(range(50), tu.SortedCounts(50), 1)
    named = tu.NamedCounts(town, {f"query {i}": [f"a town of number {i}"] for i in range(99)})
    tree = tu.measure(range(100), tu.TreeCounts(age), "1/10")
    words = tu.Universe.text("a-z0-9", 20)
    keys = tu.measure_keys({f"key{i}": 999 for i in range(999)}, tu.KeyCounts(words), 1)
    prefixes = tu.measure_prefixes({"10.0.0.1": 999}, tu.PrefixCounts(tu.Universe.ipv4()), 1)
    stream = tu.Stream.open(tmp_path_factory.mktemp("nouns") / "x", epsilon=1, axis=age)
    return [
        age, town, tu.Axis.edges("money", range(9_999)),
        tu.Axis.hierarchy("place", {str(i): [f"{i}.{j}" for j in range(9)] for i in range(99)}),
        tu.CellCounts(town), tu.TreeCounts(1 << 20, branching=2), tu.HatCounts(1 << 16),
        tu.TreeCounts(1 << 20, adaptive=True), tu.BoxCounts.quadtree(256, 256, adaptive=True),
        tu.WaveletCounts(1 << 16), tu.WindowCounts(1 << 10), tu.PastCounts(1 << 10),
        tu.GridCounts(age, town), tu.GridCounts(*wide), named,
        tu.BoxCounts.quadtree(*(tu.Axis.integers(n, 0, 255) for n in "xy"), branching=2),
        tu.SortedCounts(10**9, by="customer"), sizes.question, tree, sizes,
        tu.WeightedCounts(3, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        tu.infer(tree), tu.infer(tree, nonnegative=True, integers=True), tu.infer(sizes),
        tu.infer(tree).total(), tu.infer(sizes).how_many(1),
        tu.infer(tree).range(0, 9) / tu.infer(tree).total(),
        tu.infer(tu.measure([1] * 5_000, named, 1)),
        tu.plan(age, 1), tu.plan(age, 1)[0], tu.plan([20, 30], 1),
        tu.Workload.given([(i, i + 1) for i in range(99)]), tu.optimize("ranges", 16, steps=3),
        tu.Cost.of(0.1), stream, ledger, words, keys, keys.terms.question, keys.infer(),
        prefixes.terms.question, prefixes, prefixes.infer(),
        tu.Cost.of(0.1), stream, ledger, tu.Person(count="*"),
        tu.Person(sum="x", low=0, high=9, step="0.01", where="other > 5 and not x = 7"),
        words, keys, keys.terms.question, keys.infer(),
        tu.Owner(__import__("pyarrow").table({"age": [1]}), ledger),
        tu.connect("http://127.0.0.1:9", token="secret"),
    ]  # fmt: skip


def test_every_public_noun_shows_itself_in_two_lines_at_most(nouns):
    classes = {getattr(tu, name) for name in tu.__all__ if inspect.isclass(getattr(tu, name))}
    shown = {c for c in classes if not issubclass(c, Exception)}
    assert shown <= {type(noun) for noun in nouns}
    for noun in nouns:
        said = repr(noun)
        assert len(said.splitlines()) <= 2, said[:300]
        assert len(said) <= 240, said
        assert " object at 0x" not in said
        assert "secret" not in said


def test_the_version_is_the_same_everywhere():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{tu.__version__}"\n' in text
