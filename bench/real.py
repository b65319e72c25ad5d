"""Real agents: what Claude Code leaves behind however it ends, without knell and under it.

    python bench/real.py [KNELL] [TRIALS]     these figures alone; KNELL is the command to measure

The home, the stand-in for the model and the MCP server are those of `make e2e`.
"""

import contextlib
import json
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

# pytest gets these folders from pyproject's pythonpath; a script has to name them itself.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from e2e.claude_home import DOCILE, STUBBORN, VERSION, ClaudeHome, install, reached
from e2e.ends import WAYS, Way, measured
from e2e.model import serving
from e2e.report import Figure
from house import become_subreaper, eventually, open_house, state_and_parent
from scenes import end

VERBS = ("stop", "kill", "kill --force")
NEEDS = ("npm", "node", "tmux")
MOST = 3  # trials; one is 22 Claudes and takes more than a minute
Row = dict[str, Any]


class Ending(NamedTuple):
    """One end of one Claude."""

    figure: Figure
    left: tuple[str, ...]  # who was still there, by the part it plays
    rungs: str = ""  # of knell's receipt


def real_figures(bench: Any, trials: int) -> dict[str, Any]:
    """`{"version", "unavailable", "rows": [{"end", "server", "without", "with"}]}`.

    `without` and `with` have `left` (the most over the trials), `which`, `agent_s` and `gone_s`
    (medians; None if something never went); `with` has `rungs` too. `without` is None where the
    end is a verb of knell's. Measured in a process of its own, so that whatever another part of
    the bench has running is neither counted nor ended here.
    """
    if missing := [name for name in NEEDS if not shutil.which(name)]:
        return unavailable(f"{', '.join(missing)} not on PATH")
    argv = [sys.executable, __file__, bench.knell, str(min(trials, MOST))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            told, talk = child.communicate()
        finally:  # after a Ctrl-C, which it gets as well, it has Claudes to end
            child.wait(60)
    if child.returncode:
        return unavailable((talk.strip().splitlines() or [f"exit code {child.returncode}"])[-1])
    return json.loads(told.splitlines()[-1])  # before it, npm talks


def unavailable(why: str) -> dict[str, Any]:
    return {"version": VERSION, "unavailable": why, "rows": []}


class MeasuredHome(ClaudeHome):
    """Whose knell is the installed one."""

    command = ""

    def knell(self, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [self.command, *args],
            env=self.house.env, cwd=self.project, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if done.returncode != code:
            raise RuntimeError(f"knell {' '.join(args)}: {done.returncode} {done.stderr.strip()}")
        return done


@contextlib.contextmanager
def claude_home(program: Path, knell: str, server: str) -> Iterator[MeasuredHome]:
    """For one ending; fails if a process outlives it."""
    with (
        tempfile.TemporaryDirectory(prefix="knell-real-", ignore_cleanup_errors=True) as root,
        open_house(Path(root)) as house,
        serving() as model,
    ):
        home = MeasuredHome(house, model, program)
        home.command = knell
        home.serve_mcp(server)
        try:
            yield home
        finally:
            shutil.rmtree(home.daemon_sockets, ignore_errors=True)


def parts(home: ClaudeHome, agent: int) -> dict[int, str]:
    """Who is who among the members."""
    servers = [pid for pid in home.members() if pid in home.mcp_pids()]
    names = dict.fromkeys(home.members(), "another")
    for pid in servers:
        below = state_and_parent(pid)[1] in servers
        names[pid] = "the server's child" if below else "MCP server"
    return names | {agent: "Claude"}


def alone(home: MeasuredHome, way: Way) -> Ending:
    """As a person would start it."""
    agent = home.spawn_plainly()
    names = parts(home, agent)
    figure = measured(home, agent, way)
    left = home.members()
    end(*left)
    return Ending(figure, called(names, left))


def kept(home: MeasuredHome, way: Way) -> Ending:
    """The same end of a Claude that knell has started; the next command tells what came of it."""
    agent = home.spawn()["pid"]
    names = parts(home, agent)
    figure = measured(home, agent, way)
    left = called(names, home.members())
    eventually(lambda: not home.processes())
    receipt = json.loads(home.knell("receipt", "luna", "--json").stdout)
    return Ending(figure, left, " → ".join(reached(receipt)))


def called(names: dict[int, str], left: list[int]) -> tuple[str, ...]:
    return tuple(sorted(names.get(pid, "another") for pid in left))


def verb(words: str) -> Way:
    name, *flags = words.split()

    def ends(home: ClaudeHome, _: int) -> None:
        home.knell(name, "luna", *flags)

    return ends


# -- the rows --------------------------------------------------------------------------------------


class Scene(NamedTuple):
    """What is measured over and over."""

    end: str
    server: str
    column: str  # "without" or "with"
    way: Way


def scenes() -> list[Scene]:
    """First the same end without knell and under it, then knell's own verbs."""
    found: list[Scene] = []
    for server in (DOCILE, STUBBORN):
        for name, way in WAYS.items():
            found += [Scene(name, server, column, way) for column in ("without", "with")]
        found += [Scene(f"`knell {words}`", server, "with", verb(words)) for words in VERBS]
    return found


def rows(program: Path, knell: str, trials: int) -> list[Row]:
    """One for each end and server; the order of the trials is shuffled."""
    seen: dict[tuple[str, str], dict[str, list[Ending]]] = {}
    for scene in scenes():
        seen.setdefault((scene.end, scene.server), {}).setdefault(scene.column, [])
    order = scenes() * trials
    random.shuffle(order)
    for scene in order:
        with claude_home(program, knell, scene.server) as home:
            ending = (kept if scene.column == "with" else alone)(home, scene.way)
        seen[scene.end, scene.server][scene.column].append(ending)
    return [
        {"end": end, "server": server, "without": None}
        | {column: summed(endings) for column, endings in columns.items()}
        for (end, server), columns in seen.items()
    ]


def summed(endings: list[Ending]) -> Row:
    """The worst of what was left, the medians of the times."""
    worst = max(endings, key=lambda one: one.figure.left)
    times = [one.figure.all_gone for one in endings if one.figure.all_gone is not None]
    whole = len(times) == len(endings)
    agent = statistics.median(one.figure.agent_gone for one in endings)
    return {
        "trials": len(endings),
        "left": worst.figure.left,
        "which": list(worst.left),
        "agent_s": round(agent, 2),
        "gone_s": round(statistics.median(times), 2) if whole else None,
        "rungs": max((one.rungs for one in endings), key=len),
    }


def main(knell: str = "knell", trials: str = "2") -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("cut short"))  # and clean up on the way out
    become_subreaper()
    with tempfile.TemporaryDirectory(prefix="knell-claude-") as where:
        found = rows(install(Path(where)), knell, int(trials))
    print(json.dumps({"version": VERSION, "unavailable": "", "rows": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
