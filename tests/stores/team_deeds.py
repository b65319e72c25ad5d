"""What racers do with a team at the same moment. Who is even does one thing, who is odd another."""

import os
from collections.abc import Callable

from store_samples import KILLED, a_receipt, a_run

from quell.core.errors import QuellError
from quell.core.shutdown import Move, Request
from quell.core.store import Store
from quell.core.team import Team
from quell.core.teamtask import TeamTask
from quell.core.teamwork import Server

ME = os.getpid()
NAME = f"agent-{ME}"


def make_team(store: Store) -> str:
    return store.teamwork.add_team(Team("core", "", description=NAME)).description


def join(store: Store) -> str:
    return store.teamwork.join("core", NAME).colour


def add_task(store: Store) -> str:
    return store.teamwork.add_task(TeamTask("", "core", NAME)).id


def claim_all(store: Store) -> str:
    """Every task that is to be had."""
    got: list[str] = []
    for task in store.teamwork.tasks("core"):
        try:
            got.append(store.teamwork.claim_task(task.id, NAME).id)
        except QuellError:
            pass  # somebody was faster
    return " ".join(got)


def complete_or_end(store: Store) -> str:
    """Odd: ada finishes TASK-1 with her claim. Even: her run ends."""
    if ME % 2:
        return store.teamwork.complete_task("TASK-1", "ada", 1).status
    return end_run(store)


def claim_or_end(store: Store) -> str:
    """Odd: ada claims TASK-1. Even: her run ends."""
    return store.teamwork.claim_task("TASK-1", "ada", "run-1").status if ME % 2 else end_run(store)


def end_run(store: Store) -> str:
    run = a_run(ending=KILLED._replace(by=NAME))
    return " ".join(task["id"] for task in store.end(run, a_receipt(run), ()).tasks)


def take(store: Store) -> str:
    """Three at a time, until there are none."""
    got: list[str] = []
    while letters := store.teamwork.take("ada", 3):
        got += [str(letter.id) for letter in letters]
    return " ".join(got)


def ask(store: Store) -> str:
    force = bool(ME % 2)
    asked = store.teamwork.ask(Request(NAME, "core", "ada", "run-1", NAME, "", force=force))
    return f"{asked.request.id} {asked.news} {force}"


def answer(store: Store) -> str:
    move = Move.APPROVE if ME % 2 else Move.REJECT
    told = store.teamwork.move("r1", move, NAME)
    return f"{told.request.answer} {told.moved}"


def serve(store: Store) -> str:
    return store.teamwork.add_server(Server(NAME, "opencode", "/srv", None, 28_000)).id


def use_or_retire(store: Store) -> str:
    if ME % 2:
        return f"used {store.teamwork.use_server('s1', 'run-1')}"
    return f"retired {store.teamwork.retire_server('s1')}"


TEAM_DEEDS: dict[str, Callable[[Store], str]] = {
    deed.__name__: deed
    for deed in (
        *(make_team, join, add_task, claim_all, complete_or_end, claim_or_end, end_run, take),
        *(ask, answer, serve, use_or_retire),
    )
}
