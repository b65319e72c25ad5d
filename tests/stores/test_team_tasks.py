"""What every store promises the work of teams: each task has one owner, and none is lost."""

import sqlite3

import pytest
from store_samples import (
    KILLED,
    STOPPED,
    Clock,
    Open,
    Race,
    a_receipt,
    a_run,
    an_agent,
    known,
    put_task,
    running,
    sql,
    trail,
)

from knell.core.codes import Code
from knell.core.errors import AskerError, BadRequest
from knell.core.ports.store import NotLive, Store
from knell.core.ports.teams import (
    NoSuchTask,
    NoSuchTeam,
    NotPending,
    NotYours,
)
from knell.core.receipt import Receipt
from knell.core.run import Ending, Outcome
from knell.core.teams import Team, TeamTask


@pytest.fixture
def core(store: Store) -> Store:
    """A store with one team and one who lives in it."""
    store.teams.add(Team("core", "boss"))
    store.runs.add(an_agent(team="core"), a_run())
    return store


def added(core: Store, *needs: str, **parts: str) -> TeamTask:
    return core.team_tasks.add(TeamTask("", "core", "Write it", needs=needs)._replace(**parts))


def now(core: Store, task: str = "TASK-1") -> TeamTask:
    found = core.team_tasks.task(task)
    assert found
    return found


def over(store: Store, ending: Ending = KILLED, run: str = "run-1") -> Receipt:
    last = known(store, run)._replace(ending=ending)
    return store.endings.end(last, a_receipt(last), ())


# -- adding ------------------------------------------------------------------------------------


def test_a_task_waits_as_it_was_added(core: Store, connect: Open, clock: Clock) -> None:
    at = clock.last
    task = core.team_tasks.add(TeamTask("t1", "core", "Write it", "all of it", "high"))
    assert task.created_at == task.updated_at > at
    assert task == TeamTask(
        "t1", "core", "Write it", "all of it", "high",
        created_at=task.created_at, updated_at=task.created_at,
    )  # fmt: skip
    assert connect().team_tasks.task("t1") == task
    assert core.team_tasks.task("t2") is None


def test_a_new_task_is_pending_whatever_it_says(core: Store) -> None:
    task = added(core, status="completed", warning="x", completed_at="now")
    assert (task.status, task.warning, task.completed_at, task.token) == ("pending", "", "", 0)


def test_an_id_is_never_another_tasks(core: Store) -> None:
    added(core)
    core.team_tasks.add(TeamTask("TASK-3", "core", "Mine"))
    assert added(core).id == "TASK-4"
    core.team_tasks.delete("TASK-4")
    assert added(core).id == "TASK-5"
    with pytest.raises(AskerError, match="already"):
        core.team_tasks.add(TeamTask("TASK-3", "core", "Mine too"))


def test_many_who_add_at_once_all_add(core: Store, race: Race) -> None:
    said = race(8, "add_task")
    assert sorted(said) == [f"TASK-{number}" for number in range(1, 9)]
    assert len(core.team_tasks.tasks("core")) == 8


def test_bad_tasks_are_refused(core: Store) -> None:
    for parts in ({"title": ""}, {"priority": "urgent"}, {"title": "x" * 501}):
        with pytest.raises(BadRequest):
            added(core, **parts)
    for team in ("web", ""):
        with pytest.raises(NoSuchTeam):
            added(core, team=team)
    assert core.team_tasks.tasks() == []


def test_tasks_are_listed_by_urgency_then_age(core: Store) -> None:
    for id, priority in zip(
        "abcdef", ("low", "high", "normal", "high", "low", "normal"), strict=True
    ):
        core.team_tasks.add(TeamTask(id, "core", id, priority=priority))
    core.teams.add(Team("web", ""))
    core.team_tasks.add(TeamTask("w", "web", "w", priority="high"))
    assert "".join(task.id for task in core.team_tasks.tasks("core")) == "bdcfae"
    assert "".join(task.id for task in core.team_tasks.tasks()) == "bdwcfae"
    core.team_tasks.claim("c", "ada")
    assert [task.id for task in core.team_tasks.tasks("core", "in_progress")] == ["c"]
    assert [task.id for task in core.team_tasks.tasks(owner="ada")] == ["c"]
    assert core.team_tasks.tasks("core", "completed") == core.team_tasks.tasks(owner="bo") == []


# -- what waits for what -----------------------------------------------------------------------


def test_needs_are_known_from_both_ends(core: Store) -> None:
    added(core)
    added(core)
    task = added(core, "TASK-2", "TASK-1", "TASK-2")
    assert task.needs == ("TASK-2", "TASK-1")
    assert now(core).blocks == now(core, "TASK-2").blocks == ("TASK-3",)


