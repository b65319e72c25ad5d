"""P44 to P46: tmux panes that tell nothing of themselves, what they let go of, what comes back."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from house import House, alive, eventually
from knell.processes import keepers
from knell.processes.table import Table
from scenes import PROLOGUE, end, started
from shared_tmux import (
    KINDS,
    OPEN,
    WORK,
    agent,
    daemon,
    does,
    has_program,
    kill,
    panes,
    pids_in,
    tmux,
    written,
)

BARE = f'{OPEN} work "exec env -i sleep 333"'
RESPAWN = "tmux -L x set -g remain-on-exit on ';' set-hook -g pane-died respawn-pane"
KEEPER = Path(keepers.KEEPER)

# -- P44: panes that do not tell who opened them ---------------------------------------------------


def test_P44_a_server_whose_pane_emptied_its_environment_is_the_runs(house: House) -> None:
    started(house, does(BARE))
    found = panes(house)
    eventually(lambda: has_program(found["work"], "sleep"))
    receipt = kill(house)
    assert not any(map(alive, found.values()))
    assert (receipt.proof, receipt.kept) == ("proven", ())


def test_P44_such_a_pane_in_a_server_of_others_is_ended(house: House) -> None:
    """Before, the end was proven while the pane lived."""
    tmux(house, "new-session", "-d", "-s", "mine", "exec env -i sleep 444")
    started(house, does(BARE))
    found = panes(house)
    eventually(lambda: has_program(found["work"], "sleep") and has_program(found["mine"], "sleep"))
    receipt = kill(house)
    assert (alive(found["work"]), alive(found["mine"]), alive(found["server"])) == (
        False, True, True,
    )  # fmt: skip
    assert found["work"] in pids_in(receipt)


@KINDS
def test_P44_what_a_persons_pipe_pane_started_is_the_persons(house: House, how: str) -> None:
    """It has the environment of the server, and so the mark of the run that started this."""
    agent(house, how, WORK)
    tmux(house, "new-session", "-d", "-s", "mine", "sleep 444")
    tmux(house, "pipe-pane", "-t", "mine", f"echo $$ > {house.root}/pipe; exec cat > /dev/null")
    pipe, found = written(house.root / "pipe"), panes(house)
    kill(house)
    assert (alive(found["work"]), alive(found["mine"]), alive(pipe)) == (False, True, True)


@pytest.mark.parametrize("first", ["person", "agent"])
def test_P44_a_server_is_known_under_any_name_of_the_program(house: House, first: str) -> None:
    program = house.root / "tmux-next"
    program.symlink_to(str(shutil.which("tmux")))
    work = f"{program} -L x -f /dev/null new-session -d -s work sleep 333"
    mine = ("new-session", "-d", "-s", "mine", "sleep 444")
    if first == "person":
        tmux(house, *mine, program=str(program))
    started(house, does(work))
    if first == "agent":
        tmux(house, *mine, program=str(program))
    found = panes(house)
    kill(house)
    assert (alive(found["work"]), alive(found["mine"]), alive(found["server"])) == (
        False, True, True,
    )  # fmt: skip


LISTENS_FOR = """
import ctypes, os, socket, sys, time
server, note = int(sys.argv[1]), sys.argv[2]
pidfd, got = os.pidfd_open(server), 0
for fd in os.listdir(f"/proc/{server}/fd"):
    if os.readlink(f"/proc/{server}/fd/{fd}").startswith("socket:"):
        number = ctypes.CDLL(None).syscall(438, pidfd, int(fd), 0)
        if number < 0:
            continue
        one = socket.socket(fileno=number)
        if one.family == socket.AF_UNIX and one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            one.listen(8)
            got += 1
