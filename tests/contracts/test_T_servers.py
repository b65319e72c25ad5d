"""Contract T: a server that agents share is used by rows of live runs, and ended after the last."""

import hashlib
import os
import signal
import socket
from collections.abc import Callable

import pytest

from contracts.t_scenes import Puppet, kill_agent, leader
from house import House, alive, eventually
from knell.core.receipt import Proof
from shared_server import Lab, pid_of, words_of


@pytest.fixture
def lab(house: House) -> Lab:
    return Lab(house)


def by_kill(lab: Lab, name: str) -> None:
    lab.house.kill(name)


def by_force(lab: Lab, name: str) -> None:
    lab.house.knell.kill(name, force=True)


def by_stop(lab: Lab, name: str) -> None:
    lab.house.knell.stop(name)


ENDINGS = [by_kill, by_force, by_stop]
each_ending = pytest.mark.parametrize("end", ENDINGS)


@each_ending
def test_T23_whoever_ends_no_longer_uses_the_server(
    lab: Lab, end: Callable[[Lab, str], None]
) -> None:
    lab.agent("ada")
    lab.agent("bo")
    assert lab.users == ["ada", "bo"]
    end(lab, "ada")
    assert lab.users == ["bo"]
    assert len(lab.living) == 1
    assert lab.says(lab.server) == 200


@each_ending
def test_T24_the_server_ends_with_the_last_who_used_it(
    lab: Lab, end: Callable[[Lab, str], None]
) -> None:
    lab.agent("ada")
    lab.agent("bo")
    server, [pid] = lab.server, lab.living
    end(lab, "ada")
    end(lab, "bo")
    assert lab.servers() == []
    assert not alive(pid)
    receipt = lab.receipt(server)
    assert (receipt.reason, receipt.proof, receipt.by) == ("unused", Proof.PROVEN, "operator")
    assert receipt.pid == pid


def asked_and_agreed(lab: Lab, boss: Puppet) -> None:
    answer = kill_agent(lab.house, boss, "wendy")
    assert answer.success, answer
    lab.house.run("approve", "wendy")
    lab.house.run("confirm", "wendy")


def forced(lab: Lab, boss: Puppet) -> None:
    answer = kill_agent(lab.house, boss, "wendy", force=True)
    assert answer.success, answer


@pytest.mark.parametrize("end", [asked_and_agreed, forced])
def test_C28_the_tool_reaps_the_server_both_ways(
    lab: Lab, end: Callable[[Lab, Puppet], None]
) -> None:
    boss = leader(lab.house)
    lab.agent("wendy", team="red")
    server, [pid] = lab.server, lab.living
    end(lab, boss)
    eventually(lambda: not alive(pid))
    eventually(lambda: lab.servers() == [])
    assert lab.receipt(server).proof is Proof.PROVEN


def test_G37_an_ending_that_nobody_asked_for_counts_as_well(lab: Lab) -> None:
    ada, _ = lab.agent("ada"), lab.agent("bo")
    server, [pid] = lab.server, lab.living
    os.kill(pid_of(ada), signal.SIGKILL)
    eventually(lambda: [view.name for view in lab.house.knell.list() if view.name == "ada"] == [])
    assert lab.users == ["bo"]
    lab.house.kill("bo")
    assert not alive(pid)
    assert lab.receipt(server).reason == "unused"


def test_G37_the_watch_ends_a_server_whose_last_user_crashed(lab: Lab) -> None:
    ada = lab.agent("ada")
    [pid] = lab.living
    os.kill(pid_of(ada), signal.SIGKILL)

    def reaped() -> bool:
        lab.house.knell.watch_once()
        return lab.servers() == []

    eventually(reaped)
    assert not alive(pid)


def test_G37_two_projects_with_one_port_get_two(lab: Lab) -> None:
    """The contract's port, and the next one if that is taken."""
    project = str(lab.project.resolve())
    own = 28_000 + int.from_bytes(hashlib.md5(project.encode()).digest()[:2], "big") % 1000
    taken = {own + step - (1000 if own + step > 28_999 else 0) for step in range(2)}
    with socket.socket() as stranger, socket.socket() as other:
        for door, port in zip((stranger, other), sorted(taken), strict=True):
            try:
                door.bind(("127.0.0.1", port))
                door.listen(1)
            except OSError:
                continue  # somebody on this machine has it already: as good
        lab.agent("ada")
        assert lab.server.port not in taken
        assert 28_000 <= lab.server.port <= 28_999
        assert lab.says(lab.server) == 200


def test_G19_what_the_server_does_for_a_killed_agent_is_broken_off(lab: Lab) -> None:
    ada, bo = lab.agent("ada"), lab.agent("bo")
    assert words_of(lab, ada)[:4] == [
        "attach", f"http://127.0.0.1:{lab.server.port}", "--dir", str(lab.project)
    ]  # fmt: skip
    assert not [path for path in lab.asked if "abort" in path]
    [slain] = lab.house.kill("ada")
    assert slain.receipts[0].warnings == ()
    aborts = [path for path in lab.asked if path.endswith("/abort")]
    assert aborts == [f"/session/{ada.agent.conversation}/abort"]
    assert ada.agent.conversation != bo.agent.conversation


def test_G19_a_server_that_refuses_has_not_aborted(lab: Lab) -> None:
    ada, _ = lab.agent("ada"), lab.agent("bo")
    (lab.root / "forgetful").touch()
    [slain] = lab.house.kill("ada")
    [told] = slain.receipts[0].warnings
    assert told.text == f"the shared server did not abort conversation {ada.agent.conversation}"


def test_G19_a_server_that_does_not_answer_is_told_in_the_receipt(lab: Lab) -> None:
    ada, _ = lab.agent("ada"), lab.agent("bo")
    [pid] = lab.living
    os.kill(pid, signal.SIGSTOP)
    try:
        [slain] = lab.house.kill("ada")
    finally:
        os.kill(pid, signal.SIGCONT)
    [told] = slain.receipts[0].warnings
    assert told.text == f"the shared server did not abort conversation {ada.agent.conversation}"
    assert not alive(pid_of(ada))
