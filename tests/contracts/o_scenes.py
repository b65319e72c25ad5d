"""What the tests of the O contract play with: tasks, silent agents, and the JSON commands."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from house import House, alive, eventually
from knell.api.habits import HABITS, OBEDIENT
from knell.core.run import Run
from knell.core.stall.signs import Clock
from knell.life.start.spawn import Spawned

KILL = "orchestrator.kill-stalled-agent"
SPAWN = "orchestrator.spawn-agent-session"
MONITOR = "orchestrator.monitor-agent-lifecycle"
RESTART = "orchestrator.auto-restart-agent"
IDLE = {"MIN_CPU_FREE_PERCENT": 0, "MIN_MEMORY_FREE_MB": 0}  # a busy machine fails no test
ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
DEVELOPER = "code-developer-20251026-001"


def ask(house: House, name: str, /, **params: Any) -> dict[str, Any]:
    """The command's answer, as JSON carries it."""
    return json.loads(json.dumps(house.knell.invoke(name, params)))


def kill(house: House, agent: str = DEVELOPER, /, **params: Any) -> dict[str, Any]:
    return ask(house, KILL, AGENT_ID=agent, **params)


def kill_stalled(house: House, seconds: float = 120, /, **params: Any) -> dict[str, Any]:
    timeout = {"HEARTBEAT_TIMEOUT_SECONDS": seconds}
    return ask(house, KILL, ACTION="kill_stalled", **timeout | params)


# -- the tables, past knell ----------------------------------------------------------------------


def sql(house: House, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    assert house.knell.world.store  # which makes the file
    with closing(sqlite3.connect(house.state / "knell.db", timeout=10)) as db, db:
        return db.execute(statement, values).fetchall()


def life(house: House, agent: str = DEVELOPER) -> dict[str, Any]:
    """Its row of agent_lifecycle."""
    columns = ("status", "task_id", "pid", "completed_at", "error_message", "retry_count")
    query = f"SELECT {', '.join(columns)} FROM agent_lifecycle WHERE agent_id = ?"
    [found] = sql(house, query, agent)
    return dict(zip(columns, found, strict=True))


def make_task(house: House, task: str = "TASK-31-1", status: str = "spawned") -> str:
    sql(house, "INSERT INTO orchestrator_task (task_id, status) VALUES (?, ?)", task, status)
    return task


def task_of(house: House, task: str = "TASK-31-1") -> dict[str, Any]:
    columns = ("status", "assigned_agent", "retry_count", "error_message")
    query = f"SELECT {', '.join(columns)} FROM orchestrator_task WHERE task_id = ?"
    [found] = sql(house, query, task)
    return dict(zip(columns, found, strict=True))


def events(house: House, agent: str = DEVELOPER) -> list[tuple[str, dict[str, Any]]]:
    return [(event.type, event.data) for event in house.knell.events(agent=agent, limit=1000)]


# -- agents --------------------------------------------------------------------------------------


def worker(
    house: House, habit: str = "obedient", /, *, name: str = DEVELOPER, task: str = "", **wish: Any
) -> Spawned:
    """An agent that runs; its task is marked as begun by it, if it has one."""
    spawned = house.spawn(habit, name=name, role="code-developer", task=task, **wish)
    if task:
        sql(
            house,
            "UPDATE orchestrator_task SET status = 'running', assigned_agent = ? WHERE task_id = ?",
            name,
            task,
        )
    return spawned


def pid_of(spawned: Spawned) -> int:
    assert spawned.run.process
    return spawned.run.process.pid


def beat(house: House, *runs: Run) -> None:
    """Each gives a sign of life, by the clock as it is wound."""
    now = house.knell.world.clock().wall
    for run in runs:
        path = Path(house.knell.world.rundir(run.id)) / "heartbeat"
        path.touch()
        os.utime(path, (now, now))


def wind(house: House, seconds: float) -> None:
    """That much time passes, awake, for whoever judges agents."""
    now = house.knell.world.clock

    def later() -> Clock:
        at = now()
        return at._replace(wall=at.wall + seconds, awake=at.awake + seconds, up=at.up + seconds)

    house.knell.world.clock = later


def fall_silent(house: House, *runs: Run, seconds: float = 250) -> None:
    """They beat once, that long ago."""
    beat(house, *runs)
    wind(house, seconds)


def run_of(house: House, agent: str = DEVELOPER) -> Run:
    return house.knell.world.store.runs.of(agent)[0]


def words(habit: str = "obedient") -> list[str]:
    """A COMMAND whose agent has that habit."""
    return [sys.executable, "-S", "-c", OBEDIENT if habit == "obedient" else HABITS[habit]]


def launched(house: House, agent_type: str = "code-developer", /, **params: Any) -> dict[str, Any]:
    """By spawn-agent-session; ready."""
    ready = house.root / f"{os.urandom(4).hex()}.ready"
    house.env["KNELL_READY"] = str(ready)
    params = {"COMMAND": words(), **IDLE, **params}
    answer = ask(house, SPAWN, AGENT_TYPE=agent_type, **params)
    if answer["success"]:
        eventually(ready.exists)
        assert alive(answer["pid"])
    return answer


# -- git -----------------------------------------------------------------------------------------


def git(where: Path, *args: str) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(where),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        **{f"GIT_{who}_NAME": "ada" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
    }
    done = subprocess.run(
        ["git", *args], cwd=where, env=env, capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.strip()


def repository(house: House, branch: str = "roadmap") -> Path:
    """One commit on `branch`."""
    top = house.root / "repo"
    top.mkdir()
    git(top, "init", "--quiet", "--initial-branch", branch)
    (top / "README").write_text("hello\n")
    (top / ".gitignore").write_text(".worktrees/\n")
    commit(top, "begin")
    return top


def commit(where: Path, message: str) -> str:
    git(where, "add", "--all")
    git(where, "commit", "--quiet", "--message", message)
    return git(where, "rev-parse", "HEAD")
