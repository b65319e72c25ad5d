"""One agent of each program: ended in every state, it comes back with what was said."""

import pytest

from e2e import cells as scenes
from e2e.cells import Cells
from e2e.deeds import come_back, goes_on, stop
from e2e.home import STUBBORN, Home
from house import eventually

QUESTIONABLE = "run touch proof"


def test_R3_a_life(any_home: Home, cells: Cells) -> None:
    """`spawn`, a turn, `stop`, `resume`: the model is told of what was said before."""
    home = any_home
    with cells(scenes.SPAWN):
        home.spawn()
    with cells(scenes.TURN):
        goes_on(home, "amber", [])
    with cells(scenes.STOP_IDLE):
        stop(home)
        home.assert_nothing_left()
    with cells(scenes.RESUME):
        come_back(home)
        goes_on(home, "beryl", ["amber"])
    with cells(scenes.STOP_TURN):
        home.hold("on")
        stop(home)
        assert home.model.hung_up.wait(10), "it was not in the middle of a turn"
        home.assert_nothing_left()
        come_back(home)
        goes_on(home, "coral", ["amber", "beryl"])
    with cells(scenes.KILL_TURN):
        home.hold("off")
        home.end("kill", "luna")
        assert home.model.hung_up.wait(10), "it was not in the middle of a turn"
        come_back(home)
        goes_on(home, "daisy", ["amber", "beryl", "coral"])
    home.end("kill", "luna")


def test_R4_a_question_is_not_answered(any_home: Home, cells: Cells) -> None:
    """`stop` while it asks whether a command may run: the command does not run."""
    home = any_home
    home.spawn()
    goes_on(home, "amber", [])
    goes_on(home, "beryl", ["amber"])
    with cells(scenes.STOP_QUESTION):
        home.say(QUESTIONABLE, home.program.question)
        stop(home)
        home.assert_nothing_left()
        assert not (home.project / "proof").exists(), "the command was approved"
        come_back(home)
        told = [one for one in home.ask("coral") if one != "touch proof"]
        if home.program.forgets and told == ["beryl"]:
            cells.remark = home.program.forgets
        else:
            assert told == ["amber", "beryl"], f"the model was told of {told}"
    home.end("kill", "luna")


def test_R4_a_draft_is_not_sent(any_home: Home, cells: Cells) -> None:
    """`stop` with three lines half typed: nothing of them reaches the model."""
    home = any_home
    home.spawn()
    goes_on(home, "amber", [])
    with cells(scenes.STOP_DRAFT):
        for line in ("say never", QUESTIONABLE, "say more"):
            home.type(line)
            home.press("C-j")
        before = home.prompts()
        stop(home)
        home.assert_nothing_left()
        assert home.prompts() == before, "the draft was sent"
        assert not (home.project / "proof").exists(), "the draft was sent"
        come_back(home)
        goes_on(home, "beryl", ["amber"])
    home.end("kill", "luna")


@pytest.mark.parametrize(
    ("scene", "word", "way"),
    [
        (scenes.CLEAR, "/clear", "stop"),
        (scenes.CLEAR_EXIT, "/clear", "exit word"),
        (scenes.NEW, "/new", "kill"),
    ],
    ids=["clear-stop", "clear-exit", "new-kill"],
)
def test_R5_a_new_conversation_comes_back(
    any_home: Home, cells: Cells, scene: str, word: str, way: str
) -> None:
    """After `/clear` or `/new`, however it ends then, the new conversation is resumed."""
    home = any_home
    if word not in home.program.anew:
        cells.empty(scene, f"{home.program.name} has no `{word}`")
        return
    home.spawn()
    goes_on(home, "amber", [])
    with cells(scene):
        home.begin_anew(word)
        assert home.ask("beryl") == [], "the program itself goes on with the old conversation"
        if way == "exit word":
            home.enter(home.program.leave)
            eventually(lambda: not home.processes())
        else:
            home.end(way, "luna")
        come_back(home)
        goes_on(home, "coral", ["beryl"])
    home.end("kill", "luna")


def test_G2_nothing_of_its_servers_and_tools_is_left(any_home: Home, cells: Cells) -> None:
    """A stubborn MCP server with its child, and what a tool left in the background, end with it."""
    home = any_home
    home.serve_mcp(STUBBORN)
    with cells(scenes.MCP):
        home.spawn()
        goes_on(home, "amber", [])
        stop(home)
        home.assert_nothing_left()
    with cells(scenes.TOOLS):
        home.spawn("mira")
        home.say("run setsid sleep 7001 & sleep 7002 & sleep 7003", home.program.question)
        home.press("Enter")
        for number in (7001, 7002, 7003):
            eventually(lambda number=number: f"sleep {number}" in text_of_processes(home))
        home.end("kill", "mira")


def text_of_processes(home: Home) -> str:
    return "\n".join(home.processes().values())
