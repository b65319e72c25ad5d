"""Kinds and places from outside that are wrong: named with the field, and nobody else suffers."""

import shutil
import textwrap
from pathlib import Path

import pytest

from house import House, eventually
from knell import Knell
from knell.core.errors import BadConfig
from robin import SETTINGS, Aviary, as_package, configure, in_settings, offer, site

MINIMAL = '[kinds.wren]\nprogram = "wren"\n'

# What is wrong with [kinds.wren] → the field that the message names, and a word of the reason.
WRONG = {
    "colour = 'red'": ("colour", "is unknown"),
    "turn = 'x'": ("turn", "can only be given in Python"),
    "mcp = {}": ("mcp", "can only be given in Python"),
    "name = 'wren'": ("name", "is unknown"),
    "resume = '--again {id}'": ("resume", "a list of texts"),
    "resume = ['--again', 7]": ("resume", "a list of texts"),
    "resume = ['--again']": ("resume", "must contain {id}"),
    "resume = ['--again', '{uuid}']": ("resume", "unknown placeholder {uuid}"),
    "choose_id = ['', '{id}']": ("choose_id", "none of them empty"),
    "exit_keys = ['/bye']": ("exit_keys", "a text"),
    'exit_keys = "a\\u0000b"': ("exit_keys", "null byte"),
    "busy_in_answers = 1": ("busy_in_answers", "true or false"),
    "busy = '('": ("busy", "no regular expression"),
    "asks = ['[']": ("asks", "no regular expression"),
    "limited = ['(?P<a']": ("limited", "no regular expression"),
    "exit_shown = '*'": ("exit_shown", "no regular expression"),
    "child_env = 'WREN'": ("child_env", "a list of texts"),
    "session_env = ['WREN']": ("session_env", "a text"),
    "root_env = ['WREN']": ("root_env", "a table of texts"),
    "root_env = { WREN_HOME = 1 }": ("root_env", "a table of texts"),
    "root = '{cwd}/x'": ("root", "unknown placeholder {cwd}"),
    "conversation = ['talks/{id}']": ("root", "is missing"),
    "root = '/r'\nconversation = ['talks/*']": ("conversation", "else it means all files"),
    "root = '/r'\nconversation = ['../{id}']": ("conversation", "leads out of the root"),
    "root = '/r'\nconversation = ['/{id}']": ("conversation", "leads out of the root"),
    "root = '/r'\nextras = ['{cwd_key}/{id}']": ("extras", "only Python can give"),
    "live_file = '{id}.json'": ("live_file", "unknown placeholder {id}"),
    "program = ''": ("program", "is missing"),
    "program = '~/bin/wren'": ("program", "a name on PATH or a whole path"),
    "root = '~/.wren'": ("root", "must begin with {home} or /"),
    "root = '{home}/../wren'": ("root", "leads out"),
    "root_env = { 'A=B' = '' }": ("root_env", "no name of a variable"),
    "root_env = { WREN_HOME = '/../..' }": ("root_env", "leads out"),
    "strip_env = ['PATH']": ("strip_env", "not set by this program alone"),
    "child_env = ['HOME']": ("child_env", "not set by this program alone"),
    "session_env = 'KNELL_RUN'": ("session_env", "not set by this program alone"),
    "child_env = ['A=B']": ("child_env", "no name of a variable"),
    'exit_keys = "/bye\\n"': ("exit_keys", "a control character"),
    "live_file = 'session.json'": ("live_file", "must contain {pid}"),
    "printed = ['session [a-z]+']": ("printed", "one group"),
    "printed = ['(session) ([a-z]+)']": ("printed", "one group"),
    "prompt = ['--message']": ("prompt", "must contain {prompt}"),
}


def refusal(house: House, name: str = "wren") -> str:
    """What `spawn` says; exit 2, as for any broken setting."""
    done = house.run("spawn", "--in", "headless", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr


def told_by_doctor(house: House, what: str) -> str:
    """Why doctor calls it refused; the others are not."""
    found = house.json("doctor")["findings"]
    return next(one["text"] for one in found if one["what"] == what and not one["ok"])


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.replace("\n", "; "))
def test_a_bad_kind_in_the_settings_is_refused_with_its_field(house: House, wrong: str) -> None:
    field, why = WRONG[wrong]
    text = MINIMAL if not wrong.startswith("program") else "[kinds.wren]\n"
    configure(house, f"{text}{wrong}\n")
    with pytest.raises(BadConfig) as refused:
        Knell(env=house.env).kinds.kind("wren")
    told = str(refused.value)
    assert "kinds.wren in the settings" in told
    assert f"field {field}" in told
    assert why in told


