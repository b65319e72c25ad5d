"""What one face can do, the others can, or the table in docs/faces.md says why not."""

from textual.binding import Binding

from knell.faces.actions import ACTIONS, PLAIN_WEB, WITHOUT
from knell.faces.cli.group import ALIASES, VERBS
from knell.faces.deeds import DEEDS
from knell.faces.mcp.tools.call import TOOLS
from knell.faces.top.app import TopApp
from knell.faces.top.table import AgentTable

MOVING = {"up", "down", "j", "k", "pageup", "pagedown", "home", "end", "space"}
OF_THE_SCREEN = {"q", "ctrl+c", "escape", "exclamation_mark", "question_mark"}
NAMES = {"slash": "/"}  # as textual calls a key → as people do
TEAM_TOOLS = {
    *("send-message", "poll-inbox", "answer-shutdown", "heartbeat"),
    *("claim-task", "complete-task", "list-tasks"),
}


def keys() -> set[str]:
    bound = [one for one in (*TopApp.BINDINGS, *AgentTable.BINDINGS) if isinstance(one, Binding)]
    return {NAMES.get(key, key) for one in bound for key in one.key.split(",")}


def test_every_verb_is_an_action_or_has_a_reason() -> None:
    offered = {one.verb.split()[0] for one in ACTIONS}
    excused = {verb for verbs in WITHOUT.values() for verb in verbs}
    assert set(VERBS) <= offered | excused
    assert not offered & excused
    assert offered <= set(VERBS) | set(ALIASES)


def test_every_key_of_top_is_an_action() -> None:
    offered = {one.key for one in ACTIONS} - {"", "shown"}
    assert keys() - MOVING - OF_THE_SCREEN == offered
    assert {one.key for one in DEEDS} <= offered


def test_every_deed_of_web_is_an_action() -> None:
    assert {one.web for one in ACTIONS} - set(PLAIN_WEB) == {one.name for one in DEEDS}


def test_every_tool_is_an_action_or_for_teams() -> None:
    offered = {one.tool for one in ACTIONS} - {""}
    assert set(TOOLS) - TEAM_TOOLS == offered


def test_what_a_face_does_not_have_is_explained() -> None:
    assert [
        one.what for one in ACTIONS if not (one.key and one.tool and one.web) and not one.why_not
    ] == []
