"""The keeper as a pane's own process, and what becomes of a run when its terminal goes away."""

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from house import House, alive, descendants, eventually
from knell.life.start.spawn import Spawned
from scenes import state_letter
from shells import HEIGHT, WIDTH, Log, Shell, agent, keeper_of, run_of

DEAF = "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\n"
DAEMON = """
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    say("daemon", os.getpid())
    time.sleep(99)
os.wait()
"""


def spawned_in_pane(house: House, body: str, **wish: Any) -> tuple[Spawned, Log]:
    words, log = agent(house, body)
    argv = tuple(words.split())
    usual: dict[str, Any] = {"place": "tmux", "server": "test", "cwd": str(house.root)}
    return house.knell.spawn(command=argv, name="luna", **(usual | wish)), log


def pane_of(spawned: Spawned) -> str:
    return spawned.run.place.pane


def await_end(spawned: Spawned) -> None:
    keeper = spawned.run.keeper
    assert keeper
    eventually(lambda: not alive(keeper.pid))


# -- in a pane that knell opened -------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_ctrl_z_in_a_pane_of_its_own_continues_by_itself(house: House, number: int) -> None:
    """No shell is there that could: tmux continues a stopped pane too."""
    spawned, log = spawned_in_pane(house, "hear(signal.SIGCONT)\nwait()")
    pid = log.await_pid()
    if number == signal.SIGTSTP:
        house.tmux("send-keys", "-t", pane_of(spawned), "C-z")
    else:
        os.kill(pid, number)
    log.await_line("SIGCONT")
    eventually(lambda: state_letter(pid) == "S")


def test_ctrl_c_in_a_pane_reaches_the_agent_only(house: House) -> None:
    spawned, log = spawned_in_pane(house, "hear(signal.SIGINT)\nwait()")
    log.await_pid()
    house.tmux("send-keys", "-t", pane_of(spawned), "C-c")
    log.await_line("SIGINT")
    assert alive(keeper_of(house, "luna"))


def test_the_pane_shows_the_agents_name_and_hands_it_the_size(house: House) -> None:
    body = "signal.signal(28, lambda *_: say('size', *os.get_terminal_size(0)))\nwait()"
    spawned, log = spawned_in_pane(house, body)
    log.await_pid()
    shown = ("display-message", "-p", "-t", pane_of(spawned), "#{pane_current_command}")
    assert house.tmux(*shown).strip() == Path(spawned.agent.args[0]).name
    house.tmux("resize-window", "-t", pane_of(spawned), "-x", "61", "-y", "17")
    assert log.await_line("size") == "size 61 17"


def test_G12_a_pane_that_is_closed_leaves_nothing(house: House) -> None:
    """tmux only hangs up: an agent that is deaf to that, and its daemon, would both live on."""
    before = descendants()
    spawned, log = spawned_in_pane(house, DEAF + DAEMON + "wait()", grace=0.3)
    pid = log.await_pid()
    daemon = int(log.await_line("daemon").split()[1])
    house.tmux("kill-pane", "-t", pane_of(spawned))
    eventually(lambda: not alive(pid) and not alive(daemon))
    await_end(spawned)
    eventually(lambda: set(descendants()) <= set(before))
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.reason, receipt.by) == ("stopped", "pane_closed", "terminal")
    assert receipt.proof == "proven"
    assert [rung.rung for rung in receipt.rungs] == ["hangup", "kill"]
    assert {process.pid for process in receipt.processes} == {pid, daemon}


def test_a_pane_that_is_closed_lets_a_well_mannered_agent_finish(house: House) -> None:
    body = """
def finish(*_):
    time.sleep(0.2)
    say("saved")
    os._exit(5)
signal.signal(signal.SIGHUP, finish)
wait()
"""
    spawned, log = spawned_in_pane(house, body, grace=15.0)
    log.await_pid()
    house.tmux("kill-pane", "-t", pane_of(spawned))
    log.await_line("saved")
    await_end(spawned)
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.exit_code) == ("stopped", 5)


