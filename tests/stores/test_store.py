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
    ended,
    known,
    running,
    spawned,
    stopping,
    trail,
)

from quell.core.errors import IllegalTransition, NoSuchAgent, StillRunning, StoreFailed
from quell.core.lifecycle import TRANSITIONS, Happening, Outcome, State
from quell.core.process import ProcessId
from quell.core.receipt import Proof, Result
from quell.core.run import Ending, Place, Run
from quell.core.store import Held, Over, Store, Won

PANE = Place("tmux", "%3", "/tmp/tmux.sock", 99, "work", "")


# -- birth -------------------------------------------------------------------------------------


def test_a_new_store_is_empty(store: Store) -> None:
    assert store.agents() == store.live_runs() == store.orphans() == trail(store) == []
    assert store.last_runs() == {}
    assert store.agent("ada") is store.run("run-1") is store.receipt("run-1") is None
    assert store.runs_of("ada") == []


def test_a_new_store_may_be_opened_by_ten_at_once(connect: Open, race: Race) -> None:
    assert race(10, "look") == ["0 live"] * 10
    assert spawned(connect()) == a_run()


def test_a_spawn_records_agent_run_and_instance_at_once(store: Store) -> None:
    agent = an_agent(args=("--model", "x"), env=(("A", "1"),), keep=("node *",), tag="dev")
    run = a_run(place=PANE, parent="run-0")
    store.add_run(agent, run)
    assert store.agent("ada") == agent._replace(created_at=run.started_at)
    assert store.live_runs() == [run]
    assert [(e.type, e.agent, e.run) for e in trail(store)] == [("life.spawning", "ada", "run-1")]


def test_an_identity_outlives_its_runs(store: Store) -> None:
    first = store.agent(ended(store).agent)
    store.add_run(an_agent(task="T-2", created_at="2031-01-01T00:00:00Z"), a_run("run-2"))
    again = store.agent("ada")
    assert first
    assert again
    assert again == first._replace(task="T-2")
    assert [run.id for run in store.runs_of("ada")] == ["run-2", "run-1"]


@pytest.mark.parametrize("live", [spawned, running, stopping])
def test_one_agent_has_one_life_at_a_time(store: Store, live: Callable[[Store], Run]) -> None:
    before, agent = live(store), store.agent("ada")
    with pytest.raises(StillRunning, match="'ada' is still running"):
        store.add_run(an_agent(task="other"), a_run("run-2"))
    assert store.live_runs() == [before]
    assert store.agent("ada") == agent
    assert store.run("run-2") is None


def test_two_spawns_of_one_name_at_once_make_one_run(store: Store, race: Race) -> None:
    assert sorted(race(2, "add")) == ["StillRunning", "added"]
    assert len(store.live_runs()) == 1
    assert len(trail(store, "life.spawning")) == 1


def test_being_born_settles_where_it_lives(store: Store) -> None:
    run = spawned(store)._replace(
        place=PANE, keeper=a_process(7), process=a_process(8), cgroup="/quell/run-1"
    )
    store.born(run)
    assert known(store) == run._replace(state=State.RUNNING, owner=None)
    assert trail(store)[-1].type == "life.started"
    assert trail(store)[-1].data["pid"] == 8


@pytest.mark.parametrize("live", [running, stopping])
def test_being_born_twice_changes_nothing(store: Store, live: Callable[[Store], Run]) -> None:
    before, told = live(store), trail(store)
    store.born(before._replace(place=PANE))
    assert known(store) == before
    assert trail(store) == told


@pytest.mark.parametrize("seen", [True, False])
def test_a_birth_that_is_told_after_the_end_changes_nothing(store: Store, *, seen: bool) -> None:
    """Two commands tidy up after a dead spawner: one tells of the birth when the other is done."""
    run = spawned(store)
    alive = run._replace(process=a_process())
    end = (alive if seen else run)._replace(ending=KILLED)
    store.end(end, a_receipt(run), ())
    before = known(store)
    store.born(alive)
    assert known(store) == before
    assert not before.live


def test_another_process_cannot_be_born_into_a_running_run(store: Store) -> None:
    run = running(store)
    with pytest.raises(IllegalTransition):
        store.born(run._replace(process=a_process(4_001)))
    assert known(store) == run


def test_a_kill_that_overtook_the_spawn_keeps_its_claim(store: Store) -> None:
    run = spawned(store)
    assert isinstance(store.claim(run.id, KILLED, KILLER, SPAWNER), Won)
    store.born(run._replace(process=a_process(8)))
    now = known(store)
    assert (now.state, now.owner, now.process) == (State.STOPPING, KILLER, a_process(8))


# -- claims ------------------------------------------------------------------------------------


