"""Each verb of `knell --help` once, in one life of real agents: what failed, and what was said.

The agents are a program under a keeper (headless and in tmux), one that was adopted, and a stand-in
for claude, because some verbs need a conversation.
"""

import subprocess
import sys
from typing import Any

from house import House
from knell.api.habits import OBEDIENT
from stand_ins import StandIn

WAIT = 300
# They serve until they are stopped, or draw on a terminal; their own tests play them, and what they
# show and do is what these verbs here show and do.
SERVING = ("top", "web", "attach")


class Walk:
    """Verbs that were said, and those that did not do what they should."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.said: set[str] = set()
        self.failed: dict[str, str] = {}

    def says(self, *words: str, code: int = 0, has: str = "", **options: Any) -> str:
        done = self.house.run(*words, **options)
        self.said.add(words[0])
        if done.returncode != code or has not in done.stdout + done.stderr:
            told = f"{done.returncode}, not {code}: {done.stdout}{done.stderr}"[-800:]
            self.failed[" ".join(words)[-120:]] = told
        return done.stdout


def every_verb(house: House) -> dict[str, Any]:
    walk = Walk(house)
    started(walk)
    looked_at(walk)
    led(walk, "luna")
    set_up(walk)
    names = ended(walk)
    return {"failed": walk.failed, "said": sorted(walk.said), "left": names}


def started(walk: Walk) -> None:
    house, sleeper = walk.house, walk.house.script(OBEDIENT)
    for name in ("luna", "luna-2", "nova"):
        walk.says("spawn", "--in", "headless", "--name", name, "--", *sleeper, has=name)
    tmux = ("--in", "tmux", "--tmux-server", "test")
    walk.says("spawn", *tmux, "--name", "stella", "--", *sleeper, has="stella")
    outsider = house.process(*sleeper)
    house.at_end.callback(outsider.wait, WAIT)
    walk.says("adopt", str(outsider.pid), "--name", "vega", has="vega")
    walk.says("run", "--", sys.executable, "-c", "import sys; sys.exit(5)", code=5)
    walk.says("restart", "nova", has="nova")
    claude = StandIn(house, "claude")
    claude.spawn("clara", "hello", shows="hello")
    walk.says("fork", "clara", *tmux, "--name", "clara-2", cwd=claude.project, has="clara-2")
    row = ("--agent", "claude", "--session", "made", "--workspace", str(claude.project))
    walk.says("create", *row, "--tmux-server", "test", has="made")


def looked_at(walk: Walk) -> None:
    walk.says("list", has="luna-2")
    for verb in ("show", "tree", "logs", "explain", "path"):
        walk.says(verb, "luna")
    walk.says("screen", "stella")
    for verb in ("status", "stalled", "events", "night", "prune"):
        walk.says(verb)
    walk.says("doctor", has="none found")
    walk.says("watch", "--once")
    walk.says("verify", "luna", code=1)
    walk.says("kill", "--dry-run", "luna", has="luna")


def led(walk: Walk, name: str) -> None:
    walk.says("team", "create", "crew")
    walk.says("task", "list")
    walk.says("send", name, "--", "well done")
    walk.says("inbox", name, has="well done")
    walk.says("beat", name)
    walk.says("ask", name)
    for verb in ("approve", "confirm", "reject"):
        walk.says(verb, code=1, has="no open request")  # nobody asked this caller
    walk.says("fleet", "status", has="in no fleet")
    walk.says("orders", code=1, has="fleet")
    walk.says("monitor", "--once")
    walk.says("invoke", "monitor-agent-lifecycle", "{}", has=name)


def set_up(walk: Walk) -> None:
    walk.says("hooks", "status")
    walk.says("skills", "status")
    walk.says("completion", "bash", has="knell")
    walk.says("man", has="knell")
    walk.says("help", "kill", has="kill")
    walk.says("bug-report", "--output", "-", has="portable")
    walk.says("uninstall", "--dry-run")
    # Alone: a parent of such commands would have to import all that they may need.
    argv = (sys.executable, "-m", "knell", "mcp")
    with walk.house.process(*argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.communicate(timeout=WAIT)
    if server.returncode:
        walk.failed["mcp"] = str(server.returncode)
    walk.said.add("mcp")


def ended(walk: Walk) -> list[str]:
    """Who is left after `kill luna`: luna-2 must be."""
    walk.says("kill", "luna", has="none found")
    walk.says("stop", "nova", has="nova")
    walk.says("kill", "vega", has="vega")
    walk.says("delete", "stella", "--yes", has="stella")
    walk.says("receipt", "luna", has="none found any more")
    walk.says("verify", "luna")
    walk.says("resume", "luna", has="luna")
    walk.says("kill", "luna")
    walk.says("reap")
    names = [agent["name"] for agent in walk.house.json("list")["agents"]]
    walk.says("kill", "all")
    return names
