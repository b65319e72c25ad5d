"""R1: opencode tells each run its conversation, by a plugin that only this run is given."""

import json
import subprocess
from pathlib import Path

import pytest

from house import House, eventually
from knell.core.telling import TellRequest
from knell.kinds.opencode import KIND, tell
from stand_ins import StandIn

CONFIG, TUI = "OPENCODE_CONFIG_CONTENT", "OPENCODE_TUI_CONFIG"


@pytest.fixture
def opencode(house: House) -> StandIn:
    return StandIn(house, "opencode")


def told(opencode: StandIn, name: str, text: str) -> str:
    """Types; the conversation that it is in then."""
    before = opencode.screen(name)
    pane = opencode.pane(name)
    opencode.house.tmux("send-keys", "-t", pane, "-l", text)
    opencode.house.tmux("send-keys", "-t", pane, "Enter")
    if text == "/new":
        opencode.shows(name, "in none")
        return ""
    eventually(lambda: "in ses_" in opencode.screen(name))
    if text.startswith("/sessions"):
        eventually(lambda: opencode.screen(name) != before)
    shown = opencode.screen(name).split("in ")[1].split()[0]
    assert opencode.conversation(name) == (shown, "told")
    return shown


def test_R1_two_in_one_directory_come_back_each_in_its_own(opencode: StandIn) -> None:
    mine: dict[str, str] = {}
    for name in ("ada", "bob", "cyd"):
        opencode.spawn(name, shows="in none")
        assert opencode.conversation(name) == ("", "unsure")
        mine[name] = told(opencode, name, "hello")
    assert len(set(mine.values())) == 3
    opencode.knell("kill", "ada", "bob", "cyd")
    for name in ("bob", "ada", "cyd"):
        opencode.resume(name, shows=f"in {mine[name]}")
    opencode.knell("kill", "ada", "bob", "cyd")


def test_R5_it_is_followed_through_new_and_sessions(opencode: StandIn) -> None:
    opencode.spawn("ada", shows="in none")
    first = told(opencode, "ada", "hello")
    told(opencode, "ada", "/new")
    second = told(opencode, "ada", "hello again")
    assert second != first
    assert told(opencode, "ada", f"/sessions {first}") == first
    told(opencode, "ada", f"/sessions {second}")
    opencode.knell("kill", "ada")
    opencode.resume("ada", shows=f"in {second}")
    opencode.knell("kill", "ada")


def test_R5_after_new_and_without_a_word_it_is_unsure(opencode: StandIn) -> None:
    """The person has left the old conversation, and has begun none: neither is his wish."""
    opencode.spawn("ada", shows="in none")
    first = told(opencode, "ada", "hello")
    told(opencode, "ada", "/new")
    assert opencode.shown("ada")["conversation_source"] == "unsure"
    opencode.knell("kill", "ada")
    refused = opencode.knell("resume", "ada", code=1)
    assert f"it was in {first}, and may have left it" in refused
    assert "not deleted" in opencode.knell("stop", "ada", "--purge-conversation", "--yes", code=1)
    opencode.knell("resume", "ada", "--conversation", first)
    opencode.shows("ada", f"in {first}")
    opencode.knell("kill", "ada")


def test_R1_an_opencode_below_it_changes_nothing(opencode: StandIn) -> None:
    """It inherits the variables, and finds that another process is the teller."""
    opencode.spawn("ada", shows="in none")
    mine = told(opencode, "ada", "hello")
    [run] = [run for run in opencode.house.knell.world.store.runs.live() if run.agent == "ada"]
    folder = Path(opencode.house.knell.world.rundir(run.id))
    plugin = [f"file://{folder}/tell.js", {"folder": str(folder)}]
    env = {**opencode.house.env, CONFIG: json.dumps({"plugin": [plugin]})}
    argv = [str(opencode.house.root / "bin" / "opencode"), "run", "hi"]
    nested = subprocess.run(argv, env=env, cwd=opencode.project, capture_output=True, check=True)
    assert nested.stdout.startswith(b"in ses_")
    assert opencode.conversation("ada") == (mine, "told")
    opencode.knell("kill", "ada")


def test_R1_without_a_word_of_it_there_is_no_resume_and_no_purge(opencode: StandIn) -> None:
    opencode.spawn("ada", "--pure", shows="in none")
    opencode.knell("kill", "ada")
    assert "is not known surely" in opencode.knell("resume", "ada", code=1)
    said = opencode.knell("stop", "ada", "--purge-conversation", "--yes", code=1)
    assert "unsure: opencode has not told" in said


# -- what a start is given --------------------------------------------------------------------


def request(*argv: str, env: dict[str, str] | None = None, file: str | None = None) -> TellRequest:
    return TellRequest(("opencode", *argv), env or {}, "/w", "/runs/7 é", lambda _path: file)


@pytest.mark.parametrize("argv", [(), ("--session", "ses_1"), ("attach", "http://x"), ("/a/dir",)])
def test_the_interface_gets_a_plugin_by_a_file_of_its_own(argv: tuple[str, ...]) -> None:
    done = tell(request(*argv))
    assert (done.argv, done.env) == (("opencode", *argv), {TUI: "/runs/7 é/tui.json"})
    settings = json.loads(dict(done.files)["tui.json"])
    assert settings["plugin"] == [["file:///runs/7%20%C3%A9/tell.js", {"folder": "/runs/7 é"}]]
    assert "tui" in dict(done.files)["tell.js"]


@pytest.mark.parametrize("argv", [("run", "do it"), ("--mini",)])
def test_without_the_interface_the_server_gets_it_beside_the_users(argv: tuple[str, ...]) -> None:
    theirs = {"model": "x", "plugin": ["mine"]}
    done = tell(request(*argv, env={CONFIG: json.dumps(theirs)}))
    ours = ["file:///runs/7%20%C3%A9/tell-server.js", {"folder": "/runs/7 é"}]
    assert json.loads(done.env[CONFIG]) == {"model": "x", "plugin": ["mine", ours]}


def test_the_users_own_file_for_the_interface_stays_in_force() -> None:
    text = json.dumps({"theme": "nord", "plugin": ["mine"]})
    done = tell(request(env={TUI: "mine.json"}, file=text))
    settings = json.loads(dict(done.files)["tui.json"])
    assert (settings["theme"], settings["plugin"][0], len(settings["plugin"])) == (
        "nord",
        "mine",
        2,
    )


@pytest.mark.parametrize(
    "file",
    ["// comment\n{}", "[]", '{"plugin": 7}', '{"plugin": ["./mine.js"]}', None, "[" * 99_999],
)
def test_settings_that_cannot_be_read_or_copied_are_left_alone(file: str | None) -> None:
    start = request(env={TUI: "mine.json"}, file=file)
    assert tell(start) == (start.argv, start.env, ())
    start = request("run", "x", env={CONFIG: "{not json"})
    assert tell(start) == (start.argv, start.env, ())


@pytest.mark.parametrize("word", KIND.subcommands)
def test_a_command_that_starts_no_session_is_given_nothing(word: str) -> None:
    start = request(word)
    assert tell(start) == (start.argv, start.env, ())
