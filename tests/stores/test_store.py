"""What every store promises. Runs against each plug in conftest.PLUGS."""

import itertools
from collections.abc import Callable

import pytest
from store_samples import (
    KILLED,
    KILLER,
    OTHER,
    SPAWNER,
    STOPPED,
    Clock,
    Open,
    Race,
    a_process,
    a_receipt,
    a_run,
    an_agent,
    an_orphan,
    claimed,
    ended,
    known,
    running,
    spawned,
    stopping,
    trail,
)

from knell.core.conversation import KnownConversation
from knell.core.errors import IllegalTransition, NoSuchAgent, StillRunning, StoreFailed
from knell.core.ports.ending_store import HeldByOther, Over, Won
from knell.core.ports.store import Store
from knell.core.process import ProcessId
from knell.core.receipt import Proof, Result
from knell.core.run import TRANSITIONS, Ending, Happening, Outcome, Place, Run, State

PANE = Place("tmux", "%3", "/tmp/tmux.sock", 99, "work", "")


# -- birth -------------------------------------------------------------------------------------


def test_a_new_store_is_empty(store: Store) -> None:
    assert store.runs.agents() == store.runs.live() == store.runs.orphans() == trail(store) == []
    assert store.runs.newest() == {}
    assert (
        store.runs.agent("ada") is store.runs.run("run-1") is store.endings.receipt("run-1") is None
    )
    assert store.runs.of("ada") == []


def test_a_new_store_may_be_opened_by_ten_at_once(connect: Open, race: Race) -> None:
    assert race(10, "look") == ["0 live"] * 10
    assert spawned(connect()) == a_run()


def test_a_spawn_records_agent_run_and_instance_at_once(store: Store) -> None:
    agent = an_agent(args=("--model", "x"), env=(("A", "1"),), keep=("node *",), tag="dev")
    run = a_run(place=PANE, parent="run-0")
    store.runs.add(agent, run)
    assert store.runs.agent("ada") == agent._replace(created_at=run.started_at)
    assert store.runs.live() == [run]
    assert [(e.type, e.agent, e.run) for e in trail(store)] == [("life.spawning", "ada", "run-1")]


def test_an_identity_outlives_its_runs(store: Store) -> None:
    first = store.runs.agent(ended(store).agent)
    store.runs.add(an_agent(task="T-2", created_at="2031-01-01T00:00:00Z"), a_run("run-2"))
    again = store.runs.agent("ada")
    assert first
    assert again
    assert again == first._replace(task="T-2")
    assert [run.id for run in store.runs.of("ada")] == ["run-2", "run-1"]


@pytest.mark.parametrize("live", [spawned, running, stopping])
def test_one_agent_has_one_life_at_a_time(store: Store, live: Callable[[Store], Run]) -> None:
    before, agent = live(store), store.runs.agent("ada")
    with pytest.raises(StillRunning, match="'ada' is still running"):
        store.runs.add(an_agent(task="other"), a_run("run-2"))
    assert store.runs.live() == [before]
    assert store.runs.agent("ada") == agent
    assert store.runs.run("run-2") is None


def test_two_spawns_of_one_name_at_once_make_one_run(store: Store, race: Race) -> None:
    assert sorted(race(2, "add")) == ["StillRunning", "added"]
    assert len(store.runs.live()) == 1
    assert len(trail(store, "life.spawning")) == 1


def test_being_born_settles_where_it_lives(store: Store) -> None:
    run = spawned(store)._replace(
        place=PANE, keeper=a_process(7), process=a_process(8), cgroup="/knell/run-1"
    )
    store.runs.mark_born(run)
    assert known(store) == run._replace(state=State.RUNNING, owner=None)
    assert trail(store)[-1].type == "life.started"
    assert trail(store)[-1].data["pid"] == 8


@pytest.mark.parametrize("live", [running, stopping])
def test_being_born_twice_changes_nothing(store: Store, live: Callable[[Store], Run]) -> None:
    before, told = live(store), trail(store)
    store.runs.mark_born(before._replace(place=PANE))
    assert known(store) == before
    assert trail(store) == told


