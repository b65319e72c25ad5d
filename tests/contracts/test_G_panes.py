"""G12 to G16, G20, G21: what closing a pane does not do, and whose pane it is."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from house import House, alive, descendants, eventually
from knell.core.process import Unknown
from knell.core.receipt import Result
from knell.core.run import Place
from knell.places.kitty import Kitty
from scenes import DEAF, PROLOGUE, SLEEPS, eventually_told, fresh_note, number, started


def in_tmux(house: House, name: str = "luna", body: str = SLEEPS, **wish: str):
    return started(house, body, name=name, place="tmux", server="test", **wish)


def session_of_others(house: House, name: str) -> int:
    """A session that knell knows nothing of; the pid in its pane."""
    house.tmux("new-session", "-d", "-s", name, "sleep 90")
    return int(house.tmux("display-message", "-p", "-t", f"={name}:", "#{pane_pid}"))


def sessions(house: House) -> list[str]:
    return house.tmux("list-sessions", "-F", "#{session_name}").split()


def end_server(house: House) -> None:
    """Gone for good: a server on its way out would still take the next command."""
    server = int(house.tmux("display-message", "-p", "#{pid}"))
    house.tmux("kill-server")
    eventually(lambda: not alive(server))


# -- G12: closing a pane only hangs up -------------------------------------------------------------


@pytest.mark.parametrize("by_hand", [("kill-pane",), ("kill-session",), ("kill-server",)])
def test_G12_an_agent_that_ignores_the_hangup_does_not_outlive_its_pane(
    house: House, by_hand: tuple[str]
) -> None:
    wish = {"name": "luna", "place": "tmux", "server": "test", "grace": 0.3}
    luna = house.spawn("ignores_term", **wish).run
    tree = {number(luna.keeper), number(luna.process), *below(number(luna.process))}
    assert len(tree) == 3
    where = () if by_hand == ("kill-server",) else ("-t", luna.place.pane)
    house.tmux(*by_hand, *where)
    eventually(lambda: not any(map(alive, tree)))
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.by, receipt.reason) == ("stopped", "terminal", "pane_closed")
    assert [rung.rung for rung in receipt.rungs] == ["hangup", "kill"]


def below(pid: int) -> set[int]:
    return {p for p in descendants() if f"PPid:\t{pid}\n" in status_of(p)}


def status_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def test_G12_the_kill_of_an_adopted_agent_does_not_rely_on_the_hangup(house: House) -> None:
    """Without a keeper, TERM and KILL come first, the pane last."""
    luna = deaf_in_own_pane(house)
    receipt = house.kill("luna", grace=0.2)[0].receipts[0]
    assert not alive(luna)
    assert receipt.pane.closed
    assert receipt.processes[0].ended_by == "kill"


def deaf_in_own_pane(house: House) -> int:
    """Pane %0 of a new server, started by hand and then adopted; its process ignores HUP."""
    note = fresh_note(house)
    command = shlex.join(["env", f"KNELL_READY={note}", *house.script(PROLOGUE + DEAF)])
    house.tmux("new-session", "-d", "-s", "own", f"exec {command}")
    eventually_told(note)
    run = house.knell.adopt("%0", name="luna", server="test").run
    return number(run.process)


# -- G13: a name is a name, not a prefix -----------------------------------------------------------


def test_G13_sessions_and_agents_whose_names_only_begin_so_are_untouched(house: House) -> None:
    other = session_of_others(house, "ws-creator-claude-2")
    house.tmux("set-option", "-g", "remain-on-exit", "on")  # so that no pane goes by itself
    second = in_tmux(house, "luna-2", session="apart")
    assert house.run("kill", "session:ws-creator-claude").returncode == 1
    assert house.run("kill", "ws-creator-claude").returncode == 1
    assert house.run("kill", "luna").returncode == 1
    adopting = house.run("adopt", "ws-creator-claude", "-L", "test")
    assert adopting.returncode == 1
    assert "not found" in adopting.stderr
    first = in_tmux(house, "luna", session="ws-creator-claude")
    assert first.run.place.session == "ws-creator-claude"
    assert len(sessions(house)) == 3  # it did not join one that begins with its name
    house.kill("luna")
    assert not alive(first.pid)
    assert alive(other)
    assert alive(second.pid)
    assert sorted(sessions(house)) == ["apart", "ws-creator-claude-2"]


# -- G14: pane numbers start over with the server --------------------------------------------------


def test_G14_the_pane_that_got_the_number_after_a_restart_is_untouched(house: House) -> None:
    luna = deaf_in_own_pane(house)
    end_server(house)
    other = session_of_others(house, "other")
    assert house.panes() == ["%0"]
    assert alive(luna)
    receipt = house.kill("luna", grace=0.2)[0].receipts[0]
    assert receipt.result is Result.ENDED
    assert not alive(luna)
    assert alive(other)
    assert house.panes() == ["%0"]


def test_G14_no_keys_are_typed_into_that_pane_either(house: House) -> None:
    luna = in_tmux(house)
    end_server(house)
    eventually(lambda: not alive(luna.keeper))
    house.tmux("new-session", "-d", "-s", "other", "cat")
    assert house.panes() == ["%0"]
    with pytest.raises(Exception, match="gone"):
        house.knell.world.place("tmux").type_text(luna.run.place, "/exit")
    assert house.run("stop", "luna").returncode == 0
    assert house.tmux("capture-pane", "-p", "-t", "%0").strip() == ""


# -- G15: names that tmux would change -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "proposal"),
    [("my.app:1", "my-app-1"), (".", "agent"), ("a b", "a-b"), ("luna.", "luna"), ("7", "agent-7")],
)
def test_G15_an_agent_name_that_tmux_would_change_is_refused_with_a_proposal(
    house: House, name: str, proposal: str
) -> None:
    done = house.run("spawn", "--in", "headless", "--name", name, "--", "sleep", "90")
    assert done.returncode == 2
    assert f"hint: try {proposal}\n" in done.stderr
    assert house.knell.list(with_ended=True) == []


def test_G15_a_session_name_that_tmux_would_change_is_normalised(house: House) -> None:
    first = in_tmux(house, "luna", session="my.app:1")
    second = in_tmux(house, "nova", session="my.app:1")
    assert first.run.place.session == second.run.place.session == "my_app_1"
    assert sessions(house) == ["my_app_1"]
    house.kill("nova")
    assert house.run("kill", "session:my_app_1").returncode == 0
    assert not alive(first.pid)


# -- G16: text alone does nothing, and a prompt may be half full -----------------------------------

# Like a real one it takes text and Enter in one burst for a paste, and Enter alone for "send".
PROMPT = """#!{python} -S
import json, os, signal, tty
signal.alarm(1200)
tty.setraw(0)
typed, sent = "", []
while True:
    rule = "\u2500" * 30
    os.write(1, f"\\x1b[H\\x1b[2J{{rule}}\\r\\n\u276f {{typed}}\\r\\n{{rule}}".encode())
    burst = os.read(0, 4096).decode()
    if len(burst) > 1 and burst.endswith("\\r"):
        typed += burst.replace("\\r", "\\n")
        continue
    for key in burst:
        if key == "\\r":
            sent.append(typed)
            with open({sent!r}, "w") as file:
                json.dump(sent, file)
            if typed == "/exit":
                os._exit(0)
            typed = ""
        elif key in "\\x15\\x1b\\x03":
            typed = ""
        else:
            typed += key
