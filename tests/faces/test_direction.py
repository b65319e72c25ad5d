"""The faces know the API and the records of the verbs; how anything is done they do not know."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import quell.faces

FACES = Path(quell.faces.__file__).parent
FILES = sorted(FACES.rglob("*.py"))

OPEN = ("quell.api", "quell.core", "quell.faces")  # whatever is in there
# What else a face may name, and why.
ALLOWED = {
    "quell.habits": "the demo shows them",
    "quell.kinds": "their names are part of the command line",
}


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(module, name) of everything of quell's that a file imports, wherever in the file."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("quell"):
                yield from ((module, name.name) for name in names)
            case ast.Import(names=names):
                yield from ((name.name, "") for name in names if name.name.startswith("quell"))


def within(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(place + ".") for place in places)


def is_record(module: str, name: str) -> bool:
    """A NamedTuple: what a verb is asked and what it answers."""
    thing = getattr(importlib.import_module(module), name, None)
    return isinstance(thing, type) and issubclass(thing, tuple) and hasattr(thing, "_fields")


def strays(tree: ast.Module) -> list[str]:
    return [
        f"{module}.{name}"
        for module, name in imported(tree)
        if not within(module, (*OPEN, *ALLOWED))
        and not (module == "quell" and name in {"faces", "habits", "Quell", "__version__"})
        and not (within(module, ("quell.life",)) and is_record(module, name))
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(FACES).as_posix())
def test_a_face_uses_nothing_but_the_api_and_records(file: Path) -> None:
    assert strays(ast.parse(file.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "from quell.life.kill import kill",
        "from quell.life.choose import Crowd",
        "def f():\n    from quell.stores.sqlite import SqliteStore",
        "from quell.processes import identity",
        "import quell.wiring",
        "from quell import places",
    ],
)
def test_a_stray_is_seen(source: str) -> None:
    assert len(strays(ast.parse(source))) == 1


def test_records_are_no_strays() -> None:
    assert strays(ast.parse("from quell.life.kill import KillWish, Slain")) == []