@pytest.mark.parametrize("seen", [True, False])
def test_a_birth_that_is_told_after_the_end_changes_nothing(store: Store, *, seen: bool) -> None:
    """Two commands tidy up after a dead spawner: one tells of the birth when the other is done."""
    run = spawned(store)
    alive = run._replace(process=a_process())
    end = (alive if seen else run)._replace(ending=KILLED)
    store.endings.end(end, a_receipt(run), ())
    before = known(store)
    store.runs.mark_born(alive)
    assert known(store) == before
    assert not before.live


def test_another_process_cannot_be_born_into_a_running_run(store: Store) -> None:
    run = running(store)
    with pytest.raises(IllegalTransition):
        store.runs.mark_born(run._replace(process=a_process(4_001)))
    assert known(store) == run


def test_a_kill_that_overtook_the_spawn_keeps_its_claim(store: Store) -> None:
    run = spawned(store)
    assert isinstance(claimed(store, run.id, KILLED, KILLER, SPAWNER), Won)
    store.runs.mark_born(run._replace(process=a_process(8)))
    now = known(store)
    assert (now.state, now.owner, now.process) == (State.STOPPING, KILLER, a_process(8))


# -- claims ------------------------------------------------------------------------------------


def test_a_claim_is_on_record_before_the_first_signal(store: Store, connect: Open) -> None:
    run = running(store)
    claim = claimed(store, run.id, STOPPED, KILLER, None)
    assert claim == Won(run._replace(state=State.STOPPING, owner=KILLER, ending=STOPPED))
    assert known(connect()) == claim.run
    event = trail(store, "life.stopping")[-1]
    assert (event.data["by"], event.data["reason"]) == ("leader", "user_request")


def test_G22_a_second_killer_is_told_who_holds_the_run(store: Store, connect: Open) -> None:
    won = stopping(store)
    assert claimed(connect(), "run-1", STOPPED, OTHER, None) == HeldByOther(won)
    assert claimed(connect(), "run-1", STOPPED, OTHER, SPAWNER) == HeldByOther(
        won
    )  # not the one that died
    assert known(store) == won


def test_a_spawner_at_work_holds_its_run(store: Store) -> None:
    run = spawned(store)
    assert claimed(store, run.id, KILLED, KILLER, None) == HeldByOther(run)


def test_asking_for_an_ended_run_is_told_its_end(store: Store) -> None:
    run = ended(store)
    assert claimed(store, run.id, STOPPED, OTHER, None) == Over(run)
    assert known(store) == run


def test_G22_of_twenty_killers_one_wins(store: Store, race: Race) -> None:
    running(store)
    said = race(20, "claim")
    assert (said.count("Won"), said.count("HeldByOther")) == (1, 19)
    assert len(trail(store, "life.stopping")) == 1


def test_G23_a_dead_owners_claim_passes_to_exactly_one(store: Store, race: Race) -> None:
    spawned(store)
    said = race(20, "take_over")
    assert (said.count("Won"), said.count("HeldByOther")) == (1, 19)


def test_G23_what_a_dead_killer_decided_stands(store: Store) -> None:
    run = running(store)
    claimed(store, run.id, STOPPED, KILLER, None)
    store.endings.record_rungs([(run, "term")])
    claim = claimed(store, run.id, KILLED._replace(outcome=Outcome.LOST), OTHER, KILLER)
    assert isinstance(claim, Won)
    assert (claim.run.ending, claim.run.owner, claim.run.rung) == (STOPPED, OTHER, "term")


def test_a_kill_overrules_what_a_dead_stopper_decided(store: Store) -> None:
    run = running(store)
    claimed(store, run.id, STOPPED, KILLER, None)
    claim = claimed(store, run.id, KILLED, OTHER, KILLER)
    assert isinstance(claim, Won)
    assert claim.run.ending == KILLED


def test_the_holder_may_claim_again_and_change_its_mind(store: Store) -> None:
    stopping(store)
    claim = claimed(store, "run-1", STOPPED, KILLER._replace(inode=0), None)
    assert isinstance(claim, Won)
    assert claim.run.ending == STOPPED


