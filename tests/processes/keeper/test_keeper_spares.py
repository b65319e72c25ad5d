"""Whom a keeper lets live: children that were named, shared helpers, other runs, others' panes."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from house import House, alive, eventually
from keepers import kept
from scenes import end
from shells import Log, agent, keeper_of

KNELL = f"{shlex.quote(sys.executable)} -m knell"


def after(log: Log, word: str) -> int:
    return int(log.await_line(word).split()[1])


def running(house: House, *words: str) -> subprocess.Popen[bytes]:
    """`knell run` of luna, under way."""
    argv = ("run", "--name", "luna", "--grace", "0.3", *words)
    return house.process(sys.executable, "-m", "knell", *argv, stdin=subprocess.DEVNULL)


# -- children that may live on ---------------------------------------------------------------------

TWO_CHILDREN = """
for name in ("keep-me", "not-me"):
    if not os.fork():
        if SESSION:
            os.setsid()
        say(name, os.getpid())
        os.execv(sys.executable, ["python", "-S", "-c", "import time; time.sleep(99)", name])
while len(open(sys.argv[1]).readlines()) < 2:
    time.sleep(0.01)
"""


@pytest.mark.parametrize("session", [True, False])
@pytest.mark.parametrize("how", ["exits", "is killed"])
def test_a_child_that_was_named_survives_and_is_tracked(
    house: House, how: str, *, session: bool
) -> None:
    """Also in the agent's own process group, which is signalled as a whole otherwise."""
    body = TWO_CHILDREN.replace("SESSION", str(session))
    words, log = agent(house, body + ("os._exit(3)" if how == "exits" else "wait()"))
    run = running(house, "--keep", "*keep-me", "--", *words.split())
    spared, other = after(log, "keep-me"), after(log, "not-me")
    if how == "is killed":
        log.await_pid()
        house.kill("luna")
    assert run.wait(300) == (3 if how == "exits" else 143)
    assert (alive(spared), alive(other)) == (True, False)
    receipt = house.knell.receipt("luna")
    assert [(k.pid, k.why) for k in receipt.kept] == [(spared, "kept: *keep-me")]
    assert other in {process.pid for process in receipt.processes}
    assert spared not in {process.pid for process in receipt.processes}
    assert receipt.proof == "none_found"  # its parent has a child left: no ECHILD
    (orphan,) = house.json("status")["orphans"]
    assert (orphan["pid"], orphan["agent"]) == (spared, "luna")
    assert house.run("reap", "--yes").returncode == 0
    eventually(lambda: not alive(spared))
    assert house.json("status")["orphans"] == []


# -- helpers that a vendor shares among sessions ---------------------------------------------------

SESSION_AND_HELPER = """
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    say("helper", os.getpid())
    os.execv(VENDOR, [VENDOR, "serve"])
os.wait()
say("ready", os.getpid())
os.execv(VENDOR, [VENDOR, "chat"])
"""


def vendor(house: House) -> Path:
    """A program that chats or serves, by a name that no other test's program has."""
    script = house.root / f"vendor-{os.urandom(4).hex()}"
    script.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(99)\n")
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(("other", "spared"), [("chat", True), ("serve", False), ("", False)])
def test_a_shared_helper_lives_as_long_as_another_session_uses_it(
    house: House, other: str, *, spared: bool
) -> None:
    """Another helper is not a session, nor is the agent that is being ended."""
    program = vendor(house)
    session = house.process(str(program), other) if other else None
    body = SESSION_AND_HELPER.replace("VENDOR", repr(str(program)))
    run = kept(house, body, shared=((f"*{program.name} serve", program.name),))
    helper = after(run.log, "helper")
    run.log.await_pid()
    eventually(lambda: b"serve" in Path(f"/proc/{helper}/cmdline").read_bytes())
    run.ask(0.2)
    journal = run.wait()
    assert alive(helper) == spared
    assert journal.proven != spared
    told = [(k.pid, k.why) for k in journal.kept]
    assert told == ([(helper, "shared with another session")] if spared else [])
    end(helper)
    if session:
        session.kill()
        session.wait()


# -- other runs ------------------------------------------------------------------------------------


