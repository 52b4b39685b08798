"""The house stays simple: figures that no change may make worse, and a picture that is true."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
MOST = {
    "isinstance on questions outside ask and infer": 8,
    "isinstance on axis cells outside axis": 8,
    "facts passed as dict[str, Any]": 0,
    "functions above 60 lines": 5,
    "functions above 8 parameters": 10,
    "import cycles, lazy ones included": 0,
    "names of two classes": 0,
    "modules without a test of their name": 0,
}


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "scripts" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_house_is_no_worse_than_it_was(house: ModuleType) -> None:
    found = house.figures()
    worse = {name: found[name] for name, most in MOST.items() if found[name] > most}
    assert not worse, "python scripts/house.py --where says where"


def test_a_switch_on_a_question_is_seen(
    house: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "src" / "trueup"
    (source / "server").mkdir(parents=True)
    (source / "server" / "x.py").write_text(
        "def f(q: object, about: dict[str, Any]) -> None:\n"
        "    if isinstance(q, (int, TreeCounts)):\n        from trueup.server.y import g\n"
    )
    (source / "server" / "y.py").write_text("from trueup.server.x import f\n")
    monkeypatch.setattr(house, "SOURCE", source)
    found = house.figures()
    assert found["isinstance on questions outside ask and infer"] == 1
    assert found["facts passed as dict[str, Any]"] == 1
    assert found["import cycles, lazy ones included"] == 1


def test_every_line_belongs_to_one_capability(house: ModuleType) -> None:
    assert house.unnamed() == []
    assert sum(house.by_capability().values()) == house.lines()


def test_a_module_without_a_test_of_its_name_is_seen(
    house: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, tests = tmp_path / "src" / "trueup", tmp_path / "tests"
    for name in ("a/_b/c.py", "a/_b/_d.py", "a/__init__.py", "__main__.py", "version.py"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).touch()
    (tests / "a" / "b").mkdir(parents=True)
    monkeypatch.setattr(house, "SOURCE", source)
    monkeypatch.setattr(house, "TESTS", tests)
    assert house.unmirrored() == ["a/_b/_d.py", "a/_b/c.py"]
    (tests / "a" / "b" / "test_c.py").touch()
    assert house.unmirrored() == ["a/_b/_d.py"]
    (tests / "a" / "b" / "test_d.py").touch()
    assert house.unmirrored() == []


def test_the_picture_of_the_rooms_is_drawn_from_the_imports(house: ModuleType) -> None:
    drawn = (ROOT / "docs" / "images" / "rooms.svg").read_text()
    assert drawn == house.picture(), "draw it again: python scripts/house.py --picture"
