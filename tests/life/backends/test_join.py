"""One backend server a project: shared, never taken from others, and gone after the last user."""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from contracts.t_scenes import Puppet
from house import House, alive, eventually
from knell.core.codes import Code, Notice
from knell.core.errors import BadRequest, LaunchFailed
from knell.core.receipt import Proof
from knell.life.backends.join import ports
from knell.life.end.reap import reap
from shared_server import Lab, begun, cut_down, pid_of, spawn_words
from watchers import configure

SERVED = Notice(Code.BACKEND_ENDED, "it served ada, bo, which cannot continue without it")

KILLED = -signal.SIGKILL


@pytest.fixture
def lab(house: House) -> Lab:
    return Lab(house)


def test_agents_of_a_project_share_one_server(lab: Lab) -> None:
    below = lab.project / "src"
    below.mkdir()
    lab.agent("ada")
    lab.agent("bo", below)
    assert lab.users == ["ada", "bo"]
    assert lab.born == lab.living
    server = lab.server
    assert server.project == str(lab.project.resolve())
    assert server.process
    assert [server.process.pid] == lab.living
    assert lab.run(server.id).process == server.process


def test_another_project_has_another(lab: Lab) -> None:
    lab.agent("ada")
    lab.agent("bo", lab.house.root)
    assert len(lab.servers()) == len(lab.living) == 2
    first, second = lab.servers()
    assert first.port != second.port
    lab.house.kill("ada")
    assert [server.id for server in lab.servers()] == [second.id]


def test_nobody_without_the_password_is_served(lab: Lab) -> None:
    lab.agent("ada")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"http://127.0.0.1:{lab.server.port}/global/health", timeout=300)


def test_a_server_is_nobodys_child(lab: Lab) -> None:
    """Ended with all that it started, an agent leaves the server to whom it serves besides."""
    puppet = Puppet(lab.house, "puppet")
    assert puppet.says(*spawn_words(lab, "ada")).code == 0
    lab.agent("bo")
    assert lab.run(lab.server.id).parent == ""
    [slain] = lab.house.kill("puppet")
    assert [receipt.agent for receipt in slain.receipts] == ["ada", "puppet"]
    assert lab.users == ["bo"]
    assert lab.born == lab.living
    assert lab.says(lab.server) == 200


def test_a_server_that_died_is_replaced_for_the_next(lab: Lab) -> None:
    lab.agent("ada")
    dead = lab.server
    [pid] = lab.living
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not alive(pid))
    lab.agent("bo")
    assert lab.server.id != dead.id
    assert lab.users == ["bo"]
    assert len(lab.living) == 1