def test_a_claim_is_on_record_before_the_first_signal(store: Store, connect: Open) -> None:
    run = running(store)
    claim = store.claim(run.id, STOPPED, KILLER, None)
    assert claim == Won(run._replace(state=State.STOPPING, owner=KILLER, ending=STOPPED))
    assert known(connect()) == claim.run
    event = trail(store, "life.stopping")[-1]
    assert (event.data["by"], event.data["reason"]) == ("leader", "user_request")


def test_G22_a_second_killer_is_told_who_holds_the_run(store: Store, connect: Open) -> None:
    won = stopping(store)
    assert connect().claim("run-1", STOPPED, OTHER, None) == Held(won)
    assert connect().claim("run-1", STOPPED, OTHER, SPAWNER) == Held(won)  # not the one that died
    assert known(store) == won


def test_a_spawner_at_work_holds_its_run(store: Store) -> None:
    run = spawned(store)
    assert store.claim(run.id, KILLED, KILLER, None) == Held(run)


def test_asking_for_an_ended_run_is_told_its_end(store: Store) -> None:
    run = ended(store)
    assert store.claim(run.id, STOPPED, OTHER, None) == Over(run)
    assert known(store) == run


def test_G22_of_twenty_killers_one_wins(store: Store, race: Race) -> None:
    running(store)
    said = race(20, "claim")
    assert (said.count("Won"), said.count("Held")) == (1, 19)
    assert len(trail(store, "life.stopping")) == 1


def test_G23_a_dead_owners_claim_passes_to_exactly_one(store: Store, race: Race) -> None:
    spawned(store)
    said = race(20, "take_over")
    assert (said.count("Won"), said.count("Held")) == (1, 19)


def test_G23_what_a_dead_killer_decided_stands(store: Store) -> None:
    run = running(store)
    store.claim(run.id, STOPPED, KILLER, None)
    store.climbing([(run.id, "term")])
    claim = store.claim(run.id, KILLED._replace(outcome=Outcome.LOST), OTHER, KILLER)
    assert isinstance(claim, Won)
    assert (claim.run.ending, claim.run.owner, claim.run.rung) == (STOPPED, OTHER, "term")


def test_a_kill_overrules_what_a_dead_stopper_decided(store: Store) -> None:
    run = running(store)
    store.claim(run.id, STOPPED, KILLER, None)
    claim = store.claim(run.id, KILLED, OTHER, KILLER)
    assert isinstance(claim, Won)
    assert claim.run.ending == KILLED


def test_the_holder_may_claim_again_and_change_its_mind(store: Store) -> None:
    stopping(store)
    claim = store.claim("run-1", STOPPED, KILLER._replace(inode=0), None)
    assert isinstance(claim, Won)
    assert claim.run.ending == STOPPED


def test_a_reused_pid_is_not_the_owner(store: Store) -> None:
    stopping(store)
    reused = ProcessId(KILLER.pid, KILLER.start + 1, KILLER.boot)
    assert isinstance(store.claim("run-1", KILLED, reused, None), Held)
    assert isinstance(store.claim("run-1", KILLED, OTHER, reused), Held)


def test_rungs_of_many_runs_are_written_down_at_once(store: Store) -> None:
    runs = [running(store, f"run-{n}", f"agent-{n}").id for n in range(3)]
    gone = ended(store, "run-9", "agent-9")
    store.climbing([(run, "term") for run in [*runs, gone.id, "nobody"]])
    store.climbing([])
    assert [run.rung for run in store.live_runs()] == ["term"] * 3
    told = trail(store, "life.rung")
    assert [(event.run, event.data) for event in told] == [(r, {"rung": "term"}) for r in runs]
    assert known(store, "run-9") == gone


# -- failed endings ----------------------------------------------------------------------------


def test_G9_a_run_that_could_not_be_ended_stays_live(store: Store) -> None:
    run = stopping(store)
    store.climbing([(run.id, "kill")])
    refused = a_receipt(run, result=Result.PERMISSION_DENIED, proof=Proof.SURVIVORS)
    store.spare(run.id, refused)
    assert store.live_runs() == [
        run._replace(state=State.RUNNING, owner=None, ending=None, rung="")
    ]
    assert store.receipt(run.id) == refused
    assert trail(store, "life.spared")[-1].data["receipt"] == refused.to_json()
    assert isinstance(store.claim(run.id, KILLED, OTHER, None), Won)


def test_the_newest_receipt_is_the_one_that_counts(store: Store) -> None:
    run = stopping(store)
    store.spare(run.id, a_receipt(run, result=Result.SURVIVORS))
    store.claim(run.id, KILLED, KILLER, None)
    store.end(run, a_receipt(run), ())
    receipt = store.receipt(run.id)
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
    store.end(final, a_receipt(run), ())
    assert connect().live_runs() == []
    assert known(connect()) == final._replace(state=State.ENDED, owner=None)
    assert connect().last_runs() == {"ada": known(store)}
    assert connect().receipt(run.id) == a_receipt(run)


