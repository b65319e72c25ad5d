"""Faces go through the methods of `Knell`: what is behind them they do not touch.

They import the API and core. The contract in .importlinter names the rooms that they may not
import; here each other room counts, so that a new one is not forgotten.
"""

import ast
from pathlib import Path

import pytest

import knell.faces

FACES = Path(knell.faces.__file__).parent
FILES = sorted(FACES.rglob("*.py"))


def reached(tree: ast.Module) -> list[int]:
    """The lines that reach through the API to what it stands on."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return [node.lineno for node in found if node.attr in ("world", "_world")]


ALLOWED = ("knell.api", "knell.core", "knell.faces")


def beyond(tree: ast.AST) -> list[str]:
    """What it imports of knell beside that, inside functions too."""
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                found += [module] if "." in module else [f"{module}.{one.name}" for one in names]
            case ast.Import(names=names):
                found += [one.name for one in names]
    knells = [name for name in found if name.partition(".")[0] == "knell"]
    rooms = [".".join(name.split(".")[:2]) for name in knells]
    return [room for room in rooms if room not in (*ALLOWED, "knell.Knell", "knell.__version__")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(FACES).as_posix())
def test_a_face_imports_the_api_and_core_only(file: Path) -> None:
    assert beyond(ast.parse(file.read_text("utf-8"))) == []


def test_an_import_of_another_room_is_seen() -> None:
    source = "def f():\n    from knell.start_end_steps import AFTERMATH\nfrom knell import files"
    assert sorted(beyond(ast.parse(source))) == ["knell.files", "knell.start_end_steps"]
    assert beyond(ast.parse("from knell import Knell\nimport knell.core.codes")) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(FACES).as_posix())
def test_a_face_does_not_reach_through_the_api(file: Path) -> None:
    assert reached(ast.parse(file.read_text("utf-8"))) == []


def test_a_reach_is_seen() -> None:
    assert reached(ast.parse("knell.list()\nknell.world.store.runs.live()")) == [2]