"""


def test_G16_a_half_typed_prompt_is_cleared_and_the_line_is_sent(house: House) -> None:
    programs, sent = house.root / "bin", house.root / "sent.json"
    programs.mkdir()
    claude = programs / "claude"
    claude.write_text(PROMPT.format(python=sys.executable, sent=str(sent)))
    claude.chmod(0o700)
    patient = house.root / "patient.toml"
    patient.write_text("[stop]\nexit_wait = 60\n")
    house.env |= {"PATH": f"{programs}:{house.env['PATH']}", "KNELL_CONFIG": str(patient)}
    run = house.knell.spawn("claude", name="luna", place="tmux", server="test").run

    def screen() -> str:
        return house.tmux("capture-pane", "-p", "-t", run.place.pane).strip()

    eventually(lambda: "\u276f" in screen())
    house.tmux("send-keys", "-t", run.place.pane, "please delete everyth")
    eventually(lambda: "\u276f please delete everyth" in screen())
    receipt = house.json("stop", "luna")["receipts"][0]
    assert sent.exists(), receipt["warnings"]
    assert json.loads(sent.read_text()) == ["/exit"]
    assert [rung["rung"] for rung in receipt["rungs"] if rung["reached"]] == ["exit_keys"]
    assert (receipt["outcome"], receipt["exit_code"]) == ("stopped", 0)


# -- G20: a terminal that does not answer ----------------------------------------------------------


def test_G20_a_tmux_that_does_not_answer_saves_nobody(house: House) -> None:
    luna = in_tmux(house)
    server = luna.run.place.server_pid
    os.kill(server, signal.SIGSTOP)
    try:
        began = time.monotonic()
        seen = house.knell.world.place("tmux").look(luna.run.place, luna.run.id)
        assert isinstance(seen, Unknown)  # not seeing is not dying
        done = house.run("kill", "luna")
        assert time.monotonic() - began < 50
        assert not alive(luna.pid)
        assert done.returncode == 0
        assert "(pane close failed for tmux)" in done.stdout
        assert "did not answer" in done.stderr
        retry = f"tmux -S {luna.run.place.server} kill-pane -t {luna.run.place.pane}"
        assert f"Retry this command with approval/escalation:\n  {retry}\n" in done.stderr
    finally:
        os.kill(server, signal.SIGCONT)
    subprocess.run(shlex.split(retry), env=house.env, capture_output=True, check=False, timeout=300)
    eventually(lambda: house.panes() == [])


def test_G20_a_kitty_that_does_not_answer_is_unknown_and_the_retry_names_its_socket(
    house: House,
) -> None:
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(house.root / "kitty"))
        mute.listen()
        kitty = Kitty(house.env, timeout=0.3)  # no KITTY_LISTEN_ON: as from another terminal
        place = Place("kitty", "7", f"unix:{house.root}/kitty", os.getpid(), "KNELL_PANE=r")
        assert isinstance(kitty.look(place, "r"), Unknown)
        closing = kitty.close(place, "r")
        assert not closing.closed
        assert closing.retry == f"kitty @ --to {place.server} close-window --match id:7"


# -- G21: two agents in one session ----------------------------------------------------------------


def test_G21_only_the_pane_of_the_one_that_was_meant_is_closed(house: House) -> None:
    luna = in_tmux(house, "luna", session="shared")
    house.tmux("set-option", "-g", "remain-on-exit", "on")  # so that no pane goes by itself
    nova = in_tmux(house, "nova", session="shared")
    house.tmux("split-window", "-d", "-t", luna.run.place.pane, "sleep 90")
    other = house.tmux("list-panes", "-t", luna.run.place.pane, "-F", "#{pane_id}").split()[1]
    house.kill("luna")
    assert not alive(luna.pid)
    assert alive(nova.pid)
    assert sorted(house.panes()) == sorted([nova.run.place.pane, other])
    house.kill("nova")
    assert house.panes() == [other]
    assert sessions(house) == ["shared"]
