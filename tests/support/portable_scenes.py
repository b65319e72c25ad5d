"""What is played under another process layer than this machine's own: `python FILE SCENE WORDS`.

A process chooses its layer once, at its start, so each scene has a process of its own. It prints
one JSON document; whatever it lets slip becomes its child, and is counted and ended.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from every_verb import every_verb
from house import House, alive, become_subreaper, descendants, eventually, open_house, told
from knell.api.habits import HOPPER, OBEDIENT
from scenes import started

GRACE = 0.3
WAIT = 300


def played(scene: str, *words: str, **env: str) -> Any:
    """What the scene says of itself, under the portable layer."""
    whole = {**os.environ, "KNELL_PROCESSES": "portable", **env}
    whole["PYTHONPATH"] = str(Path(__file__).parent)
    argv = [sys.executable, __file__, scene, *words]
    done = subprocess.run(
        argv, env=whole, capture_output=True, text=True, check=False, timeout=WAIT
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def habit(house: House, name: str, place: str) -> dict[str, Any]:
    """Ends one agent with a bad habit: its receipt, and who lives afterwards."""
    before = set(descendants())
    server = "test" if place == "tmux" else ""
    spawned = house.spawn(name, name="luna", place=place, server=server)
    [receipt] = house.kill("luna", grace=GRACE)[0].receipts
    if place == "tmux":
        house.tmux("kill-server")
    left = set(descendants()) - before
    # A keeper goes on reading the output of what lives on.
    names = [told(pid) for pid in sorted(left) if "keeper.py" not in told(pid)]
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not set(descendants()) - before)
    return {
        "proof": receipt.proof.value if receipt.proof else "",
        "result": receipt.result.value,
        "agent_lives": bool(spawned.run.process and alive(spawned.run.process.pid)),
        "escaped": names,
        "ms": receipt.duration_ms,
    }


def one_that_hops_for_minutes(house: House) -> dict[str, Any]:
    """It hops every 3 ms, and long enough not to be over when the machine is busy."""
    before = set(descendants())
    source = HOPPER.replace("HOPS", "60000").replace("PAUSE", "0.003").replace("SETSID", "True")
    started(house, f"child({source!r})\ntell()\nsleep()")
    [receipt] = house.kill("luna", grace=GRACE)[0].receipts
    left = [pid for pid in set(descendants()) - before if "keeper.py" not in told(pid)]
    house.at_end.callback(lambda: [os.killpg(os.getpgid(pid), 9) for pid in left if alive(pid)])
    return {"proof": receipt.proof and receipt.proof.value, "escaped": len(left)}


def a_server_that_others_use(house: House) -> dict[str, bool]:
    """The agent starts a tmux server; a person opens a session in it. Who lives after the kill?"""
    session = "tmux -L x -f /dev/null new-session -d -s work sleep 333"
    started(house, f"os.system('{session}')\ntell()\nsleep()")
    house.tmux("new-session", "-d", "-s", "mine", "sleep 444", server="x")
    form = "#{session_name} #{pane_pid} #{pid}"
    lines = house.tmux("list-panes", "-a", "-F", form, server="x").splitlines()
    panes = {line.split()[0]: int(line.split()[1]) for line in lines}
    server = int(lines[0].split()[2])
    [receipt] = house.kill("luna", grace=GRACE)[0].receipts
    return {
        "others": alive(panes["mine"]),
        "own": alive(panes["work"]),
        "server": alive(server),
        "kept": server in {one.pid for one in receipt.kept},
    }


def a_server_that_another_run_uses(house: House) -> dict[str, bool]:
    """`knell spawn` inside luna has started a tmux server, in which nova and a person are now."""
    nova = "-m knell spawn --in tmux -L x --name nova --json -- sleep 333 >/dev/null"
    started(house, f"os.system({f'{sys.executable} {nova}'!r})\ntell()\nsleep()")
    house.tmux("new-window", "-d", "exec sleep 444", server="x")
    told = house.tmux("list-panes", "-a", "-F", "#{pid} #{pane_pid}", server="x").split()
    [receipt] = house.kill("luna", children=False, grace=GRACE)[0].receipts
    agents = {view.name: view.state for view in house.knell.list()}
    return {
        "ended": receipt.result.value == "ended",
        "panes": len(set(told)) == 3 and all(alive(int(pid)) for pid in told),
        "nova": agents == {"nova": "running"},
    }


def a_server_that_came_later(house: House) -> dict[str, bool]:
    """A person starts a tmux server after the agent has begun, and the agent opens a session in
    it: that session ends with the agent, the server and the person's own pane do not."""
    go = house.root / "go"
    opens = "tmux -L x new-session -d -s work sleep 333"
    body = f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\nos.system('{opens}')"
    note = house.root / "told"
    begun = f"tell()\n{body}\nopen({str(note)!r}, 'w').close()\nsleep()"
    started(house, begun)
    house.tmux("new-session", "-d", "-s", "mine", "sleep 444", server="x")
    go.touch()
    eventually(note.exists)
    form = "#{session_name} #{pane_pid} #{pid}"
    lines = house.tmux("list-panes", "-a", "-F", form, server="x").splitlines()
    panes = {line.split()[0]: int(line.split()[1]) for line in lines}
    house.kill("luna", grace=GRACE)
    server = int(lines[0].split()[2])
    return {
        "others": alive(panes["mine"]),
        "own": alive(panes["work"]),
        "server": alive(server),
    }


def demo(house: House) -> dict[str, Any]:
    """`knell demo`, as `make demo` runs it, and who is left of it."""
    before = set(descendants())
    # One command alone: a parent of commands would have to import all of knell for it first.
    argv = [sys.executable, "-m", "knell", "demo"]
    done = subprocess.run(
        argv, env=house.env, cwd=house.root, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=WAIT,
    )  # fmt: skip
    left = [told(pid) for pid in set(descendants()) - before]
    return {"code": done.returncode, "left": left, "says": "'none found'" in done.stdout}


def born_under_the_other_layer(house: House) -> dict[str, Any]:
    """An agent that knell started under Linux's own layer, and ends under this one."""
    env = {**house.env, "KNELL_PROCESSES": "linux"}
    words = ("spawn", "--in", "headless", "--name", "luna", "--json", "--")
    argv = [sys.executable, "-m", "knell", *words, *house.script(OBEDIENT)]
    subprocess.run(argv, env=env, cwd=house.root, check=True, capture_output=True, timeout=WAIT)
    [agent] = house.knell.list()
    assert agent.pid
    house.kill("luna", grace=GRACE)
    return {"state": agent.state, "alive": alive(agent.pid)}


SCENES: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        habit,
        every_verb,
        one_that_hops_for_minutes,
        a_server_that_others_use,
        a_server_that_another_run_uses,
        a_server_that_came_later,
        demo,
        born_under_the_other_layer,
    )
}


def main() -> None:
    become_subreaper()
    scene, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="knell-") as root, open_house(Path(root)) as house:
        told = SCENES[scene](house, *words)
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
