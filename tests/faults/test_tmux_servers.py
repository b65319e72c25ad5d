"""P9, P10: a tmux server belongs to the run or to others by the panes that it holds."""

import os
import pty
import signal
from typing import Any

import pytest

from house import House, alive, eventually
from knell.core.receipt import Receipt
from scenes import Played, adopted, started

SESSION = "tmux -L x -f /dev/null new-session -d -s work sleep 333"
ALONE = f"os.system('{SESSION}')\ntell()\nsleep()"
EMPTY = f"os.system('env -i PATH=$PATH TMUX_TMPDIR=$TMUX_TMPDIR {SESSION}')\ntell()\nsleep()"
LEAVES = "signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))\n"


def panes(house: House) -> dict[str, int]:
    """Session → the pid in its pane; and the server's own."""
    form = "#{session_name} #{pane_pid} #{pid}"
    lines = house.tmux("list-panes", "-a", "-F", form, server="x").splitlines()
    found = {line.split()[0]: int(line.split()[1]) for line in lines}
    return found | ({"server": int(lines[0].split()[2])} if lines else {})


def end(house: House, dev: Played, how: str) -> Receipt:
    """Killed, or let to leave by itself."""
    if how == "kill":
        house.kill("luna", grace=1)
    else:
        house.process("kill", f"-{int(signal.SIGUSR1)}", str(dev.pid)).wait()
        eventually(lambda: not alive(dev.pid) and not alive(dev.keeper))
        house.knell.list()
    return house.knell.receipt("luna")


@pytest.mark.parametrize("how", ["kill", "exit"])
@pytest.mark.parametrize("body", [ALONE, EMPTY])
def test_P9_a_server_that_holds_only_the_runs_panes_ends_with_it(
    house: House, body: str, how: str
) -> None:
    dev = started(house, LEAVES + body)
    found = panes(house)
    assert set(found) == {"work", "server"}
    tree = house.run("tree", "luna").stdout
    assert str(found["server"]) in tree
    assert str(found["work"]) in tree
    receipt = end(house, dev, how)
    assert not any(map(alive, found.values()))
    assert {found["server"], found["work"]} <= {one.pid for one in receipt.processes}
    assert not receipt.kept


@pytest.mark.needs_cgroup
def test_P9_so_does_the_server_of_an_adopted_agent(house: House) -> None:
    wait = "import signal\nsignal.signal(10, lambda *_: (os.system('%s'), tell('there')))\n"
    dev = adopted(house, wait % SESSION + "tell()\nsleep()")
    house.process("kill", "-USR1", str(dev.pid)).wait()
    found = eventually(lambda: panes(house))
    assert str(found["server"]) in house.run("tree", "luna").stdout
    house.kill("luna", grace=1)
    assert not any(map(alive, found.values()))


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_P10_a_server_that_also_holds_others_panes_is_spared(house: House, how: str) -> None:
    dev = started(house, LEAVES + ALONE)
    house.tmux("new-session", "-d", "-s", "mine", "sleep 444", server="x")
    other = started(house, "tell()\nsleep()", name="nova", place="tmux", server="x", session="nova")
    found = panes(house)
    receipt = end(house, dev, how)
    assert not alive(found["work"])
    assert found["work"] in {one.pid for one in receipt.processes}
    for pid in (found["mine"], found["server"], other.pid, other.keeper):
        assert alive(pid)
    assert found["server"] in {one.pid for one in receipt.kept}
    assert "a tmux server with other people's panes" in house.run("receipt", "luna").stdout
    house.run("reap", "--yes")
    assert alive(found["mine"])
    assert house.knell.kill("nova", grace=1)
    assert alive(found["mine"])


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_P10_the_runs_own_session_in_a_server_of_others_is_ended(house: House, how: str) -> None:
    house.tmux("new-session", "-d", "-s", "mine", "sleep 444", server="x")
    dev = started(house, LEAVES + ALONE)
    found = panes(house)
    assert str(found["work"]) in house.run("tree", "luna").stdout
    receipt = end(house, dev, how)
    assert not alive(found["work"])
    assert found["work"] in {one.pid for one in receipt.processes}
    assert alive(found["mine"])
    assert alive(found["server"])


