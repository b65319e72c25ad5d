"""Many hands at one team at the same moment: one ending each, and every task in one state."""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from contracts.t_scenes import (
    Puppet,
    add_task,
    begun,
    colours,
    crew,
    events,
    gone,
    is_over,
    kill_agent,
    leader,
    member,
    members,
    requests,
)
from house import House, alive, eventually
from knell.core.agent import Agent
from knell.core.errors import KnellError
from knell.core.ports.ending_store import ClaimRequest
from knell.core.process import ProcessId
from knell.core.receipt import Result
from knell.core.run import Ending, Outcome, Place, Run, State
from knell.core.shutdown import OPEN, PHASES, Move, Phase, ShutdownRequest
from knell.core.teams import COLOURS, Team, TeamTask
from knell.life.base.receipts import blank
from knell.stores.sqlite import SqliteStore
from preloaded import Forked

DEAF = (("DEAF", "1"),)
Ends = Forked | subprocess.Popen[str]


def over(commands: Sequence[Ends]) -> list[tuple[int, str, str]]:
    said = [command.communicate(timeout=300) for command in commands]
    return [(c.wait(), out, err) for c, (out, err) in zip(commands, said, strict=True)]


def one_ending(house: House, agent: str) -> None:
    """Claimed once, ended once, in one transaction with all that it gave back."""
    assert len(events(house, "life.stopping", agent)) == 1
    assert len(events(house, "life.stopped", agent)) == 1
    assert len(events(house, "team.left", agent)) == 1


@pytest.mark.parametrize("kills", [15, pytest.param(50, marks=pytest.mark.stress)])
def test_many_kills_of_one_agent_are_one_ending(house: House, kills: int) -> None:
    boss, wendy = crew(house, env=DEAF)
    for number in range(3):
        add_task(house, f"T-{number}", owner="wendy")
    token = boss.token
    words = ("kill", "wendy", "--grace", "5", "--json")
    ends = over([begun(house, *words, KNELL_TOKEN=token) for _ in range(kills)])
    assert {code for code, _, _ in ends} == {0}, ends
    receipts = [json.loads(out)["receipts"][0] for _, out, _ in ends]
    results = Counter(receipt["result"] for receipt in receipts)
    assert results == {"ended": 1, "already_ended": kills - 1}
    assert {tuple(t["id"] for t in receipt["tasks"]) for receipt in receipts} == {
        ("T-0", "T-1", "T-2")
    }
    one_ending(house, "wendy")
    assert len(events(house, "task.reassigned", "wendy")) == 3
    assert not alive(wendy.pid)
    assert members(house) == ["boss"]


CLAIMER = """
import json, os, signal, subprocess, sys, time
signal.alarm(1200)
sys.path[:0] = json.loads(os.environ["PATHS"])
from knell import Knell
from knell.core.errors import KnellError
knell = Knell()
open(os.environ["KNELL_READY"], "w").close()
while not os.path.exists("go"):
    time.sleep(0.05)
while True:
    time.sleep(0.05)
    for task in knell.tasks("red", status="pending"):
        try:
            claim = knell.task(task.id).claim().task
            if int(task.id[2:]) % 3 == 0:
                knell.task(task.id).complete(claim.token)
        except KnellError:
            pass
"""


@pytest.mark.parametrize("agents", [6, pytest.param(20, marks=pytest.mark.stress)])
def test_agents_that_claim_are_killed_and_no_task_is_lost(house: House, agents: int) -> None:
    """Each claims what it can get, and finishes some of it, until it is ended in the middle."""
    house.knell.team("red").create()
    paths = {"PATHS": json.dumps(sys.path)}
    names = [f"w-{number}" for number in range(agents)]
    for name in names:
        ready = house.root / f"{name}.up"
        house.knell.spawn(
            command=(sys.executable, "-c", CLAIMER),
            name=name,
            cwd=str(house.root),
            env=paths | {"KNELL_READY": str(ready)},
            team="red",
            place="headless",
        )
    eventually(lambda: len(list(house.root.glob("w-*.up"))) == agents)
    for number in range(30):
        add_task(house, f"T-{number}")
    (house.root / "go").touch()
    eventually(lambda: len(events(house, "task.claimed")) >= 5)
    ends = over([begun(house, "kill", name, "--json") for name in names])
    assert {code for code, _, _ in ends} == {0}, ends
    for name in names:
        one_ending(house, name)
    tasks = house.knell.tasks("red")
    assert len(tasks) == 30
    assert {(t.status, t.owner == "") for t in tasks} <= {("pending", True), ("completed", False)}
    handed = Counter(t["task"] for t in events(house, "task.reassigned"))
    claims = Counter(t["task"] for t in events(house, "task.claimed"))
    done = Counter(t["task"] for t in events(house, "task.completed"))
    for one in tasks:
        assert done[one.id] == (one.status == "completed")
        assert claims[one.id] == handed[one.id] + done[one.id], "each claim ended in one way"
    assert members(house) == []


