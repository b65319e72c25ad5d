"""What depends on the operating system is in one module; the keeper, which runs alone, has more."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import knell

SRC = Path(knell.__file__).parent
ALLOWED = {
    "processes/os/linux.py": "the module for Linux",
    "processes/os/linux_facts.py": "what the kernel tells beside a process's own line, on Linux",
    "processes/os/linux_use.py": "what processes use, on Linux",
    "processes/os/proc.py": "one process; shared with the keeper",
    "processes/os/cgroup.py": "cgroups; shared with the keeper",
    "processes/os/tmux_client.py": "where a tmux server listens; shared with the keeper",
    "processes/os/__init__.py": "asks whether there are pidfds",
    "processes/keeper/keeper.py": "prctl",
    "processes/keeper/linux_tmux.py": "the sockets of tmux servers",
    "processes/keeper/death_evidence.py": "the kernel's log and its counters",
    "places/wezterm.py": "wezterm tells no pid: it is found by the terminal of the pane",
}
FILES = ("/proc", "/sys/", "/dev/kmsg")
CALLS = {
    "AF_NETLINK",
    "pidfd_open",
    "pidfd_send_signal",
    "eventfd",
    "prctl",
    "inotify_init1",
    "_ctypes",
}


def docstrings(tree: ast.Module) -> set[int]:
    """The lines on which a docstring or another bare string begins."""
    bare = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    return {id(value) for value in bare if isinstance(value, ast.Constant)}


def linux_only(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    told = docstrings(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text) if (
                text.startswith(FILES) and id(node) not in told
            ):
                yield f"{node.lineno}: {text}"
            case ast.Attribute(attr=name) if name in CALLS:
                yield f"{node.lineno}: {name}"
            case ast.Import(names=names) if CALLS & {one.name for one in names}:
                yield f"{node.lineno}: {names[0].name}"


def test_only_these_modules_know_linux() -> None:
    """Another system is one file beside processes/os/linux.py, not a search through the source."""
    found = {
        path.relative_to(SRC).as_posix(): list(linux_only(path.read_text()))
        for path in SRC.rglob("*.py")
    }
    assert {path: lines for path, lines in found.items() if lines and path not in ALLOWED} == {}
    assert [path for path in ALLOWED if not found[path]] == []  # nothing is allowed in vain


@pytest.mark.parametrize(
    "source",
    [
        'open(f"/proc/{pid}/stat")',
        'os.listdir("/proc")',
        "os.pidfd_open(pid)",
        "signal.pidfd_send_signal(fd, 9)",
        "import _ctypes",
    ],
)
def test_the_rule_bites(source: str) -> None:
    assert list(linux_only(source))


def test_a_docstring_may_name_what_it_explains() -> None:
    assert list(linux_only('def look():\n    """/proc/PID/stat is read."""\n')) == []


# -- both layers ---------------------------------------------------------------------------------

LAYERS = {"system": ("linux.py", "portable.py"), "use": ("linux_use.py", "portable_use.py")}


def defined(source: str) -> set[str]:
    """What a module has by name at its top."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=targets):
                names = [one for target in targets for one in ast.walk(target)]
                found |= {one.id for one in names if isinstance(one, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.ImportFrom(names=names):
                found |= {one.asname or one.name for one in names}
    return found


def asked(layer: str) -> set[str]:
    """What the rest of `processes` asks of the layer."""
    return {
        node.attr
        for path in (SRC / "processes").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == layer
    }


@pytest.mark.parametrize("layer", LAYERS)
def test_both_layers_have_what_is_asked_of_them(layer: str) -> None:
    """A type checker sees one of the two only: for it the layer is Linux's"""
    wanted = asked(layer)
    assert len(wanted) > 10
    missing = {
        name: wanted - defined((SRC / "processes" / "os" / name).read_text())
        for name in LAYERS[layer]
    }
    assert missing == {name: set() for name in LAYERS[layer]}
