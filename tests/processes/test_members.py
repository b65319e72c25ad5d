"""Which processes belong to a run when no keeper says so, and which never do."""

import os
import sys
from pathlib import Path

import pytest

from house import House, alive, descendants, eventually
from knell.api.habits import BOUND
from knell.core import ladder
from knell.core.ports.processes import Target
from knell.core.process import ProcessId
from knell.core.receipt import Receipt
from knell.processes.members import members_of, untouchable
from knell.processes.os import linux, system
from knell.processes.table import Table
from scenes import adopted, end, started, stranger
from shells import Shell, agent, run_of


def known(pid: int) -> ProcessId:
    process = system.identify(pid)
    assert process
    return process


def target(pid: int, run: str = "no-such-run", **more: object) -> Target:
    return Target(run, "", None, known(pid), "", ladder.FORCE)._replace(**more)


def pids(of: Target, *protected: int) -> dict[int, str]:
    """Every member's pid, and how it was found."""
    members = members_of(of, Table(), [known(pid) for pid in protected])
    return {member.process.pid: member.via for member in members}


def killed(house: House, name: str = "luna") -> Receipt:
    return house.kill(name, grace=0.3)[0].receipts[0]


# -- a job of a person's shell ---------------------------------------------------------------------


def test_a_job_is_ended_and_its_shell_with_all_other_jobs_survives(house: House) -> None:
    """They share a session and a terminal, and neither is the agent's."""
    shell = Shell(house)
    words, log = agent(house, "if not os.fork(): say('child', os.getpid())\nwait()")
    shell.type("sleep 98 &")
    other = int(shell.ask("echo $!"))
    shell.type(f"{words} &")
    child = int(log.await_line("child").split()[1])
    lines = eventually(lambda: [line for line in log.lines() if not line.endswith(str(child))])
    pid = int(lines[0].split()[1])
    house.knell.adopt(str(pid), name="luna")
    receipt = killed(house)
    assert {process.pid for process in receipt.processes} == {pid, child}
    assert (receipt.result, receipt.proof) == ("ended", "none_found")
    assert not alive(child)
    assert "sleep 98" in shell.ask("jobs")
    end(other)


def test_a_job_in_the_foreground_gives_the_terminal_back_when_it_is_ended(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "wait()")
    shell.type(words)
    pid = log.await_pid()
    house.knell.adopt(str(pid), name="luna")
    assert {process.pid for process in killed(house).processes} == {pid}
    assert shell.ask("echo here") == "here"


def test_a_program_in_the_middle_of_a_pipeline_is_ended_alone(house: House) -> None:
    """The group is led by its neighbour, and named after it."""
    shell = Shell(house)
    first, before = agent(house, "wait()")
    words, log = agent(house, "wait()")
    last, after = agent(house, "wait()")
    shell.type(f"{first} | {words} | {last}")
    pid, neighbours = log.await_pid(), [before.await_pid(), after.await_pid()]
    house.knell.adopt(str(pid), name="luna")
    assert {process.pid for process in killed(house).processes} == {pid}
    assert all(map(alive, neighbours))
    shell.press("C-c")


def test_an_adopted_pane_is_ended_with_its_shell_and_its_jobs(house: House) -> None:
    """Here the shell itself was meant."""
    shell, other = Shell(house), Shell(house)
    words, log = agent(house, "wait()")
    shell.type(words)
    pid = log.await_pid()
    house.knell.adopt(shell.pane, name="luna", server="test")
    assert {process.pid for process in killed(house).processes} == {shell.pid, pid}
    assert alive(other.pid)
    assert house.panes() == [other.pane]


# -- how a member is found -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "via"),
    [
        ("child(SLEEP)", "tree"),
        ("child(SLEEP, session=True)", "tree"),
        ("child(SLEEP, environment={})", "tree"),
        ("child(SLEEP, orphan=True, environment={})", "group"),
    ],
)
def test_the_trail_that_led_to_a_member_is_told(house: House, body: str, via: str) -> None:
    luna = adopted(house, f"{body}\ntell()\nsleep()", setpgroup=0)
    found = pids(target(luna.pid))
    assert found.pop(luna.pid) == "agent"
    assert list(found.values()) == [via]
    killed(house)


@pytest.mark.parametrize(("made", "via"), [("setsid", "session"), ("setpgroup", "group")])
def test_what_the_agent_led_is_the_runs_though_the_agent_has_left(
    house: House, made: str, via: str
) -> None:
    """The number of a session or group in use is given to no new process. Where it may have been
    somebody else's in between, only who saw the agent leave, or a member in it, can tell."""
    body = "if not os.fork():\n    MOVE\n    tell(os.getpid())\n    time.sleep(99)\nsleep()"
    moves = {"setsid": "os.setpgid(0, 0)", "setpgroup": "pass"}
    options = {"setsid": True} if made == "setsid" else {"setpgroup": 0}
    pid, told = stranger(house, body.replace("MOVE", moves[made]), **options)
    agent_id = known(pid)
    end(pid)
    os.waitpid(pid, 0)
    of = Target("no-such-run", "", None, agent_id, "", ladder.FORCE)
    if agent_id.inode:
        assert pids(of) == {int(told[0]): via}
    of = of._replace(process=agent_id._replace(inode=0))
    assert pids(of) == {}
    seen = members_of(of, Table(), (), numbers_led={pid})
    assert {member.process.pid: member.via for member in seen} == {int(told[0]): via}
    assert pids(of._replace(known=(known(int(told[0])),))) == {int(told[0]): "ledger"}
    end(int(told[0]))


