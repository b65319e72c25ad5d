"""H18 to H23, H32, C36: the pane goes with its agent, and if it does not, that is said.

Every terminal here keeps the pane of a program that has ended, so that only knell can close it.
"""

import os
import shlex
import signal
import subprocess
import sys

import pytest

from contracts.h_scenes import desk
from contracts.kitty_house import kitty_in
from contracts.wezterm_house import wezterm_in
from house import House, alive, eventually
from scenes import DEAF, PROLOGUE, SLEEPS, Played, fresh_note, started

REMAINS = "Process terminated, but pane remains. Retry this command with approval/escalation:"


def test_H18_kitty_closes_that_window(house: House) -> None:
    with kitty_in(house) as kitty:
        luna = started(house, SLEEPS, name="luna", place="kitty", server=kitty.address)
        nova = started(house, SLEEPS, name="nova", place="kitty", server=kitty.address)
        pane = luna.run.place.pane
        # While anybody has its tty open, kitty keeps the window.
        held = os.open(os.readlink(f"/proc/{luna.pid}/fd/0"), os.O_RDWR | os.O_NOCTTY)
        done = house.run("kill", "luna")
        os.close(held)
        assert done.returncode == 0
        assert f"(closed kitty pane {pane})" in done.stdout
        assert sorted(kitty.windows()) == ["1", nova.run.place.pane]
        assert (alive(luna.pid), alive(nova.pid)) == (False, True)
        assert house.run("kill", "nova").returncode == 0


def test_H18_the_retry_for_kitty_is_the_documented_command(house: House) -> None:
    with kitty_in(house) as kitty:
        luna = started(house, SLEEPS, place="kitty", server=kitty.address)
        held = os.open(os.readlink(f"/proc/{luna.pid}/fd/0"), os.O_RDWR | os.O_NOCTTY)
        os.kill(luna.run.place.server_pid, signal.SIGSTOP)
        try:
            pane = house.json("kill", "luna")["receipts"][0]["pane"]
        finally:
            os.kill(luna.run.place.server_pid, signal.SIGCONT)
        assert (alive(luna.pid), pane["closed"]) == (False, False)
        retry = f"kitty @ --to {kitty.address} close-window --match id:{pane['id']}"
        assert pane["retry"] == retry
        subprocess.run(["sh", "-c", retry], env=kitty.env, check=True)
        eventually(lambda: list(kitty.windows()) == ["1"])
        os.close(held)


def test_H19_wezterm_kills_that_pane(house: House) -> None:
    with wezterm_in(house) as wezterm:
        luna = started(house, SLEEPS, name="luna", place="wezterm", server=wezterm.socket)
        nova = started(house, SLEEPS, name="nova", place="wezterm", server=wezterm.socket)
        pane = luna.run.place.pane
        done = house.run("kill", "luna")
        assert done.returncode == 0
        assert f"(closed wezterm pane {pane})" in done.stdout
        kills = [call for call in wezterm.calls() if "kill-pane" in call]
        assert [call[-3:] for call in kills] == [["kill-pane", "--pane-id", pane]]
        assert (alive(luna.pid), alive(nova.pid)) == (False, True)
        assert house.run("kill", "nova").returncode == 0


def test_H20_tmux_kills_that_pane(house: House) -> None:
    own = desk(house)
    luna = started(house, SLEEPS, name="luna", place="tmux", server="test", session="work")
    nova = started(house, SLEEPS, name="nova", place="tmux", server="test", session="work")
    pane = luna.run.place.pane
    done = house.run("kill", "luna")
    assert done.returncode == 0
    assert f"(closed tmux pane {pane})" in done.stdout
    assert house.panes() == [own, nova.run.place.pane]
    assert (alive(luna.pid), alive(nova.pid)) == (False, True)


