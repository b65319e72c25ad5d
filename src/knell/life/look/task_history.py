"""Who claimed a task, gave it back or completed it, as the audit trail has it."""

from typing import Any, NamedTuple

from knell.core.ports.world import World

READ = 20_000  # events that are looked through, the newest ones


class TaskStep(NamedTuple):
    """One thing that happened to a task."""

    at: str
    what: str  # claimed, completed, released, reassigned, …
    agent: str
    now: str  # its status from then on

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def task_history(world: World) -> dict[str, list[TaskStep]]:
    found: dict[str, list[TaskStep]] = {}
    for event in world.store.events.read(0, "", READ):
        subject, _, what = event.type.partition(".")
        task = event.data.get("task")
        if subject == "task" and isinstance(task, str):
            step = TaskStep(event.at, what, event.agent, str(event.data.get("now", "")))
            found.setdefault(task, []).append(step)
    return found