def test_a_member_that_was_seen_before_leads_to_its_children(house: House) -> None:
    """Its parent has gone: only the ledger still knows it."""
    luna = adopted(
        house, "child(SLEEP, session=True, orphan=True, environment={})\ntell()\nsleep()"
    )
    before = {pid for pid, row in Table().rows.items() if row.ppid == os.getpid()}
    (hidden,) = [
        pid for pid in before if pid != luna.pid and linux.argv_of(pid)[-1:] == tail(luna.pid)
    ]
    assert hidden not in pids(target(luna.pid))
    assert pids(target(luna.pid, known=(known(hidden),)))[hidden] == "ledger"
    killed(house)
    end(hidden)


def tail(pid: int) -> tuple[str, ...]:
    """The last argument of a habit's child: the program that it sleeps by."""
    source = linux.argv_of(pid)[-1]
    assert "SLEEP = " in source
    return (f"import os, signal, sys, time\nsignal.alarm({BOUND})\ntime.sleep({BOUND})",)


def test_alone_means_that_process_and_what_is_below_it(house: House) -> None:
    luna = started(house, "child(SLEEP)\nchild(SLEEP, session=True, orphan=True)\ntell()\nsleep()")
    # One look alone may miss a process that is just being started; an ending looks several times.
    eventually(lambda: len(pids(target(luna.pid, run=luna.run.id))) == 3)
    alone = pids(target(luna.pid, run=luna.run.id, alone=True))
    assert set(alone.values()) == {"agent", "tree"}
    assert len(alone) == 2


# -- who is never one ------------------------------------------------------------------------------


def test_G4_neither_init_nor_we_nor_what_we_run_in(house: House) -> None:
    ours = {0, 1, os.getpid(), os.getppid()}
    luna = adopted(house, "tell()\nsleep()")
    assert ours <= untouchable(Table(), [], target(luna.pid))
    assert not ours & set(pids(target(os.getppid())))
    killed(house)


def test_G1_what_was_recorded_before_a_reboot_leads_to_nobody(house: House) -> None:
    """The same numbers are in use again, as leaders of other people's sessions."""
    luna = adopted(house, "child(SLEEP)\ntell()\nsleep()", setsid=True)
    stale = known(luna.pid)._replace(boot="0" * 36)
    of = Target("no-such-run", "", stale, stale, "", ladder.FORCE, known=(stale,))
    assert members_of(of, Table()) == []
    killed(house)


def test_G52_another_live_run_and_all_below_it(house: House) -> None:
    spawn = f"{sys.executable} -m knell spawn --in headless --name nova -- sleep 99"
    luna = started(house, f"os.system({spawn!r})\nchild(SLEEP)\ntell()\nsleep()")
    nova = run_of(house, "nova")
    assert nova.keeper
    assert nova.process
    assert luna.run.keeper
    of = target(luna.pid, run=luna.run.id, keeper=luna.run.keeper, cgroup=luna.run.cgroup)
    found = pids(of, nova.keeper.pid, nova.process.pid)
    assert set(found) - {luna.pid, luna.run.keeper.pid} != set()
    assert not {nova.keeper.pid, nova.process.pid} & set(found)


def test_another_persons_pane_in_a_server_that_the_agent_started(house: House) -> None:
    """It is in the agent's cgroup, for the server that forked it is; and yet it is a person's."""
    spawn = f"{sys.executable} -m knell spawn --in tmux -L inner --name nova -- sleep 99"
    luna = started(house, f"os.system({spawn!r})\ntell()\nsleep()")
    house.tmux("new-window", "-d", "sleep 97; :", server="inner")
    told = house.tmux("list-panes", "-a", "-F", "#{pid} #{pane_pid}", server="inner").split()
    server, panes = int(told[0]), {int(pid) for pid in told[1::2]}
    nova = run_of(house, "nova")
    assert nova.keeper
    (person,) = panes - {nova.keeper.pid}
    eventually(lambda: Table().children.get(person))
    mine = {server, person, *descendants(person)}
    assert luna.run.keeper
    end(luna.run.keeper.pid)
    receipt = house.kill("luna", children=False, grace=0.3)[0].receipts[0]
    assert not mine & {process.pid for process in receipt.processes}
    assert all(map(alive, mine))
    assert not alive(luna.pid)
    if luna.run.cgroup:
        assert receipt.proof == "none_found"  # the leaf was not empty: the person was in it
        assert not Path(luna.run.cgroup).exists()


# -- a vendor's helpers ----------------------------------------------------------------------------

SESSION_AND_HELPER = """
helper = os.fork()
if not helper:
    os.setsid()
    os.execv(VENDOR, [VENDOR, "serve"])
while not open(f"/proc/{helper}/cmdline", "rb").read().endswith(b"serve\\0"):  # not this text
    time.sleep(0.01)
tell(helper)
os.execv(VENDOR, [VENDOR, "chat"])
"""


@pytest.mark.parametrize(("other", "spared"), [("chat", True), ("serve", False), ("", False)])
def test_R2_a_helper_that_another_session_uses_is_no_member(
    house: House, other: str, *, spared: bool
) -> None:
    """The rule is the keeper's: another helper is not a session, nor is the agent itself."""
    program = house.root / f"vendor-{os.urandom(4).hex()}"
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(99)\n")
    program.chmod(0o755)
    beside = house.process(str(program), other) if other else None
    pid, told = stranger(house, SESSION_AND_HELPER.replace("VENDOR", repr(str(program))))
    helper = int(told[0])
    eventually(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"chat\0"))
    if beside:
        eventually(lambda: other.encode() in Path(f"/proc/{beside.pid}/cmdline").read_bytes())
    asked = target(pid, shared=((f"*{program.name} serve", program.name),))
    assert (helper in pids(asked)) is not spared
    assert helper in pids(target(pid)), "without the rule it is a member"
    end(pid, helper, *([beside.pid] if beside else []))
    if beside:
        beside.wait(60)