@pytest.mark.parametrize("name", ["Wren", "1wren", "w" * 33, "wr en", "-wren"])
def test_a_kind_must_have_a_plain_name(house: House, name: str) -> None:
    configure(house, f'[kinds."{name}"]\nprogram = "wren"\n')
    assert "small letters" in told_by_doctor(house, f"kind {name}")


def test_a_kind_that_is_no_table(house: House) -> None:
    configure(house, '[kinds]\nwren = "wren"\n')
    assert "kinds.wren in the settings: it must be a table" in refusal(house)


def test_a_name_that_knell_uses_itself_is_taken(house: House) -> None:
    configure(house, '[kinds.claude]\nprogram = "mine"\n')
    assert "the name is taken" in refusal(house, "claude")
    assert "the name is taken" in told_by_doctor(house, "kind claude")


def install_wren(house: House) -> None:
    program = house.root / "bin" / "wren"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho a wren sings\nexec sleep 100\n")
    program.chmod(0o755)
    house.env["PATH"] = f"{program.parent}:{house.env['PATH']}"


def test_a_group_that_matches_nothing_is_no_id_and_breaks_no_kill(house: House) -> None:
    install_wren(house)
    talks = "resume = ['-r', '{id}']\nroot = '{home}/.wren'\nconversation = ['{id}']\n"
    configure(house, f"{MINIMAL}{talks}printed = ['(robin)?sings']\n")
    assert house.run("spawn", "--in", "headless", "--name", "ada", "wren").returncode == 0
    eventually(lambda: "sings" in house.run("logs", "ada").stdout)
    house.spawn(name="luna")
    assert house.json("kill", "ada", "luna")["ok"]


def test_a_bad_kind_spares_the_others(house: House) -> None:
    """Other kinds start, run and end; what runs already can be listed and killed."""
    aviary = Aviary(house, in_settings)
    aviary.spawn()
    house.spawn(name="luna")
    configure(house, SETTINGS + 'colour = "red"\n' + MINIMAL)
    assert "field colour is unknown" in told_by_doctor(house, "kind robin")
    assert {one["name"] for one in house.json("list")["agents"]} == {"ada", "luna"}
    assert house.run("status").returncode == 0
    assert "field colour" in house.json("show", "ada")["why_not_resumable"]
    stopped = house.run("stop", "ada")
    assert (stopped.returncode, "field colour" in stopped.stderr) == (2, True)
    assert house.json("stop", "luna")["ok"]
    [receipt] = house.json("kill", "ada")["receipts"]
    assert (receipt["result"], receipt["proof"]) == ("ended", "proven")
    assert "field colour" in receipt["conversation"]["why"]
    resumed = house.run("resume", "ada")
    assert (resumed.returncode, "field colour" in resumed.stderr) == (2, True)
    in_settings(house)
    assert house.run("resume", "ada").returncode == 0


def test_what_a_removed_kind_left_running_can_be_killed(house: House) -> None:
    aviary = Aviary(house, as_package)
    aviary.spawn()
    house.env.pop("PYTHONPATH")
    assert house.json("kill", "ada")["receipts"][0]["result"] == "ended"
    told = house.run("resume", "ada")
    assert (told.returncode, "'robin' is no kind of agent" in told.stderr) == (2, True)


# -- entry points ----------------------------------------------------------------------------------

