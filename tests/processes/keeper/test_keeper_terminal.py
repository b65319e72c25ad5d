"""Job control under a keeper, in an interactive shell: as without it."""

import os
import signal

import pytest

from house import House, alive, eventually
from scenes import state_letter
from shells import Shell, agent, keeper_of

HEARS_INT = "hear(signal.SIGINT)\nwait()"


def test_ctrl_c_reaches_the_agent_and_nobody_else(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, HEARS_INT)
    shell.type(f"knell run --name luna -- {words}")
    pid = log.await_pid()
    shell.press("C-c")
    log.await_line("SIGINT")
    assert alive(pid)
    assert alive(keeper_of(house, "luna"))
    house.kill("luna")


def test_ctrl_c_ends_an_agent_that_does_not_handle_it_and_the_loop_around_it(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "wait()")
    shell.type(f"for i in 1 2 3; do knell run --name luna$i -- {words}; done; echo code $?")
    log.await_pid()
    shell.press("C-c")
    assert shell.ask("echo $?") == "130"
    assert len(log.lines()) == 1  # the shell saw the interrupt: no second turn
    receipt = house.knell.receipt("luna1")
    assert (receipt.outcome, receipt.exit_signal) == ("failed", signal.SIGINT)


def test_ctrl_backslash_reaches_the_agent(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "hear(signal.SIGQUIT)\nwait()")
    shell.type(f"knell run --name luna -- {words}")
    log.await_pid()
    shell.press("C-\\")
    log.await_line("SIGQUIT")
    house.kill("luna")


def test_ctrl_z_suspends_the_job_and_fg_continues_it(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "hear(signal.SIGCONT, signal.SIGINT)\nwait()")
    shell.type(f"knell run --name luna -- {words}")
    pid, keeper = log.await_pid(), keeper_of(house, "luna")
    shell.press("C-z")
    eventually(lambda: state_letter(pid) == state_letter(keeper) == "T")
    assert "Stopped" in shell.ask("jobs")
    shell.type("fg")
    log.await_line("SIGCONT")
    eventually(lambda: state_letter(pid) != "T" and shell.front() == os.getpgid(pid))
    shell.press("C-c")
    log.await_line("SIGINT")
    house.kill("luna")
    assert shell.ask("echo $?") == "143"


def test_ctrl_z_and_bg_lets_it_run_on_without_the_terminal(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "hear(signal.SIGCONT)\nwait()")
    shell.type(f"knell run --name luna -- {words}")
    pid = log.await_pid()
    shell.press("C-z")
    eventually(lambda: state_letter(pid) == "T")
    shell.type("bg")
    log.await_line("SIGCONT")
    eventually(lambda: state_letter(pid) != "T")
    assert shell.ask("echo here") == "here"
    eventually(lambda: shell.front() == shell.pid)
    house.kill("luna")
    assert shell.ask("echo here") == "here"


def test_an_agent_that_stops_itself_by_the_harder_signal_can_be_continued(house: House) -> None:
    """Some programs answer Ctrl-Z with kill(0, SIGSTOP)."""
    shell = Shell(house)
    words, log = agent(house, "hear(signal.SIGCONT)\nsay('at', 1)\nos.kill(0, 19)\nwait()")
    shell.type(f"knell run --name luna -- {words}")
    log.await_line("at")
    eventually(lambda: "Stopped" in shell.screen())
    shell.type("fg")
    log.await_line("ready")
    house.kill("luna")


def test_a_suspended_agent_is_killed_at_once_and_proven_gone(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "wait()")
    shell.type(f"knell run --name luna -- {words}")
    pid = log.await_pid()
    shell.press("C-z")
    eventually(lambda: state_letter(pid) == "T")
    assert shell.ask("echo here") == "here"
    receipt = house.kill("luna")[0].receipts[0]
    assert (receipt.proof, receipt.warnings) == ("proven", ())
    assert not alive(pid)
    assert shell.ask("echo here") == "here"


def test_an_agent_that_stops_instead_of_ending_does_not_stop_its_keeper(house: House) -> None:
    shell = Shell(house)
    body = "signal.signal(15, lambda *_: (say('term'), os.kill(0, signal.SIGSTOP)))\nwait()"
    words, log = agent(house, body)
    shell.type(f"knell run --name luna -- {words}")
    pid = log.await_pid()
    receipt = house.kill("luna", grace=0.3)[0].receipts[0]
    assert log.lines()[-1] == "term"
    assert (receipt.proof, receipt.warnings) == ("proven", ())
    assert not alive(pid)


def test_a_background_job_does_not_steal_the_terminal(house: House) -> None:
    """Neither when it starts, nor when it reads and is stopped for it, nor when it ends."""
    shell = Shell(house)
    words, log = agent(house, "say('ready', os.getpid())\nsys.stdin.readline()\nsay('read')\n")
    shell.type(f"knell run --name luna -- {words} &")
    pid = log.await_pid()
    eventually(lambda: state_letter(pid) == "T")
    eventually(lambda: state_letter(keeper_of(house, "luna")) == "T")
    eventually(lambda: shell.front() == shell.pid)
    assert shell.ask("echo here") == "here"
    shell.type("fg")
    eventually(lambda: shell.front() == os.getpgid(pid))
    shell.type("a line for the agent")
    log.await_line("read")
    assert shell.ask("echo $?") == "0"