def test_a_child_that_may_live_on_survives_the_closing_of_its_pane(house: House) -> None:
    """Also in the agent's own process group, which is hung up when the keeper leaves."""
    body = "if not os.fork():\n    say('kept', os.getpid())\n    time.sleep(99)\nwait()"
    spawned, log = spawned_in_pane(house, body, keep=("*",))  # the agent's own line matches too
    log.await_pid()
    kept = int(log.await_line("kept").split()[1])
    receipt = house.kill("luna")[0].receipts[0]
    assert [k.pid for k in receipt.kept] == [kept]
    assert pane_of(spawned) not in house.panes()
    assert alive(kept)
    house.run("reap", "--yes")
    assert not alive(kept)


# -- in a person's own terminal --------------------------------------------------------------------


def test_G12_a_shells_pane_that_is_closed_leaves_nothing(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, DEAF + DAEMON + "wait()")
    shell.type(f"knell run --grace 0.3 --name luna -- {words}")
    pid, keeper = log.await_pid(), keeper_of(house, "luna")
    shell.close()
    eventually(lambda: not alive(pid) and not alive(keeper))
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.reason) == ("stopped", "pane_closed")


def test_G12_a_shell_that_hangs_up_nobody_is_no_excuse(house: House) -> None:
    """dash tells its jobs nothing, and the kernel tells only the group in front: not the keeper."""
    shell = Shell(house, "dash", "-i")
    words, log = agent(house, DEAF + "wait()")
    shell.type(f"knell run --grace 0.3 --name luna -- {words}")
    pid, keeper = log.await_pid(), keeper_of(house, "luna")
    shell.close()
    eventually(lambda: not alive(pid) and not alive(keeper))
    assert house.knell.receipt("luna").reason == "pane_closed"


@pytest.mark.parametrize("around", ["bash -c '{}; sleep 99'", "bash -c 'set -m; {} & wait'"])
def test_a_run_within_a_run_ends_with_the_terminal_of_both(house: House, around: str) -> None:
    """Also in a background of its own, where neither the kernel nor a shell would tell it."""
    shell = Shell(house)
    words, log = agent(house, DEAF + "wait()")
    inner = around.format(f"knell run --grace 0.3 --name inner -- {words}")
    shell.type(f"knell run --grace 0.3 --name outer -- {inner}")
    pid = log.await_pid()
    keepers = [keeper_of(house, "inner"), keeper_of(house, "outer")]
    shell.close()
    eventually(lambda: not any(map(alive, [pid, *keepers])))
    assert house.knell.receipt("inner").reason == "pane_closed"
    assert house.knell.receipt("outer").reason == "pane_closed"


@pytest.mark.parametrize(
    ("how", "then"),
    [
        ("cd; nohup knell run {} &", ""),  # nohup writes its file into the directory
        ("knell run {} & disown", ""),
        ("knell run {}", "bg; disown"),
    ],
)
def test_who_asked_to_outlive_the_terminal_does(house: House, how: str, then: str) -> None:
    shell = Shell(house)
    words, log = agent(house, "wait()")
    shell.type(how.format(f"--name luna -- {words}"))
    pid, keeper = log.await_pid(), keeper_of(house, "luna")
    if then:
        shell.press("C-z")
        eventually(lambda: state_letter(keeper) == "T")
        shell.ask(then)
        eventually(lambda: state_letter(pid) != "T")
    shell.close()
    assert house.json("list")["agents"][0]["name"] == "luna"
    assert alive(pid)
    assert alive(keeper)
    assert house.kill("luna")[0].receipts[0].proof == "proven"


# -- pipelines -------------------------------------------------------------------------------------