def test_a_server_that_takes_calls_and_answers_none_is_replaced(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.agent("ada")
    hung = lab.server
    [pid] = lab.living
    (lab.root / f"{pid}.mute").touch()
    monkeypatch.setattr("knell.life.backends.join.START_LIMIT", 4.0)  # so long, as somebody uses it
    lab.agent("bo")
    assert not alive(pid)
    assert lab.receipt(hung).reason == "server_silent"
    assert lab.receipt(hung).warnings == (SERVED,)
    assert lab.users == ["bo"]


def test_a_server_that_never_answers_ends_the_spawn_and_leaves_nothing(lab: Lab) -> None:
    (lab.root / "broken").touch()
    with pytest.raises(LaunchFailed, match="does not answer") as told:
        lab.agent("ada")
    assert "knell receipt server-opencode-" in told.value.hint
    assert lab.servers() == []
    assert lab.living == []
    assert [view.name for view in lab.house.knell.list()] == []
    name = told.value.hint.split()[2]
    assert "its settings are broken" in lab.house.knell.receipt(name).screen


def test_a_server_that_somebody_else_started_is_neither_used_nor_ended(lab: Lab) -> None:
    """It even stands on the project's own port, and answers."""
    login = {"OPENCODE_SERVER_USERNAME": "opencode", "OPENCODE_SERVER_PASSWORD": ""}
    port = next(port for port in ports(str(lab.project.resolve())) if _answers_nobody(port))
    words = ("opencode", "serve", "--hostname", "127.0.0.1", "--port", str(port))
    persons = subprocess.Popen(words, env=lab.house.env | login, cwd=lab.project)
    try:
        eventually(lambda: not _answers_nobody(port))
        lab.agent("ada")
        assert lab.server.port != port
        assert lab.server.process
        assert lab.server.process.pid != persons.pid
        lab.house.kill("all")
        lab.house.knell.watch_once()
        assert lab.living == [persons.pid]
    finally:
        persons.kill()
        persons.wait()


def _answers_nobody(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
    except urllib.error.HTTPError:
        return False
    except OSError:
        return True
    return False


def test_six_who_ask_at_once_get_one(lab: Lab) -> None:
    names = [f"a{number}" for number in range(6)]
    started = [begun(lab, name) for name in names]
    said = [one.communicate(timeout=300) for one in started]
    assert [one.returncode for one in started] == [0] * 6, said
    assert sorted(lab.users) == names
    assert len(lab.living) == 1
    assert lab.born == lab.living


def test_who_ends_the_server_is_told_whom_it_served(lab: Lab) -> None:
    lab.agent("ada")
    lab.agent("bo")
    [pid] = lab.living
    [slain] = lab.house.kill("tag:server")
    [receipt] = slain.receipts
    assert receipt.warnings == (SERVED,)
    assert not alive(pid)
    reap(lab.house.knell.world, end=True)
    assert lab.servers() == []
    assert [view.name for view in lab.house.knell.list()] == ["ada", "bo"]


def test_kill_all_ends_agents_and_server_without_a_word(lab: Lab) -> None:
    lab.agent("ada")
    lab.agent("bo")
    [slain] = lab.house.kill("all")
    assert {receipt.proof for receipt in slain.receipts} == {Proof.PROVEN}
    assert [receipt.warnings for receipt in slain.receipts] == [(), (), ()]
    assert lab.living == []
    assert lab.servers() == []


@pytest.mark.parametrize("at", ["at retire", "after retire", "at drop"])
def test_what_a_killed_reaper_left_is_finished_by_the_next(lab: Lab, at: str) -> None:
    lab.agent("ada")
    assert cut_down(lab, at, "kill", "ada") == KILLED
    assert len(lab.servers()) == 1
    reap(lab.house.knell.world, end=True)
    assert lab.servers() == []
    assert lab.living == []


def test_a_spawn_sees_an_interrupted_end_of_the_server_through(lab: Lab) -> None:
    lab.agent("ada")
    assert cut_down(lab, "after retire", "kill", "ada") == KILLED
    [old] = lab.living
    lab.agent("bo")
    assert not alive(old)
    assert lab.users == ["bo"]
    assert len(lab.living) == 1


@pytest.mark.parametrize("at", ["at use", "after use"])
def test_a_spawn_that_is_killed_holds_nothing_for_ever(lab: Lab, at: str) -> None:
    assert cut_down(lab, at, *spawn_words(lab, "ada")) == KILLED
    eventually(lambda: lab.living)
    lab.house.knell.watch_once()
    lab.house.knell.watch_once()
    assert lab.servers() == []
    assert lab.living == []
    assert [view.name for view in lab.house.knell.list()] == []


def test_a_server_that_nobody_wrote_down_is_found_by_the_next_spawn(lab: Lab) -> None:
    assert cut_down(lab, "at add", *spawn_words(lab, "ada")) == KILLED
    assert lab.servers() == []
    [pid] = eventually(lambda: lab.living)
    lab.agent("bo")
    assert lab.users == ["bo"]
    assert lab.born == [pid]
    assert lab.server.process
    assert lab.server.process.pid == pid


def test_a_server_that_nobody_wrote_down_is_reaped_in_the_end(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cut_down(lab, "at add", *spawn_words(lab, "ada")) == KILLED
    eventually(lambda: lab.living)
    reap(lab.house.knell.world, end=True)
    assert len(lab.living) == 1  # whoever started it may be about to write it down
    monkeypatch.setattr("knell.life.backends.reap.FORGOTTEN", 0.0)
    reap(lab.house.knell.world, end=True)
    assert lab.living == []
    assert lab.servers() == []


def test_who_comes_back_shares_again(lab: Lab) -> None:
    ada = lab.agent("ada")
    lab.house.kill("ada")
    assert lab.living == []
    lab.house.knell.restart("ada")
    assert lab.users == ["ada"]
    agent = lab.house.knell.world.store.runs.agent("ada")
    assert agent
    assert agent.conversation not in ("", ada.agent.conversation)


def test_who_is_resumed_goes_on_with_its_conversation_on_a_server(lab: Lab) -> None:
    ada = lab.agent("ada")
    lab.house.kill("ada")
    lab.remember(ada)
    up = lab.root / f"{ada.agent.conversation}.up"
    up.unlink()
    configure(lab.house, "[resume]\nwait = 1\n")  # the stand-in never shows its conversation
    assert lab.house.run("resume", "ada").returncode == 0
    eventually(up.exists)
    assert lab.users == ["ada"]
    agent = lab.house.knell.world.store.runs.agent("ada")
    assert agent
    assert agent.conversation == ada.agent.conversation


def test_only_a_kind_that_serves_can_be_shared(lab: Lab) -> None:
    words = (sys.executable, "-c", "")
    with pytest.raises(BadRequest, match="command has no server"):
        lab.house.knell.spawn(command=words, place="headless", shared=True)
    said = lab.house.run("spawn", "--shared", "--in", "headless", "claude")
    assert said.returncode == 2
    assert "claude has no server that agents can share" in said.stderr


def test_a_server_in_use_is_not_reaped(lab: Lab) -> None:
    ada = lab.agent("ada")
    reap(lab.house.knell.world, end=True)
    lab.house.knell.watch_once()
    assert lab.users == ["ada"]
    assert alive(pid_of(ada))
    assert len(lab.living) == 1
