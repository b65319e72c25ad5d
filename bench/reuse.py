"""Pid reuse, made to happen: run as the first process of a PID namespace by `innocents.py`.

    unshare --pid --fork --mount-proc --kill-child python reuse.py ROOT PROGRAMS WAY TRIALS

An agent ends by itself, every number that its start had taken goes to a stranger that leads a
session of its own, as another agent would, and then the way is told to end the agent. Prints one
JSON document: {"trials": n, "hit": those in which a stranger died, "said": the last answer}.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))  # house.py

from ways import Way, all_ways  # noqa: E402
from workshop import Bench  # noqa: E402

from house import alive, descendants, eventually, pause  # noqa: E402

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
SETTLE = 1.0
LEAVES = """
import os, time
open(os.environ["KNELL_READY"], "w").close()
until = time.monotonic() + 60
while not os.path.exists(os.environ["GO"]) and time.monotonic() < until:
    time.sleep(0.01)
"""


def main() -> None:
    root, programs, wanted, trials = sys.argv[1:]
    bench = Bench(Path(root), Path(programs))
    way = next(way for way in all_ways(bench) if way.name == wanted)
    found: dict[str, Any] = {"trials": 0, "hit": 0, "said": way.unavailable()}
    if not found["said"]:
        way.open()
        for trial in range(int(trials)):
            hit, found["said"] = one(bench, way, f"reused-{trial}")
            found["trials"] += 1
            found["hit"] += hit
        way.close()
    print(json.dumps(found))


def one(bench: Bench, way: Way, name: str) -> tuple[bool, str]:
    """Whether the ending hit a stranger, and what the way said of it."""
    before = set(descendants())
    ready, go = bench.root / f"{name}.ready", bench.root / f"{name}.go"
    started = way.start(
        name, [bench.python, "-S", "-c", LEAVES], {"KNELL_READY": str(ready), "GO": str(go)}
    )
    eventually(ready.exists)
    taken = set(descendants()) - before
    go.touch()
    eventually(lambda: not set(descendants()) & {started.pid})
    eventually(lambda: not Path(f"/proc/{started.pid}").exists())
    pause(0.3)  # for those that follow the agent: a shell, a keeper
    free = [pid for pid in sorted(taken) if not set(descendants()) & {pid}]
    strangers = [stranger for pid in free if (stranger := stranger_at(pid))]
    if started.pid not in strangers:
        raise RuntimeError(f"the kernel did not give {started.pid} away again")
    told = way.end(started)
    pause(SETTLE)
    descendants()  # reaps
    hit = not all(alive(pid) for pid in strangers)
    for pid in strangers:
        if alive(pid):
            os.kill(pid, 9)
    return hit, told.text


def stranger_at(pid: int) -> int:
    """A process that has this pid and leads a session; 0 if somebody else was faster."""
    for _ in range(20):
        LAST_PID.write_text(str(pid - 1))
        child = os.fork()
        if not child:
            os.setsid()
            os.execvp("sleep", ["sleep", "60"])
        if child == pid:
            eventually(lambda: b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes())
            return child
        os.kill(child, 9)
        os.waitpid(child, 0)
    return 0


if __name__ == "__main__":
    main()
