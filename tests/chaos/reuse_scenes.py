"""What is played in the namespace of small_range.py: each number of luna's becomes a stranger's.

Every scene ends well only if the stranger has got no signal and the receipt tells the truth.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from chaos.small_range import (
    Room,
    Stranger,
    enter,
    is_free,
    keepers_held,
    settle_down,
    take,
    vacate,
)
from house import House, alive, eventually, open_house, state_and_parent
from house import pids as all_pids
from knell.processes.os import system
from scenes import SLEEPS, Played, adopted, number, started
from shared_server import Lab

REAPS = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"  # a dead child's number is free at once
IGNORES = "[signal.signal(n, signal.SIG_IGN) for n in (1, 15)]\n"
APART = "child({}, session=True)\ntell()\nsleep()"
SENDS = "send,send_through"  # how the function is called that signals a process
BEGINNINGS = {"kept": started, "adopted": adopted}


class Scene:
    """A house whose strangers are looked at and sent away at the end."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.room = Room(house.root / "room")
        self.room.path.mkdir()
        self.strangers: list[Stranger] = []

    def taken(self, pid: int, deed: str = "") -> Stranger:
        """Ends whoever has this number and gives it to a stranger."""
        vacate(pid)
        return self.given(pid, deed)

    def given(self, pid: int, deed: str) -> Stranger:
        """Gives a free number to a stranger."""
        settle_down()
        self.strangers.append(take(pid, self.room.path, deed))
        return self.strangers[-1]

    def kill(self, *words: str) -> dict[str, Any]:
        """The only receipt of `knell kill`, and its exit code."""
        return receipt_of(self.house.run("kill", *words, "--json"))

    def begun(self, *words: str) -> "subprocess.Popen[str]":
        """A command in the background; `finished` waits for it."""
        return self.house.process(
            sys.executable, *words,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def held(self, moment: str, inside: str, *words: str) -> "subprocess.Popen[str]":
        argv = self.room.argv(moment, inside, "knell", *words)
        process = self.begun(*argv)
        self.room.await_held()
        return process

    def check(self) -> None:
        for stranger in self.strangers:
            stranger.check()


def finished(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def receipt_of(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.stdout, done.stderr
    [receipt] = json.loads(done.stdout)["receipts"]
    return receipt | {"code": done.returncode}


def only_child(pid: int) -> int:
    [child] = [one for one in all_pids() if state_and_parent(one)[1] == pid and alive(one)]
    return child


def told(receipt: dict[str, Any]) -> set[int]:
    return {process["pid"] for process in receipt["processes"]}


def ended_well(receipt: dict[str, Any]) -> None:
    assert (receipt["result"], receipt["code"], receipt["survivors"]) == ("ended", 0, []), receipt


# -- before the command ----------------------------------------------------------------------------


def an_adopted_agent(scene: Scene) -> None:
    luna = adopted(scene.house, SLEEPS)
    scene.taken(luna.pid, "leads")
    receipt = scene.kill("luna")
    assert (receipt["result"], receipt["outcome"], receipt["code"]) == ("already_ended", "lost", 0)
    assert told(receipt) == set()
    by_number = scene.house.run("kill", str(luna.pid))
    assert by_number.returncode == 1
    assert "not an agent's" in by_number.stderr


def a_child(scene: Scene, how: str) -> None:
    luna = BEGINNINGS[how](scene.house, REAPS + APART.format("SLEEP"))
    child = only_child(luna.pid)
    assert child in {member.process.pid for member in scene.house.knell.show("luna").members}
    scene.taken(child, "leads")
    receipt = scene.kill("luna")
    ended_well(receipt)
    assert luna.pid in told(receipt)
    assert child not in told(receipt)


def a_keeper_and_its_agent(scene: Scene, deed: str) -> None:
    """Only a child is left of luna. Whoever gets their numbers may lead a session, or leave one.

    While the agent lives nobody gets its keeper's number: it is that of the agent's session."""
    luna, child = bereaved(scene)
    for pid in (luna.pid, luna.keeper):
        scene.taken(pid, deed)
    receipt = scene.kill("luna")
    ended_well(receipt)
    assert told(receipt) == {child}
    assert "keeper_failed" in [warning["code"] for warning in receipt["warnings"]]
    eventually(lambda: is_free(child))  # the namespace's first process reaps it


def bereaved(scene: Scene, **wish: str) -> tuple[Played, int]:
    """luna without keeper and agent, and the child that is left."""
    luna = started(scene.house, APART.format("SLEEP"), **wish)
    child = only_child(luna.pid)
    vacate(luna.keeper)
    vacate(luna.pid)
    settle_down()
    assert alive(child), "the scene itself has ended it"
    return luna, child


def everything(scene: Scene) -> None:
    luna = started(scene.house, SLEEPS)
    vacate(luna.keeper)
    vacate(luna.pid)
    for pid in (luna.keeper, luna.pid):
        scene.taken(pid, "leads")
    receipt = scene.kill("luna")
    assert (receipt["result"], receipt["outcome"], receipt["code"]) == ("already_ended", "lost", 0)
    assert told(receipt) == set()


def the_number_that_is_named(scene: Scene) -> None:
    """`knell kill PID` means the process that has this number, and that is not luna's."""
    luna, child = bereaved(scene)
    scene.taken(luna.keeper)
    done = scene.house.run("kill", str(luna.keeper))
    assert done.returncode == 1, done
    assert "not an agent's" in done.stderr
    assert alive(child)
    ended_well(scene.kill("luna"))


def a_pane(scene: Scene) -> None:
    """tmux still shows the dead pane with the number that it had."""
    scene.house.tmux("new-session", "-d", "-s", "other", "sleep", "90")
    scene.house.tmux("set-option", "-g", "remain-on-exit", "on")
    luna, child = bereaved(scene, place="tmux", server="test")
    scene.taken(luna.keeper, "leads")
    assert str(luna.keeper) in scene.house.tmux("list-panes", "-a", "-F", "#{pane_pid}")
    receipt = scene.kill("luna")
    ended_well(receipt)
    assert told(receipt) == {child}
    assert len(scene.house.panes()) == 1


# -- between the look and the signal ---------------------------------------------------------------


def while_knell_stands_still(scene: Scene, whose: str, moment: str) -> None:
    """Before it opens the process it has looked up, and before it signals what it has opened."""
    body = REAPS + APART.format("SLEEP")
    luna = started(scene.house, body) if whose == "keeper" else adopted(scene.house, body)
    child = only_child(luna.pid)
    pid = {"keeper": luna.keeper, "agent": luna.pid, "child": child}[whose]
    scene.room.whom(pid)
    inside = {"open": "open_verified", "signal": SENDS}[moment]
    process = scene.held(moment, inside, "kill", "luna", "--grace", "1", "--json")
    if whose == "keeper":
        vacate(luna.keeper)
        vacate(luna.pid)  # else nobody could get the number of its session
    scene.taken(pid, "leads")
    scene.room.go()
    receipt = receipt_of(finished(process))
    if (whose, moment, luna.run.cgroup) == ("agent", "open", ""):
        # Nobody had looked yet, and no cgroup holds its child: that escapes (docs/promise.md).
        assert (receipt["result"], receipt["proof"]) == ("already_ended", "none_found"), receipt
        vacate(child)
    else:
        ended_well(receipt)
    eventually(lambda: all(is_free(one) for one in (luna.pid, child) if one != pid))
    if moment == "open":
        assert pid not in told(receipt)


def while_its_keeper_stands_still(scene: Scene, moment: str) -> None:
    with keepers_held(scene.room, moment, SENDS):
        luna = started(scene.house, REAPS + IGNORES + APART.format("SLEEP"))
    child = only_child(luna.pid)
    scene.room.whom(child)
    process = scene.begun("-m", "knell", "kill", "luna", "--grace", "3", "--json")
    scene.room.await_held()
    scene.taken(child, "leads")
    scene.room.go()
    receipt = receipt_of(finished(process))
    ended_well(receipt)
    assert receipt["proof"] == ("proven" if system.LAYER == "linux" else "none_found")
    eventually(lambda: is_free(luna.pid))


def while_a_pane_is_adopted(scene: Scene) -> None:
    """Its program ends while knell takes charge of it: nobody is adopted, and nobody ended."""
    house = scene.house
    house.tmux("new-session", "-d", "-s", "work", "-x", "80", "-y", "24", "sleep", "90")
    house.tmux("set-option", "-g", "remain-on-exit", "on")
    pane, pid = house.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_pid}").split()
    scene.room.whom(int(pid))
    words = ("adopt", pane, "--tmux-server", "test", "--name", "luna")
    process = scene.held("open", "identify", *words)
    scene.taken(int(pid))
    scene.room.go()
    done = finished(process)
    assert done.returncode == 1, done
    house.run("kill", "luna", "--force")


# -- after TERM ------------------------------------------------------------------------------------


def between_the_rungs(scene: Scene, how: str, deed: str) -> None:
    """The agent leaves on TERM, its child only on KILL, and in between its number is another's."""
    # On a busy machine the kill may be over before the number has come again.
    assert any(in_between(scene, how, deed, grace) for grace in ("3", "12", "48"))


def in_between(scene: Scene, how: str, deed: str, grace: str) -> bool:
    """Whether the number became another's in time."""
    luna = BEGINNINGS[how](scene.house, APART.format("DEAF"))
    child = only_child(luna.pid)
    eventually(lambda: ignores_term(child))
    process = scene.begun("-m", "knell", "kill", "luna", "--grace", grace, "--json")
    eventually(lambda: is_free(luna.pid))
    scene.given(luna.pid, deed)
    in_time = process.poll() is None
    receipt = receipt_of(finished(process))
    ended_well(receipt)
    ended = {(one["pid"], one["ended_by"]) for one in receipt["processes"]}
    assert ended == {(luna.pid, "term"), (child, "kill")}, (receipt, luna, child)
    eventually(lambda: is_free(child))  # the namespace's first process reaps it
    return in_time


def ignores_term(pid: int) -> bool:
    ignored = Path(f"/proc/{pid}/status").read_text().partition("SigIgn:")[2].split()[0]
    return bool(int(ignored, 16) & 1 << 14)


# -- those who ask, and what they share ------------------------------------------------------------


def whoever_asked_first(scene: Scene) -> None:
    """It died over the ending; who has its number now neither holds that up nor is hurt."""
    luna = started(scene.house, SLEEPS)
    scene.room.whom(luna.keeper)
    process = scene.held("signal", SENDS, "kill", "luna")
    process.kill()
    process.communicate()
    scene.taken(process.pid)
    ended_well(scene.kill("luna"))
    eventually(lambda: is_free(luna.pid))


def a_shell_with_a_keepers_number(scene: Scene) -> None:
    """A person whose shell got the number of a dead keeper does not speak for its agent."""
    luna, child = bereaved(scene)
    nova = started(scene.house, SLEEPS, name="nova")
    answer = scene.house.root / "answer"

    def ask() -> None:
        answer.write_text(json.dumps(receipt_of(scene.house.run("kill", "nova", "--json"))))

    done_as(luna.keeper, ask)
    receipt = json.loads(answer.read_text())
    ended_well(receipt)
    assert receipt["by"] == "operator", receipt["by"]
    eventually(lambda: is_free(nova.pid))
    assert alive(child)


def done_as(pid: int, deed: Callable[[], None]) -> None:
    """`deed`, by a process with that number."""
    for _ in range(3000):
        child = os.fork()
        if not child:
            do_and_exit(deed if os.getpid() == pid else lambda: None)
        _, status = os.waitpid(child, 0)
        if child == pid:
            assert status == 0
            return
    raise AssertionError(f"{pid} did not come again")


def do_and_exit(deed: Callable[[], None]) -> NoReturn:
    code = 1
    try:
        deed()
        code = 0
    finally:
        os._exit(code)


def a_shared_server(scene: Scene) -> None:
    """Nobody is left to serve when its last user ends: both numbers are strangers' by then."""
    lab = Lab(scene.house)
    luna = lab.agent("luna")
    server = lab.run(lab.server.id)
    vacate(number(server.keeper))
    vacate(number(server.process))
    for pid in (number(server.process), number(server.keeper)):
        scene.taken(pid, "leads")
    ended_well(scene.kill("luna"))
    eventually(lambda: is_free(number(luna.run.process)))
    assert lab.servers() == []


SCENES = {name: deed for name, deed in globals().items() if callable(deed)}


def main() -> None:
    root, bare, name, *words = sys.argv[1:]

    def play() -> None:
        with open_house(Path(root)) as house:
            scene = Scene(house)
            try:
                SCENES[name](scene, *words)
                scene.check()
            finally:
                for stranger in scene.strangers:
                    vacate(stranger.pid)

    enter(play, bare=bool(bare))


if __name__ == "__main__":
    main()