def test_a_reused_pid_is_not_the_owner(store: Store) -> None:
    stopping(store)
    reused = ProcessId(KILLER.pid, KILLER.start + 1, KILLER.boot)
    assert isinstance(claimed(store, "run-1", KILLED, reused, None), HeldByOther)
    assert isinstance(claimed(store, "run-1", KILLED, OTHER, reused), HeldByOther)


def test_rungs_of_many_runs_are_written_down_at_once(store: Store) -> None:
    runs = [running(store, f"run-{n}", f"agent-{n}") for n in range(3)]
    gone = ended(store, "run-9", "agent-9")
    unknown = gone._replace(id="nobody")
    store.endings.record_rungs([(run, "term") for run in [*runs, gone, unknown]])
    store.endings.record_rungs([])
    assert [run.rung for run in store.runs.live()] == ["term"] * 3
    told = trail(store, "life.rung")
    assert [(event.run, event.data) for event in told] == [(r.id, {"rung": "term"}) for r in runs]
    assert known(store, "run-9") == gone


# -- failed endings ----------------------------------------------------------------------------


def test_G9_a_run_that_could_not_be_ended_stays_live(store: Store) -> None:
    run = stopping(store)
    store.endings.record_rungs([(run, "kill")])
    refused = a_receipt(run, result=Result.PERMISSION_DENIED, proof=Proof.SURVIVORS)
    store.endings.spare(run.id, refused)
    assert store.runs.live() == [
        run._replace(state=State.RUNNING, owner=None, ending=None, rung="")
    ]
    assert store.endings.receipt(run.id) == refused
    assert trail(store, "life.spared")[-1].data["receipt"] == refused.to_json()
    assert isinstance(claimed(store, run.id, KILLED, OTHER, None), Won)


def test_the_newest_receipt_is_the_one_that_counts(store: Store) -> None:
    run = stopping(store)
    store.endings.spare(run.id, a_receipt(run, result=Result.SURVIVORS))
    claimed(store, run.id, KILLED, KILLER, None)
    store.endings.end(run, a_receipt(run), ())
    receipt = store.endings.receipt(run.id)
    assert receipt
    assert receipt.result is Result.ENDED


# -- endings -----------------------------------------------------------------------------------


def test_H15_an_ending_is_told_with_who_and_why(store: Store) -> None:
    ended(store, ending=KILLED._replace(detail="stuck"))
    event = trail(store)[-1]
    assert (event.type, event.agent, event.run) == ("life.stopped", "ada", "run-1")
    told = ("action", "by", "reason", "outcome", "detail")
    assert [event.data[key] for key in told] == [
        *("stopped", "operator", "killed", "killed", "stuck")
    ]


def test_H16_the_instance_goes_and_the_run_stays(store: Store, connect: Open) -> None:
    run = stopping(store)
    final = run._replace(
        place=PANE, ending=KILLED._replace(exit_signal=9), ended_at="2030-06-01T00:00:00Z"
    )
    store.endings.end(final, a_receipt(run), ())
    assert connect().runs.live() == []
    assert known(connect()) == final._replace(state=State.ENDED, owner=None)
    assert connect().runs.newest() == {"ada": known(store)}
    assert connect().endings.receipt(run.id) == a_receipt(run)


def test_H40_the_snapshot_holds_what_a_resume_needs(store: Store) -> None:
    agent = an_agent(args=("--model", "x"), env=(("A", "ü"),), keep=("node *",), conversation="c-1")
    store.runs.add(agent, a_run(place=PANE))
    store.endings.end(
        a_run(place=PANE, ending=STOPPED, process=a_process(8)), a_receipt(a_run()), ()
    )
    kept = trail(store)[-1].data["snapshot"]
    told = kept["agent"]
    assert (told["name"], told["kind"], told["cwd"]) == ("ada", "claude", "/srv/project")
    assert (told["args"], told["env"], told["keep"]) == (["--model", "x"], ["A"], ["node *"])
    assert told["conversation"] == "c-1"
    assert (kept["run"]["pid"], kept["run"]["place"]["pane"]) == (8, "%3")
    assert store.runs.agent("ada") == agent._replace(created_at=a_run().started_at)