def test_a_background_job_that_ends_leaves_the_terminal_where_it_is(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "wait()")
    cat, read = agent(house, "say('ready', os.getpid())\nsay('read', sys.stdin.readline())\nwait()")
    shell.type(f"knell run --name luna -- {words} &")
    log.await_pid()
    shell.type(cat)  # another program is in front when the agent's run ends
    front = read.await_pid()
    house.kill("luna")
    assert shell.front() == front
    shell.type("typed")
    assert read.await_line("read") == "read typed"
    shell.press("C-c")
    assert shell.ask("echo here") == "here"


def test_a_running_background_job_gets_ctrl_c_after_fg(house: House) -> None:
    """The shell's fg gives the terminal to the keeper's group and tells nobody."""
    shell = Shell(house)
    words, log = agent(house, "hear(signal.SIGINT, signal.SIGWINCH)\nwait()")
    shell.type(f"knell run --name luna -- {words} &")
    pid = log.await_pid()
    keeper = keeper_of(house, "luna")
    shell.type("fg")
    eventually(lambda: shell.front() == os.getpgid(keeper))
    house.tmux("resize-window", "-t", shell.session, "-x", "70", "-y", "20")
    log.await_line("SIGWINCH")
    shell.press("C-c")
    log.await_line("SIGINT")
    assert shell.front() == os.getpgid(pid)
    house.kill("luna")


def test_a_running_background_job_may_read_after_fg(house: House) -> None:
    shell = Shell(house)
    flag = house.root / "read-now"
    body = f"""
say("ready", os.getpid())
while not os.path.exists("{flag}"):
    time.sleep(0.01)
say("read", sys.stdin.readline())
"""
    words, log = agent(house, body)
    shell.type(f"knell run --name luna -- {words} &")
    pid, keeper = log.await_pid(), keeper_of(house, "luna")
    shell.type("fg")
    eventually(lambda: shell.front() == os.getpgid(keeper))
    flag.touch()
    eventually(lambda: shell.front() == os.getpgid(pid))
    shell.type("typed")
    assert log.await_line("read") == "read typed"
    assert shell.ask("echo $?") == "0"


def test_a_resize_reaches_the_agent_and_it_sees_the_new_size(house: House) -> None:
    shell = Shell(house)
    body = """
def resized(*_):
    say("size", *os.get_terminal_size(0))
signal.signal(signal.SIGWINCH, resized)
wait()
"""
    words, log = agent(house, body)
    shell.type(f"knell run --name luna -- {words}")
    log.await_pid()
    house.tmux("resize-window", "-t", shell.session, "-x", "71", "-y", "19")
    assert log.await_line("size") == "size 71 19"
    house.kill("luna")


def test_the_pane_shows_the_agents_name(house: House) -> None:
    shell = Shell(house)
    shell.type("knell run --name luna -- sleep 60")
    eventually(lambda: shell.told("#{pane_current_command}") == "sleep")
    house.kill("luna")
    eventually(lambda: shell.told("#{pane_current_command}") == "bash")


@pytest.mark.parametrize("around", ["{}", "sh -c '{}; true'"])
def test_whoever_dies_in_raw_mode_does_not_leave_it_behind(house: House, around: str) -> None:
    shell = Shell(house)
    before = shell.ask("stty -a < /dev/tty")
    words, log = agent(house, "import tty\ntty.setraw(0)\nwait()")
    shell.type(around.format(f"knell run --name luna -- {words}"))
    log.await_pid()
    house.kill("luna", force=True)
    assert shell.ask("stty -a < /dev/tty") == before


def test_what_the_agent_set_on_purpose_stays_set(house: House) -> None:
    shell = Shell(house)
    shell.ask("knell run --name luna -- stty -echo < /dev/tty")
    assert "-echo " in shell.ask("stty -a < /dev/tty")


def test_a_script_goes_on_in_the_foreground_after_the_agent(house: House) -> None:
    """Its shell has no job control and would be stopped for reading in the background."""
    shell = Shell(house)
    words, log = agent(house, "say('ready', os.getpid())\nsys.stdin.readline()\n")
    reader, heard = agent(house, "say('ready', 0)\nsay('heard', sys.stdin.readline())\n")
    script = house.root / "script.sh"
    script.write_text(f"#!/bin/sh\nknell run --name luna -- {words}\n{reader}\n")
    script.chmod(0o755)
    shell.type(f"{script}")
    log.await_pid()
    shell.type("for the agent")
    heard.await_line("ready")
    shell.type("for the script")
    assert heard.await_line("heard") == "heard for the script"


def test_in_a_script_ctrl_c_reaches_the_script_too(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "wait()")
    after = house.root / "after"
    shell.type(f"sh -c 'knell run --name luna -- {words}; touch {after}'")
    log.await_pid()
    shell.press("C-c")
    assert shell.ask("echo $?") == "130"
    assert not after.exists()


def test_in_a_script_ctrl_z_suspends_script_and_agent_together(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "hear(signal.SIGCONT)\nwait()")
    shell.type(f"sh -c 'knell run --name luna -- {words}; true'")
    pid = log.await_pid()
    shell.press("C-z")
    eventually(lambda: state_letter(pid) == "T")
    assert shell.ask("echo here") == "here"
    shell.type("fg")
    log.await_line("SIGCONT")
    house.kill("luna")
    assert shell.ask("echo $?") == "0"


def test_the_agent_leads_a_group_of_its_own_and_the_keeper_stays_behind(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "wait()")
    shell.type(f"knell run --name luna -- {words}")
    pid = log.await_pid()
    keeper = keeper_of(house, "luna")
    assert os.getpgid(pid) == pid == shell.front()
    assert os.getpgid(keeper) == keeper
    house.kill("luna")