MODULE = """
import sys
from knell.core.kind import Helper, Kind
from knell.core.mcp_client import McpClient
GOOD = Kind("wren", program="wren")
OTHER = Kind("robin", program="wren")
TYPE = Kind("wren", program=7)
REGEX = Kind("wren", program="wren", busy="(")
MCP = Kind("wren", program="wren", mcp=McpClient("x", 7))
HELPER = Kind("wren", program="wren", helpers=(Helper("x", None, ""),))
HOOKS = Kind("wren", program="wren", hooks=type("Hooks", (), {})())
NO_KIND = {"name": "wren"}
CLASS = Kind
def made(): return GOOD
def fails(): raise RuntimeError("no luck")
def gives_none(): return None
def leaves(): sys.exit(7)
def prints():
    print("a wren sings")
    return GOOD
"""
BAD_POINTS = {
    "nowhere:KIND": "cannot be loaded: ModuleNotFoundError",
    "wren_kind:NOTHING": "cannot be loaded: AttributeError",
    "wren_broken": "cannot be loaded: SyntaxError",
    "wren_kind:fails": "cannot be loaded: RuntimeError: no luck",
    "wren_kind:gives_none": "it gives NoneType, not a Kind",
    "wren_kind:NO_KIND": "it gives dict, not a Kind",
    "wren_kind:CLASS": "it gives type, not a Kind",
    "wren_kind:OTHER": "field name: it is 'robin'",
    "wren_kind:TYPE": "field program: it must be a text",
    "wren_kind:leaves": "cannot be loaded: SystemExit: 7",
    "wren_kind:MCP": "field mcp.snippet: it must be a function",
    "wren_kind:HELPER": "field helpers.serves: it must be a tuple of texts",
    "wren_kind:HOOKS": "field hooks: it must be a Hooks",
    "wren_kind:REGEX": "field busy: '(' is no regular expression",
}


def install(house: House, package: str, value: str, group: str = "knell.kinds") -> None:
    (site(house) / "wren_kind.py").write_text(MODULE)
    (site(house) / "wren_broken.py").write_text("def (")
    offer(house, package, {group: {"wren": value}})


@pytest.mark.parametrize("value", BAD_POINTS)
def test_a_bad_entry_point_is_refused_with_its_package(house: House, value: str) -> None:
    install(house, "wren-agent", value)
    told = refusal(house)
    assert "entry point wren of knell.kinds (wren-agent)" in told
    assert BAD_POINTS[value] in told


def test_doctor_tells_of_a_bad_entry_point_and_other_kinds_work(house: House) -> None:
    install(house, "wren-agent", "nowhere:KIND")
    assert "wren-agent" in told_by_doctor(house, "kind wren")
    house.spawn(name="luna")
    assert house.run("kill", "luna").returncode == 0


@pytest.mark.parametrize("value", ["wren_kind:leaves", "wren_kind:prints"])
def test_what_the_package_does_as_it_is_loaded_spoils_no_answer(house: House, value: str) -> None:
    """An exit is a fault of the package's; what it prints does not get into the JSON."""
    install(house, "wren-agent", value)
    told = {one["what"] for one in house.json("doctor")["findings"]}
    assert ("kind wren" in told) == (value == "wren_kind:leaves")


@pytest.mark.parametrize("value", ["wren_kind:GOOD", "wren_kind:made"])
def test_a_record_and_a_function_that_returns_one_are_good(house: House, value: str) -> None:
    install(house, "wren-agent", value)
    install_wren(house)
    done = house.run("spawn", "--in", "headless", "--name", "jenny", "wren")
    assert (done.returncode, "jenny: wren runs" in done.stdout) == (0, True)
    assert house.run("kill", "jenny").returncode == 0


def test_two_packages_that_offer_one_name(house: House) -> None:
    install(house, "wren-agent", "wren_kind:GOOD")
    offer(house, "jenny-agent", {"knell.kinds": {"wren": "wren_kind:made"}})
    told = refusal(house)
    assert "jenny-agent, wren-agent" in told
    assert "several packages offer this name" in told


def test_the_settings_come_before_an_entry_point_and_doctor_says_so(house: House) -> None:
    install(house, "wren-agent", "nowhere:KIND")
    configure(house, '[kinds.wren]\nprogram = "true"\n')
    assert "cannot be loaded" not in house.run("spawn", "--in", "headless", "wren").stderr
    assert "the name is taken" in told_by_doctor(house, "kind wren")


# -- places ----------------------------------------------------------------------------------------