open(note, "w").write(f"{got}\\n")
time.sleep(100)
"""


ASKS = """
import sys
sys.path[:0] = sys.argv[1:3]
import linux_tmux
print(linux_tmux.listener(sys.argv[3].encode()))
"""


def test_P44_a_server_behind_a_socket_that_another_holds_is_searched_for(house: House) -> None:
    """systemd may listen for tmux: then the kernel names systemd as the one behind the socket."""
    tmux(house, "new-session", "-d", "-s", "mine", "sleep 444")
    server, note = panes(house)["server"], house.root / "holds"
    folders = (KEEPER.parent, KEEPER.parent.parent / "os")
    socket = house.tmux_dir / f"tmux-{os.getuid()}" / "x"
    asks = (sys.executable, "-c", ASKS, *map(str, (*folders, socket)))
    assert subprocess.check_output(asks, text=True).split() == [str(server)]
    holder = house.process(sys.executable, "-c", LISTENS_FOR, str(server), str(note))
    if not written(note):
        pytest.skip("the descriptors of others cannot be had here")
    assert subprocess.check_output(asks, text=True).split() == ["None"]
    holder.kill()
    holder.wait()


def test_P44_a_server_in_another_network_namespace_is_found(house: House) -> None:
    if os.geteuid() or ctypes.CDLL(None).unshare(0):
        pytest.skip("no network namespace can be made here")
    tmux(house, "new-session", "-d", "-s", "mine", "sleep 444")
    note = house.root / "told"
    argv = (sys.executable, "-m", "knell", "spawn", "--name", "luna", "--in", "headless", "--")
    body = house.script(PROLOGUE + does(WORK))
    env = house.env | {"KNELL_READY": str(note)}
    subprocess.run(["unshare", "-n", *argv, *body], env=env, cwd=house.root, check=True)
    eventually(note.exists)
    found = panes(house)
    kill(house)
    assert (alive(found["work"]), alive(found["mine"])) == (False, True)


# -- P45: what panes let go of ---------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("closed", [False, True])
def test_P45_what_a_person_started_in_the_agents_server_lives_on(
    house: House, how: str, *, closed: bool
) -> None:
    agent(house, how, WORK)
    tmux(house, "new-session", "-d", "-s", "mine", daemon(house))
    lone, found = written(house.root / "daemon"), panes(house)
    eventually(lambda: os.getsid(lone) == lone)  # else the pane's end would hang it up
    if closed:
        tmux(house, "kill-session", "-t", "mine")
        eventually(lambda: not alive(found["mine"]))
    receipt = kill(house)
    assert (alive(found["work"]), alive(lone)) == (False, True)
    assert alive(found["server"]) is not closed
    assert lone in {one.pid for one in receipt.kept}
    assert "started from another's pane" in house.run("receipt", "luna").stdout
    house.run("reap", "--yes")
    assert alive(lone)
    end(lone)


def test_P45_also_if_the_server_ends_between_a_scan_and_the_look_at_its_cgroup(
    house: House,
) -> None:
    """Before, an adopted run's ending took the daemon for the run's then."""
    house.tmux("new-session", "-d", "-s", "work", "sleep 333", server="x")
    tmux(house, "new-session", "-d", "-s", "mine", daemon(house))
    lone, server = written(house.root / "daemon"), panes(house)["server"]
    eventually(lambda: has_program(lone, "sleep"))
    scan = Table()
    assert scan.is_from_others(lone, "a-run", own={server})
    end(server)
    assert scan.is_from_others(lone, "a-run", own=())
    end(lone)


def test_P45_so_does_a_tmux_server_that_a_person_started_there(house: House) -> None:
    started(house, does(WORK))
    inner = "env -u TMUX tmux -L y -f /dev/null new-session -d -s deep sleep 555"
    tmux(house, "new-session", "-d", "-s", "mine", f"{inner}; exec sleep 444")
    form = ("list-panes", "-a", "-F", "#{pane_pid} #{pid}")
    deep = [int(pid) for pid in eventually(lambda: house.tmux(*form, server="y")).split()]
    kill(house)
    assert all(map(alive, deep))


def test_P45_what_the_agents_pane_in_a_server_of_others_let_go_of_is_ended(house: House) -> None:
    """Before, the end was proven while it lived."""
    tmux(house, "new-session", "-d", "-s", "mine", daemon(house))
    mine = written(house.root / "daemon")
    (house.root / "daemon").unlink()
    started(house, does(f"{OPEN} work '{daemon(house)}'"))
    lone = written(house.root / "daemon")
    receipt = kill(house)
    assert (alive(lone), alive(mine)) == (False, True)
    assert lone in pids_in(receipt)
    end(mine)


# -- P46: panes that come while the run ends -------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "first"),
    [
        ("spawned", "person"),
        ("spawned", "agent"),
        pytest.param("adopted", "agent", marks=pytest.mark.needs_cgroup),
    ],
)
def test_P46_a_pane_that_a_hook_starts_again_is_closed(house: House, how: str, first: str) -> None:
    mine = ("new-session", "-d", "-s", "mine", "sleep 444")
    if first == "person":
        tmux(house, *mine)
    agent(house, how, WORK, RESPAWN)
    if first == "agent":
        tmux(house, *mine)
    found = panes(house)
    receipt = kill(house)
    assert set(panes(house)) == {"mine", "server"}
    assert not any(map(alive, pids_in(receipt)))
    assert alive(found["mine"])


def test_P46_a_session_that_a_killed_client_had_asked_for_is_ended(house: House) -> None:
    """Before, such an end without grace was called proven while sessions opened."""
    tmux(house, "new-session", "-d", "-s", "mine", "sleep 444")
    opens = "os.system(f'tmux -L x new-session -d -s {k}-{time.monotonic_ns()} sleep 333')"
    body = f"for k in range(6):\n    while not os.fork():\n        {opens}\ntell()\nsleep()"
    for round_ in range(4):
        name = f"luna{round_}"
        started(house, body.replace("while not os.fork()", "if os.fork(): continue\n    while 1"),
                name=name)  # fmt: skip
        eventually(lambda: len(panes(house)) > 8)
        receipt = house.kill(name, grace=0)[0].receipts[0]
        assert set(panes(house)) == {"mine", "server"}, receipt.proof


def test_P46_an_ending_waits_for_no_frozen_server(house: House) -> None:
    tmux(house, "new-session", "-d", "-s", "mine", "exec env -i sleep 444")
    started(house, does(WORK, RESPAWN))
    found = panes(house)
    os.kill(found["server"], signal.SIGSTOP)
    kill(house)
    os.kill(found["server"], signal.SIGCONT)
    assert alive(found["mine"])
    assert not alive(found["work"])