def test_in_a_pipeline_ctrl_c_reaches_the_agent(house: House) -> None:
    """Its input is no terminal, and yet the keyboard is what ends it."""
    shell = Shell(house)
    words, log = agent(house, "hear(signal.SIGINT)\nwait()")
    shell.type(f"true | knell run --name luna -- {words}")
    log.await_pid()
    shell.press("C-c")
    log.await_line("SIGINT")
    house.kill("luna")


def test_in_a_pipeline_the_neighbour_keeps_the_terminal(house: House) -> None:
    """As `knell run … | less` needs: it reads the keys from the terminal itself."""
    shell = Shell(house)
    words, log = agent(house, "say('ready', os.getpid())\nprint('line', flush=True)\nwait()")
    body = "sys.stdin.readline()\nsay('ready', 0)\nsay('key', open('/dev/tty').readline())\n"
    pager, keys = agent(house, body)
    shell.type(f"knell run --name luna -- {words} | {pager}")
    log.await_pid()
    keys.await_line("ready")
    shell.type("typed")
    assert keys.await_line("key") == "key typed"
    assert run_of(house, "luna").process
    receipt = house.kill("luna")[0].receipts[0]
    assert receipt.proof == "proven"


def test_ending_the_agent_in_a_pipeline_spares_its_neighbours(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "print('line', flush=True)\nwait()")
    pager, keys = agent(house, "hear(signal.SIGTERM)\nsys.stdin.read()\nsay('end')\nwait()")
    shell.type(f"knell run --name luna -- {words} | {pager}")
    log.await_pid()
    house.kill("luna")
    neighbour = keys.await_pid()
    assert keys.lines() == ["end", f"ready {neighbour}"]
    shell.press("C-c")
    assert shell.ask("echo here") == "here"


# -- programs that own the screen ------------------------------------------------------------------

CURSES = """
import curses
def main(screen):
    curses.curs_set(1)
    screen.box()
    screen.addstr(2, 4, "size %d %d" % screen.getmaxyx(), curses.A_REVERSE)
    screen.refresh()
    say("ready", os.getpid())
    while (key := screen.getch()) != ord("q"):
        screen.addstr(4, 4, "key %d   " % key)
        screen.refresh()
        say("key", key)
curses.wrapper(main)
"""


def test_a_full_screen_program_looks_and_acts_the_same(house: House) -> None:
    seen: list[str] = []
    for prefix in ("", "knell run --name luna -- "):
        shell = Shell(house)
        words, log = agent(house, CURSES)
        shell.type(f"{prefix}{words.replace(' -S ', ' ')}")
        log.await_pid()
        shell.press("Up", "C-a", "x")
        log.await_line("key", nth=3)
        shell.shows("key 120")
        seen.append(shell.screen())
        assert shell.told("#{alternate_on} #{cursor_x} #{cursor_y}") == "1 14 4"
        shell.press("q")
        shell.shows("ready>")
        assert shell.told("#{alternate_on}") == "0"
        assert shell.ask("echo $?") == "0"
    assert f"size {HEIGHT} {WIDTH}" in seen[0]
    assert seen[0] == seen[1]


@pytest.mark.skipif(not shutil.which("vi"), reason="no vi here")
def test_vi_looks_and_acts_the_same(house: House) -> None:
    seen: list[str] = []
    text = house.root / "text.txt"
    for prefix in ("", "knell run --name luna -- "):
        shell = Shell(house)
        text.write_text("one\ntwo\nthree\n")
        shell.type(f"{prefix}vi -u NONE -n {text}")
        shell.shows("three")
        shell.press("j", "x", "A", "!", "Escape", ":", "r", "e", "d", "r", "a", "w", "!", "Enter")
        shell.shows("wo!")
        seen.append(shell.screen())
        shell.press("C-z")
        shell.shows("Stopped")
        shell.type("fg")
        eventually(lambda shell=shell: shell.told("#{alternate_on}") == "1")
        shell.press(":", "w", "q", "Enter")
        eventually(lambda: text.read_text() == "one\nwo!\nthree\n")
        assert shell.ask("echo $?") == "0"
    assert seen[0] == seen[1]