def test_a_kill_while_it_approves_is_one_ending(house: House) -> None:
    boss = leader(house)
    for round_ in range(4):
        wendy = Puppet(house, "wendy", team="red")
        add_task(house, f"T-{round_}", owner="wendy")
        boss.asks("ask", "wendy")
        token = boss.token
        approval = wendy.call("approve")
        killers = [begun(house, "kill", "wendy", "--json", KNELL_TOKEN=token) for _ in range(2)]
        ends = over(killers)
        approval.close()
        gone(house, "wendy")
        assert {code for code, _, _ in ends} == {0}, ends
        newest = requests(house)[0]
        assert newest.phase in ("confirmed", "force_killed")
        assert newest.completed_at
        assert not alive(wendy.pid)
        assert len(events(house, "life.stopped", "wendy")) == round_ + 1
        assert len(events(house, "task.reassigned", "wendy")) == round_ + 1
        assert list(colours(house)) == ["boss"]
    assert house.knell.world.store.runs.leaving() == frozenset()


def test_an_approval_while_it_is_forced_is_one_ending(house: House) -> None:
    boss, wendy = crew(house, env=DEAF)
    add_task(house, "T-1", owner="wendy")
    boss.asks("ask", "wendy")
    with boss.call("kill", "wendy", "--grace", "3", "--json") as killing:
        eventually(lambda: events(house, "life.stopping", "wendy"))
        approval = wendy.call("approve")
        code, out, _ = json.loads(killing.makefile().readline())
        approval.close()
    assert code == 0
    assert json.loads(out)["receipts"][0]["result"] in ("ended", "already_ended")
    gone(house, "wendy")
    one_ending(house, "wendy")
    assert requests(house)[0].phase == "force_killed"
    assert requests(house)[0].force
    assert members(house) == ["boss"]


def test_many_who_force_and_ask_at_once_through_the_tool(house: House) -> None:
    boss, wendy = crew(house)
    wanda = member(house, "wanda")
    add_task(house, "T-1", owner="wendy")
    with ThreadPoolExecutor(12) as pool:
        calls = [
            pool.submit(kill_agent, house, boss, "wendy", force=bool(number % 2))
            for number in range(12)
        ]
        answers = [call.result() for call in calls]
    known = {
        "",
        "Agent 'wendy' is already terminated",
        "Agent already in shutdown. Use force=true to override.",
    }
    assert {answer.error for answer in answers} <= known
    assert any(answer.success and answer.phase == "force_killed" for answer in answers)
    one_ending(house, "wendy")
    assert is_over(house, "wendy")
    assert (alive(wendy.pid), alive(wanda.pid)) == (False, True)
    assert len([r for r in requests(house) if r.phase == "force_killed"]) == 1
    assert house.knell.world.store.runs.leaving() == frozenset()


def test_twelve_join_at_once_and_each_has_a_colour(house: House) -> None:
    leader(house)
    names = [f"w-{number}" for number in range(9)]
    words = ("--team", "red", "--in", "headless", "--", "sleep", "100")
    ends = over([begun(house, "spawn", "--name", name, *words) for name in names])
    assert {code for code, _, _ in ends} == {0}, ends
    held = colours(house)
    assert sorted(held) == ["boss", *names]
    assert sorted(held.values()) == sorted(COLOURS)


# -- whatever the order: the record follows the table ----------------------------------------------

ASKERS = ("boss", "operator")
MOVES = st.sampled_from([Move.APPROVE, Move.REJECT, Move.WITHDRAW])
OUTCOMES = st.sampled_from([Outcome.KILLED, Outcome.COMPLETED, Outcome.LOST, Outcome.ARCHIVED])


