"""The README's alias, `knell run`, and agents without a terminal: how each program comes back."""

import json

from e2e import cells as scenes
from e2e.cells import Cells, Unsure
from e2e.deeds import check_refusal, goes_on
from e2e.home import Home
from house import eventually, pause


def test_R3_the_alias(any_home: Home, cells: Cells) -> None:
    """What `knell run` started comes back into the terminal where `resume` is typed."""
    home = any_home
    home.open_pane()
    home.type_knell("run", "--name", "luna", home.program.name)
    goes_on(home, "amber", [])
    with cells(scenes.RUN_WORD):
        home.enter(home.program.leave)
        come_back_here(home)
        goes_on(home, "beryl", ["amber"])
    with cells(scenes.RUN_PANE):
        home.house.tmux("kill-pane", "-t", home.pane)
        come_back_here(home, anew=True)
        goes_on(home, "coral", ["amber", "beryl"])
    with cells(scenes.RUN_KEYS):
        home.press("C-c")
        pause(0.5)
        home.press("C-c")
        come_back_here(home)
        goes_on(home, "daisy", ["amber", "beryl", "coral"])
    home.receipt("kill", "luna")


def come_back_here(home: Home, *, anew: bool = False) -> None:
    """`knell resume` typed into a shell, once the agent has ended."""
    eventually(lambda: not home.house.knell.world.store.runs.live() or has_ended(home))
    if anew:
        home.open_pane()
    home.press("-l", " clear")
    home.press("Enter")
    home.type_knell("resume", "luna")
    if not home.is_ready():
        raise Unsure(f"`resume`: {' '.join(home.screen().split('error: ')[1].split())}")


def has_ended(home: Home) -> bool:
    views = json.loads(home.knell("list", "--json").stdout)["agents"]
    return not [view for view in views if view["name"] == "luna"]


def test_R8_headless_goes_on_with_a_new_prompt(any_home: Home, cells: Cells) -> None:
    """A headless agent continues with the prompt that `resume` is given, and only with one."""
    home = any_home
    argv = home.program.headless
    where = ("--in", "headless", "--name", "luna")
    # Around a word with a space in it opencode puts quotes, which the model then sees.
    words = ("say", "amber") if home.program.name == "opencode" else ("say amber",)
    home.knell("spawn", *where, home.program.name, *argv, *words)
    eventually(lambda: has_ended(home))
    with cells(scenes.HEADLESS):
        assert ["amber"] in told(home)
        bare = home.house.run("resume", "luna", cwd=home.project)
        assert bare.returncode == 1, bare.stdout
        done = home.house.run("resume", "luna", "--", "say beryl", cwd=home.project)
        eventually(lambda: not home.members())
        if ["amber", "beryl"] not in told(home):
            check_refusal("resume", done)
        assert done.returncode == 0, done.stderr
        assert ["amber", "beryl"] in told(home)


def told(home: Home) -> list[list[str]]:
    """Every list of words that the model was told in one request."""
    return [[rest for _, rest in one.prompts] for one in home.model.asked if one.tools]
