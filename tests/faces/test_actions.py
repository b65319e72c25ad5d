"""What one face can do, the others can, or the table in docs/faces.md says why not."""

from textual.binding import Binding

from knell.faces.actions import ACTIONS, FAR, PLAIN_WEB, WITHOUT
from knell.faces.cli.group import ALIASES, VERBS
from knell.faces.deeds import DEEDS
from knell.faces.fleet.obey import OPTIONS
from knell.faces.mcp.tools.call import TOOLS
from knell.faces.top.app import TopApp
from knell.faces.top.pages import PAGES
from knell.faces.top.table import AgentTable
from knell.faces.web.far import WHATS

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


# -- across hosts --------------------------------------------------------------------------------


def test_every_action_reaches_other_hosts_or_says_why_not() -> None:
    assert [one.what for one in ACTIONS] == [*FAR]
    assert [
        what for what, one in FAR.items() if not (one.top and one.web) and not one.why_not
    ] == []
    assert [what for what, one in FAR.items() if not one.how and (one.verb or one.top)] == []


def test_an_action_has_the_same_key_and_button_on_every_host() -> None:
    for one in ACTIONS:
        far = FAR[one.what]
        assert far.top in ("", one.key), one.what
        assert far.web in ("", one.web, "button"), one.what
        assert far.verb.split()[:1] in ([], one.verb.split()[:1]), one.what


def test_every_deed_goes_by_an_order_that_hosts_obey_or_says_why_not() -> None:
    of_web = {one.web: FAR[one.what] for one in ACTIONS}
    for deed in DEEDS:
        far = of_web[deed.name]
        assert (far.how, far.top) == (("order", deed.key) if deed.order else ("", "")), deed.name
        assert bool(deed.order) != bool(deed.why_not_far)
        assert not deed.order or deed.options.keys() <= OPTIONS[deed.order]
        assert far.why_not == deed.why_not_far
    ordered = {one.verb.split()[0] for one in FAR.values() if one.how == "order"}
    assert ordered <= OPTIONS.keys()
    assert set(WHATS) <= ordered
    assert {key: bool(FAR[what].top) for what, key in pages().items()} == {
        **dict.fromkeys(PAGES, True),
        "l": False,
    }


def pages() -> dict[str, str]:
    return {one.what: one.key for one in ACTIONS if one.key in PAGES}