@pytest.mark.needs_cgroup
def test_P10_an_adopted_agents_server_is_spared_for_others(house: House) -> None:
    wait = "import signal\nsignal.signal(10, lambda *_: (os.system('%s'), tell('there')))\n"
    dev = adopted(house, wait % SESSION + "tell()\nsleep()")
    house.process("kill", "-USR1", str(dev.pid)).wait()
    eventually(lambda: panes(house))
    other = started(house, "tell()\nsleep()", name="nova", place="tmux", server="x", session="nova")
    found: dict[str, Any] = panes(house)
    receipt = house.kill("luna", grace=1)[0].receipts[0]
    assert not alive(found["work"])
    assert alive(other.pid)
    assert alive(found["server"])
    assert found["server"] in {one.pid for one in receipt.kept}


def test_P10_each_of_two_agents_takes_its_own_session_along(house: House) -> None:
    """The second opens its session in the server that the first one started, and stamped."""
    dev = started(house, LEAVES + ALONE)
    body = ALONE.replace("-s work", "-s second")
    started(house, body, name="nova")
    found = panes(house)
    assert set(found) == {"work", "second", "server"}
    end(house, dev, "exit")
    assert (alive(found["work"]), alive(found["second"]), alive(found["server"])) == (
        False, True, True,
    )  # fmt: skip
    house.kill("nova", grace=1)
    eventually(lambda: not alive(found["second"]) and not alive(found["server"]))


def test_P10_a_window_that_a_person_opens_in_the_agents_session_is_the_persons(
    house: House,
) -> None:
    started(house, ALONE)
    screen, keyboard = pty.openpty()
    attach = ["tmux", "-L", "x", "attach-session", "-t", "work"]
    client = house.process(*attach, stdin=keyboard, stdout=keyboard, stderr=keyboard)
    os.close(keyboard)
    eventually(lambda: house.tmux("list-clients", server="x"))
    house.tmux("new-window", "-d", "-t", "work:", "-n", "mine", "sleep 444", server="x")
    form = "#{window_name} #{pane_pid}"
    lines = house.tmux("list-panes", "-a", "-F", form, server="x").splitlines()
    pids = {line.split()[0]: int(line.split()[1]) for line in lines}
    work = next(pid for name, pid in pids.items() if name != "mine")
    house.kill("luna", grace=1)
    assert (alive(work), alive(pids["mine"])) == (False, True)
    house.tmux("kill-server", server="x")
    client.wait()
    os.close(screen)


# -- servers that no usual socket leads to ---------------------------------------------------------


def hidden_server(house: House, how: str) -> tuple[str, str]:
    """A person's server with one session, and what hides it once an agent has a session there."""
    usual = house.tmux_dir / f"tmux-{os.getuid()}"
    socket = str(house.root / "odd" if how == "elsewhere" else usual / "x")
    moved = {
        "elsewhere": "",
        "moved": f"mv {socket} {socket}-moved",
        "deleted": f"rm {socket}",
        "replaced": f"rm {socket} && tmux -f /dev/null -S {socket} new-session -d sleep 444",
    }
    usual.mkdir(mode=0o700)
    return socket, moved[how]


@pytest.mark.parametrize("how", ["elsewhere", "moved", "deleted", "replaced"])
def test_P30_a_session_in_a_server_that_no_usual_socket_leads_to_is_ended(
    house: House, how: str
) -> None:
    """A keeper that does not find the server would call the end proven while its pane lives."""
    socket, hide = hidden_server(house, how)
    tmux = ("tmux", "-f", "/dev/null", "-S", socket)
    form = ("-F", "#{session_name} #{pane_pid} #{pid}")
    house.process(*tmux, "new-session", "-d", "-s", "mine", "sleep 444").wait()
    work = f"tmux -S {socket} new-session -d -s work sleep 333"
    listed = f"tmux -S {socket} list-panes -a -F '{form[1]}'"
    body = f"os.system({work!r})\ntold = os.popen({listed!r}).read()\nos.system({hide!r})\n"
    dev = started(house, f"{body}tell(told)\nsleep()")
    found = dict(zip(dev.told[::3], map(int, dev.told[1::3]), strict=True))
    server = int(dev.told[2])
    receipt = house.kill("luna", grace=1)[0].receipts[0]
    assert (alive(found["work"]), alive(found["mine"]), alive(server)) == (False, True, True)
    assert found["work"] in {one.pid for one in receipt.processes}
    signalled(server)


def signalled(server: int) -> None:
    """Ends a server of the test's, to which no socket leads any more."""
    os.kill(server, signal.SIGTERM)
    eventually(lambda: not alive(server))
