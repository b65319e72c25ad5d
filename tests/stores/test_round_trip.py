"""Whatever goes into a store comes out of it as it was."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from store_samples import OTHER, Open, claimed

from examples import some_of
from knell.core.agent import NAME, Agent
from knell.core.codes import Code, Notice
from knell.core.orchestrator_task import Fate
from knell.core.ports.ending_store import Won
from knell.core.ports.store import Store
from knell.core.process import LAST_PID, ProcessId
from knell.core.receipt import (
    Conversation,
    Death,
    Ended,
    Left,
    Pane,
    Proof,
    Receipt,
    Result,
    RungRecord,
    Survivor,
)
from knell.core.run import Ending, Orphan, Outcome, Place, Run, State

st.register_type_strategy(Code, st.sampled_from(Code.every()))

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TOLD = TEXT.filter(bool)
TEXTS = st.lists(TEXT, max_size=4).map(tuple)
NUMBER = st.integers(0, 2**63 - 1)
BOOT = st.text("0123456789abcdef-", min_size=1, max_size=36)
CODE = st.none() | st.integers(-255, 255)
PROCESS = st.builds(ProcessId, st.integers(0, LAST_PID), NUMBER, BOOT, NUMBER)
MAYBE_PROCESS = st.none() | PROCESS
PLACE = st.builds(Place, TEXT, TEXT, TEXT, NUMBER, TEXT, TEXT)
NO_WISH = st.just("")
ENDING = st.builds(
    Ending, st.sampled_from(Outcome), TEXT, TEXT, TEXT, CODE, CODE, tasks=NO_WISH, cleanup=NO_WISH
)
ASKED = st.builds(
    lambda ending, tasks, cleanup: ending._replace(tasks=tasks, cleanup=cleanup),
    ENDING,
    NO_WISH | st.sampled_from([str(fate) for fate in Fate]),
    TEXT,
)
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple)

AGENT = st.builds(
    Agent,
    name=st.from_regex(NAME, fullmatch=True),
    kind=TEXT,
    cwd=TEXT,
    args=TEXTS,
    env=PAIRS,
    place=TEXT,
    server=TEXT,
    team=TEXT,
    tag=TEXT,
    role=TEXT,
    task=TEXT,
    keep=TEXTS,
    conversation=TEXT,
    created_at=TOLD,
    restart=NUMBER,
    cut_off_after=NUMBER,
)
RUN = st.builds(
    Run,
    id=st.text(
        "0123456789abcdef", min_size=12, max_size=12
    ),  # it names a directory: knell makes it
    agent=st.just(""),
    host=TEXT,
    state=st.sampled_from([State.SPAWNING, State.RUNNING]),
    place=PLACE,
    started_at=TOLD,
    parent=TEXT,
    keeper=MAYBE_PROCESS,
    process=MAYBE_PROCESS,
    cgroup=TEXT,
    owner=st.none() | st.just(OTHER),
    ending=st.none(),
    ended_at=TOLD,
    rung=st.just(""),
    task=TEXT,
    restarted_from=st.just(""),
    attempt=NUMBER,
    heartbeat=TEXT,
    seal=st.just(""),  # the digest of its token, which is given to it later
)
SECONDS = st.none() | st.floats(0, allow_nan=False, allow_infinity=False)
DEATH = st.builds(
    Death, seconds=SECONDS, cpu_seconds=SECONDS, run_cpu_seconds=SECONDS, evidence=TEXTS,
    left=st.lists(st.builds(Left, NUMBER, TEXT, TEXT), max_size=2).map(tuple),
)  # fmt: skip
SURVIVORS = st.lists(st.builds(Survivor, NUMBER, TEXT, TEXT, TEXT), max_size=2).map(tuple)
RECEIPT = st.builds(
    Receipt,
    agent=TEXT,
    run=TEXT,
    kind=TEXT,
    place=TEXT,
    by=TEXT,
    reason=TEXT,
    outcome=TEXT,
    result=st.sampled_from(Result),
    pid=st.none() | NUMBER,
    started_at=TEXT,
    finished_at=TEXT,
    duration_ms=NUMBER,
    proof=st.none() | st.sampled_from(Proof),
    rungs=st.lists(st.builds(RungRecord, TEXT, NUMBER, st.booleans()), max_size=3).map(tuple),
    processes=st.lists(st.builds(Ended, NUMBER, TEXT, TEXT, TEXT), max_size=3).map(tuple),
    survivors=SURVIVORS,
    kept=SURVIVORS,
    pane=st.builds(Pane, TEXT, TEXT, st.none() | st.booleans(), TEXT),
    tasks=st.lists(st.dictionaries(TEXT, TEXT, max_size=2), max_size=2).map(tuple),
    worktree=TEXT,
    conversation=st.builds(
        Conversation, TEXT, st.none() | st.booleans(), st.none() | st.booleans(), TEXT
    ),
    screen=TEXT,
    detail=TEXT,
    code=st.none() | st.sampled_from(Code.every()),
    exit_code=CODE,
    exit_signal=CODE,
    max_rss_kb=st.none() | NUMBER,
    cpu_seconds=SECONDS,
    warnings=st.lists(st.builds(Notice, text=TEXT), max_size=3).map(tuple),
    death=DEATH,
)
ORPHAN = st.builds(Orphan, TEXT, TEXT, TEXT, PROCESS, TEXT, TEXT)

# The store of one test serves all its examples, so each takes a name of its own.
shared = some_of(60)
numbers = itertools.count()


@shared
@given(agent=AGENT)
def test_an_agent_comes_back_as_it_was(store: Store, agent: Agent) -> None:
    agent = agent._replace(name=f"{agent.name}-{next(numbers)}")
    run = Run(f"run-{next(numbers)}", agent.name, "h", State.SPAWNING, Place("headless"), "now")
    store.runs.add(agent, run)
    assert store.runs.agent(agent.name) == agent
    assert store.runs.agents()[-1] == agent


@shared
@given(run=RUN, asked=ASKED, final=ENDING, receipt=RECEIPT)
def test_a_run_comes_back_as_it_was_all_its_life(
    connect: Open, run: Run, asked: Ending, final: Ending, receipt: Receipt
) -> None:
    store, reader = connect(), connect()
    name = f"ada-{next(numbers)}"
    run = run._replace(id=f"{run.id}-{next(numbers)}", agent=name)
    store.runs.add(Agent(name, "claude", "/"), run)
    assert reader.runs.run(run.id) == run._replace(ended_at="")
    claim = claimed(store, run.id, asked, OTHER, None)
    stopping = run._replace(state=State.STOPPING, owner=OTHER, ending=asked, ended_at="")
    assert claim == Won(stopping)
    assert reader.runs.newest()[name] == stopping
    if final.outcome is Outcome.ARCHIVED:  # letting go is not for a run that is being ended
        final = final._replace(outcome=Outcome.STOPPED)
    store.endings.end(run._replace(ending=final), receipt, ())
    assert reader.runs.run(run.id) == run._replace(state=State.ENDED, owner=None, ending=final)
    assert reader.endings.receipt(run.id) == receipt
    store.close()
    reader.close()


@shared
@given(orphans=st.lists(ORPHAN, max_size=4, unique_by=lambda orphan: orphan.process[:3]))
def test_orphans_come_back_as_they_were(store: Store, orphans: list[Orphan]) -> None:
    store.runs.track_orphans(orphans)
    assert store.runs.orphans() == orphans
    store.runs.untrack_orphans([orphan.process for orphan in orphans])
    assert store.runs.orphans() == []
