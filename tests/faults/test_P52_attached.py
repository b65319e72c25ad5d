"""P52: tmux sessions that an agent and a person share, dead panes, servers that end first."""

import os
import signal
from pathlib import Path

import pytest

from house import House, alive, eventually
from scenes import adopted, end, started
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
    tmux,
    written,
)

MINE = ("new-session", "-d", "-s", "mine")
# Some agents have a terminal for their commands; others use the control mode.
ATTACH = "sleep 300 | tmux -L x -C attach -t mine > /dev/null"
BARE_SERVER = f"env -i PATH=$PATH TMUX_TMPDIR=$TMUX_TMPDIR {WORK}"


def windows(house: House) -> dict[str, int]:
    """Window → the pid in its pane."""
    lines = tmux(house, "list-panes", "-a", "-F", "#{window_name} #{pane_pid}").splitlines()
    return {line.split()[0]: int(line.split()[1]) for line in lines}


def await_attached(house: House) -> None:
    eventually(lambda: "-SSH_CONNECTION" in tmux(house, "show-environment", "-t", "mine"))


@pytest.mark.parametrize(
    ("how", "first"),
    [
        ("spawned", "person"),
        ("spawned", "agent"),
        pytest.param("adopted", "agent", marks=pytest.mark.needs_cgroup),
    ],
)
def test_P52_what_you_open_in_your_session_is_yours_after_an_agent_attached_to_it(
    house: House, how: str, first: str
) -> None:
    """tmux gives the variables of the client that attached last to all windows that come later."""
    mine, there = (*MINE, "-n", "one", "sleep 444"), house.root / "there"
    if first == "person":
        tmux(house, *mine)
        there.touch()
    agent(house, how, WORK, f"(until test -e {there}; do sleep 0.1; done; {ATTACH}) &")
    if first == "agent":
        tmux(house, *mine)
        there.touch()
    await_attached(house)
    tmux(house, "new-window", "-d", "-t", "mine:", "-n", "two", "sleep 445")
    tmux(house, "new-window", "-d", "-t", "mine:", "-n", "bare", "exec env -i sleep 446")
    daemon = f"(setsid sleep 555 & echo $! > {house.root}/daemon); exec sleep 447"
    tmux(house, "new-window", "-d", "-t", "mine:", "-n", "three", daemon)
    found = panes(house) | windows(house) | {"daemon": written(house.root / "daemon")}
    eventually(
        lambda: has_program(found["bare"], "sleep") and has_program(found["daemon"], "sleep")
    )
    kill(house)
    assert not alive(found["work"])
    yours = ("one", "two", "bare", "three", "daemon")
    assert [one for one in yours if not alive(found[one])] == []
    house.run("reap", "--yes")
    assert [one for one in (*yours, "server") if not alive(found[one])] == []
    end(found["daemon"])


@pytest.mark.parametrize("name", ["aaa", "zzz"])
@pytest.mark.parametrize("share", ["group", "link"])
def test_P52_a_pane_of_yours_that_an_agent_shares_is_yours(
    house: House, name: str, share: str
) -> None:
    """tmux lists it in both sessions, in the order of their names."""
    tmux(house, *MINE, "exec env -i sleep 444")
    mine = panes(house)["mine"]
    eventually(lambda: has_program(mine, "sleep"))
    deeds = {
        "group": (f"tmux -L x new-session -d -t mine -s {name}",),
        "link": (f"{OPEN} {name} sleep 333", f"tmux -L x link-window -s mine: -t {name}:7"),
    }
    started(house, does(*deeds[share]))
    kill(house)
    assert alive(mine)
    assert "mine" in tmux(house, "list-sessions")


@KINDS
def test_P52_a_server_that_shows_a_dead_pane_of_yours_is_spared(house: House, how: str) -> None:
    """Its last screen would be lost."""
    agent(house, how, WORK)
    tmux(house, *MINE, "sleep 444")
    tmux(house, "set", "-t", "mine", "remain-on-exit", "on")
    found = panes(house)
    end(found["mine"])
    eventually(lambda: "1" in tmux(house, "list-panes", "-t", "mine", "-F", "#{pane_dead}"))
    receipt = kill(house)
    assert (alive(found["work"]), alive(found["server"])) == (False, True)
    assert found["server"] in {one.pid for one in receipt.kept}
    assert tmux(house, "list-sessions", "-F", "#{session_name}").split() == ["mine"]
    house.run("reap", "--yes")
    assert alive(found["server"])


@KINDS
def test_P52_dead_panes_of_the_agents_own_keep_no_server(house: House, how: str) -> None:
    agent(house, how, WORK, "tmux -L x set -g remain-on-exit on ';' new-window -d true")
    found = panes(house)
    eventually(lambda: "1" in tmux(house, "list-panes", "-a", "-F", "#{pane_dead}"))
    receipt = kill(house)
    assert not alive(found["server"])
    assert not receipt.kept


