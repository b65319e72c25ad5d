"""Parts of the API: a team, a task, messages, requests to leave, hooks, skills, servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knell.api.argument_types import ChecksArguments
from knell.core.authority import Deed
from knell.core.shutdown import ShutdownAnswer
from knell.core.teams import TeamTask
from knell.life import hooks, skills
from knell.life.base import caller as callers
from knell.life.base.authority import check_agents, check_operator
from knell.life.teams import agent_status as statuses
from knell.life.teams import answer as answers
from knell.life.teams import ask as requests
from knell.life.teams import kill_agent as tool
from knell.life.teams import messages
from knell.life.teams import task as tasks
from knell.life.teams import team as teams

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from knell.core.authority import Caller
    from knell.core.ports.store import Event
    from knell.core.ports.world import World
    from knell.core.run import Run
    from knell.core.shutdown import ShutdownRequest
    from knell.core.stall.signs import Clock
    from knell.core.teams import Message, TeamMember


class _Part(ChecksArguments):
    def __init__(self, world: World) -> None:
        self._world = world


class TeamHandle(ChecksArguments):
    """One team, by its name; nothing is asked before a method is called."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self.name = name

    def create(
        self, *, leader: str = "", topology: str = "flat", description: str = ""
    ) -> teams.TeamView:
        """Makes the team. `leader`: an agent; by default the agent that asks, else the operator.

        `topology`: flat (every member claims tasks) or hierarchical (the leader and task managers
        hand them out)."""
        return teams.create(self._world, self.name, leader, topology, description)

    def show(self) -> teams.TeamView:
        """The team, its tasks, and how each of its members is."""
        return teams.show(self._world, self.name)

    def add(self, agent: str, role: str = "") -> TeamMember:
        """Takes an agent in, as worker, reviewer, task-manager or leader."""
        return teams.add(self._world, self.name, agent, role)

    def remove(self, agent: str) -> TeamMember:
        """Lets an agent go from the team; it lives on, and its tasks wait for another."""
        return teams.remove(self._world, self.name, agent)

    def dissolve(self) -> list[TeamMember]:
        """Ends the team, not its agents; gives back who was in it."""
        return teams.dissolve(self._world, self.name)

    def tasks(self, *, status: str = "", owner: str = "") -> list[TeamTask]:
        """Its tasks, the most urgent first, and of those the oldest."""
        return tasks.tasks(self._world, self.name, status, owner)

    def add_task(
        self, title: str, *, id: str = "", description: str = "", priority: str = "normal",
        needs: Sequence[str] = (),
    ) -> TeamTask:  # fmt: skip
        """Adds a task; `needs` are tasks that should be done first."""
        task = TeamTask(id, self.name, title, description, priority, needs=tuple(needs))
        return tasks.add(self._world, task)

    def kill(
        self, agent: str, *, force: bool = False, reason: str = "", deadline: float | None = None,
        operator: bool = False,
    ) -> tool.KillAgentAnswer:  # fmt: skip
        """Asks a member to leave, or with `force` ends it: for the team's leader alone.

        `deadline`: seconds for its answer, 0: for ever. `operator`: a person takes the leader's
        place; an agent stays an agent, whatever it says here."""
        wish = tool.KillAgentWish(self.name, agent, force, reason, deadline)
        return tool.kill_agent(self._world, wish, operator=operator)


class TaskHandle(ChecksArguments):
    """One task, by its id; nothing is asked before a method is called."""

    def __init__(self, world: World, id: str) -> None:
        self._world = world
        self.id = id

    def show(self) -> TeamTask:
        return tasks.show(self._world, self.id)

    def claim(self, agent: str = "") -> tasks.Claimed:
        """Takes the task, by default for the caller. Its `token` proves the claim."""
        return tasks.claim(self._world, self.id, agent)

    def complete(self, token: int | None = None) -> TeamTask:
        """Marks it as done; refused once it was handed on to another agent."""
        return tasks.complete(self._world, self.id, token)

    def release(self, token: int | None = None, *, anyway: bool = False) -> TeamTask:
        """Gives it back, for any member to claim. `anyway`: also what an agent of another host
        holds, of whose end nothing was heard."""
        return tasks.release(self._world, self.id, token, anyway=anyway)

    def delete(self) -> None:
        """Removes a task that no agent works on and no other task needs."""
        tasks.delete(self._world, self.id)