def test_H40_the_snapshot_holds_what_a_resume_needs(store: Store) -> None:
    agent = an_agent(args=("--model", "x"), env=(("A", "ü"),), keep=("node *",), conversation="c-1")
    store.add_run(agent, a_run(place=PANE))
    store.end(a_run(place=PANE, ending=STOPPED, process=a_process(8)), a_receipt(a_run()), ())
    kept = trail(store)[-1].data["snapshot"]
    told = kept["agent"]
    assert (told["name"], told["kind"], told["cwd"]) == ("ada", "claude", "/srv/project")
    assert (told["args"], told["env"], told["keep"]) == (["--model", "x"], ["A"], ["node *"])
    assert told["conversation"] == "c-1"
    assert (kept["run"]["pid"], kept["run"]["place"]["pane"]) == (8, "%3")
    assert store.agent("ada") == agent._replace(created_at=a_run().started_at)


def test_H25_what_outlives_a_run_is_tracked_apart_from_the_instances(store: Store) -> None:
    run = running(store)
    letting_go = run._replace(ending=STOPPED._replace(outcome=Outcome.ARCHIVED))
    store.end(letting_go, a_receipt(run), [an_orphan(1), an_orphan(2)])
    assert store.live_runs() == []
    assert store.orphans() == [an_orphan(1), an_orphan(2)]
    assert known(store).ending == letting_go.ending


def test_G33_an_ended_run_is_final(store: Store) -> None:
    run = ended(store)
    receipt, told = store.receipt(run.id), trail(store)
    late = run._replace(ending=STOPPED, place=PANE, ended_at="2040-01-01T00:00:00Z")
    store.end(late, a_receipt(late), [an_orphan()])
    assert (known(store), store.receipt(run.id), trail(store)) == (run, receipt, told)
    assert store.orphans() == []


def test_G22_ten_endings_of_one_run_leave_one_receipt_and_one_event(
    store: Store, race: Race
) -> None:
    running(store)
    assert race(10, "end") == ["done"] * 10
    (event,) = trail(store, "life.stopped")
    ending = known(store).ending
    assert ending
    assert ending.by == event.data["by"]


@pytest.mark.parametrize("looks", [1, 2, 3, 4])
def test_G23_whoever_dies_while_ending_leaves_nothing_half_done(
    store: Store, race: Race, looks: int
) -> None:
    run, told = stopping(store), trail(store)
    assert race(1, "end", str(looks)) == [""]
    assert (store.live_runs(), trail(store), store.receipt(run.id)) == ([run], told, None)
    store.end(run, a_receipt(run), ())
    assert not known(store).live


def test_a_failure_in_the_middle_of_an_ending_undoes_all_of_it(store: Store) -> None:
    run, told = stopping(store), trail(store)
    too_big = an_orphan(process=ProcessId(2**70, 1, "boot-a"))
    with pytest.raises(OverflowError):
        store.end(run, a_receipt(run), [too_big])
    assert (store.live_runs(), trail(store), store.receipt(run.id)) == ([run], told, None)


def test_what_the_ender_did_not_know_is_kept(store: Store) -> None:
    run = running(store)
    store.climbing([(run.id, "term")])
    store.end(a_run(ending=KILLED), a_receipt(run), ())
    now = known(store)
    assert (now.keeper, now.process, now.rung) == (run.keeper, run.process, "term")


def test_an_end_takes_the_claims_word_where_it_brings_none(store: Store) -> None:
    run = stopping(store)
    store.end(run._replace(ending=None), a_receipt(run), ())
    assert known(store).ending == KILLED
    with pytest.raises(ValueError, match="without an ending"):
        store.end(running(store, "run-2"), a_receipt(run), ())


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
    assert store.live_runs() == others