def test_needs_must_exist_in_the_same_team(core: Store) -> None:
    core.teams.add(Team("web", ""))
    core.team_tasks.add(TeamTask("w", "web", "w"))
    for need in ("w", "TASK-9", ""):
        with pytest.raises(NoSuchTask):
            added(core, need)
    assert [task.id for task in core.team_tasks.tasks()] == ["w"]


def test_a_task_cannot_wait_for_itself(core: Store) -> None:
    """Needs are given when a task is added and only name older tasks: no longer cycle exists."""
    with pytest.raises(BadRequest, match="task 'self' would wait for itself") as refused:
        core.team_tasks.add(TeamTask("self", "core", "x", needs=("self",)))
    assert refused.value.code is Code.TASK_CYCLE
    assert core.team_tasks.task("self") is None


def test_what_is_completed_is_waited_for_by_nobody(core: Store, store: Store) -> None:
    added(core)
    added(core, "TASK-1")
    core.team_tasks.complete("TASK-1", "ada", core.team_tasks.claim("TASK-1", "ada").token)
    assert now(core, "TASK-2").needs == ()
    assert added(core, "TASK-1").needs == ()
    (event,) = trail(store, "task.completed")
    assert event.data["freed"] == ["TASK-2"]


def test_a_claim_before_its_time_warns_and_holds(core: Store) -> None:
    added(core)
    added(core, "TASK-1")
    early = core.team_tasks.claim("TASK-2", "ada")
    assert (early.status, early.warning) == ("in_progress", "Unfinished: TASK-1")
    assert now(core, "TASK-2") == early


def test_what_others_need_or_work_on_is_not_deleted(core: Store, store: Store) -> None:
    added(core)
    added(core, "TASK-1")
    with pytest.raises(AskerError, match="is needed by TASK-2"):
        core.team_tasks.delete("TASK-1")
    core.team_tasks.claim("TASK-2", "ada")
    with pytest.raises(NotPending):
        core.team_tasks.delete("TASK-2")
    token = now(core, "TASK-2").token
    core.team_tasks.complete("TASK-2", "ada", token)
    core.team_tasks.delete("TASK-1")
    with pytest.raises(NoSuchTask):
        core.team_tasks.delete("TASK-1")
    assert len(trail(store, "task.deleted")) == 1


# -- claiming ----------------------------------------------------------------------------------


def test_a_claim_is_one_owners_until_it_is_done(core: Store, store: Store) -> None:
    added(core)
    claimed = core.team_tasks.claim("TASK-1", "ada", "run-1")
    assert (claimed.status, claimed.owner, claimed.owner_run) == ("in_progress", "ada", "run-1")
    assert (claimed.token, claimed.warning, bool(claimed.claimed_at)) == (1, "", True)
    for who in ("ada", "bo"):
        with pytest.raises(NotPending):
            core.team_tasks.claim("TASK-1", who)
    done = core.team_tasks.complete("TASK-1", "ada", 1)
    assert (done.status, bool(done.completed_at)) == ("completed", True)
    assert now(core) == done
    assert [event.type for event in trail(store) if event.type.startswith("task.")] == [
        "task.added",
        "task.claimed",
        "task.completed",
    ]


def test_twenty_who_claim_ten_tasks_each_get_different_ones(
    core: Store, store: Store, race: Race
) -> None:
    for _ in range(10):
        added(core)
    said = [task for line in race(20, "claim_all") for task in line.split()]
    assert sorted(said) == sorted(f"TASK-{number}" for number in range(1, 11))
    assert [(task.status, task.token) for task in core.team_tasks.tasks()] == [
        ("in_progress", 1)
    ] * 10
    assert len(trail(store, "task.claimed")) == 10


def test_nobody_claims_what_is_not_there(core: Store) -> None:
    with pytest.raises(NoSuchTask):
        core.team_tasks.claim("TASK-1", "ada")
    added(core)
    core.teams.dissolve("core")
    with pytest.raises(NoSuchTeam):
        core.team_tasks.claim("TASK-1", "ada")


def test_an_ended_run_claims_nothing(core: Store, store: Store) -> None:
    """Nobody would ever take it back from it."""
    added(core)
    over(store)
    for run in ("", "run-1"):
        with pytest.raises(NotLive, match="Agent 'ada' is already terminated"):
            core.team_tasks.claim("TASK-1", "ada", run)
    store.runs.add(an_agent(), a_run("run-2"))
    with pytest.raises(NotLive):
        core.team_tasks.claim("TASK-1", "ada", "run-1")
    assert core.team_tasks.claim("TASK-1", "ada").owner_run == "run-2"


