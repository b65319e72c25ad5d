"""Who is hit that should not be: the next owner of a pid, a tmux session with a longer name.

`innocent_figures` returns

    {WAY: {"pid reuse": {"trials": n, "hit": those in which an innocent died, "said": text},
           "prefix-named tmux session": the same}}

A way that is not available, and a case that does not apply to a way, is left out. A case that could
not be made to happen has no trials, and "said" tells why.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reuse import LEAVES
from ways import Said, Way, all_ways
from ways.hands import agent_script, command, written_pid
from ways.knells import Adopted, Spawned, said
from ways.tmux import KillSession
from workshop import Bench

from house import alive, eventually, pause

SETTLE = 1.0


def innocent_figures(bench: Bench, trials: int) -> dict[str, dict[str, Any]]:
    """See the top of this file for the shape."""
    ways = [way for way in all_ways(bench) if not way.unavailable()]
    figures: dict[str, dict[str, Any]] = {way.name: {} for way in ways}
    for way in ways:
        figures[way.name]["pid reuse"] = reused(bench, way.name, trials)
    for way in ways:
        if isinstance(way, KillSession | Spawned):
            figures[way.name]["prefix-named tmux session"] = prefixed(bench, way, trials)
    return figures


# -- pid reuse -------------------------------------------------------------------------------------


def reused(bench: Bench, name: str, trials: int) -> dict[str, Any]:
    """In a PID namespace of its own, and in a place of its own with the same installations."""
    place = bench.root / f"reuse-{len(list(bench.root.glob('reuse-*')))}"
    place.mkdir()
    (place / "peers").symlink_to(bench.root / "peers")
    programs = str(Path(bench.python).parent)
    flags = ["--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.getuid():
        flags = ["--user", "--map-root-user", *flags]
    script = str(Path(__file__).with_name("reuse.py"))
    argv = ["unshare", *flags, sys.executable, script, str(place), programs, name, str(trials)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"trials": 0, "hit": 0, "said": str(error)}
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no word"])[-1]
        return {"trials": 0, "hit": 0, "said": why.partition(" <function")[0]}
    return json.loads(done.stdout)


# -- tmux sessions ---------------------------------------------------------------------------------


def prefixed(bench: Bench, way: KillSession | Spawned, trials: int) -> dict[str, Any]:
    """The session of an agent is gone, and another has a name that begins like it."""
    found: dict[str, Any] = {"trials": 0, "hit": 0, "said": ""}
    terminal = KillSession(bench)
    if why := terminal.unavailable():
        return found | {"said": why}
    terminal.open()
    try:
        for trial in range(trials):
            hit, found["said"] = one_prefixed(bench, terminal, way, f"work-{way_word(way)}{trial}")
            found["trials"] += 1
            found["hit"] += hit
    except (AssertionError, OSError, RuntimeError) as error:
        found["said"] = f"cut short: {error}"
    finally:
        way.close()
        terminal.close()
    return found


def way_word(way: Way) -> str:
    return type(way).__name__.lower()


def one_prefixed(
    bench: Bench, terminal: KillSession, way: KillSession | Spawned, name: str
) -> tuple[bool, str]:
    """Whether the innocent session's process died, and what the way said."""
    ready, go = bench.root / f"{name}.ready", bench.root / f"{name}.go"
    script = agent_script(
        bench,
        name,
        [bench.python, "-S", "-c", LEAVES],
        {"KNELL_READY": str(ready), "GO": str(go)},
    )
    end = in_session(terminal, way, name, script)
    eventually(ready.exists)
    innocent = terminal.start(f"{name}-2", ["sleep", "60"], {})
    go.touch()
    eventually(lambda: terminal.tmux("has-session", "-t", f"={name}").code)
    eventually(lambda: not alive(written_pid(bench, name)))
    told = end()
    pause(SETTLE)
    hit = not alive(innocent.pid)
    terminal.end(innocent)
    return hit, told.text


def in_session(
    terminal: KillSession, way: KillSession | Spawned, name: str, script: Path
) -> Callable[[], Said]:
    """Starts the agent in a tmux session of its name; the returned call has the way end it."""
    server = ("-L", terminal.server)
    if isinstance(way, Adopted) or not isinstance(way, Spawned):
        terminal.new_session(name, str(script))
    if isinstance(way, Adopted):
        told = way.knell("adopt", *server, "--name", name, f"session:{name}")
    elif isinstance(way, Spawned):
        words = ("spawn", "--in", "tmux", *server, "--session", name, "--name", name)
        told = command([*way.within, way.bench.knell, *words, "--", str(script)], way.env)
    else:
        return lambda: said_of(terminal, name)
    if told.code:
        raise RuntimeError(f"knell: {told.last}")
    return lambda: said_by_knell(way, name)


def said_of(terminal: KillSession, name: str) -> Said:
    told = terminal.tmux("kill-session", "-t", name)
    return Said(told.code == 0, told.last or f"exit status {told.code}")


def said_by_knell(way: Spawned, name: str) -> Said:
    """By its session, as tmux would be told, and then by its name."""
    told = [said(way.knell("kill", target)) for target in (f"session:{name}", name)]
    return Said(all(each.success for each in told), "; ".join(each.text for each in told))