def test_H21_another_terminal_is_not_closed_and_the_kill_rule_still_holds(house: House) -> None:
    """`knell run` in a terminal that knell does not manage: its shell goes on afterwards."""
    note, back = fresh_note(house), house.root / "back"
    agent = shlex.join(("knell", "run", "--name", "luna", "--", *house.script(PROLOGUE + DEAF)))
    agent = agent.replace("knell", f"{sys.executable} -m knell", 1)
    line = f"{agent}; echo $? > {back}; exec sleep 1000"
    terminal = house.process(
        "env", f"KNELL_READY={note}", "script", "-qc", line, "/dev/null",
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    eventually(note.exists)
    done = house.run("kill", "luna")
    assert done.returncode == 0
    assert "pane" not in done.stdout + done.stderr
    receipt = house.json("receipt", "luna")
    assert (receipt["place"], receipt["pane"]["closed"]) == ("terminal", None)
    assert [rung["reached"] for rung in receipt["rungs"]] == [True, True]
    eventually(lambda: back.exists() and back.read_text())
    assert terminal.poll() is None
    terminal.kill()
    terminal.communicate()


def test_H22_no_pane_close_is_attempted_for_a_headless_agent(house: House) -> None:
    """Programs of the same names tell whether anybody called them."""
    programs, called = house.root / "programs", house.root / "called"
    programs.mkdir()
    for name in ("tmux", "kitty", "wezterm"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> {called}\n")
        (programs / name).chmod(0o755)
    luna = started(house, DEAF)
    env = house.env | {"PATH": f"{programs}:{house.env['PATH']}", "KITTY_LISTEN_ON": "unix:/none"}
    done = house.run("kill", "luna", env=env)
    assert (done.returncode, alive(luna.pid)) == (0, False)
    assert "pane" not in done.stdout + done.stderr
    assert not called.exists()


# -- a pane that cannot be closed -----------------------------------------------------------------


def kept_pane(house: House) -> Played:
    desk(house)
    return started(house, SLEEPS, place="tmux", server="test")


def without_tmux(house: House) -> dict[str, str]:
    """An environment in which tmux is not found, so that the pane cannot be closed."""
    empty = house.root / "empty"
    empty.mkdir()
    return house.env | {"PATH": str(empty)}


def test_H23_a_failed_pane_close_is_told_and_not_fatal(house: House) -> None:
    luna = kept_pane(house)
    done = house.run("kill", "luna", env=without_tmux(house))
    assert (done.returncode, alive(luna.pid)) == (0, False)
    assert luna.run.place.pane in house.panes()
    assert "warning: pane close failed for tmux: tmux is not installed" in done.stderr
    assert house.json("list")["agents"] == []
    assert house.json("receipt", "luna")["outcome"] == "killed"


def test_H32_the_message_names_the_terminal_and_the_exact_command(house: House) -> None:
    luna = kept_pane(house)
    done = house.run("kill", "luna", env=without_tmux(house))
    first = done.stdout.splitlines()[0]
    assert first.startswith(
        f"Ended process group {luna.pid} for 'luna' (pane close failed for tmux)"
    )
    told = done.stderr.splitlines()
    at = told.index(REMAINS)
    command = told[at + 1].strip()
    assert command.endswith(f"kill-pane -t {luna.run.place.pane}")
    subprocess.run(["sh", "-c", command], env=house.env, check=True)
    assert luna.run.place.pane not in house.panes()


@pytest.mark.parametrize(("option", "code"), [((), 0), (("--strict-pane",), 1)])
def test_C36_only_strict_pane_makes_it_a_failure(
    house: House, option: tuple[str, ...], code: int
) -> None:
    luna = kept_pane(house)
    done = house.run("kill", "luna", *option, env=without_tmux(house))
    assert (done.returncode, alive(luna.pid)) == (code, False)
    assert REMAINS in done.stderr


def test_C36_a_closed_pane_satisfies_strict_pane(house: House) -> None:
    kept_pane(house)
    assert house.run("kill", "luna", "--strict-pane").returncode == 0


def test_H33_the_summary_counts_incomplete_pane_cleanup(house: House) -> None:
    kept_pane(house)
    started(house, SLEEPS, name="nova")
    done = house.run("kill", "all", env=without_tmux(house))
    assert done.stdout.splitlines()[-1] == "Killed 2, 1 with incomplete pane cleanup"
