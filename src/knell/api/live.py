"""The verbs of the API that show how agents are right now: a picture, and what changed in it."""

from __future__ import annotations  # the records of the results are not worth their import time

from typing import TYPE_CHECKING

from knell.api.verbs import check_packages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knell.api import parts
    from knell.api import results as r
    from knell.api.fleet import FleetVerbs
    from knell.life.look.progress import EndingsLook
    from knell.life.look.snapshot import MovementLook
    from knell.life.watch.signs.collect import SignCollector
    from knell.wiring import RealWorld

SAMPLE = 0.2  # seconds between two readings, where a share of a processor is wanted at once


class LiveVerbs:
    """A part of `Knell`."""

    _world: RealWorld
    _collector: SignCollector | None = None  # what is expensive to find out, for the next look
    _endings_look: EndingsLook | None = None  # the first picture of each ending
    _movement: MovementLook | None = None  # which processes were there
    _found: Sequence[r.Judgement] = ()  # by the last look
    _fleet: FleetVerbs | None = None

    def is_operators_home(self) -> bool:
        """Whether this home has an operator's credentials for a fleet; imports nothing of it."""
        import os

        return os.path.exists(os.path.join(self._world.home, "fleet", "operator.json"))

    @property
    def fleet(self) -> FleetVerbs:
        """Other hosts: who is there, and orders to them. Needs the extra `fleet`."""
        if self._fleet is None:
            check_packages("the fleet", ["psycopg", "cryptography"], "fleet")
            from knell.api.fleet import FleetVerbs

            self._fleet = FleetVerbs(self._world)
        return self._fleet

    def status(self) -> r.Snapshot:
        """As `snapshot`, with each agent's share of a processor, and where the registry file says
        something else."""
        first = self.snapshot()
        if first.slow.measured:
            self._world.wait([], SAMPLE)
            first = self.changes(first).snapshot
        live = self._world.store.runs.live()
        return first._replace(drifts=tuple(self._world.steps.drifts(live)))

    def snapshot(self, *, look: bool = True, with_ended: bool = False) -> r.Snapshot:
        """Every agent with what it does and uses, orphans, the watch, and the disk.

        `look`: every agent is looked at now. Without it, rows carry what was found last, and its
        age. The share of a processor needs two looks: `changes` has it."""
        from knell.life.look.snapshot import take_snapshot

        return take_snapshot(self._world, self._judged(look=look), with_ended=with_ended)

    def changes(
        self, after: r.Snapshot, *, look: bool = True, with_ended: bool = False
    ) -> r.Changes:
        """The next snapshot, with the events and the rows that are new since `after`.

        A live view calls this again and again. With `look`, each agent is judged, by one reading of
        the process table for all; a turn without it costs little."""
        from knell.life.look.snapshot import changes_since

        return changes_since(self._world, after, self._judged(look=look), with_ended=with_ended)

    def has_moved(self, since: r.Snapshot) -> bool:
        """Whether it is worth asking for `changes`: an event was written, or an agent's process has
        gone. Costs next to nothing, so that a live view may ask many times a second."""
        from knell.life.look.snapshot import MovementLook

        self._movement = self._movement or MovementLook(self._world)
        return self._movement.has_moved(since)

    def found_last(self, run: str) -> r.Judgement | None:
        """The verdict on this run, with its evidence, by the last look of this `Knell`."""
        return next((one for one in self._found if one.run.id == run), None)

    def look_closely(self, run: str) -> r.CloseLook:
        """The processes of one run, and what it shows; looks at no other."""
        from knell.life.look.show import look_closely

        return look_closely(self._world, run)

    def views_of(self, *names: str) -> list[r.AgentView]:
        """The rows of these agents, live or ended, as `list` has them; unknown ones are not."""
        from knell.life.look.choose import views_of

        return views_of(self._world, names)

    def logs(self, name: str, *, lines: int = 100) -> list[str]:
        """The last lines of what an agent printed: a headless one's output, or its screen."""
        from knell.life.look.output import last_lines

        return last_lines(self._world, name, lines)

    def follow_logs(
        self, name: str, *, lines: int = 100, every: float = 0.3
    ) -> Iterator[Sequence[str]]:
        """The same, and then what is new, as long as the agent lives."""
        from knell.life.look.output import follow_lines

        return follow_lines(self._world, name, lines, every)

    def screen(self, name: str) -> r.ScreenView:
        """What an agent's pane shows now, or showed last."""
        from knell.life.look.output import screen_of

        return screen_of(self._world, name)

    def attach_command(self, name: str) -> tuple[str, ...]:
        """The command that brings a person to a live agent's pane."""
        from knell.life.look.output import attach_command

        return attach_command(self._world, name)

    def path(self, name: str) -> str:
        """The directory in which an agent works."""
        from knell.life.look.output import agent_and_run

        return agent_and_run(self._world, name)[0].cwd

    def night(self, since: str) -> r.Night:
        """What happened since a time (ISO 8601 in UTC): stalls, restarts, endings, tasks that were
        handed back, and work that was rescued."""
        from knell.life.look.night import night

        return night(self._world, since)

    def receipts(self, text: str = "", *, limit: int = 50, before: int = 0) -> r.ReceiptPage:
        """The newest receipts in which every word of `text` stands, or those before one of them."""
        from knell.life.look.receipts import find_receipts

        return find_receipts(self._world, text, limit, before)

    def recently_ended(self, limit: int = 30) -> list[r.AgentView]:
        """The agents that ended last and have not been started since, the last one first."""
        from knell.life.look.receipts import recently_ended

        return recently_ended(self._world, limit)

    def worktrees(self, limit: int = 200) -> list[r.WorktreeView]:
        """What became of worktrees: kept or removed, why, and where their work was saved."""
        from knell.life.look.receipts import worktrees

        return worktrees(self._world, limit)

    def task_history(self) -> dict[str, list[r.TaskStep]]:
        """Task → who claimed it, gave it back or completed it, the oldest first."""
        from knell.life.look.events import task_history

        return task_history(self._world)

    def samples(self, run: str) -> list[r.Sample]:
        """What the watch saw of a run in the last 24 hours, the oldest first."""
        from knell.life.look.samples import samples

        return samples(self._world, run)

    def sample_line(self, run: str, *, step: int = 300) -> r.SampleLine:
        """The same in stretches of `step` seconds: 24 hours as a ribbon shows them."""
        from knell.life.look.samples import line

        return line(self._world, run, max(step, 1))

    def last_ended(self) -> list[str]:
        """The agents that the last `kill` or `stop` ended and that have not been started since."""
        from knell.life.look.choose import last_ended

        return last_ended(self._world)

    def ended_agents(self, target: str) -> list[str]:
        """The agents of a group, such as tag:night, that have ended and could be resumed."""
        from knell.life.look.choose import to_bring_back

        return to_bring_back(self._world, target)

    def agent_of_conversation(self, id: str) -> str:
        """The agent whose conversation has this id; empty if none has."""
        from knell.life.look.choose import agent_of_conversation

        return agent_of_conversation(self._world, id)

    def endings_underway(self, *, of_all: bool = False) -> list[r.EndingProgress]:
        """How far each ending has come that this process has begun and not finished; `of_all`: that
        any process has. For another thread than the one that ends: with a `Knell` of its own."""
        from knell.life.look.progress import EndingsLook

        self._endings_look = self._endings_look or EndingsLook(self._world)
        return self._endings_look.look(of_all=of_all)

    def _judged(self, *, look: bool) -> Sequence[r.Judgement]:
        if not look:
            return ()
        from knell.life.base.take_in import take_in_journals
        from knell.life.watch.signs.collect import SignCollector
        from knell.life.watch.stalled import assess, stall_limits

        self._collector = self._collector or SignCollector(self._world)
        runs = take_in_journals(self._world)
        self._found = assess(self._world, self._collector, runs, stall_limits(self._world))
        return self._found

    def bug_report(self, name: str = "", *, events: int = 100) -> r.BugReport:
        """What a person who mends knell needs to see, about this agent or the one that ended last.

        Secrets are hidden only in the text that `knell bug-report` writes."""
        from knell.life.look.bug_report import bug_report

        return bug_report(self._world, name, events)

    @property
    def skills(self) -> parts.SkillVerbs:
        """The skills that knell brings for agents."""
        from knell.api.parts import SkillVerbs

        return SkillVerbs(self._world)