class MessageVerbs(_Part):
    """Every agent has an inbox; each message is read once."""

    def send(
        self, *to: str, text: str, team: str = "", type: str = "plain", summary: str = ""
    ) -> list[Message]:
        """Puts a message into agents' inboxes; "*" means every other member of the team."""
        return messages.send(self._world, to, text, team, type, summary)

    def inbox(
        self, agent: str = "", *, wait: float = 0.0, limit: int = 50, peek: bool = False
    ) -> list[Message]:
        """The unread messages of an agent, by default of the caller. `wait`: seconds for the
        first, 30 at most. `peek` leaves them unread."""
        return messages.read_inbox(self._world, agent, wait=wait, limit=limit, peek=peek)


class ShutdownVerbs(_Part):
    """An agent that is asked to leave answers, finishes its work, confirms, and is ended."""

    def ask(
        self, agent: str, *, reason: str = "", deadline: float | None = None,
        overdue: str = "force",
    ) -> ShutdownRequest:  # fmt: skip
        """Asks an agent to leave. `deadline`: seconds for its answer, 0: for ever. `overdue`: what
        the watch then does, force or report."""
        return requests.ask(self._world, agent, reason, deadline, overdue)

    def wait(self, request: str, seconds: float) -> ShutdownRequest:
        """Waits until a request is decided, at most that long; gives how it stands then."""
        return requests.wait_for_answer(self._world, request, seconds)

    def withdraw(self, agent: str) -> ShutdownRequest:
        """Takes the open request to an agent back."""
        return requests.withdraw(self._world, agent)

    def approve(
        self, request: str = "", *, reason: str = "", needs: float | None = None
    ) -> requests.ShutdownResult:
        """Agrees to leave, for the caller; a person names the request or the agent. `needs`: the
        seconds in which the agent finishes its work and confirms; then it is ended."""
        answer = ShutdownAnswer(request, approved=True, reason=reason, needs=needs)
        return answers.answer(self._world, answer)

    def confirm(self, request: str = "") -> requests.ShutdownResult:
        """Says that the agent, which has approved, has finished its work; it is ended."""
        answer = ShutdownAnswer(request, approved=True, confirmed=True)
        return answers.answer(self._world, answer)

    def reject(self, request: str = "", *, reason: str = "") -> requests.ShutdownResult:
        """Refuses to leave; the agent goes on."""
        return answers.answer(self._world, ShutdownAnswer(request, approved=False, reason=reason))

    def finish(self, request: str) -> requests.ShutdownResult:
        """Waits until an agent that approved is ready or its time is up, and ends its run."""
        return answers.finish(self._world, request)


class HookVerbs(_Part):
    """`programs` are names such as claude; without any: all that are here. `settings` is another
    file than the program's own."""

    def status(self, *programs: str, settings: str = "") -> list[hooks.HookReport]:
        """Whether the hooks are in each program's settings, and would run."""
        return hooks.status(self._world, hooks.HookWish(programs, settings))

    def install(
        self, *programs: str, settings: str = "", dry_run: bool = False
    ) -> list[hooks.HookReport]:
        return hooks.install(self._world, hooks.HookWish(programs, settings, dry_run))

    def check_may_uninstall(self) -> None:
        """Raises `Refused` unless the operator asks: `knell uninstall` removes more than hooks."""
        check_operator(self._world, Deed.UNINSTALL)

    def uninstall(
        self, *programs: str, settings: str = "", dry_run: bool = False
    ) -> list[hooks.HookReport]:
        return hooks.uninstall(self._world, hooks.HookWish(programs, settings, dry_run))


