"""Faces go through the methods of `Knell`: what is behind them they do not touch.

That they import nothing but the API and core is a contract in .importlinter.
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


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(FACES).as_posix())
def test_a_face_does_not_reach_through_the_api(file: Path) -> None:
    assert reached(ast.parse(file.read_text("utf-8"))) == []


def test_a_reach_is_seen() -> None:
    assert reached(ast.parse("knell.list()\nknell.world.store.runs.live()")) == [2]
