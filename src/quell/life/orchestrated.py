"""What an orchestrator asks for beyond the verbs. Its commands are in faces/commands."""

import os

from quell.core.agent import Agent
from quell.core.cleaning import Cleaning
from quell.core.errors import QuellError
from quell.core.ladder import KILL_STALLED
from quell.core.lifecycle import Outcome, State
from quell.core.ports import World
from quell.core.run import Ending, Place, Run
from quell.core.store import WorktreeRow
from quell.core.worktree import Cleanup
from quell.life.caller import caller
from quell.life.settle import settle
from quell.life.spawn import Spawned, Wish, spawn


class Orchestrated:
    def __init__(self, world: World) -> None:
        self._world = world

    def settle(self) -> list[Run]:
        """Takes in what keepers wrote while nobody was there; the runs that live."""
        return settle(self._world)

    def asker(self) -> str:
        """Who is asking: `operator`, or `agent:NAME`."""
        return caller(self._world).by

    def launch(self, wish: Wish, startup: float) -> Spawned:
        """Seen alive within `startup` seconds; else what was prepared for it is undone."""
        world, usual = self._world, self._world.settings
        server = usual.tmux_server if wish.place == "tmux" else ""
        world.impose(usual._replace(spawn_timeout=startup))
        try:
            return spawn(world, wish._replace(server=wish.server or server))
        except QuellError:
            self._never_began(wish)
            raise
        finally:
            world.impose(usual)

    def _never_began(self, wish: Wish) -> None:
        """The task waits again, and the session directory of the run that came to nothing goes."""
        from quell.life.cleanup import session_dir

        world = self._world
        if wish.task:
            world.store.give_back(wish.task, wish.name)
        for run in world.store.runs_of(wish.name)[:1]:
            if not run.live:
                path = session_dir(world, run.id)
                world.disk.remove_below(os.path.dirname(path), path)

    def start_again(self, agent: Agent, last: Run, attempt: int) -> Spawned:
        """A new run in the place of an ended one; it goes on with its conversation if it can."""
        from quell.life.restart import started_again

        spawned, _ = started_again(self._world, agent, last, resume=True, attempt=attempt)
        return spawned

    def write_off(self, run: Run) -> None:
        """A run of which nobody ever wrote down a process is lost, and its task is handed back."""
        from quell.life.before import Way
        from quell.life.ending import end_runs

        ending = Ending(Outcome.LOST, self.asker(), "lost", "no process of it was ever recorded")
        end_runs(self._world, [run], Way(KILL_STALLED, ending, deregister=True))

    def sweep(self, row: WorktreeRow, mode: Cleanup) -> Cleaning:
        """A worktree on record, cleaned up as if its run had just ended."""
        from quell.life.cleanup import cleaned

        world, name = self._world, row.task or os.path.basename(row.path)
        run = Run(world.new_id(), name, world.host, State.ENDED, Place("headless"), world.now())
        return cleaned(world, run, Agent(name, "command", row.path), mode)
