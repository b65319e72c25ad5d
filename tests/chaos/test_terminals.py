"""Terminals that die, come back as others, freeze or talk nonsense under their agents."""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.report import Tally
from contracts.kitty_house import kitty_in
from house import House, alive, eventually, told
from knell.core.errors import PlaceFailed
from knell.core.ports.terminal import Terminal
from knell.core.receipt import Proof, Result
from knell.core.run import Place
from knell.places.kitty import Kitty
from knell.wiring import RealWorld
from scenes import PROLOGUE, SLEEPS, Played, eventually_told, fresh_note, started, state_letter
from watchers import ask

# Whoever it is lives on when its terminal is gone.
STAYS = "signal.signal(1, signal.SIG_IGN)\ntell()\nwhile True: time.sleep(9)"


def in_tmux(house: House, name: str, body: str = SLEEPS) -> Played:
    return started(house, body, name=name, place="tmux", server="test")


def server_of(house: House) -> int:
    return int(house.tmux("display-message", "-p", "#{pid}"))


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: state_letter(pid) == "T")
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def a_pane(house: House, body: str = STAYS) -> tuple[str, int]:
    """A pane with a program that knell did not start: its id and pid."""
    note = fresh_note(house)
    argv = house.script(PROLOGUE + body)
    how = ("new-window", "-t", "=mine:") if house.panes() else ("new-session", "-s", "mine")
    words = ("-d", "-e", f"KNELL_READY={note}", "-P", "-F", "#{pane_id} #{pane_pid}", "--", *argv)
    pane, pid = house.tmux(*how, *words).split()
    eventually_told(note)
    return pane, int(pid)


# -- tmux dies ---------------------------------------------------------------------------------


def test_a_tmux_that_is_killed_takes_its_agents_with_it(
    house: House, often: int, tally: Tally
) -> None:
    """A tmux server killed with -9 leaves no process of its agents, and each has a receipt"""
    for _ in range(often):
        agents = [in_tmux(house, f"agent-{number}") for number in range(3)]
        os.kill(agents[0].run.place.server_pid, signal.SIGKILL)
        eventually(lambda agents=agents: not any(alive(one.keeper) for one in agents))
        listed = {view.name: view for view in house.knell.list(with_ended=True)}
        for one in agents:
            assert not alive(one.pid)
            view = listed[one.run.agent]
            assert (view.state, view.outcome, view.reason) == ("ended", "stopped", "pane_closed")
            assert house.knell.receipt(one.run.agent).proof is Proof.PROVEN
    tally.broke("tmux server killed under its agents", often)


@pytest.mark.parametrize("verb", ["kill", "stop"])
def test_a_stranger_in_a_pane_of_the_same_number_is_not_hit(
    house: House, often: int, tally: Tally, verb: str
) -> None:
    """A new tmux server whose panes have the old numbers: strangers in them are not hit"""
    for _ in range(often):
        pane, pid = a_pane(house)
        house.knell.adopt(pane, name="luna", server="test")
        old = server_of(house)
        os.kill(old, signal.SIGKILL)
        eventually(lambda old=old: not alive(old))
        same, stranger = a_pane(house)
        assert same == pane
        assert alive(pid), "it lives on without its terminal"
        house.run("watch", "--once")
        assert house.run(verb, "luna", "--grace", "0.2").returncode == 0
        assert not alive(pid)
        assert alive(stranger), f"{told(stranger)} had nothing to do with it"
        assert house.panes() == [same]
        server = server_of(house)
        os.kill(stranger, signal.SIGKILL)
        eventually(lambda server=server: not alive(server))
    tally.broke("tmux server killed, and another with the same pane numbers", often)


# -- tmux freezes ------------------------------------------------------------------------------


def test_a_frozen_tmux_holds_nobody_up_for_long(house: House, tally: Tally) -> None:
    """A frozen tmux is waited for once, not once an agent, and saves none of them"""
    agents = [in_tmux(house, f"agent-{number}") for number in range(6)]
    house.knell.close()
    with frozen(agents[0].run.place.server_pid):
        done = house.run("kill", "all")
        assert done.returncode == 0, done.stderr
        # Twelve waits of five seconds would be a minute: all but the first are short.
        assert done.stderr.count("did not answer within 5 s") <= 1, done.stderr
        assert "did not answer within 0.3 s" in done.stderr
        assert not any(alive(one.pid) for one in agents)
        assert house.run("list").returncode == 0
    listed = house.knell.list(with_ended=True)
    assert {view.outcome for view in listed} == {"killed"}
    tally.broke("tmux frozen under its agents")


# -- tmux is missing, or talks nonsense --------------------------------------------------------