def test_an_unknown_run_is_said_to_be_unknown(store: Store) -> None:
    run = a_run("nobody", ending=KILLED)
    for deed in (
        lambda: store.born(run),
        lambda: store.claim(run.id, KILLED, KILLER, None),
        lambda: store.spare(run.id, a_receipt(run)),
        lambda: store.end(run, a_receipt(run), ()),
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
            store.born(run._replace(process=a_process(4_444)))
        case Happening.END_ASKED:
            store.claim(run.id, KILLED, OTHER, run.owner)
        case Happening.SPARED:
            store.spare(run.id, a_receipt(run))
        case Happening.LET_GO:
            store.end(letting_go, a_receipt(run), ())
        case Happening.GONE:
            store.end(run._replace(ending=KILLED), a_receipt(run), ())


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
        store.add_run(an_agent(), a_run(state=state))
    assert store.agents() == []


def test_an_adopted_run_is_running_at_once(store: Store) -> None:
    run = a_run(state=State.RUNNING, owner=None, process=a_process())
    store.add_run(an_agent(), run)
    assert store.live_runs() == [run]
    assert [event.type for event in trail(store)] == ["life.started"]


# -- looking -----------------------------------------------------------------------------------


def test_live_runs_come_in_the_order_of_their_start(store: Store) -> None:
    for agent, hour in (("bo", 3), ("cy", 1), ("di", 2)):
        started = f"2030-01-01T0{hour}:00:00Z"
        store.add_run(an_agent(agent), a_run(f"run-{agent}", agent, started_at=started))
    ended(store)
    assert [run.agent for run in store.live_runs()] == ["cy", "di", "bo"]
    assert [agent.name for agent in store.agents()] == ["bo", "cy", "di", "ada"]


def test_the_last_run_of_each_agent_is_the_newest_live_or_ended(store: Store) -> None:
    for number in range(3):
        ended(store, f"ada-{number}", "ada")
        ended(store, f"bo-{number}", "bo")
    live = running(store, "bo-live", "bo")
    assert store.last_runs() == {"ada": known(store, "ada-2"), "bo": live}
    assert [run.id for run in store.runs_of("bo")] == ["bo-live", "bo-2", "bo-1", "bo-0"]


def test_a_conversation_is_remembered(store: Store, connect: Open) -> None:
    spawned(store)
    store.set_conversation("ada", "c-2")
    agent = connect().agent("ada")
    assert agent
    assert agent.conversation == "c-2"
    with pytest.raises(NoSuchAgent):
        store.set_conversation("adda", "c-2")


def test_H25_orphans_are_known_by_their_identity_not_by_their_pid(store: Store) -> None:
    first, second = an_orphan(1), an_orphan(2)
    reused = an_orphan(process=a_process(1)._replace(start=99))
    store.track([first, second, reused])
    store.track([second._replace(why="survived")])
    store.untrack([first.process._replace(inode=0), a_process(77)])
    found = {orphan.process: orphan.why for orphan in store.orphans()}
    assert found == {reused.process: "kept", second.process: "survived"}
    store.track([])
    store.untrack([])
    assert len(store.orphans()) == 2


# -- the trail ---------------------------------------------------------------------------------


def test_a_follower_gets_each_event_once_and_in_order(store: Store, connect: Open) -> None:
    for number in range(10):
        store.note("test.note", "ada" if number % 2 else "bo", "run-1", {"number": number})
    reader = connect()

    def numbers(after: int, agent: str = "", limit: int = 100) -> list[int]:
        return [event.data["number"] for event in reader.events(after, agent, limit)]

    first = reader.events(0, "", 100)[0].id
    assert numbers(0) == list(range(10))
    assert numbers(0, limit=3) == [7, 8, 9]
    assert numbers(0, "ada", 2) == [7, 9]
    assert numbers(first, limit=3) == [1, 2, 3]
    assert numbers(first, "bo", 2) == [2, 4]
    assert numbers(first + 9) == numbers(2**80) == numbers(0, "nobody") == numbers(0, "", 0) == []
    assert numbers(first, limit=2**80) == list(range(1, 10))


def test_writers_at_the_same_time_lose_nothing(store: Store, race: Race) -> None:
    assert race(5, "note") == ["noted"] * 5
    told = store.events(0, "ada", 1_000)
    assert len({(event.data["pid"], event.data["number"]) for event in told}) == 250
    assert len({event.id for event in told}) == 250


def test_a_note_takes_any_data(store: Store) -> None:
    store.note(
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
    store.add_run(agent, run)
    store.born(run._replace(process=a_process()))
    ending = Ending(Outcome.KILLED, HOSTILE, HOSTILE, HOSTILE)
    store.claim(run.id, ending, KILLER, None)
    store.climbing([(run.id, HOSTILE)])
    store.note(HOSTILE, HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    store.set_conversation("ada", HOSTILE)
    run = run._replace(ending=ending)
    store.end(run, a_receipt(run, screen=HOSTILE), [an_orphan(command=HOSTILE)])
    final, receipt, kept = known(store), store.receipt(run.id), store.agent("ada")
    assert final.ending
    assert receipt
    assert kept
    assert (final.ending.detail, receipt.screen) == (TAMED, TAMED)
    assert (kept.cwd, kept.conversation) == (TAMED, TAMED)
    assert (kept.args, kept.env) == ((HOSTILE,), (("A", HOSTILE),))  # exactly what was asked for
    assert store.orphans()[0].command == TAMED
    assert store.events(0, HOSTILE, 5)[0].data == {TAMED: TAMED}


def test_closing_twice_is_no_error(connect: Open) -> None:
    store = connect()
    store.close()
    store.close()
