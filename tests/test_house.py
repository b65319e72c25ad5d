"""The house rules that no other tool holds: sizes, names, rooms, nothing private in a file."""

import ast
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "knell"

FILE_LINES = 300
FUNCTION_LINES = 40
PARAMETERS = 6

# Where every error may be caught, once, and why. Elsewhere an unforeseen error must be seen.
CATCHES_ALL = {
    "entry_points.py": "code of other packages may raise anything; it must not end a verb",
    "kinds/_outside.py": "the same holds for the functions of a kind of another package",
    "places/_outside.py": "and for the methods of its place",
    "faces/fleet/host.py": "an order without an answer would wait for ever",
    "life/watch/loop.py": "one run's failure must not end the watch over all others",
}

# What a bare interpreter runs: knell is not to be had there, only what lies in the same folder.
ALONE = (
    *("processes/keeper.py", "processes/keeper/", "habits.py", "habits/"),
    *("processes/os/proc.py", "processes/os/cgroup.py", "processes/os/panes.py"),
    "processes/os/tmux_client.py",
)
# Of processes/os.
BESIDE_THE_KEEPER = {"proc", "cgroup", "panes", "tmux_client", "portable_proc", "darwin"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Rule = Callable[[str, ast.Module], Iterator[str]]


@cache
def modules() -> dict[str, ast.Module]:
    """Every module by its path below src/knell."""
    return {
        file.relative_to(SRC).as_posix(): ast.parse(file.read_text("utf-8"), str(file))
        for file in sorted(SRC.rglob("*.py"))
    }


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def lines(node: Function) -> int:
    """From `def` to the last line, without decorators and docstring."""
    first = node.body[0]
    docstring = first if ast.get_docstring(node, clean=False) is not None else None
    spared = docstring.end_lineno - docstring.lineno + 1 if docstring else 0  # type: ignore[operator]
    return (node.end_lineno or node.lineno) - node.lineno + 1 - spared


def parameters(node: Function) -> int:
    """How many a caller has to know; `self` and `cls` are not among them."""
    given = node.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    own = 1 if named and named[0].arg in {"self", "cls"} else 0
    return len(named) - own + (given.vararg is not None) + (given.kwarg is not None)


# -- the rules: each takes a path below src/knell and its tree, and yields complaints -------------


def short_functions(path: str, tree: ast.Module) -> Iterator[str]:
    for node in functions(tree):
        if lines(node) > FUNCTION_LINES:
            yield f"{path}:{node.lineno} {node.name} has {lines(node)} lines"


def few_parameters(path: str, tree: ast.Module) -> Iterator[str]:
    if path.startswith("api/"):  # options of a verb: named in its signature, given by name
        return
    for node in functions(tree):
        if parameters(node) > PARAMETERS:
            yield f"{path}:{node.lineno} {node.name} has {parameters(node)} parameters"


def no_sleep(path: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr="sleep"):
                yield f"{path}:{node.lineno} time.sleep: wait for a fact instead"
            case ast.ImportFrom(module="time", names=names) if "sleep" in {n.name for n in names}:
                yield f"{path}:{node.lineno} imports time.sleep: wait for a fact instead"


def no_print_outside_faces(path: str, tree: ast.Module) -> Iterator[str]:
    if path.startswith("faces/"):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="print")):
                yield f"{path}:{node.lineno} print: only faces talk"


def no_catching_of_everything(path: str, tree: ast.Module) -> Iterator[str]:
    caught = [
        node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and catches_all(node)
    ]
    for node in caught[1 if path in CATCHES_ALL else 0 :]:
        yield f"{path}:{node.lineno} catches every error: name those that are expected"


