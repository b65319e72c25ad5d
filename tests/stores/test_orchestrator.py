"""What every store promises an orchestrator: tasks that are handed back, and worktrees."""

import pytest
from store_samples import (
    KILLED,
    KILLER,
    STOPPED,
    Race,
    a_receipt,
    a_run,
    an_agent,
    claimed,
    ended,
    known,
    put,
    put_task,
    sql,
    stopping,
    trail,
)

from knell.core.orchestrator_task import OrchestratorTask
from knell.core.ports.ending_store import Won
from knell.core.ports.store import Store, WorktreeRow
from knell.core.receipt import Receipt
from knell.core.run import Ending, Outcome

CRASHED = Ending(Outcome.FAILED, "keeper", "exit", "exit 1", 1)
STALLED = Ending(Outcome.KILLED, "watch", "stalled", "no heartbeat for 250 s")


def began(store: Store, task: str = "TASK-1", restart: int = 0, attempt: int = 0) -> None:
    store.runs.add(an_agent(restart=restart, task=task), a_run(task=task, attempt=attempt))


def over(store: Store, ending: Ending, run: str = "run-1") -> Receipt:
    last = known(store, run)._replace(ending=ending)
    return store.endings.end(last, a_receipt(last), ())


def task_row(where: str, task: str = "TASK-1") -> dict[str, object]:
    names = (
        "status",
        "assigned_agent",
        "started_at",
        "completed_at",
        "retry_count",
        "error_message",
    )
    [row] = sql(where, f"SELECT {', '.join(names)} FROM orchestrator_task WHERE task_id = ?", task)
    return dict(zip(names, row, strict=True))


# -- taking a task -----------------------------------------------------------------------------


def test_a_task_is_read_as_others_wrote_it(store: Store, where: str) -> None:
    assert store.orchestrator.task("TASK-1") is None
    put_task(where)
    put_task(where, "TASK-2", status="failed", assigned_agent="bo", retry_count=2,
             error_message="it broke")  # fmt: skip
    assert store.orchestrator.task("TASK-1") == OrchestratorTask("TASK-1", "spawned")
    assert store.orchestrator.task("TASK-2") == OrchestratorTask(
        "TASK-2", "failed", "bo", 2, "it broke"
    )


def test_a_task_that_waits_is_taken(store: Store, where: str) -> None:
    put_task(where)
    assert store.orchestrator.take_task("TASK-1", "ada", "orchestrator-1")
    assert store.orchestrator.task("TASK-1") == OrchestratorTask("TASK-1", "running", "ada")
    row = task_row(where)
    assert str(row["started_at"]).startswith("2030-01-01 00:00:")
    assert sql(where, "SELECT orchestrator_instance_id FROM orchestrator_task") == [
        ("orchestrator-1",)
    ]
    (event,) = trail(store, "task.changed")
    assert event.agent == "ada"
    assert (event.data["task"], event.data["was"], event.data["now"]) == (
        "TASK-1",
        "spawned",
        "running",
    )


@pytest.mark.parametrize("status", ["running", "pending", "completed", "failed", "merged"])
def test_only_a_task_that_waits_is_taken(store: Store, where: str, status: str) -> None:
    put_task(where, status=status, assigned_agent="bo")
    assert not store.orchestrator.take_task("TASK-1", "ada", "")
    assert not store.orchestrator.take_task("TASK-9", "ada", "")
    assert store.orchestrator.task("TASK-1") == OrchestratorTask("TASK-1", status, "bo")
    assert trail(store) == []


def test_of_many_who_take_a_task_at_once_one_gets_it(store: Store, where: str, race: Race) -> None:
    put_task(where)
    assert sorted(race(6, "take_task")) == ["False"] * 5 + ["True"]
    assert len(trail(store, "task.changed")) == 1


def test_a_taken_task_may_be_given_back_by_who_has_it(store: Store, where: str) -> None:
    put_task(where)
    store.orchestrator.take_task("TASK-1", "ada", "")
    assert not store.orchestrator.give_back_task("TASK-1", "bo")
    assert store.orchestrator.give_back_task("TASK-1", "ada")
    assert not store.orchestrator.give_back_task("TASK-1", "ada")
    assert store.orchestrator.task("TASK-1") == OrchestratorTask("TASK-1", "spawned")