class SkillVerbs(_Part):
    """`names` are skills that knell brings; without any: all. `kinds` are the programs, by default
    those that are here; `folder` is another directory than theirs."""

    def status(
        self, *names: str, kinds: Sequence[str] = (), folder: str = ""
    ) -> list[skills.SkillReport]:
        """What stands where each skill belongs."""
        return skills.status(self._world, skills.SkillWish(names, tuple(kinds), folder))

    def install(
        self, *names: str, kinds: Sequence[str] = (), folder: str = "", replace: bool = False,
        dry_run: bool = False,
    ) -> list[skills.SkillReport]:  # fmt: skip
        """`replace`: what is not knell's is put aside first, to come back at `uninstall`."""
        wish = skills.SkillWish(names, tuple(kinds), folder, replace, dry_run)
        return skills.install(self._world, wish)

    def uninstall(
        self, *names: str, kinds: Sequence[str] = (), folder: str = "", dry_run: bool = False
    ) -> list[skills.SkillReport]:
        """What a person changed since stays."""
        wish = skills.SkillWish(names, tuple(kinds), folder, dry_run=dry_run)
        return skills.uninstall(self._world, wish)


class ServerVerbs(_Part):
    """Reached as `knell.acting_as(caller).server`: the checks hold for that caller."""

    def holder_of(self, token: str) -> Caller | None:
        """The agent that was given this token at its start, while its run lives."""
        return callers.holder_of(self._world, token) if token else None

    def agent_behind(self, port: int, to: int) -> str:
        """The agent that connected from that port of this machine to ours; empty for a person."""
        return callers.agent_behind(self._world, port, to)

    def note_refusal(self, why: str, through: str) -> None:
        """Writes into the audit trail that the caller was refused, and by which server."""
        callers.note_refusal(self._world, callers.caller(self._world), why, through=through)

    def kin(self, agent: str) -> Run:
        """The newest run of an agent, if the caller may do that to it; else Refused. An agent acts
        on itself, on what it started, at any depth, and, as leader, on the members of its team. The
        operator may act on every agent."""
        run = statuses.known_run(self._world, agent)
        check_agents(self._world, callers.caller(self._world), Deed.MANAGE, [run.agent])
        return run

    def check_spawn(self) -> None:
        """Refused unless the caller's role lets it start agents."""
        teams.check_spawn(self._world)

    def status_of(self, agent: str) -> statuses.AgentStatus:
        """How one agent stands in its team, by its name or the id of its run."""
        return statuses.agent_status(self._world, agent)

    def heartbeat(
        self, agent: str, *, team: str = "", status: str = "active",
        metadata: Mapping[str, Any] | None = None,
    ) -> statuses.Heartbeat:  # fmt: skip
        """A sign of life of the caller itself, with what it wants to have on record."""
        return statuses.report_heartbeat(self._world, agent, team, status, metadata)

    def recorded_run(self, agent: str) -> Run | None:
        """The newest run of an agent, as it is on record, without a look at it."""
        return teams.newest_run(self._world, agent)

    def recorded_events(self, after: int, agent: str = "", limit: int = 100) -> list[Event]:
        """The events on record behind that number, without a look at the keepers' journals."""
        return self._world.store.events.read(after, agent, limit)

    def clock(self) -> Clock:
        """This moment by every clock that matters, and which boot this is."""
        return self._world.clock()

    def new_id(self) -> str:
        return self._world.new_id()

    def note(self, type: str, data: Mapping[str, Any]) -> None:
        """Writes an event that is about no single agent; for servers that are no agent's."""
        callers.check_not_agent(self._world, "write events")
        self._world.store.events.record(type, "", "", data)

    def free_name(self, kind: str) -> str:
        """A name that no agent ever had."""
        from knell.core.agent import next_name

        return next_name(kind, self._world.store.runs.agent_names())

    def take_back(self, task: str, token: int) -> bool:
        """Frees a task that an ended agent of another host held, if that claim still holds."""
        return tasks.take_back(self._world, task, token)