def catches_all(handler: ast.ExceptHandler) -> bool:
    """A handler that tidies up after anything and raises it again does not count."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(c, ast.Name) and c.id in {"Exception", "BaseException"} for c in caught)


def core_asks_no_clock(path: str, tree: ast.Module) -> Iterator[str]:
    if not path.startswith("core/"):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="now" | "utcnow" | "today", value=ast.Name() as of)
            ):
                if of.id in {"datetime", "date"}:
                    yield f"{path}:{node.lineno} asks the clock: time comes in as an argument"


def alone_on_the_standard_library(path: str, tree: ast.Module) -> Iterator[str]:
    home = next((place for place in ALONE if path.startswith(place)), "")
    if not home:
        return
    beside = {file.stem for file in (SRC / home).glob("*.py")}  # none, if home is a file
    beside |= BESIDE_THE_KEEPER if home.startswith("processes/") else set()
    for node, name in imports(tree):
        if name.split(".")[0] not in sys.stdlib_module_names | beside:
            yield f"{path}:{node.lineno} imports {name}: it is run alone, standard library only"


def imports(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node, name.name) for name in names)
            case ast.ImportFrom(module=module, level=level):
                yield node, "." * level + (module or "")


RULES: tuple[Rule, ...] = (
    short_functions,
    few_parameters,
    no_sleep,
    no_print_outside_faces,
    no_catching_of_everything,
    core_asks_no_clock,
    alone_on_the_standard_library,
)


def complaints(rule: Rule) -> list[str]:
    return [complaint for path, tree in modules().items() for complaint in rule(path, tree)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_is_kept(rule: Rule) -> None:
    assert complaints(rule) == []


BITES: tuple[tuple[Rule, str, str], ...] = (
    (short_functions, "life/a.py", "def f():\n" + "    x = 1\n" * FUNCTION_LINES),
    (few_parameters, "life/a.py", "class A:\n    def f(self, a, b, c, *d, e, f, **g): ..."),
    (no_sleep, "life/a.py", "import time\ntime.sleep(1)"),
    (no_sleep, "life/a.py", "from time import monotonic, sleep"),
    (no_print_outside_faces, "life/a.py", "print(1)"),
    (no_catching_of_everything, "life/a.py", "try: f()\nexcept: pass"),
    (no_catching_of_everything, "life/a.py", "try: f()\nexcept (OSError, Exception): pass"),
    (no_catching_of_everything, "life/watch/loop.py", "try: f()\nexcept Exception: pass\n" * 2),
    (core_asks_no_clock, "core/a.py", "datetime.now(UTC)"),
    (alone_on_the_standard_library, "processes/keeper.py", "import os, knell.core.run"),
    (alone_on_the_standard_library, "processes/keeper.py", "from . import identity"),
    (alone_on_the_standard_library, "habits/forker.py", "import psutil"),
)

SPARES: tuple[tuple[Rule, str, str], ...] = (
    (short_functions, "life/a.py", 'def f():\n    """' + "\n" * 50 + '"""\n    return 1'),
    (few_parameters, "life/a.py", "class A:\n    def f(self, a, b, c, d, e, f): ..."),
    (few_parameters, "api/a.py", "class A:\n    def f(self, *, a, b, c, d, e, f, g): ..."),
    (no_print_outside_faces, "faces/cli/verbs/look.py", "print(1)"),
    (no_catching_of_everything, "life/watch/loop.py", "try: f()\nexcept Exception: pass"),
    (
        no_catching_of_everything,
        "life/a.py",
        "try: f()\nexcept BaseException:\n    undo()\n    raise",
    ),
    (alone_on_the_standard_library, "processes/keeper.py", "import os, ctypes.util"),
    (alone_on_the_standard_library, "processes/members.py", "import psutil, knell.core.run"),
)


@pytest.mark.parametrize(("rule", "path", "source"), BITES)
def test_the_rule_bites(rule: Rule, path: str, source: str) -> None:
    assert len(list(rule(path, ast.parse(source)))) == 1


@pytest.mark.parametrize(("rule", "path", "source"), SPARES)
def test_the_rule_spares(rule: Rule, path: str, source: str) -> None:
    assert list(rule(path, ast.parse(source))) == []


def test_the_keeper_is_among_those_that_run_alone() -> None:
    """So that the rule does not lapse when the keeper moves."""
    keepers = [file.relative_to(SRC).as_posix() for file in SRC.rglob("keeper.py")]
    assert [path.startswith(ALONE) for path in keepers] == [True]


def test_no_file_is_long() -> None:
    sources = [file for file in SRC.rglob("*") if file.suffix in {".py", ".sql"}]
    sizes = {
        file.relative_to(SRC).as_posix(): len(file.read_text("utf-8").splitlines())
        for file in sources
    }
    assert {path: size for path, size in sizes.items() if size > FILE_LINES} == {}


# -- names and rooms -------------------------------------------------------------------------------

# Folders of tests/ that mirror no folder of src/knell, and what is in them.
OTHER_ROOMS = {
    "bench": "the benchmark's own scripts",
    "chaos": "knell broken on purpose, from a seed",
    "contracts": "the items of docs/contracts.md, one by one",
    "core/recordings": "screens and conversations of the real programs",
    "e2e": "the real programs",
    "e2e/wires": "how each of them speaks with its model",
    "fast": "what list and kill may load and ask of the system",
    "faults": "what can go wrong around knell",
    "fleet": "many hosts on a real PostgreSQL",
    "kinds/exit_screens": "what the real programs showed when they were left",
    "kinds/screens": "what thirteen programs drew, for the tests of their patterns",
    "life/watch/recorded": "what the real programs showed and wrote in each situation",
    "package": "the wheel: what is in it, and an upgrade under live agents",
    "real": "whole lives of real agents, through all rooms",
    "support": "what tests of several rooms use",
}
SENTENCE = re.compile(r"\S+( \S+){3,}[.?:]$")
# Empty besides these two: one makes a folder a package, the other tells type checkers about types.
MAY_BE_EMPTY = {"__init__.py", "py.typed"}


def rooms(root: Path) -> set[str]:
    return {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_dir() and path.name != "__pycache__" and any(path.glob("[!_]*.*"))
    }


def test_every_folder_of_tests_mirrors_one_of_the_source() -> None:
    assert rooms(ROOT / "tests") - rooms(SRC) - set(OTHER_ROOMS) == set()
    assert set(OTHER_ROOMS) - rooms(ROOT / "tests") == set(), "a room that is gone is still listed"


def test_every_module_says_first_what_it_is_for() -> None:
    """In a sentence, which may need two lines."""
    said = {path: ast.get_docstring(tree) or "" for path, tree in modules().items()}
    first = {path: " ".join(text.split("\n\n")[0].split()) for path, text in said.items()}
    assert {path: words for path, words in first.items() if not SENTENCE.match(words)} == {}


def test_no_class_name_is_defined_twice() -> None:
    defined: dict[str, list[str]] = {}
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append(path)
    twice = {name: paths for name, paths in defined.items() if len(paths) > 1}
    assert twice == {}


def test_every_declared_dependency_is_imported_and_every_import_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    declared = [
        *project["dependencies"],
        *(one for name in extras.keys() - {"dev"} for one in extras[name]),
    ]
    wanted = {re.split(r"[\[<>=;~! ]", one)[0].split(".")[0] for one in declared}
    used = {name.split(".")[0] for tree in modules().values() for _, name in imports(tree)}
    assert wanted - used == set()
    ours = {"knell", *(Path(path).stem for path in modules())}  # a keeper's files import each other
    others = {name for name in used if not name.startswith("_")} - ours - sys.stdlib_module_names
    assert others - wanted == {"mcp_types"}  # it is a part of mcp


def test_no_file_is_empty() -> None:
    empty = [file for file in files() if file.name not in MAY_BE_EMPTY and not file.stat().st_size]
    assert empty == []


# -- nothing of the machine it was written on ------------------------------------------------------


def files() -> list[Path]:
    """Every file that is in the repository or would be by `git add --all`."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:  # a copy without its history
        tops = [top for top in ROOT.iterdir() if top.is_file() or not top.name.startswith(".")]
        found = [file for top in tops for file in (top, *top.rglob("*"))]
    return [file for file in found if file.is_file() and "__pycache__" not in file.parts]


