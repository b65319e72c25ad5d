"""A kind of agent that nobody has heard of: one file, and every verb knows it.

It is brought three ways: as a file in `kinds/`, by an entry point of another package, and in the
settings. No other file of knell is touched for it.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from faces.cli.test_completion import completed
from house import House, alive, eventually
from robin import BRINGS, Aviary, spawn_words


@pytest.fixture(params=BRINGS)
def aviary(house: House, request: pytest.FixtureRequest) -> Aviary:
    return Aviary(house, BRINGS[request.param])


FILE = pytest.param("file", marks=pytest.mark.stress)  # dear: a knell of its own, never forked


@pytest.fixture(params=["package", "settings", FILE])
def known_aviary(house: House, request: pytest.FixtureRequest) -> Aviary:
    """For what is asked of a kind once it is found: of a file it is the same as of a package."""
    return Aviary(house, BRINGS[request.param])


@pytest.fixture(params=["package", FILE])
def python_aviary(house: House, request: pytest.FixtureRequest) -> Aviary:
    """Hooks and MCP clients are Python; the settings cannot bring them."""
    return Aviary(house, BRINGS[request.param])


def reached(receipt: dict[str, Any]) -> list[str]:
    return [rung["rung"] for rung in receipt["rungs"] if rung["reached"]]


def receipt_of(aviary: Aviary, *words: str) -> dict[str, Any]:
    [receipt] = aviary.house.json(*words)["receipts"]
    return receipt


# -- a life ----------------------------------------------------------------------------------------


def test_it_is_started_seen_stopped_resumed_restarted_and_killed(aviary: Aviary) -> None:
    house = aviary.house
    house.env |= {"ROBIN_CHILD": "1", "CLAUDECODE": "1"}
    ada = aviary.spawn()
    talk = ada["conversation"]
    assert (ada["kind"], aviary.talks()) == ("robin", [talk])
    assert aviary.started()["argv"] == ["--talk", talk]
    assert not {"ROBIN_CHILD", "CLAUDECODE"} & set(aviary.started()["env"])

    assert [one["kind"] for one in house.json("list")["agents"]] == ["robin"]
    again = f"cd {house.root} && robin --again {talk}"
    assert house.json("show", "ada")["resume"] == again
    assert house.json("status", "ada")["kind"] == "robin"
    assert [one["via"] for one in house.json("tree", "ada")["processes"]] == ["keeper", "agent"]
    why = house.json("explain", "ada")["why"]
    assert why in {"its turn is over", "its conversation grows"}
    assert house.json("stalled")["agents"][0]["name"] == "ada"

    stopped = receipt_of(aviary, "stop", "ada")
    assert (reached(stopped), stopped["exit_code"]) == (["exit_keys"], 0)
    assert stopped["conversation"]["resume"] == again
    assert stopped["conversation"]["exists"] is True

    assert house.json("resume", "ada")["verdict"] in {"resumed", "started"}
    aviary.await_prompt()
    assert aviary.started()["argv"] == ["--again", talk]
    assert house.run("restart", "ada").returncode == 0
    aviary.await_prompt()
    killed = receipt_of(aviary, "kill", "ada")
    assert (killed["kind"], killed["proof"], killed["result"]) == ("robin", "proven", "ended")
    assert not alive(aviary.started()["pid"])


def test_a_question_on_its_screen_waits_for_a_person(known_aviary: Aviary) -> None:
    aviary = known_aviary
    aviary.spawn()
    aviary.say("ask")

    def waiting() -> bool:
        told = aviary.house.json("explain", "ada")
        return (told["activity"], told["why"]) == ("waiting", "it asks: May I sing?")

    eventually(waiting)


def test_a_conversation_that_is_gone_is_not_resumed(known_aviary: Aviary) -> None:
    aviary = known_aviary
    talk = aviary.spawn()["conversation"]
    aviary.house.run("kill", "ada")
    (aviary.home / "talks" / f"{talk}.jsonl").unlink()
    done = aviary.house.run("resume", "ada")
    assert (done.returncode, talk in done.stderr) == (1, True)


def test_a_purge_deletes_its_conversation_and_what_belongs_to_it(known_aviary: Aviary) -> None:
    aviary = known_aviary
    talk = aviary.spawn()["conversation"]
    other = aviary.home / "talks" / "another.jsonl"
    other.write_text("{}\n")
    purged = receipt_of(aviary, "stop", "ada", "--purge-conversation", "--yes")
    assert len(purged["conversation"]["purged"]) == 2
    assert aviary.talks() == ["another"]
    assert not (aviary.home / "notes" / talk).exists()


def test_one_that_something_else_started_is_recognised_and_adopted(aviary: Aviary) -> None:
    house = aviary.house
    house.tmux("new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", "robin --talk mine; cat")
    aviary.await_prompt()
    done = house.run("adopt", house.panes()[0], "--tmux-server", "test", "--name", "ada")
    assert done.returncode == 0, done.stderr
    told = house.json("show", "ada")
    assert (told["kind"], told["args"]) == ("robin", ["--talk", "mine"])
    assert told["pid"] == aviary.started()["pid"]
    assert reached(receipt_of(aviary, "stop", "ada")) == ["exit_keys"]


def test_its_row_in_the_registry_file_gets_its_conversation(known_aviary: Aviary) -> None:
    aviary = known_aviary
    talk = aviary.spawn()["conversation"]
    file = aviary.register(robin_talk_id_own=None)
    aviary.house.run("stop", "ada").check_returncode()
    row = YAML(typ="safe", pure=True).load(file.read_text())["tmux_sessions"][0]
    assert (row["status"], row["robin_talk_id_own"]) == ("stopped", talk)


# -- what knell knows of it ---------------------------------------------------------------------


def test_doctor_finds_its_program(aviary: Aviary) -> None:
    found = {one["what"]: one for one in aviary.house.json("doctor")["findings"]}
    assert (found["robin"]["ok"], Path(found["robin"]["text"]).name) == (True, "robin")


def test_its_name_is_completed_and_listed(aviary: Aviary) -> None:
    assert completed(aviary.house, "spawn", "ro") == ["robin"]
    assert completed(aviary.house, "run", "--name", "ada", "ro") == ["robin"]
    assert completed(aviary.house, "spawn", "robin", "ro") == []
    refused = aviary.house.run("adopt", "4194303", "--kind", "robbin")
    assert refused.returncode != 0
    assert "robin" in aviary.house.run("spawn").stderr


def test_an_option_of_ours_behind_it_is_refused(aviary: Aviary) -> None:
    done = aviary.house.run("spawn", "robin", "--name", "ada")
    assert (done.returncode, "--name stands after robin" in done.stderr) == (2, True)


def test_its_hooks_are_installed_and_removed(python_aviary: Aviary) -> None:
    house, settings = python_aviary.house, python_aviary.home / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"song": 1}\n')
    assert house.json("hooks", "install", "robin")["programs"][0]["state"] == "installed"
    assert set(json.loads(settings.read_text())["hooks"]) == {"SessionStart", "Chirp", "SessionEnd"}
    told = house.json("hooks", "status")["programs"]
    assert [(one["program"], one["state"]) for one in told] == [("robin", "installed")]
    assert completed(house, "hooks", "status", "ro") == ["robin"]
    assert house.json("hooks", "uninstall", "robin")["ok"]
    assert settings.read_text() == '{"song": 1}\n'


def test_its_settings_for_our_server_are_printed(python_aviary: Aviary) -> None:
    house = python_aviary.house
    told = house.json("mcp", "--config", "robin")
    words = json.loads(told["snippet"])["servers"]["knell"]
    assert (told["file"], words[-1]) == ("~/.robin/mcp.json", "mcp")
    http = house.json("mcp", "--config", "robin", "--http")["snippet"]
    assert json.loads(http)["servers"]["knell"].startswith("http://127.0.0.1:")
    assert completed(house, "mcp", "--config", "ro") == ["robin"]


def test_it_is_started_with_our_server(python_aviary: Aviary) -> None:
    python_aviary.spawn("--mcp")
    *_, option, document = python_aviary.started()["argv"]
    assert (option, json.loads(document)["servers"]["knell"][-1]) == ("--mcp", "mcp")


def test_from_the_settings_it_has_no_hooks_and_no_server(house: House) -> None:
    aviary = Aviary(house, BRINGS["settings"])
    for words in (("hooks", "install", "robin"), ("mcp", "--config", "robin")):
        done = aviary.house.run(*words)
        assert (done.returncode, "robin" in done.stderr) == (2, True)
    done = house.run(*spawn_words("ada", "--mcp"))
    assert (done.returncode, "robin takes no MCP server" in done.stderr) == (2, True)


def test_its_own_function_reads_whose_turn_it_is(python_aviary: Aviary) -> None:
    python_aviary.spawn()
    house = python_aviary.house
    eventually(lambda: house.json("explain", "ada")["why"] == "its turn is over")


def test_the_built_in_kinds_do_not_pay_for_others(house: House) -> None:
    """Entry points are looked at only for a name that nothing nearer has."""
    Aviary(house, BRINGS["package"])
    code = (
        "import sys; from knell.wiring import RealWorld; kinds = RealWorld().kinds;"
        "kinds.kind('claude'); kinds.recognise(['claude']); kinds.strip_env();"
        "print('importlib.metadata' in sys.modules); print(kinds.recognise(['robin']))"
    )
    done = house.process(sys.executable, "-c", code, stdout=subprocess.PIPE)
    assert done.communicate()[0].decode().split() == ["False", "robin"]
