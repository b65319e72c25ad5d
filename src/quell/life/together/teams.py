"""All that teams can do, for the faces: one method a verb."""

from typing import TYPE_CHECKING

from quell.core.ports import World

if TYPE_CHECKING:
    from quell.core.message import Answer, Message
    from quell.core.shutdown import Request
    from quell.core.team import Member
    from quell.core.teamtask import TeamTask
    from quell.life.caller import Caller
    from quell.life.together.ask import Answered, AskWish
    from quell.life.together.killagent import KillAgentAnswer, KillAgentWish
    from quell.life.together.letters import Letters
    from quell.life.together.task import Claimed, TaskWish
    from quell.life.together.team import TeamView, TeamWish


class Teams:
    """`who` acts; by default whoever runs this process. A server passes whose token it was."""

    def __init__(self, world: World, who: "Caller | None" = None) -> None:
        self._world = world
        self._who = who

    def holder_of(self, token: str) -> "Caller | None":
        """The agent that was given this token at its start, while its run lives."""
        from quell.life.caller import holder_of

        return holder_of(self._world, token)

    # -- teams --------------------------------------------------------------------------------

    def create(self, wish: "TeamWish") -> "TeamView":
        from quell.life.together.team import create

        return create(self._world, wish, self._who)

    def show(self, name: str) -> "TeamView":
        from quell.life.together.team import show

        return show(self._world, name)

    def list(self) -> "list[TeamView]":
        from quell.life.together.team import teams

        return teams(self._world)

    def add(self, team: str, agent: str, role: str = "") -> "Member":
        from quell.life.together.team import add

        return add(self._world, team, agent, role, self._who)

    def remove(self, team: str, agent: str) -> "Member":
        from quell.life.together.team import remove

        return remove(self._world, team, agent, self._who)

    def dissolve(self, team: str) -> "list[Member]":
        from quell.life.together.team import dissolve

        return dissolve(self._world, team, self._who)

    # -- tasks --------------------------------------------------------------------------------

    def add_task(self, wish: "TaskWish") -> "TeamTask":
        from quell.life.together.task import add

        return add(self._world, wish, self._who)

    def tasks(self, team: str = "", status: str = "", owner: str = "") -> "list[TeamTask]":
        from quell.life.together.task import tasks

        return tasks(self._world, team, status, owner)

    def task(self, task: str) -> "TeamTask":
        from quell.life.together.task import show

        return show(self._world, task)

    def claim(self, task: str, agent: str = "") -> "Claimed":
        from quell.life.together.task import claim

        return claim(self._world, task, agent, self._who)

    def done(self, task: str, token: int | None = None) -> "TeamTask":
        from quell.life.together.task import done

        return done(self._world, task, token, self._who)

    def release(self, task: str, token: int | None = None) -> "TeamTask":
        from quell.life.together.task import release

        return release(self._world, task, token, self._who)

    def delete_task(self, task: str) -> None:
        from quell.life.together.task import delete

        delete(self._world, task, self._who)

    # -- letters ------------------------------------------------------------------------------

    def send(self, letter: "Letters") -> "list[Message]":
        from quell.life.together.letters import send

        return send(self._world, letter, self._who)

    def inbox(
        self, agent: str = "", *, wait: float = 0.0, limit: int = 50, peek: bool = False
    ) -> "list[Message]":
        from quell.life.together.letters import inbox

        return inbox(self._world, agent, self._who, wait=wait, limit=limit, peek=peek)

    # -- leaving ------------------------------------------------------------------------------

    def ask(self, wish: "AskWish") -> "Request":
        from quell.life.together.ask import ask

        return ask(self._world, wish, self._who)

    def awaited(self, request: str, seconds: float) -> "Request":
        """How a request stands once it is decided, or after that many seconds."""
        from quell.life.together.ask import awaited

        return awaited(self._world, request, seconds)

    def withdraw(self, agent: str) -> "Request":
        from quell.life.together.ask import withdraw

        return withdraw(self._world, agent, self._who)

    def answer(self, told: "Answer") -> "Answered":
        from quell.life.together.answering import answer

        return answer(self._world, told, self._who)

    def finish(self, request: str) -> "Answered":
        """Ends the run of a request that was approved, if nobody has."""
        from quell.life.together.answering import finish

        return finish(self._world, request)

    def kill_agent(self, wish: "KillAgentWish", *, operator: bool = False) -> "KillAgentAnswer":
        from quell.life.together.killagent import kill_agent

        return kill_agent(self._world, wish, self._who, operator=operator)