# -- what it waits for -------------------------------------------------------------------------


def depends(where: str, on: str, **columns: str) -> None:
    put(where, "specs_task_dependency", task_id="TASK-1", dependency_id_ref=on, **columns)


def test_a_task_waits_for_what_it_depends_on(store: Store, where: str) -> None:
    put_task(where)
    assert store.orchestrator.unmet_needs("TASK-1") == []
    for number, status in enumerate(("spawned", "running", "failed", "completed", "merged")):
        put_task(where, f"ON-{number}", status=status)
        depends(where, f"ON-{number}")
    assert store.orchestrator.unmet_needs("TASK-1") == ["ON-0", "ON-1", "ON-2"]
    assert store.orchestrator.unmet_needs("TASK-2") == []


def test_what_is_soft_or_settled_is_not_waited_for(store: Store, where: str) -> None:
    depends(where, "unknown")
    depends(where, "blocked", dependency_status="blocked")
    depends(where, "wished", dependency_type="soft")
    depends(where, "settled", dependency_status="completed")
    depends(where, "unknown")  # told twice
    assert store.orchestrator.unmet_needs("TASK-1") == ["unknown", "blocked"]


# -- handing back ------------------------------------------------------------------------------


def test_O27_the_task_of_a_killed_agent_fails_with_the_reason(store: Store, where: str) -> None:
    put_task(where, status="running", assigned_agent="ada")
    began(store)
    receipt = over(store, KILLED._replace(detail="it hung"))
    assert receipt.tasks == ({"id": "TASK-1", "now": "failed", "was": "running"},)
    assert store.endings.receipt("run-1") == receipt
    row = task_row(where)
    assert (row["status"], row["error_message"]) == ("failed", "Agent killed: it hung")
    assert str(row["completed_at"]).startswith("2030-01-01 00:00:")
    assert row["assigned_agent"] == "ada"  # who failed stays on record
    (event,) = trail(store, "life.stopped")
    assert event.data["tasks"] == list(receipt.tasks)
    (event,) = trail(store, "task.changed")
    assert event.data["error_message"] == "Agent killed: it hung"


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (Ending(Outcome.KILLED, "operator", "killed"), "Agent killed: by operator"),
        (Ending(Outcome.KILLED, "", ""), "Agent killed: no reason was given"),
        (STALLED, "Agent killed: no heartbeat for 250 s"),
        (CRASHED, "Agent failed: exit 1"),
        (Ending(Outcome.LOST, "", ""), "Agent lost: no reason was given"),
        (Ending(Outcome.TERMINATED, "x", "SIGTERM"), "Agent terminated: SIGTERM"),
    ],
)
def test_G32_a_failed_task_always_says_why(
    store: Store, where: str, ending: Ending, told: str
) -> None:
    put_task(where, status="running", assigned_agent="ada")
    began(store)
    over(store, ending)
    assert task_row(where)["error_message"] == told


@pytest.mark.parametrize("status", ["pending", "spawned", "running", "in_progress"])
def test_every_open_task_of_the_agent_is_handed_back(store: Store, where: str, status: str) -> None:
    put_task(where, "MINE", status=status)  # what it was started for
    put_task(where, "TAKEN", status=status, assigned_agent="ada")
    put_task(where, "THEIRS", status=status, assigned_agent="bo")
    put_task(where, "FREE", status=status)
    began(store, "MINE")
    assert {task["id"] for task in over(store, KILLED).tasks} == {"MINE", "TAKEN"}
    assert task_row(where, "THEIRS")["status"] == task_row(where, "FREE")["status"] == status


def test_a_task_that_another_live_agent_took_over_is_left_to_it(store: Store, where: str) -> None:
    put_task(where, status="running", assigned_agent="bo")
    began(store)
    store.runs.add(an_agent("bo"), a_run("run-2", "bo"))
    assert over(store, KILLED).tasks == ()
    assert task_row(where)["status"] == "running"


