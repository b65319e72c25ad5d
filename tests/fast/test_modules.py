"""What made the start fast stays: each verb loads no more than this."""

import subprocess
import sys
from pathlib import Path

import pytest

from fast.counting import cost
from house import House
from quell.processes import launching

ENTRY = {
    *("quell", "quell.api", "quell.config", "quell.core", "quell.core.errors", "quell.disk"),
    *("quell.faces", "quell.faces.cli", "quell.faces.exits", "quell.faces.plain"),
    *("quell.faces.say", "quell.wiring"),
}
STORE = {
    *("quell.core.agent", "quell.core.lifecycle", "quell.core.process", "quell.core.run"),
    *("quell.core.store", "quell.stores", "quell.stores.endings", "quell.stores.failures"),
    *("quell.stores.opening", "quell.stores.orchestrator", "quell.stores.rows"),
    *("quell.stores.sqlite", "quell.stores.trail", "quell.stores.transactions"),
    "quell.stores.watching",
}
LOOKING = {
    *("quell.life", "quell.life.settle", "quell.processes", "quell.processes.cgroup"),
    *("quell.processes.identity", "quell.processes.kernel", "quell.processes.launching"),
}
LIST = ENTRY | STORE | LOOKING | {"quell.faces.listing", "quell.faces.render", "quell.life.view"}
KILL = ENTRY | STORE | LOOKING | {
    *("quell.core.cleaning", "quell.core.climbing", "quell.core.death", "quell.core.environment"),
    *("quell.core.kind", "quell.core.ladder", "quell.core.panes", "quell.core.receipt"),
    *("quell.core.selector", "quell.core.settings", "quell.core.signs"),
    *("quell.faces.killing", "quell.faces.render", "quell.faces.told"),
    *("quell.kinds", "quell.kinds.command", "quell.kinds.enclosing", "quell.life.authority"),
    "quell.life.before",
    *("quell.life.caller", "quell.life.capture", "quell.life.choose", "quell.life.conversation"),
    *("quell.life.ending", "quell.life.exitkeys", "quell.life.kill", "quell.life.mirror"),
    *("quell.life.orphans", "quell.life.receipts", "quell.life.selfend"),
    *("quell.places", "quell.places.commands", "quell.places.headless"),
    *("quell.processes.climb", "quell.processes.climb_kept", "quell.processes.journal"),
    "quell.processes.schedule",
}  # fmt: skip
PANE = (KILL - {"quell.places.headless"}) | {
    *("quell.places.closing", "quell.places.patience", "quell.places.tmux"),
}
# Each takes longer to load than any file of quell; click loads most of them.
DEAR = {"click", "inspect", "ast", "tokenize", "uuid", "platform", "gettext", "locale", "difflib"}
STANDARD = 80  # modules of the standard library, the interpreter's own not counted


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "quell"}


def test_list_loads_only_what_it_shows(house: House) -> None:
    """`quell list` loads neither click nor anything that ends somebody."""
    house.spawn(name="luna")
    modules = cost(house, "list").modules
    assert ours(modules) - LIST == set()
    assert modules & DEAR == set()
    assert len(modules - ours(modules)) <= STANDARD


@pytest.mark.parametrize("place", ["headless", "tmux"])
def test_kill_loads_only_what_it_needs(house: House, place: str) -> None:
    """`quell kill` loads neither click nor any place but the agent's own."""
    house.spawn(name="luna", place=place, server="test" if place == "tmux" else "")
    modules = cost(house, "kill", "luna").modules
    assert ours(modules) - (KILL if place == "headless" else PANE) == set()
    assert modules & DEAR == set()
    assert len(modules - ours(modules)) <= STANDARD


def test_the_other_verbs_still_have_click(house: House) -> None:
    """Else the tests above would pass for a reason of their own."""
    assert "click" in cost(house, "status").modules
    assert "click" in cost(house, "list", "--help").modules


def test_a_keeper_starts_without_enums_and_types() -> None:
    """The keeper loads none of the standard library's large modules before its agent runs."""
    folder = str(Path(launching.KEEPER).parent)
    names = ", ".join(sorted(path.stem for path in Path(folder).glob("*.py")))
    source = f"import sys; sys.path.insert(0, {folder!r}); import {names}\n"
    source += "look.become_subreaper(); print(open('/proc/self/comm').read(), *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", source], capture_output=True, text=True, check=True
    )
    name, *modules = done.stdout.split()
    assert name == "quell-keeper"  # prctl was reached, by whichever way
    large = {"enum", "functools", "collections", "re", "typing", "ctypes", "struct", "signal"}
    assert large & set(modules) == set()