def test_H25_what_outlives_a_run_is_tracked_apart_from_the_instances(store: Store) -> None:
    run = running(store)
    letting_go = run._replace(ending=STOPPED._replace(outcome=Outcome.ARCHIVED))
    store.endings.end(letting_go, a_receipt(run), [an_orphan(1), an_orphan(2)])
    assert store.runs.live() == []
    assert store.runs.orphans() == [an_orphan(1), an_orphan(2)]
    assert known(store).ending == letting_go.ending


def test_G33_an_ended_run_is_final(store: Store) -> None:
    run = ended(store)
    receipt, told = store.endings.receipt(run.id), trail(store)
    late = run._replace(ending=STOPPED, place=PANE, ended_at="2040-01-01T00:00:00Z")
    store.endings.end(late, a_receipt(late), [an_orphan()])
    assert (known(store), store.endings.receipt(run.id), trail(store)) == (run, receipt, told)
    assert store.runs.orphans() == []


def test_G22_ten_endings_of_one_run_leave_one_receipt_and_one_event(
    store: Store, race: Race
) -> None:
    running(store)
    assert race(10, "end") == ["done"] * 10
    (event,) = trail(store, "life.stopped")
    ending = known(store).ending
    assert ending
    assert ending.by == event.data["by"]


@pytest.mark.parametrize("looks", [1, 2, 3])
def test_G23_whoever_dies_while_ending_leaves_nothing_half_done(
    store: Store, race: Race, looks: int
) -> None:
    run, told = stopping(store), trail(store)
    assert race(1, "end", str(looks)) == [""]
    assert (store.runs.live(), trail(store), store.endings.receipt(run.id)) == ([run], told, None)
    store.endings.end(run, a_receipt(run), ())
    assert not known(store).live


def test_a_failure_in_the_middle_of_an_ending_undoes_all_of_it(store: Store) -> None:
    run, told = stopping(store), trail(store)
    too_big = an_orphan(process=ProcessId(2**70, 1, "boot-a"))
    with pytest.raises(OverflowError):
        store.endings.end(run, a_receipt(run), [too_big])
    assert (store.runs.live(), trail(store), store.endings.receipt(run.id)) == ([run], told, None)


def test_what_the_ender_did_not_know_is_kept(store: Store) -> None:
    run = running(store)
    store.endings.record_rungs([(run, "term")])
    store.endings.end(a_run(ending=KILLED), a_receipt(run), ())
    now = known(store)
    assert (now.keeper, now.process, now.rung) == (run.keeper, run.process, "term")


def test_an_end_takes_the_claims_word_where_it_brings_none(store: Store) -> None:
    run = stopping(store)
    store.endings.end(run._replace(ending=None), a_receipt(run), ())
    assert known(store).ending == KILLED
    with pytest.raises(ValueError, match="without an ending"):
        store.endings.end(running(store, "run-2"), a_receipt(run), ())


def test_G31_times_are_told_by_the_clock_not_by_the_database(store: Store, clock: Clock) -> None:
    run = ended(store)
    assert "2030-01-01T00:00:00Z" < run.ended_at < clock.last
    assert [event.at for event in trail(store)] == sorted(event.at for event in trail(store))


def test_G32_an_ending_without_words_is_not_lost(store: Store) -> None:
    run = ended(store, ending=Ending(Outcome.LOST, "", ""))
    assert run.ending == Ending(Outcome.LOST, "", "", "", None, None)


def test_G34_an_ending_touches_no_other_run_with_the_same_pid(store: Store) -> None:
    others = [running(store, f"run-{name}", name, pid=4_000) for name in ("bo", "cy")]
    ended(store)
    assert store.runs.live() == others


def test_an_unknown_run_is_said_to_be_unknown(store: Store) -> None:
    run = a_run("nobody", ending=KILLED)
    for deed in (
        lambda: store.runs.mark_born(run),
        lambda: claimed(store, run.id, KILLED, KILLER, None),
        lambda: store.endings.spare(run.id, a_receipt(run)),
        lambda: store.endings.end(run, a_receipt(run), ()),
    ):
        with pytest.raises(StoreFailed, match="no run nobody"):
            deed()