@KINDS
@pytest.mark.parametrize("opens", [WORK, BARE_SERVER])
def test_P52_what_ignores_the_hangup_of_your_pane_lives_on_if_the_agent_ends_its_server(
    house: House, how: str, opens: str
) -> None:
    """Agents end their servers when they leave. Before, what an ending had not yet seen without a
    parent was taken for the agent's then."""
    leaves = "at_term(lambda *_: (os.system('tmux -L x kill-server'), os._exit(0)))"
    comes = f"signal.signal(10, lambda *_: os.system({opens!r}))"
    play = started if how == "spawned" else adopted
    dev = play(house, f"{leaves}\n{comes}\ntell()\nsleep()")
    os.kill(dev.pid, signal.SIGUSR1)
    eventually(lambda: "work" in panes(house))
    tmux(house, *MINE, "trap '' HUP; exec sleep 555")
    found = panes(house)
    eventually(lambda: has_program(found["mine"], "sleep"))
    house.kill("luna", grace=60)
    assert not alive(found["server"])
    assert alive(found["mine"])
    end(found["mine"])


@KINDS
def test_P52_it_lives_on_also_if_that_server_was_gone_before_knell_looked(
    house: House, how: str
) -> None:
    """Before, an adopted agent's ending took it for the agent's: there is no stamp that tells."""
    agent(house, how, f"{OPEN} work '{daemon(house)}'")
    own = written(house.root / "daemon")
    tmux(house, *MINE, "trap '' HUP; exec sleep 555")
    found = panes(house)
    eventually(lambda: has_program(found["mine"], "sleep") and has_program(own, "sleep"))
    tmux(house, "kill-server")
    eventually(lambda: not alive(found["server"]))
    receipt = kill(house)
    assert (alive(found["mine"]), alive(own)) == (True, False)
    assert found["mine"] in {one.pid for one in receipt.kept}
    end(found["mine"])


def test_P52_a_terminals_window_of_an_agent_is_the_agents_when_its_tmux_server_has_gone(
    house: House,
) -> None:
    """xterm and kitty give a WINDOWID of their own to what they start."""
    note = house.root / "daemon"
    deed = f"(env WINDOWID=77 setsid sh -c 'trap \"\" HUP; echo $$ > {note}; exec sleep 555' &)"
    dev = started(house, does(deed), place="tmux", server="x", session="work")
    lone = written(note)
    eventually(lambda: has_program(lone, "sleep"))
    tmux(house, "kill-server")
    eventually(lambda: not alive(dev.keeper))
    assert not alive(lone)


@pytest.mark.needs_cgroup
def test_P52_a_server_that_an_agent_starts_in_knells_own_without_TMUX_is_the_agents(
    house: House,
) -> None:
    """Such a server bears the sign of those that knell starts."""
    started(house, does(), name="nova", place="tmux", server="y", session="s")
    go: Path = house.root / "go"
    inner = f"until test -e {go}; do sleep 0.1; done; env -u TMUX {WORK}; exec sleep 400"
    opened = ("new-window", "-d", "-P", "-F", "#{pane_pid}", "-t", "s:")
    pid = int(house.tmux(*opened, f"exec sh -c '{inner}'", server="y"))
    house.knell.adopt(str(pid), name="luna")
    go.touch()
    found = eventually(lambda: panes(house))
    receipt = kill(house)
    assert not any(map(alive, found.values()))
    assert not receipt.kept


# -- looks from outside ----------------------------------------------------------------------------


@KINDS
def test_P52_an_agent_whose_server_you_use_is_verified_gone(house: House, how: str) -> None:
    """The server has stamped your panes too. Before, they were called what is left of the agent."""
    agent(house, how, WORK)
    tmux(house, *MINE, "sleep 444")
    kill(house)
    done = house.run("verify", "luna")
    assert done.returncode == 0, done.stdout


def test_P52_your_panes_live_on_also_without_the_keeper_and_its_cgroup(house: House) -> None:
    dev = started(house, does(WORK))
    tmux(house, *MINE, "sleep 444")
    found, leaf = panes(house), Path(dev.run.cgroup)
    for pid in (leaf / "cgroup.procs").read_text().split() if dev.run.cgroup else ():
        (leaf.parent / "cgroup.procs").write_text(pid)
    end(dev.keeper)
    kill(house)
    assert (alive(found["work"]), alive(found["mine"]), alive(found["server"])) == (
        False, True, True,
    )  # fmt: skip


@KINDS
def test_P52_no_cgroup_of_the_agents_holds_what_you_start_meanwhile(house: House, how: str) -> None:
    agent(house, how, WORK)
    born, build = house.root / "born", house.root / "build"
    starts = f"(setsid sleep 555 & echo $! >> {born}); sleep 444 & echo $! >> {born}; sleep 0.01"
    build.write_text(f"for i in $(seq 100); do {starts}; done; exec sleep 333")
    tmux(house, *MINE, f"exec sh {build}")
    eventually(lambda: born.exists() and len(born.read_text().split()) > 40)
    found, leaf = panes(house), house.knell.world.store.runs.live()[0].cgroup
    house.kill("luna", grace=0)
    eventually(lambda: has_program(found["mine"], "sleep"))
    pids = [int(pid) for pid in born.read_text().split()]
    assert [pid for pid in pids if not alive(pid)] == []
    assert not leaf or not Path(leaf).exists()
    assert house.run("verify", "luna").returncode == 0
    end(*pids)