PLACE = """
from knell.places.headless import Headless
class Attic(Headless):
    name = "attic"
    def open(self, launch):
        return super().open(launch)._replace(name="attic")
class Half:
    name, has_panes = "attic", False
    def open(self, launch): ...
class Named(Headless):
    pass
THING = 7
class Flagged(Attic):
    has_panes = "yes"
class Flat(Attic):
    screen = ""
class Unmade(Attic):
    def __init__(self, env):
        raise RuntimeError("no luck")
class Leaving(Attic):
    def __init__(self, env):
        raise SystemExit(3)
def fails(*given):
    raise RuntimeError("no luck")
class Failing(Attic):
    has_panes = True
    look = screen = stirred = keyboard = close = attach_command = fails
class Silent(Attic):
    has_panes = True
    look = screen = stirred = keyboard = close = attach_command = lambda *given: None
class Shut(Attic):
    open = fails
"""


def furnish(house: House, value: str) -> None:
    Path(site(house) / "attic_place.py").write_text(textwrap.dedent(PLACE))
    shutil.rmtree(site(house) / "attic_place-1.0.dist-info", ignore_errors=True)
    offer(house, "attic-place", {"knell.places": {"attic": value}})


def test_a_place_of_another_package_shows_agents(house: House) -> None:
    furnish(house, "attic_place:Attic")
    done = house.run("spawn", "--in", "attic", "--name", "ada", "--", "sleep", "100")
    assert (done.returncode, "in attic" in done.stdout) == (0, True), done.stderr
    assert house.json("list")["agents"][0]["place"] == "attic"
    assert house.json("kill", "ada")["receipts"][0]["proof"] == "proven"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("attic_place:Half", "field adopt: Half has none"),
        ("attic_place:Named", "field name: it is 'headless'"),
        ("attic_place:Flagged", "field has_panes: it must be True or False"),
        ("attic_place:Flat", "field screen: it must be a method"),
        ("attic_place:Unmade", "Unmade cannot be made: RuntimeError: no luck"),
        ("attic_place:Leaving", "Leaving cannot be made: SystemExit: 3"),
        ("attic_place:THING", "it gives int, not a class"),
        ("nowhere:Attic", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_bad_place_is_refused_with_its_package(house: House, value: str, why: str) -> None:
    furnish(house, value)
    done = house.run("spawn", "--in", "attic", "--", "sleep", "100")
    assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    assert "entry point attic of knell.places (attic-place)" in done.stderr
    assert why in told_by_doctor(house, "place attic")
    house.spawn(name="luna")


@pytest.mark.parametrize("become", ["", "Unmade", "Leaving", "Failing", "Silent", "THING"])
def test_what_runs_in_a_place_that_broke_is_seen_and_ended(house: House, become: str) -> None:
    """Its package is gone or became a bad one: nothing there, and nobody else, outlives that."""
    furnish(house, "attic_place:Attic")
    for name in ("ada", "eve"):
        done = house.run("spawn", "--in", "attic", "--name", name, "--", "sleep", "100")
        assert done.returncode == 0, done.stderr
    house.spawn(name="luna")
    if become:
        furnish(house, f"attic_place:{become}")
    else:
        house.env.pop("PYTHONPATH")
    for words in (["list"], ["status"], ["stalled"], ["explain", "ada"], ["watch", "--once"]):
        done = house.run(*words)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    for verb, names in (("stop", ("eve", "luna")), ("kill", ("ada",))):
        receipts = house.json(verb, *names)["receipts"]
        assert {one["agent"] for one in receipts} == {*names}
        for one in receipts:
            assert (one["result"], one["proof"]) == ("ended", "proven"), one
            unclosed = "pane_not_closed" in {warning["code"] for warning in one["warnings"]}
            assert unclosed is (one["agent"] != "luna"), "nobody can say what became of it"


def test_a_place_that_cannot_open_is_a_start_that_failed(house: House) -> None:
    furnish(house, "attic_place:Shut")
    done = house.run("spawn", "--in", "attic", "--name", "ada", "--", "sleep", "100")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "place attic: open: RuntimeError: no luck" in done.stderr
    assert house.json("list", "--all")["agents"][0]["outcome"] == "failed"


@pytest.mark.parametrize("name", ["screen", "terminal", ""])
def test_a_place_that_is_none_is_a_usage_error(house: House, name: str) -> None:
    done = house.run("spawn", "--in", name, "--", "true")
    assert (done.returncode, "no place is called" in done.stderr) == (2, True)