def private_paths() -> set[str]:
    """Directories of this machine alone; those that every machine has betray nothing."""
    everywhere = {"/", "/home", "/Users", "/opt", "/srv", "/usr", "/var", tempfile.gettempdir()}
    return {str(ROOT), str(ROOT.parent), str(Path.home())} - everywhere


def private_hosts() -> set[str]:
    """The registries that pip is told to use here, without the public one."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    addresses = re.findall(r"https?://[^\s'\"]+", told)
    return {host for a in addresses if (host := urlsplit(a).hostname)} - {"pypi.org"}


def leaks(text: str, paths: set[str], hosts: set[str]) -> list[str]:
    whole = [rf"(?<![\w.~/-]){re.escape(path)}(?![\w.-])" for path in paths]
    whole += [rf"(?<![\w.-]){re.escape(host)}(?![\w-])" for host in hosts]
    return [word for word in whole if re.search(word, text)]


def test_nothing_tells_of_the_machine_it_was_written_on() -> None:
    paths, hosts = private_paths(), private_hosts()
    found = {
        file.relative_to(ROOT).as_posix(): words
        for file in files()
        if (words := leaks(file.read_text("utf-8", errors="replace"), paths, hosts))
    }
    assert found == {}


def test_a_leak_is_seen() -> None:
    paths, hosts = {"/lab", "/home/ada"}, {"pip.lab.example"}
    assert len(leaks("cd /lab/knell; pip -i http://pip.lab.example/simple", paths, hosts)) == 2
    assert leaks("see /label, docs/lab/x and /home/adam", paths, hosts) == []


def test_the_old_name_is_gone() -> None:
    """Only the line of the changelog and the decision that explain the change may say it."""
    old = "qu" + "ell"
    found = {
        str(file.relative_to(ROOT)) for file in files() if old.encode() in file.read_bytes().lower()
    }
    names = [str(file.relative_to(ROOT)) for file in files()]
    assert found == {"CHANGELOG.md", "docs/decisions/0017-the-name.md"}
    assert (ROOT / "CHANGELOG.md").read_text().lower().count(old) == 1
    assert [name for name in names if old in name.lower()] == []