def test_one_whom_knell_never_ran_may_claim(core: Store) -> None:
    added(core)
    assert core.team_tasks.claim("TASK-1", "script").owner_run == ""
    with pytest.raises(NotLive):
        core.team_tasks.claim(added(core).id, "script", "run-9")


def test_a_task_that_is_meant_for_one_is_claimed_by_that_one(core: Store) -> None:
    added(core, owner="ada")
    assert (now(core).status, now(core).owner, now(core).owner_run) == ("pending", "ada", "run-1")
    with pytest.raises(NotYours, match="belongs to ada"):
        core.team_tasks.claim("TASK-1", "bo")
    assert core.team_tasks.claim("TASK-1", "ada").token == 1
    assert added(core, owner="bo").owner_run == ""


# -- fencing -----------------------------------------------------------------------------------


def test_G27_an_older_claim_finishes_nothing(core: Store) -> None:
    added(core)
    first = core.team_tasks.claim("TASK-1", "ada").token
    core.team_tasks.release("TASK-1", "ada", first)
    with pytest.raises(NotYours, match="waits for an agent"):
        core.team_tasks.complete("TASK-1", "ada", first)
    second = core.team_tasks.claim("TASK-1", "ada").token
    assert second > first
    for deed in (core.team_tasks.complete, core.team_tasks.release):
        with pytest.raises(NotYours, match="was handed on after that claim"):
            deed("TASK-1", "ada", first)
        with pytest.raises(NotYours, match="belongs to ada"):
            deed("TASK-1", "bo", second)
    assert core.team_tasks.complete("TASK-1", "ada", second).status == "completed"


def test_a_completed_task_never_changes(core: Store, store: Store, where: str) -> None:
    added(core)
    token = core.team_tasks.claim("TASK-1", "ada").token
    done = core.team_tasks.complete("TASK-1", "ada", token)
    assert core.team_tasks.complete("TASK-1", "ada", token) == done
    assert len(trail(store, "task.completed")) == 1
    with pytest.raises(NotPending):
        core.team_tasks.claim("TASK-1", "ada")
    with pytest.raises(NotPending):
        core.team_tasks.release("TASK-1", "ada", token)
    with pytest.raises(sqlite3.IntegrityError, match="final"):
        sql(where, "UPDATE team_tasks SET status = 'pending'")
    assert now(core) == done


def test_a_token_never_comes_back(core: Store, where: str) -> None:
    added(core)
    core.team_tasks.claim("TASK-1", "ada")
    with pytest.raises(sqlite3.IntegrityError, match="only grows"):
        sql(where, "UPDATE team_tasks SET token = 0")


def test_a_released_task_is_anybodys(core: Store) -> None:
    added(core)
    free = core.team_tasks.release("TASK-1", "ada", core.team_tasks.claim("TASK-1", "ada").token)
    assert (free.status, free.owner, free.owner_run, free.claimed_at) == ("pending", "", "", "")
    assert core.team_tasks.claim("TASK-1", "bo").owner == "bo"


def test_who_leaves_the_team_leaves_its_work(core: Store) -> None:
    added(core)
    token = core.team_tasks.claim("TASK-1", "ada").token
    core.teams.leave("ada")
    assert (now(core).status, now(core).owner, now(core).warning) == ("pending", "", "")
    with pytest.raises(NotYours):
        core.team_tasks.complete("TASK-1", "ada", token)


# -- when its owner ends -----------------------------------------------------------------------

ENDINGS = [Ending(outcome, "somebody", "why") for outcome in Outcome]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: str(ending.outcome))
def test_T36_T37_T38_T39_what_it_was_doing_waits_again(
    core: Store, store: Store, ending: Ending
) -> None:
    for _ in range(3):
        added(core)
    token = core.team_tasks.claim("TASK-2", "ada").token
    core.team_tasks.complete("TASK-3", "ada", core.team_tasks.claim("TASK-3", "ada").token)
    receipt = over(store, ending)
    told = ({"id": "TASK-2", "now": "pending", "was": "in_progress", "kind": "team"},)
    assert receipt.tasks == told
    assert store.endings.receipt("run-1") == receipt
    back = now(core, "TASK-2")
    assert (back.status, back.owner, back.owner_run, back.claimed_at) == ("pending", "", "", "")
    assert back.warning == "Reassigned: previous owner ada terminated"
    assert back.token > token
    assert now(core, "TASK-1").warning == ""
    assert now(core, "TASK-3").status == "completed"
    (event,) = trail(store, "task.reassigned")
    assert (event.agent, event.data["task"]) == ("ada", "TASK-2")
    assert trail(store)[-1].data["tasks"] == list(told)
    with pytest.raises(NotYours):
        core.team_tasks.complete("TASK-2", "ada", token)