@pytest.mark.parametrize("status", ["completed", "merged", "failed", "their own word"])
def test_G33_a_closed_task_never_changes(store: Store, where: str, status: str) -> None:
    put_task(where, status=status, assigned_agent="ada", error_message="as it was")
    began(store)
    assert over(store, KILLED._replace(tasks="fail")).tasks == ()
    row = task_row(where)
    assert (row["status"], row["error_message"]) == (status, "as it was")
    assert trail(store, "task.changed") == []


@pytest.mark.parametrize(
    ("asked", "becomes"),
    [
        ("fail", ("failed", 1, "ada", "before")),
        ("retry", ("spawned", 2, None, None)),
        ("requeue", ("spawned", 1, None, None)),
        ("leave", ("running", 1, "ada", "before")),
    ],
)
@pytest.mark.parametrize("outcome", [Outcome.KILLED, Outcome.STOPPED, Outcome.COMPLETED])
def test_O32_tasks_go_where_it_was_asked(
    store: Store, where: str, outcome: Outcome, asked: str, becomes: tuple[object, ...]
) -> None:
    put_task(where, status="running", assigned_agent="ada", retry_count=1, started_at="before")
    began(store)
    over(store, Ending(outcome, "operator", "killed", tasks=asked))
    row = task_row(where)
    found = tuple(row[key] for key in ("status", "retry_count", "assigned_agent", "started_at"))
    assert found == becomes


@pytest.mark.parametrize(
    ("ending", "restart", "attempt", "status"),
    [
        (CRASHED, 0, 0, "failed"),
        (CRASHED, 1, 0, "spawned"),
        (CRASHED, 1, 1, "failed"),  # it has had its restarts
        (STALLED, 1, 0, "spawned"),
        (KILLED, 3, 0, "failed"),  # on purpose: it does not come back
        (Ending(Outcome.LOST, "", "gone"), 3, 2, "spawned"),
        (CRASHED._replace(exit_code=130), 3, 0, "failed"),  # Ctrl-C
        (STOPPED, 3, 0, "running"),  # resumable, with its task
        (Ending(Outcome.COMPLETED, "itself", "exit", exit_code=0), 3, 0, "spawned"),
    ],
)
def test_O32_the_task_of_one_that_comes_back_is_ready_for_retry(
    store: Store, where: str, ending: Ending, restart: int, attempt: int, status: str
) -> None:  # fmt: skip
    put_task(where, status="running", assigned_agent="ada")
    began(store, restart=restart, attempt=attempt)
    over(store, ending)
    assert task_row(where)["status"] == status


def test_who_comes_back_takes_up_its_task(store: Store, where: str) -> None:
    put_task(where, status="running", assigned_agent="ada")
    began(store, restart=1)
    over(store, CRASHED)
    store.runs.add(
        an_agent(restart=1, task="TASK-1"),
        a_run("run-2", restarted_from="run-1", attempt=1, task="TASK-1"),
    )
    assert store.orchestrator.task("TASK-1") == OrchestratorTask("TASK-1", "running", "ada", 1)


def test_an_interrupted_ending_is_finished_as_it_was_asked_for(store: Store, where: str) -> None:
    put_task(where, status="running", assigned_agent="ada")
    began(store)
    asked = STOPPED._replace(tasks="requeue", cleanup="force")
    spawner = known(store).owner
    assert isinstance(claimed(store, "run-1", asked, KILLER, spawner), Won)
    later = KILLER._replace(pid=201)
    claim = claimed(store, "run-1", KILLED, later, KILLER)
    assert isinstance(claim, Won)
    assert claim.run.ending == KILLED._replace(tasks="requeue", cleanup="force")
    last = claim.run._replace(ending=KILLED)  # whoever finishes it need not know
    assert store.endings.end(last, a_receipt(last), ()).tasks[0]["now"] == "spawned"


def test_a_later_wish_overrules_an_earlier_one(store: Store) -> None:
    run = stopping(store)
    again = claimed(store, run.id, KILLED._replace(tasks="leave"), KILLER, None)
    assert isinstance(again, Won)
    last = claimed(store, run.id, KILLED._replace(tasks="fail"), KILLER, None)
    assert isinstance(last, Won)
    assert last.run.ending
    assert last.run.ending.tasks == "fail"