NONSENSE = {
    "nothing": "exit 0",
    "an error": "echo 'lost in thought' >&2; exit 1",
    "numbers": "echo 1 2 3; echo %1 0 x",
    "noise": "head -c 3000 /dev/urandom",
    "a signal": "kill -SEGV $$",
    "no server": "echo 'no server running on /nowhere' >&2; exit 1",
}


@contextlib.contextmanager
def tmux_that_says(house: House, script: str) -> Iterator[None]:
    """For the command line, the program that is found as tmux; "" for none at all."""
    bin = house.root / "bin"
    bin.mkdir(exist_ok=True)
    if script:
        (bin / "tmux").write_text(f"#!/bin/sh\n{script}\n")
        (bin / "tmux").chmod(0o755)
    path = house.env["PATH"]
    house.env["PATH"] = f"{bin}:{path}" if script else str(bin)
    try:
        yield
    finally:
        house.env["PATH"] = path
        (bin / "tmux").unlink(missing_ok=True)


@pytest.mark.parametrize("script", ["", *NONSENSE.values()], ids=["missing", *NONSENSE])
def test_whatever_tmux_says_the_agent_is_ended(house: House, tally: Tally, script: str) -> None:
    """A tmux that is missing or talks nonsense saves no agent, and makes none look dead"""
    luna = in_tmux(house, "luna")
    house.knell.close()
    with tmux_that_says(house, script):
        house.knell.world.env = dict(house.env)
        assert [view.name for view in house.knell.list()] == ["luna"]
        house.knell.verdicts()
        done = house.run("kill", "luna")
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0, done.stderr
        assert "Ended process group" in done.stdout
        assert not alive(luna.pid)
    eventually(lambda: not house.panes())
    tally.broke("tmux missing or talking nonsense")


# -- kitty -------------------------------------------------------------------------------------


def test_a_kitty_that_freezes_and_dies_under_its_agents(house: House, tally: Tally) -> None:
    """A frozen kitty holds a kill up once and saves nobody; a killed one takes its agents along"""
    with kitty_in(house) as kitty:
        agents = [
            started(house, SLEEPS, name=name, place="kitty", server=kitty.address)
            for name in ("luna", "nova", "kira")
        ]
        pid = agents[0].run.place.server_pid
        house.knell.close()
        with frozen(pid):
            done = house.run("kill", "luna", "nova")
            assert done.returncode == 0, done.stderr
            assert "did not answer" in done.stderr
            assert [alive(one.pid) for one in agents] == [False, False, True]
        os.kill(pid, signal.SIGKILL)
        kira = agents[2]
        eventually(lambda: not alive(kira.keeper))
        assert not alive(kira.pid)
        assert house.knell.receipt("kira").proof is Proof.PROVEN
    tally.broke("kitty frozen, then killed, under its agents")


@contextlib.contextmanager
def mute(path: Path) -> Iterator[None]:
    """Somebody who takes every call there and says nothing."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        held: list[socket.socket] = []

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    held.append(listening.accept()[0])

        taker = threading.Thread(target=take, daemon=True)
        taker.start()
        try:
            yield
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            taker.join(300)
            for one in held:
                one.close()


class Hasty(RealWorld):
    """The real machine, and no patience with kitty."""

    def place(self, name: str, *, usable: bool = False) -> Terminal:
        if name == "kitty":
            return Kitty(self.env, timeout=0.3)
        return super().place(name, usable=usable)


def test_a_kitty_that_listens_and_never_answers(house: House, tally: Tally) -> None:
    """A kitty that takes the call and says nothing starts nobody, and saves nobody"""
    luna = started(house, SLEEPS)
    with mute(house.root / "kitty"):
        address = f"unix:{house.root}/kitty"
        place = Place("kitty", "1", address, os.getpid(), f"KNELL_PANE={luna.run.id}")
        moved(house, luna, place)
        house.knell.world = Hasty(house.env)
        [[receipt]] = [slain.receipts for slain in house.kill("luna")]
        assert receipt.result is Result.ENDED
        assert receipt.pane.closed is False
        assert any("did not answer" in warning.text for warning in receipt.warnings)
        assert not alive(luna.pid)
        with pytest.raises(PlaceFailed, match="did not answer"):
            house.knell.spawn(command=("sleep", "9"), name="nova", place="kitty", server=address)
    assert house.knell.receipt("nova").reason == "not_started"
    tally.broke("kitty that listens and never answers")


def moved(house: House, played: Played, place: Place) -> None:
    """On record it lives in that pane."""
    house.knell.close()
    columns = "place = ?, pane = ?, server = ?, server_pid = ?, session = ?"
    values = (place.name, place.pane, place.server, place.server_pid, place.session)
    ask(house, f"UPDATE runs SET {columns} WHERE id = ?", *values, played.run.id)
