"""Whether anything has happened since a snapshot: a few small reads, for a view that asks often."""

from knell.core.ports.world import World
from knell.core.run import State
from knell.life.look.snapshot import Snapshot, newest_event

LIST_EVERY = 1.0  # seconds between two lists of the machine's processes
LATE = 8.0  # seconds in which the keeper of an agent that has gone may still write that down


class MovementLook:
    """Asks for the newest event, and which processes there are. Remembers what it saw last."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._listed_at = -LIST_EVERY
        self._seen: set[int] = set()  # processes of agents
        self._gone: dict[int, float] = {}  # of those, the ones that have gone, and when

    def has_moved(self, since: Snapshot) -> bool:
        """Whether an event was written since, or an agent's process has gone whose end is not on
        record yet. A number that is given to another process is seen by the next real look."""
        if newest_event(self._world) != since.last_event:
            return True
        now = self._world.clock().awake
        if now - self._listed_at >= LIST_EVERY:
            self._listed_at = now
            self._list_processes(since, now)
        return any(view.pid in self._gone for view in since.agents) if self._gone else False

    def _list_processes(self, since: Snapshot, now: float) -> None:
        there = set(self._world.processes.pids())
        live = {view.pid for view in since.agents if view.pid and view.state != State.ENDED}
        known = self._seen | self._gone.keys()
        gone = {pid: self._gone.get(pid, now) for pid in (live & known) - there}
        self._gone = {pid: at for pid, at in gone.items() if now - at < LATE}
        self._seen = live & there
