"""Whatever happens to a team in whatever order: what a simple model says is what is on record."""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from store_samples import KILLED, Clock, a_receipt, a_run, an_agent, known

from examples import some_of
from house import empty_store
from knell.core.errors import KnellError
from knell.core.run import Outcome
from knell.core.shutdown import Move, ShutdownRequest
from knell.core.teams import COLOURS, Team, TeamTask
from knell.stores.sqlite import SqliteStore

# Few, so that they meet.
NAMES = ("ada", "bo")
AGENTS = st.sampled_from(NAMES)
TASKS = st.integers(1, 2).map(lambda number: f"TASK-{number}")
ANSWERS = st.sampled_from([Move.APPROVE, Move.REJECT, Move.WITHDRAW])
FATES = st.sampled_from(["", "requeue", "fail", "retry", "leave"])


class Held(NamedTuple):
    agent: str
    token: int


class TeamLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        Path(self.folder.name, "knell.db").write_bytes(empty_store())
        self.store = SqliteStore(f"{self.folder.name}/knell.db", now=Clock())
        self.team = self.store
        self.team.teams.add(Team("core", "boss"))
        self.live: dict[str, str] = {}
        self.runs = 0
        self.held: dict[str, Held] = {}
        self.done: set[str] = set()
        self.stale: set[tuple[str, Held]] = set()
        self.asked: dict[str, str] = {}  # run → its open request
        self.messages: list[int] = []
        for name in NAMES:
            self.team.team_tasks.add(TeamTask("", "core", "Write it"))
            self.start(name)

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @rule(agent=AGENTS)
    def start(self, agent: str) -> None:
        if agent not in self.live:
            self.runs += 1
            run = a_run(f"run-{self.runs}", agent)
            self.store.runs.add(an_agent(agent, team="core"), run)
            self.live[agent] = run.id

    @rule(agent=AGENTS, outcome=st.sampled_from(Outcome), fate=FATES)
    def end(self, agent: str, outcome: Outcome, fate: str) -> None:
        run = self.live.pop(agent, "")
        if not run:
            return
        request = self.team.shutdowns.open_of(run)
        last = known(self.store, run)._replace(ending=KILLED._replace(outcome=outcome, tasks=fate))
        receipt = self.store.endings.end(last, a_receipt(last), ())
        mine = {task: held for task, held in self.held.items() if held.agent == agent}
        if fate == "leave":
            mine = {}
        assert {task["id"] for task in receipt.tasks} == set(mine)
        for task, held in mine.items():
            self.stale.add((task, self.held.pop(task)))
            assert held.agent == agent
        assert bool(request) == (run in self.asked)
        if request:
            closed = self.team.shutdowns.request(self.asked.pop(run))
            assert closed
            usual = "force_killed" if request.force else "confirmed"
            assert closed.phase == ("withdrawn" if outcome is Outcome.ARCHIVED else usual)

    @rule(agent=AGENTS, task=TASKS)
    def claim(self, agent: str, task: str) -> None:
        free = task not in self.held and task not in self.done and agent in self.live
        claimed = self._tried(self.team.team_tasks.claim, task, agent, self.live.get(agent, ""))
        # One that never lived may claim too: nobody can hand its tasks back, nor has to.
        if agent not in self.live and claimed:
            assert not self.store.runs.of(agent)
            free = True
        assert bool(claimed) == free
        if claimed:
            self.held[task] = Held(agent, claimed.token)

    @rule(task=TASKS)
    def complete(self, task: str) -> None:
        held = self.held.pop(task, None)
        if held:
            assert self._tried(self.team.team_tasks.complete, task, *held)
            self.done.add(task)

    @rule(task=TASKS)
    def release(self, task: str) -> None:
        held = self.held.pop(task, None)
        if held:
            assert self._tried(self.team.team_tasks.release, task, *held)
            self.stale.add((task, held))

    @precondition(lambda self: self.stale)
    @rule(choice=st.randoms(use_true_random=False))
    def come_late(self, choice: Any) -> None:
        """A half-dead owner says that it is done."""
        task, held = choice.choice(sorted(self.stale))
        assert self._tried(self.team.team_tasks.complete, task, *held) is None
        assert self._tried(self.team.team_tasks.release, task, *held) is None

    @rule(agent=AGENTS, force=st.booleans())
    def ask(self, agent: str, *, force: bool) -> None:
        run = self.live.get(agent, "")
        wish = ShutdownRequest(
            f"r{len(self.store.events.read(0, '', 9999))}", "core", agent, run, "boss", ""
        )
        asked = self._tried(self.team.shutdowns.ask, wish._replace(force=force))
        assert bool(asked) == bool(run)
        if asked:
            assert asked.news == (run not in self.asked)
            assert asked.request.force >= force
            self.asked[run] = asked.request.id

    @rule(agent=AGENTS, move=ANSWERS)
    def answer(self, agent: str, move: Move) -> None:
        run = self.live.get(agent, "")
        if run in self.asked:
            before = self.team.shutdowns.request(self.asked[run])
            told = self.team.shutdowns.move(self.asked[run], move, "because")
            assert before
            assert told.moved == (before.phase == "requested")
            if told.moved and move is not Move.APPROVE:
                del self.asked[run]

    @rule(agent=AGENTS)
    def write(self, agent: str) -> None:
        self.messages += [
            one.id for one in self.team.messages.send("core", agent, ["inbox"], "plain", "x")
        ]

    @rule(limit=st.integers(0, 3))
    def read(self, limit: int) -> None:
        assert [one.id for one in self.team.messages.take("inbox", limit)] == self.messages[:limit]
        del self.messages[:limit]

    @invariant()
    def who_lives_belongs_to_it_in_a_colour_of_its_own(self) -> None:
        members = self.team.teams.members("core")
        assert {member.agent: member.run for member in members} == self.live
        colours = [member.colour for member in members]
        assert len(set(colours)) == len(colours)
        assert set(colours) <= set(COLOURS)

    @invariant()
    def every_task_is_in_one_state(self) -> None:
        for task in self.team.team_tasks.tasks():
            expected = "completed" if task.id in self.done else "pending"
            held = self.held.get(task.id)
            assert task.status == ("in_progress" if held else expected)
            if held:
                assert (task.owner, task.token) == held

    @invariant()
    def only_who_lives_is_asked(self) -> None:
        assert {one.run: one.id for one in self.team.shutdowns.open_requests()} == self.asked

    def _tried(self, deed: Any, *args: Any) -> Any:
        try:
            return deed(*args)
        except KnellError:
            return None


TestTeamLife = TeamLife.TestCase
TestTeamLife.settings = some_of(60, stateful_step_count=50)
