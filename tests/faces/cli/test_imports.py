"""Each verb loads what it needs and nothing else: start-up time is a promise."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from house import House
from knell.faces.cli.group import ALIASES, VERBS

# Runs a verb as `python -m knell` would, then says which modules that has loaded.
RUNNER = """
import sys
path, sys.argv = sys.argv[1], ["knell", *sys.argv[2:]]
from knell.faces.cli import main
try:
    main()
except SystemExit as end:
    code = end.code
import json
with open(path, "w") as file:
    json.dump({"code": code, "modules": sorted(sys.modules)}, file)
"""
BARE = "import sys, click\nprint(*sys.modules)"
# The help of each verb, in a process forked from one that has loaded what BARE loads: the start of
# an interpreter and of click, which no verb answers for, is most of what each would cost.
HELPERS = """
import sys, click, os
runner, folder = compile(sys.argv[1], "runner", "exec"), sys.argv[2]
for verb in sys.argv[3:]:
    child = os.fork()
    if not child:
        sys.argv = ["-c", os.path.join(folder, verb), verb, "--help"]
        exec(runner, {"__name__": "__main__"})
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""
# Measured, each costs more than the whole of knell's own start.
DEAR = (
    *("psutil", "ruamel", "subprocess", "asyncio", "dataclasses", "inspect", "tempfile", "uuid"),
    *("urllib.request", "http", "email", "multiprocessing", "concurrent", "unittest", "pdb"),
    *("ctypes", "logging", "tomllib", "mcp", "rich", "textual", "psycopg", "starlette"),
)


@cache
def bare_click() -> frozenset[str]:
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


def loaded(house: House, *args: str) -> set[str]:
    """The modules that `knell ARGS` loads on top of click's own; it must succeed."""
    told = house.root / "modules.json"
    subprocess.run(
        [sys.executable, "-c", RUNNER, str(told), *args],
        env=house.env, cwd=house.root, capture_output=True, check=True, timeout=300,
    )  # fmt: skip
    return read(told)


def read(told: Path) -> set[str]:
    """What the runner wrote there."""
    document = json.loads(told.read_text())
    assert not document["code"], document
    return set(document["modules"]) - bare_click()


def dear(modules: set[str]) -> set[str]:
    return {
        name for name in modules if name in DEAR or name.startswith(tuple(f"{d}." for d in DEAR))
    }


def of_other_verbs(modules: set[str], verb: str) -> set[str]:
    """Files of faces/cli/verbs that do not hold this verb, and rooms that no such verb needs."""
    others = {module for module, _ in VERBS.values()} - {VERBS[verb][0]}
    rooms = {f"knell.life.{name}" for name in ("watch", "hooks", "orchestrator")}
    return modules & ({f"knell.faces.cli.verbs.{name}" for name in others} | rooms)


def test_the_runner_sees_what_is_loaded(house: House) -> None:
    """Else every test below would pass for nothing."""
    modules = loaded(house, "list")
    assert {"knell.faces.cli.fastpath", "knell.life.look.list", "sqlite3"} <= modules
    assert not {"click", "sys"} & modules


# -- --help --------------------------------------------------------------------------------------


def test_help_loads_no_other_verb_and_nothing_that_acts(house: House) -> None:
    verbs = [*VERBS, *ALIASES]
    told = house.root / "told"
    told.mkdir()
    subprocess.run(
        [sys.executable, "-c", HELPERS, RUNNER, str(told), *verbs],
        env=house.env, cwd=house.root, capture_output=True, check=True, timeout=500,
    )  # fmt: skip
    acting = (
        "knell.life.",
        "knell.processes.",
        "knell.places.",
        "knell.stores.",
        "knell.registry_file.",
    )
    wrong: dict[str, set[str]] = {}
    for verb in verbs:
        modules = read(told / verb)
        assert "knell.faces.cli.group" in modules
        bad = of_other_verbs(modules, ALIASES.get(verb, verb)) | (modules & {"sqlite3"})
        bad |= {name for name in modules if name.startswith(acting)}
        bad |= dear(modules) if verb != "demo" else set()  # a show has no budget
        if bad:
            wrong[verb] = bad
    assert wrong == {}


def test_the_list_of_verbs_loads_none_of_them(house: House) -> None:
    modules = loaded(house, "--help")
    assert {name for name in modules if name.startswith("knell.faces.cli.verbs.")} == set()
    assert {name for name in modules if name.startswith("knell.life")} == set()


# -- the verbs whose start is measured -----------------------------------------------------------


@pytest.mark.parametrize("agents", [0, 1])
def test_list_loads_nothing_of_another_verb(house: House, agents: int) -> None:
    if agents:
        house.spawn(name="luna")
    modules = loaded(house, "list")
    assert of_other_verbs(modules, "list") == set()
    assert dear(modules) == set()
    assert not {name for name in modules if name.startswith("knell.places.")}


def test_kill_of_a_headless_agent_loads_nothing_of_another_verb(house: House) -> None:
    house.spawn(name="luna")
    modules = loaded(house, "kill", "luna")
    assert "knell.processes.ending.loop" in modules
    assert of_other_verbs(modules, "kill") == set()
    assert dear(modules) == set()
    places = {name for name in modules if name.startswith("knell.places.")}
    assert places <= {"knell.places.headless", "knell.places.commands"}
    assert not {name for name in modules if name.startswith("knell.registry_file")}


def test_kill_of_a_pane_loads_no_other_terminal(house: House) -> None:
    house.spawn(name="luna", place="tmux", server="test")
    modules = loaded(house, "kill", "luna")
    assert "knell.places.tmux" in modules
    assert not {"knell.places.kitty", "knell.places.wezterm"} & modules
    assert dear(modules) == set()


def test_spawn_loads_nothing_of_another_verb(house: House) -> None:
    modules = loaded(house, "spawn", "--", "true")
    assert of_other_verbs(modules, "spawn") == set()
    assert dear(modules) == set()


@pytest.mark.needs_root  # a keeper keeps its memory map from its own user too
def test_the_keeper_runs_on_the_standard_library_alone(house: House) -> None:
    """Read from its memory map: no file of knell but its own folder, none of site-packages."""
    keeper = house.spawn(name="luna").run.keeper
    assert keeper
    argv = Path(f"/proc/{keeper.pid}/cmdline").read_bytes().split(b"\0")
    assert argv[1:3] == [b"-I", b"-S"]
    assert b"site-packages" not in Path(f"/proc/{keeper.pid}/maps").read_bytes()