# -- the table ---------------------------------------------------------------------------------

STATES: dict[State, Callable[[Store], Run]] = {
    State.SPAWNING: spawned,
    State.RUNNING: running,
    State.STOPPING: stopping,
    State.ENDED: ended,
}


def happen(store: Store, happening: Happening) -> None:
    run = known(store)
    letting_go = run._replace(ending=KILLED._replace(outcome=Outcome.ARCHIVED))
    match happening:
        case Happening.BORN:
            store.runs.mark_born(run._replace(process=a_process(4_444)))
        case Happening.END_ASKED:
            claimed(store, run.id, KILLED, OTHER, run.owner)
        case Happening.SPARED:
            store.endings.spare(run.id, a_receipt(run))
        case Happening.LET_GO:
            store.endings.end(letting_go, a_receipt(run), ())
        case Happening.GONE:
            store.endings.end(run._replace(ending=KILLED), a_receipt(run), ())


# What an ended run answers quietly, as asking for what is already so is no error.
QUIET = {Happening.END_ASKED, Happening.LET_GO, Happening.GONE}


@pytest.mark.parametrize(("state", "happening"), list(itertools.product(State, Happening)))
def test_a_run_moves_only_along_the_table(store: Store, state: State, happening: Happening) -> None:
    before = STATES[state](store)
    assert before.state is state
    told = trail(store)
    if (state, happening) in TRANSITIONS:
        happen(store, happening)
        assert known(store).state is TRANSITIONS[state, happening]
        return
    if state is State.ENDED and happening in QUIET:
        happen(store, happening)
    else:
        with pytest.raises(IllegalTransition):
            happen(store, happening)
    assert (known(store), trail(store)) == (before, told)


@pytest.mark.parametrize("state", [State.STOPPING, State.ENDED])
def test_no_life_begins_at_its_end(store: Store, state: State) -> None:
    with pytest.raises(IllegalTransition):
        store.runs.add(an_agent(), a_run(state=state))
    assert store.runs.agents() == []


def test_an_adopted_run_is_running_at_once(store: Store) -> None:
    run = a_run(state=State.RUNNING, owner=None, process=a_process())
    store.runs.add(an_agent(), run)
    assert store.runs.live() == [run]
    assert [event.type for event in trail(store)] == ["life.started"]


# -- looking -----------------------------------------------------------------------------------


def test_live_runs_come_in_the_order_of_their_start(store: Store) -> None:
    for agent, hour in (("bo", 3), ("cy", 1), ("di", 2)):
        started = f"2030-01-01T0{hour}:00:00Z"
        store.runs.add(an_agent(agent), a_run(f"run-{agent}", agent, started_at=started))
    ended(store)
    assert [run.agent for run in store.runs.live()] == ["cy", "di", "bo"]
    assert [agent.name for agent in store.runs.agents()] == ["bo", "cy", "di", "ada"]


def test_the_last_run_of_each_agent_is_the_newest_live_or_ended(store: Store) -> None:
    for number in range(3):
        ended(store, f"ada-{number}", "ada")
        ended(store, f"bo-{number}", "bo")
    live = running(store, "bo-live", "bo")
    assert store.runs.newest() == {"ada": known(store, "ada-2"), "bo": live}
    assert [run.id for run in store.runs.of("bo")] == ["bo-live", "bo-2", "bo-1", "bo-0"]


def test_a_conversation_is_remembered(store: Store, connect: Open) -> None:
    spawned(store)
    store.runs.set_conversation("ada", KnownConversation("c-2", "told", "2030-01-01T00:00:00Z"))
    agent = connect().runs.agent("ada")
    assert agent
    assert agent.conversation == "c-2"
    assert (agent.conversation_source, agent.conversation_since[:4]) == ("told", "2030")
    with pytest.raises(NoSuchAgent):
        store.runs.set_conversation("adda", KnownConversation("c-2", "told"))