def test_G52_a_run_that_the_agent_started_lives_on_when_the_agent_exits(house: House) -> None:
    nova = f"{KNELL} spawn --in headless --name nova -- sleep 99"
    done = house.run("run", "--name", "luna", "--grace", "0.3", "--", "sh", "-c", nova)
    assert done.returncode == 0
    keeper = keeper_of(house, "nova")
    assert alive(keeper)
    receipt = house.knell.receipt("luna")
    assert receipt.outcome == "completed"
    assert [(k.pid, k.why) for k in receipt.kept] == [(keeper, "the keeper of another run")]
    assert receipt.processes == ()
    assert house.json("status")["orphans"] == []  # it has a run, so it is no orphan
    assert house.kill("nova")[0].receipts[0].proof == "proven"
    assert not alive(keeper)


def test_G52_a_spared_child_run_is_not_touched_by_the_ending_of_its_parent(house: House) -> None:
    """Though it is below the agent, in its process group and was in its cgroup."""
    words, log = agent(house, "hear(signal.SIGTERM, signal.SIGHUP)\nwait()")
    nova = f"{KNELL} run --name nova -- {words}; sleep 99"
    run = running(house, "--", "sh", "-c", nova)
    pid = log.await_pid()
    keeper = keeper_of(house, "nova")
    receipt = house.kill("luna", children=False, grace=0.2)[0].receipts[0]
    run.wait(300)
    assert [k.pid for k in receipt.kept] == [keeper]
    assert alive(keeper)
    assert log.lines() == [f"ready {pid}"]
    assert house.kill("nova")[0].receipts[0].proof == "proven"


# -- tmux servers ----------------------------------------------------------------------------------


def server_pid(house: House, server: str = "inner") -> int:
    return int(house.tmux("display-message", "-p", "#{pid}", server=server) or 0)


def test_a_tmux_server_of_the_agents_own_ends_with_it(house: House) -> None:
    """It has daemonised itself: no group, session or pane leads to it."""
    start = "tmux -L inner -f /dev/null new-session -d 'exec sleep 99'; echo up > up; exec sleep 99"
    run = running(house, "--", "sh", "-c", start)
    eventually((house.root / "up").exists)
    server = server_pid(house)
    receipt = house.kill("luna")[0].receipts[0]
    run.wait(300)
    assert receipt.proof == "proven"
    assert not alive(server)


def test_a_tmux_server_that_holds_another_run_is_spared(house: House) -> None:
    """`knell spawn` inside an agent may be what started the server."""
    nova = f"{KNELL} spawn --in tmux -L inner --name nova -- sleep 99; echo up > up; exec sleep 99"
    run = running(house, "--", "sh", "-c", nova)
    eventually((house.root / "up").exists)
    house.tmux("new-window", "-d", "exec sleep 98", server="inner")
    panes = house.tmux("list-panes", "-a", "-F", "#{pane_pid}", server="inner").split()
    server = server_pid(house)
    receipt = house.kill("luna", children=False)[0].receipts[0]
    run.wait(300)
    assert receipt.result == "ended"
    assert server in {k.pid for k in receipt.kept}
    assert all(alive(int(pid)) for pid in (server, *panes))
    assert keeper_of(house, "nova") in {int(pid) for pid in panes}
    assert house.kill("nova")[0].receipts[0].proof == "proven"
    assert alive(server)  # the person's own window is still there


@pytest.mark.parametrize("keeper", ["there", "killed"])
def test_of_a_server_that_it_shares_the_agent_loses_only_its_own_panes(
    house: House, keeper: str
) -> None:
    """The agent's server brands every pane with the agent's stamp, another run's keeper too."""
    own = "tmux -L inner -f /dev/null new-session -d 'exec sleep 98'"
    nova = f"{KNELL} spawn --in tmux -L inner --name nova -- sleep 99"
    run = running(house, "--", "sh", "-c", f"{own}; {nova}; echo up > up; exec sleep 99")
    eventually((house.root / "up").exists)
    server, nova_keeper = server_pid(house), keeper_of(house, "nova")
    panes = house.tmux("list-panes", "-a", "-F", "#{pane_pid}", server="inner").split()
    (pane,) = {int(pid) for pid in panes} - {nova_keeper}
    if keeper == "killed":
        end(keeper_of(house, "luna"))
    house.kill("luna", children=False, grace=0.3)
    run.wait(300)
    assert [alive(pid) for pid in (server, nova_keeper, pane)] == [True, True, False]
    assert house.kill("nova")[0].receipts[0].proof == "proven"
