"""O38, O47, O48 as one story: launched, silent, killed, cleaned up after, started again, done."""

import json
from pathlib import Path
from typing import Any

from contracts.o_scenes import (
    IDLE,
    KILL,
    MONITOR,
    RESTART,
    SPAWN,
    ask,
    beat,
    commit,
    git,
    kill_stalled,
    life,
    make_task,
    repository,
    run_of,
    sql,
    task_of,
    wind,
    words,
)
from house import House, alive, descendants, eventually


def test_O38_from_launch_through_stall_and_kill_to_restart(house: House) -> None:
    top = repository(house)
    make_task(house)
    made = ask(house, "create-worktree", TASK_ID="TASK-31-1", REPOSITORY=str(top))
    before = set(descendants())

    ready = house.root / "agent.ready"
    house.env["KNELL_READY"] = str(ready)
    params: dict[str, Any] = {"AGENT_TYPE": "code-developer", "TASK_ID": "TASK-31-1"}
    command = {"COMMAND": words("ignores_term"), "AUTO_RESTART": False}
    born = ask(house, SPAWN, **params, **command, **IDLE)
    assert born["success"] is True, born
    agent = born["agent_id"]
    eventually(ready.exists)
    work = Path(made["worktree_path"]) / "half-done"
    work.write_text("precious\n")

    beat(house, run_of(house, agent))
    assert ask(house, MONITOR)["agents_healthy"] == 1
    wind(house, 250)
    seen = ask(house, MONITOR)
    assert (seen["agents_stalled"], seen["agents"][0]["agent_id"]) == (1, agent)
    assert ask(house, SPAWN, **params, **command, **IDLE)["error"] == "task_not_ready"

    killed = kill_stalled(house, GRACE_PERIOD_SECONDS=0.3)
    assert (killed["success"], killed["agents_killed"]) == (True, 1)
    [told] = killed["killed_agents"]
    assert (told["agent_id"], told["killed_gracefully"]) == (agent, False)
    assert set(descendants()) - before == set()
    assert life(house, agent)["status"] == "killed"
    assert task_of(house)["status"] == "failed"
    assert task_of(house)["error_message"].startswith("Agent killed: no heartbeat for")

    # What it had not committed is in its worktree, and saved besides.
    assert told["cleanup"]["state"] == "kept"
    assert git(top, "show", f"{told['cleanup']['rescue']}:half-done") == "precious"
    assert work.read_text() == "precious\n"

    again = ask(house, RESTART, AGENT_ID=agent, INITIAL_BACKOFF=0)
    assert (again["success"], again["new_agent_id"]) == (True, agent)
    assert alive(again["pid"])
    assert task_of(house)["status"] == "running"

    # It finishes, its work is merged, and the worktree goes.
    commit(Path(made["worktree_path"]), "done")
    git(top, "merge", "--quiet", "--no-ff", "-m", "merge", made["branch_name"])
    sql(house, "UPDATE orchestrator_task SET status = 'completed'")
    assert ask(house, KILL, AGENT_ID=agent, FORCE_KILL=True)["success"] is True
    assert task_of(house)["status"] == "completed"
    assert not Path(made["worktree_path"]).exists()
    assert git(top, "show", "roadmap:half-done") == "precious"


def test_O38_the_same_from_the_command_line(house: House) -> None:
    """Each step in a process of its own, as an orchestrator would take it."""
    make_task(house)

    def invoke(name: str, /, **params: Any) -> dict[str, Any]:
        done = house.run("invoke", name, json.dumps(params))
        answer = json.loads(done.stdout)
        assert done.returncode == (0 if answer["success"] else 1), done.stderr
        return answer

    born = invoke(SPAWN, AGENT_TYPE="x", TASK_ID="TASK-31-1", COMMAND=words(), **IDLE)
    agent = born["agent_id"]
    assert invoke(MONITOR, ACTION="heartbeat", AGENT_ID=agent)["success"] is True

    def stalled() -> dict[str, Any] | None:
        answer = invoke(KILL, ACTION="kill_stalled", HEARTBEAT_TIMEOUT_SECONDS=1)
        return answer if answer["agents_killed"] else None

    killed = eventually(stalled)
    assert killed
    assert [one["agent_id"] for one in killed["killed_agents"]] == [agent]
    assert not alive(born["pid"])
    # It was meant to come back, so that its task waits for it instead of failing.
    assert task_of(house)["status"] == "spawned"
    again = invoke(RESTART, AGENT_ID=agent, INITIAL_BACKOFF=0)
    assert alive(again["pid"])
    assert task_of(house)["status"] == "running"
    assert invoke(KILL, AGENT_ID=agent)["success"] is True
