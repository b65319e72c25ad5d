"""What racers do with a team at the same moment. Who is even does one thing, who is odd another."""

import os
from collections.abc import Callable

from store_samples import KILLED, a_receipt, a_run

from knell.core.errors import KnellError
from knell.core.ports.store import Store
from knell.core.ports.teams import Backend
from knell.core.shutdown import Move, ShutdownRequest
from knell.core.teams import Team, TeamTask

ME = os.getpid()
NAME = f"agent-{ME}"


def make_team(store: Store) -> str:
    return store.teams.add(Team("core", "", description=NAME)).description


def join(store: Store) -> str:
    return store.teams.join("core", NAME).colour


def add_task(store: Store) -> str:
    return store.team_tasks.add(TeamTask("", "core", NAME)).id


def claim_all(store: Store) -> str:
    """Every task that is to be had."""
    got: list[str] = []
    for task in store.team_tasks.tasks("core"):
        try:
            got.append(store.team_tasks.claim(task.id, NAME).id)
        except KnellError:
            pass  # somebody was faster
    return " ".join(got)


def complete_or_end(store: Store) -> str:
    """Odd: ada finishes TASK-1 with her claim. Even: her run ends."""
    if ME % 2:
        return store.team_tasks.complete("TASK-1", "ada", 1).status
    return end_run(store)


def claim_or_end(store: Store) -> str:
    """Odd: ada claims TASK-1. Even: her run ends."""
    return store.team_tasks.claim("TASK-1", "ada", "run-1").status if ME % 2 else end_run(store)


def end_run(store: Store) -> str:
    run = a_run(ending=KILLED._replace(by=NAME))
    return " ".join(task["id"] for task in store.endings.end(run, a_receipt(run), ()).tasks)


def take(store: Store) -> str:
    """Three at a time, until there are none."""
    got: list[str] = []
    while messages := store.messages.take("ada", 3):
        got += [str(message.id) for message in messages]
    return " ".join(got)


def ask(store: Store) -> str:
    force = bool(ME % 2)
    asked = store.shutdowns.ask(
        ShutdownRequest(NAME, "core", "ada", "run-1", NAME, "", force=force)
    )
    return f"{asked.request.id} {asked.news} {force}"


def answer(store: Store) -> str:
    move = Move.APPROVE if ME % 2 else Move.REJECT
    told = store.shutdowns.move("r1", move, NAME)
    return f"{told.request.answer} {told.moved}"


def serve(store: Store) -> str:
    return store.backends.add(Backend(NAME, "opencode", "/srv", None, 28_000)).id


def use_or_retire(store: Store) -> str:
    if ME % 2:
        return f"used {store.backends.use('s1', 'run-1')}"
    return f"retired {store.backends.retire('s1')}"


TEAM_DEEDS: dict[str, Callable[[Store], str]] = {
    deed.__name__: deed
    for deed in (
        *(make_team, join, add_task, claim_all, complete_or_end, claim_or_end, end_run, take),
        *(ask, answer, serve, use_or_retire),
    )
}
