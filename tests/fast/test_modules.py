"""What made the start fast stays: each verb loads no more than this."""

import subprocess
import sys
from pathlib import Path

import pytest

from fast.counting import cost
from house import House
from knell.processes import keepers as launching

ENTRY = {
    "knell.core.codes",
    *("knell", "knell.api", "knell.config", "knell.core", "knell.core.errors", "knell.disk"),
    *("knell.api.live", "knell.api.verbs"),
    *("knell.faces", "knell.faces.cli", "knell.faces.exits", "knell.faces.cli.fastpath"),
    *("knell.faces.cli.output", "knell.wiring"),
}
STORE = {
    *("knell.core.agent", "knell.core.run", "knell.core.process", "knell.core.run"),
    *("knell.core.ports", "knell.core.ports.store", "knell.stores", "knell.stores.database"),
    *("knell.stores.records", "knell.stores.runs", "knell.stores.sqlite"),
}
ENDINGS = {"knell.stores.endings", "knell.core.ports.ending_store"}
LOOKING = {
    *(
        "knell.life",
        "knell.life.base",
        "knell.life.base.members",
        "knell.life.base.take_in",
        "knell.processes",
    ),
    *("knell.processes.queries", "knell.processes.keepers"),
    *(
        "knell.processes.os",
        "knell.processes.os.linux",
        "knell.processes.os.linux_facts",
        "knell.processes.os.proc",
    ),
}
LIST = (
    ENTRY
    | STORE
    | LOOKING
    | {
        *("knell.faces.text", "knell.faces.text.agents"),
        *("knell.faces.text.columns", "knell.faces.text.terminal"),
        *("knell.life.look", "knell.life.look.list", "knell.stores.watch"),
    }
)
KILL = ENTRY | STORE | ENDINGS | LOOKING | {
    *("knell.core.ending_steps", "knell.core.authority"),
    *("knell.processes.waiting", "knell.processes.os.cgroup"),
    *("knell.core.ports.endings", "knell.core.ports.keepers", "knell.core.ports.processes"),
    "knell.core.death",
    *("knell.core.environment", "knell.life.end", "knell.life.base.members"),
    "knell.faces.text",
    *("knell.core.kind", "knell.core.ladder", "knell.core.ports.terminal", "knell.core.receipt"),
    *("knell.core.selector", "knell.core.settings"),
    *("knell.faces.text.terminal", "knell.faces.text.endings"),
    *("knell.kinds", "knell.kinds.command", "knell.life.base.authority"),
    "knell.life.end.prepare",
    *("knell.life.base.caller", "knell.life.base.targets"),
    *("knell.life.end.engine", "knell.start_end_steps"),
    *("knell.life.end.kill", "knell.life.base.targets"),
    *("knell.life.base.members", "knell.life.base.receipts", "knell.core.ending_steps"),
    *("knell.places", "knell.places.headless"),
    *("knell.processes.ending.loop", "knell.processes.journal"),
    *("knell.processes.ending", "knell.files"),
    "knell.core.redact",  # no command line is stored with a secret in it
    "knell.stores.archive",
}  # fmt: skip
PANE = (KILL - {"knell.places.headless"}) | {
    *("knell.places.commands", "knell.places.panes", "knell.places.tmux"),
}
# Each takes longer to load than any file of knell; click loads most of them.
DEAR = {"click", "inspect", "ast", "tokenize", "uuid", "platform", "gettext", "locale", "difflib"}
STANDARD = 80  # modules of the standard library, the interpreter's own not counted


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "knell"}


def test_list_loads_only_what_it_shows(house: House) -> None:
    """`knell list` loads neither click nor anything that ends somebody."""
    house.spawn(name="luna")
    modules = cost(house, "list").modules
    assert ours(modules) - LIST == set()
    assert modules & (DEAR | {"signal"}) == set()  # which makes three enums
    assert len(modules - ours(modules)) <= STANDARD


@pytest.mark.parametrize("place", ["headless", "tmux"])
def test_kill_loads_only_what_it_needs(house: House, place: str) -> None:
    """`knell kill` loads neither click nor any place but the agent's own."""
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
    source = f"import sys; sys.path.insert(0, {folder!r}); import keeper, {names}\n"
    source += "keeper.become_subreaper(); print(open('/proc/self/comm').read(), *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", source], capture_output=True, text=True, check=True
    )
    name, *modules = done.stdout.split()
    assert name == "knell-keeper"  # prctl was reached, by whichever way
    large = {"enum", "functools", "collections", "re", "typing", "ctypes", "struct", "signal"}
    assert large & set(modules) == set()