def test_H25_orphans_are_known_by_their_identity_not_by_their_pid(store: Store) -> None:
    first, second = an_orphan(1), an_orphan(2)
    reused = an_orphan(process=a_process(1)._replace(start=99))
    store.runs.track_orphans([first, second, reused])
    store.runs.track_orphans([second._replace(why="survived")])
    store.runs.untrack_orphans([first.process._replace(inode=0), a_process(77)])
    found = {orphan.process: orphan.why for orphan in store.runs.orphans()}
    assert found == {reused.process: "kept", second.process: "survived"}
    store.runs.track_orphans([])
    store.runs.untrack_orphans([])
    assert len(store.runs.orphans()) == 2


# -- the trail ---------------------------------------------------------------------------------


def test_a_follower_gets_each_event_once_and_in_order(store: Store, connect: Open) -> None:
    for number in range(10):
        store.events.record("test.note", "ada" if number % 2 else "bo", "run-1", {"number": number})
    reader = connect()

    def numbers(after: int, agent: str = "", limit: int = 100) -> list[int]:
        return [event.data["number"] for event in reader.events.read(after, agent, limit)]

    first = reader.events.read(0, "", 100)[0].id
    assert numbers(0) == list(range(10))
    assert numbers(0, limit=3) == [7, 8, 9]
    assert numbers(0, "ada", 2) == [7, 9]
    assert numbers(first, limit=3) == [1, 2, 3]
    assert numbers(first, "bo", 2) == [2, 4]
    assert numbers(first + 9) == numbers(2**80) == numbers(0, "nobody") == numbers(0, "", 0) == []
    assert numbers(first, limit=2**80) == list(range(1, 10))


def test_writers_at_the_same_time_lose_nothing(store: Store, race: Race) -> None:
    assert race(5, "note") == ["noted"] * 5
    told = store.events.read(0, "ada", 1_000)
    assert len({(event.data["pid"], event.data["number"]) for event in told}) == 250
    assert len({event.id for event in told}) == 250


def test_a_note_takes_any_data(store: Store) -> None:
    store.events.record(
        "test.note", "", "", {"state": State.ENDED, "place": PANE, "set": {1}, "who": KILLER}
    )
    (event,) = trail(store)
    assert event.data["state"] == "ended"
    assert event.data["set"] == "{1}"


HOSTILE = "line\nbreak\r\0nul 👩‍💻 \udcff\ud83d ' \" ; -- \x1b[31m"
TAMED = HOSTILE.replace("\udcff", "?").replace("\ud83d", "?")


def test_no_text_breaks_a_write(store: Store) -> None:
    agent = an_agent(cwd=HOSTILE, args=(HOSTILE,), env=(("A", HOSTILE),), task=HOSTILE)
    place = Place("tmux", HOSTILE, HOSTILE, 1, HOSTILE, HOSTILE)
    run = a_run(place=place, cgroup=HOSTILE)
    store.runs.add(agent, run)
    store.runs.mark_born(run._replace(process=a_process()))
    ending = Ending(Outcome.KILLED, HOSTILE, HOSTILE, HOSTILE)
    claimed(store, run.id, ending, KILLER, None)
    store.endings.record_rungs([(run, HOSTILE)])
    store.events.record(HOSTILE, HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    store.runs.set_conversation("ada", KnownConversation(HOSTILE, "told"))
    run = run._replace(ending=ending)
    store.endings.end(run, a_receipt(run, screen=HOSTILE), [an_orphan(command=HOSTILE)])
    final, receipt, kept = known(store), store.endings.receipt(run.id), store.runs.agent("ada")
    assert final.ending
    assert receipt
    assert kept
    assert (final.ending.detail, receipt.screen) == (TAMED, TAMED)
    assert (kept.cwd, kept.conversation) == (TAMED, TAMED)
    assert (kept.args, kept.env) == ((HOSTILE,), (("A", HOSTILE),))  # exactly what was asked for
    assert store.runs.orphans()[0].command == TAMED
    assert store.events.read(0, HOSTILE, 5)[0].data == {TAMED: TAMED}


def test_closing_twice_is_no_error(connect: Open) -> None:
    store = connect()
    store.close()
    store.close()