class Negotiation(RuleBasedStateMachine):
    """One agent of several lives, two tasks, and everybody who wants something of it at once.

    The model is the table of phases, a flag, and who holds what."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ticks = 0
        self.store = SqliteStore(f"{self.folder.name}/knell.db", now=self.now)
        self.team = self.store
        self.team.teams.add(Team("red", ""))
        for name in ("T-1", "T-2"):
            self.team.team_tasks.add(TeamTask(name, "red", "Work"))
        self.lives = 0
        self.live = ""
        self.phases: dict[str, Phase] = {}  # request → how far it came
        self.force: dict[str, bool] = {}
        self.open = ""  # the request of this life
        self.holds: dict[str, int] = {}  # task → the number of the claim
        self.old: list[tuple[str, int]] = []
        self.done: set[str] = set()
        self.begin()

    def now(self) -> str:
        self.ticks += 1
        return f"2026-01-01T00:{self.ticks // 60 % 60:02}:{self.ticks % 60:02}.000+00:00"

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @precondition(lambda self: not self.live)
    @rule()
    def begin(self) -> None:
        self.lives += 1
        self.live = f"run-{self.lives}"
        run = Run(self.live, "wendy", "here", State.SPAWNING, Place("headless"), self.now())
        self.store.runs.add(Agent("wendy", "command", "/", team="red"), run)
        self.team.runs.set_token(self.live, f"digest-{self.lives}")

    @precondition(lambda self: self.live)
    @rule(by=st.sampled_from(ASKERS), force=st.booleans())
    def ask(self, by: str, *, force: bool) -> None:
        id = f"request-{len(self.phases) + 1}"
        asked = self.team.shutdowns.ask(
            ShutdownRequest(id, "red", "wendy", self.live, by, Phase.REQUESTED.value, force=force)
        )
        assert asked.news == (not self.open)
        if asked.news:
            self.open, self.phases[id], self.force[id] = id, Phase.REQUESTED, False
        assert asked.request.id == self.open
        self.force[self.open] |= force

    @precondition(lambda self: self.phases)
    @rule(move=MOVES, choice=st.data())
    def answer(self, move: Move, choice: Any) -> None:
        id = choice.draw(st.sampled_from(sorted(self.phases)))
        after = PHASES.get((self.phases[id], move))
        moved = self.team.shutdowns.move(id, move, "because")
        assert moved.moved == (after is not None)
        if after is not None:
            self.phases[id] = after
            if after not in OPEN:
                self.open = ""

    @precondition(lambda self: self.live)
    @rule(outcome=OUTCOMES)
    def die(self, outcome: Outcome) -> None:
        run = self.store.runs.run(self.live)
        assert run
        me = ProcessId(1, 1, "boot")
        ending = Ending(outcome, "somebody", "because")
        self.store.endings.claim([ClaimRequest(run.id, ending)], me)
        claimed = self.store.runs.run(self.live)
        assert claimed
        receipt = self.store.endings.end(
            claimed._replace(ending=ending), blank("wendy", Result.ENDED, self.now()), ()
        )
        assert {task["id"] for task in receipt.tasks} == set(self.holds)
        if self.open:
            gone = Move.FORCE if self.force[self.open] else Move.GONE
            move = Move.LET_GO if outcome is Outcome.ARCHIVED else gone
            self.phases[self.open] = PHASES[self.phases[self.open], move]
        self.old += self.holds.items()
        self.holds, self.open, self.live = {}, "", ""

    @rule(task=st.sampled_from(["T-1", "T-2"]))
    def claim(self, task: str) -> None:
        free = task not in self.done and task not in self.holds
        try:
            claimed = self.team.team_tasks.claim(task, "wendy", self.live)
        except KnellError:
            assert not (self.live and free)
            return
        assert self.live
        assert free
        self.holds[task] = claimed.token

    @precondition(lambda self: self.holds)
    @rule(release=st.booleans(), choice=st.data())
    def finish(self, choice: Any, *, release: bool) -> None:
        task = choice.draw(st.sampled_from(sorted(self.holds)))
        token = self.holds.pop(task)
        if release:
            self.team.team_tasks.release(task, "wendy", token)
            self.old.append((task, token))
        else:
            self.team.team_tasks.complete(task, "wendy", token)
            self.done.add(task)

    @precondition(lambda self: self.old)
    @rule(release=st.booleans(), choice=st.data())
    def come_late(self, choice: Any, *, release: bool) -> None:
        """A former claim is worth nothing, in whatever state the task is."""
        task, token = choice.draw(st.sampled_from(self.old))
        before = self.team.team_tasks.task(task)
        deed = self.team.team_tasks.release if release else self.team.team_tasks.complete
        try:
            deed(task, "wendy", token)
        except KnellError:
            assert self.team.team_tasks.task(task) == before
        else:
            raise AssertionError("a former claim was taken for a present one")

    @invariant()
    def the_record_is_the_model(self) -> None:
        known = {id: self.team.shutdowns.request(id) for id in self.phases}
        assert {id: one and one.phase for id, one in known.items()} == self.phases
        assert {id: one and one.force for id, one in known.items()} == self.force
        assert self.store.runs.leaving() == ({self.live} if self.open else frozenset())
        assert [one.id for one in self.team.shutdowns.open_requests()] == (
            [self.open] if self.open else []
        )

    @invariant()
    def every_task_is_in_one_state(self) -> None:
        for task in self.team.team_tasks.tasks("red"):
            if task.id in self.done:
                assert task.status == "completed"
            elif task.id in self.holds:
                assert (task.status, task.owner_run) == ("in_progress", self.live)
            else:
                assert (task.status, task.owner, task.owner_run) == ("pending", "", "")

    @invariant()
    def a_seat_and_a_token_live_as_long_as_the_run(self) -> None:
        assert list(self.store.runs.seats()) == (["wendy"] if self.live else [])
        holders = [
            self.team.runs.run_of_token(f"digest-{life}") for life in range(1, self.lives + 1)
        ]
        assert [run.id for run in holders if run] == ([self.live] if self.live else [])


TestNegotiation = Negotiation.TestCase
EXAMPLES = 60 if os.environ.get("KNELL_CHAOS") else 20
TestNegotiation.settings = settings(max_examples=EXAMPLES, stateful_step_count=30)