@pytest.mark.parametrize("fate", ["requeue", "fail", "retry"])
def test_C7_a_team_task_never_fails(core: Store, store: Store, fate: str) -> None:
    added(core)
    core.team_tasks.claim("TASK-1", "ada")
    over(store, KILLED._replace(tasks=fate))
    assert (now(core).status, now(core).owner) == ("pending", "")


def test_C29_what_was_only_meant_for_it_is_listed_apart(core: Store, store: Store) -> None:
    added(core, owner="ada")
    added(core)
    core.team_tasks.claim("TASK-2", "ada")
    assert over(store).tasks == (
        {"id": "TASK-2", "now": "pending", "was": "in_progress", "kind": "team"},
        {"id": "TASK-1", "now": "pending", "was": "pending", "kind": "team"},
    )
    assert (now(core).owner, now(core).warning) == ("", "")
    assert [event.data["task"] for event in trail(store, "task.reassigned")] == ["TASK-2"]
    assert [event.data["task"] for event in trail(store, "task.released")] == ["TASK-1"]


def test_what_is_left_to_it_is_its_own_when_it_comes_back(core: Store, store: Store) -> None:
    added(core)
    claimed = core.team_tasks.claim("TASK-1", "ada")
    assert over(store, STOPPED._replace(tasks="leave")).tasks == ()
    assert now(core) == claimed
    store.runs.add(an_agent(team="core"), a_run("run-2"))
    assert now(core).owner_run == "run-2"
    assert core.team_tasks.complete("TASK-1", "ada", claimed.token).status == "completed"


def test_T45_an_end_without_tasks_hands_none_back(core: Store, store: Store) -> None:
    added(core)
    assert over(store).tasks == ()
    assert core.teams.members("core") == []


def test_the_orchestrators_tasks_go_back_beside_the_teams(
    core: Store, store: Store, where: str
) -> None:
    put_task(where, status="running", assigned_agent="ada")
    added(core)
    core.team_tasks.claim("TASK-1", "ada")
    assert [(task["id"], task["now"], task.get("kind")) for task in over(store).tasks] == [
        ("TASK-1", "failed", None),
        ("TASK-1", "pending", "team"),
    ]


def test_others_keep_theirs(core: Store, store: Store) -> None:
    added(core)
    running(store, "run-2", "bo", 4_100)
    claimed = core.team_tasks.claim("TASK-1", "bo")
    over(store)
    assert now(core) == claimed


def test_G30_ten_who_end_it_at_once_hand_it_back_once(
    core: Store, store: Store, race: Race
) -> None:
    added(core)
    core.team_tasks.claim("TASK-1", "ada")
    assert race(10, "end_run") == ["TASK-1"] * 10  # the kept receipt, for those who came late
    assert len(trail(store, "task.reassigned")) == len(trail(store, "life.stopped")) == 1
    assert now(core).token == 2


@pytest.mark.parametrize("looks", range(1, 10))
def test_G30_whoever_dies_while_ending_leaves_nothing_half_done(
    core: Store, store: Store, race: Race, looks: int
) -> None:
    added(core)
    claimed = core.team_tasks.claim("TASK-1", "ada")
    told, members = trail(store), core.teams.members("core")
    if race(1, "end_run", str(looks)) == [""]:
        assert (now(core), core.teams.members("core")) == (claimed, members)
        assert (trail(store), known(store).live) == (told, True)
    else:
        assert looks > 5  # it looks less often than that
    over(store)
    assert (now(core).owner, core.teams.members("core")) == ("", [])


def test_done_or_handed_back_but_never_both(core: Store, store: Store, race: Race) -> None:
    added(core)
    core.team_tasks.claim("TASK-1", "ada")
    said = race(8, "complete_or_end")
    finished, returned = trail(store, "task.completed"), trail(store, "task.reassigned")
    assert len(finished) + len(returned) == 1
    assert now(core).status == ("completed" if finished else "pending")
    assert ("NotYours" in said) <= bool(returned)
    assert ("completed" in said) == bool(finished)


def test_a_claim_beside_the_owners_end_is_never_stuck(
    core: Store, store: Store, race: Race
) -> None:
    added(core)
    race(8, "claim_or_end")
    over(store)
    assert (now(core).status, now(core).owner) == ("pending", "")
    assert len(trail(store, "task.claimed")) == len(trail(store, "task.reassigned"))