def test_a_second_end_hands_nothing_back_and_tells_the_first(store: Store, where: str) -> None:
    put_task(where, status="running", assigned_agent="ada")
    began(store)
    first = over(store, KILLED)
    put_task(where, "TASK-2", status="running", assigned_agent="ada")
    assert over(store, STOPPED._replace(tasks="fail")) == first
    assert task_row(where, "TASK-2")["status"] == "running"


@pytest.mark.parametrize("looks", [1, 2, 3, 4])
def test_C23_G23_whoever_dies_while_ending_hands_no_task_back(
    store: Store, where: str, race: Race, looks: int
) -> None:
    put_task(where, status="running", assigned_agent="ada")
    began(store)
    before = task_row(where)
    assert race(1, "end", str(looks)) == [""]
    assert known(store).live
    assert task_row(where) == before


def test_of_many_who_end_a_run_at_once_one_hands_its_task_back(
    store: Store, where: str, race: Race
) -> None:
    put_task(where, status="running", assigned_agent="ada")
    began(store)
    assert race(4, "end") == ["done"] * 4
    assert len(trail(store, "task.changed")) == len(trail(store, "life.stopped")) == 1


# -- worktrees ---------------------------------------------------------------------------------

TREE = WorktreeRow("TASK-1", "/srv/.worktrees/1", "task-1", "created", "abc", "orchestrator-1")


def test_a_worktree_is_on_record_until_it_is_cleaned_away(store: Store, where: str) -> None:
    assert store.orchestrator.worktrees() == []
    store.orchestrator.add_worktree(TREE)
    [row] = store.orchestrator.worktrees()
    assert row == TREE._replace(created_at=row.created_at)
    assert row.created_at.startswith("2030-01-01 00:00:")
    store.orchestrator.set_worktree_status(TREE.path, "merged")
    store.orchestrator.set_worktree_status(TREE.path, "cleaned")
    assert [row.status for row in store.orchestrator.worktrees()] == ["cleaned"]
    [(merged, cleaned)] = sql(where, "SELECT merged_at, cleaned_at FROM orchestrator_state")
    assert "2030-01-01 00:00:00" <= merged < cleaned
    assert [event.data["now"] for event in trail(store, "worktree.changed")] == [
        "merged",
        "cleaned",
    ]
    assert len(trail(store, "worktree.created")) == 1


def test_the_same_path_may_be_used_again(store: Store) -> None:
    store.orchestrator.add_worktree(TREE)
    store.orchestrator.add_worktree(TREE._replace(branch="other"))  # still there: described anew
    assert [row.branch for row in store.orchestrator.worktrees()] == ["other"]
    store.orchestrator.set_worktree_status(TREE.path, "cleaned")
    store.orchestrator.add_worktree(TREE)
    store.orchestrator.set_worktree_status(TREE.path, "merged")
    assert [(row.branch, row.status) for row in store.orchestrator.worktrees()] == [
        ("other", "cleaned"),
        ("task-1", "merged"),
    ]


def test_a_worktree_that_others_wrote_down_is_read(store: Store, where: str) -> None:
    put(where, "orchestrator_state", worktree_path="/srv/theirs")
    [row] = store.orchestrator.worktrees()
    assert (row.task, row.path, row.branch, row.status) == ("", "/srv/theirs", "", "created")
    store.orchestrator.set_worktree_status("/srv/theirs", "cleaned")
    store.orchestrator.set_worktree_status("/srv/nowhere", "cleaned")
    assert [row.status for row in store.orchestrator.worktrees()] == ["cleaned"]


def test_an_ended_life_leaves_no_task_behind_it(store: Store, where: str) -> None:
    """A row that appears after the end belongs to whoever comes next."""
    ended(store)
    put_task(where, status="running", assigned_agent="ada")
    store.runs.add(an_agent(), a_run("run-2"))
    assert over(store, KILLED, "run-2").tasks[0]["id"] == "TASK-1"
