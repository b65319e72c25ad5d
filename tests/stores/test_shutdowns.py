"""What every store promises the asking: one open request a run, and one answer to it."""

import pytest
from store_samples import KILLED, Open, Race, a_receipt, a_run, an_agent, known, spawned, trail

from knell.core.ports.store import NotLive, Store
from knell.core.ports.teams import NoSuchRequest
from knell.core.run import Ending, Outcome
from knell.core.shutdown import Move, ShutdownRequest

ASK = ShutdownRequest(
    "r1", "core", "ada", "run-1", "boss", "", "enough", deadline_at="2030-01-02T00:00:00Z"
)


@pytest.fixture
def core(store: Store) -> Store:
    spawned(store)
    return store


def over(store: Store, ending: Ending = KILLED, run: str = "run-1") -> None:
    last = known(store, run)._replace(ending=ending)
    store.endings.end(last, a_receipt(last), ())


def now(core: Store, id: str = "r1") -> ShutdownRequest:
    found = core.shutdowns.request(id)
    assert found
    return found


def test_T11_a_request_is_kept(core: Store, store: Store, connect: Open) -> None:
    asked = core.shutdowns.ask(ASK._replace(phase="confirmed", answer="x"))
    assert asked.news
    request = asked.request
    assert request == ASK._replace(phase="requested", requested_at=request.requested_at)
    assert request.requested_at
    other = connect()
    assert other.shutdowns.request("r1") == other.shutdowns.open_of("run-1") == request
    assert other.shutdowns.open_requests() == other.shutdowns.of("ada") == [request]
    assert core.shutdowns.request("r2") is core.shutdowns.open_of("run-2") is None
    (event,) = trail(store, "shutdown.requested")
    assert (event.agent, event.run, event.data["request"]) == ("ada", "run-1", "r1")


def test_T32_who_is_asked_again_is_asked_once(core: Store) -> None:
    first = core.shutdowns.ask(ASK).request
    again = core.shutdowns.ask(ASK._replace(id="r2", reason="now"))
    assert (again.request, again.news) == (first, False)
    assert core.shutdowns.request("r2") is None


def test_T49_of_twenty_who_ask_at_once_one_does(core: Store, store: Store, race: Race) -> None:
    said = race(20, "ask")
    (request,) = core.shutdowns.open_requests()
    assert {line.split()[0] for line in said} == {request.id}
    assert [line.split()[1] for line in said].count("True") == 1
    assert request.force == any(line.endswith("True") for line in said)
    assert len(trail(store, "shutdown.requested")) == 1


def test_T31_nobody_asks_the_dead(core: Store, store: Store) -> None:
    over(store)
    with pytest.raises(NotLive, match="Agent 'ada' is already terminated"):
        core.shutdowns.ask(ASK)
    store.runs.add(an_agent(), a_run("run-2"))
    with pytest.raises(NotLive):
        core.shutdowns.ask(ASK)  # its former life is meant
    assert core.shutdowns.ask(ASK._replace(run="run-2")).news


# -- answers -----------------------------------------------------------------------------------


def test_T16_an_approval_stays_open_until_the_end_is_proven(core: Store, store: Store) -> None:
    core.shutdowns.ask(ASK)
    told = core.shutdowns.move("r1", Move.APPROVE, "all done")
    assert told.moved
    assert (told.request.phase, told.request.answer) == ("approved", "all done")
    assert told.request.responded_at
    assert core.shutdowns.open_of("run-1") == now(core) == told.request
    over(store)
    last = now(core)
    assert (last.phase, last.answer, last.force) == ("confirmed", "all done", False)
    assert last.completed_at > last.responded_at > last.requested_at
    assert core.shutdowns.open_requests() == []


def test_C27_after_a_rejection_it_may_be_asked_again(core: Store) -> None:
    core.shutdowns.ask(ASK)
    told = core.shutdowns.move("r1", Move.REJECT, "busy")
    assert (told.request.phase, told.request.answer) == ("rejected", "busy")
    assert (bool(told.request.responded_at), told.request.completed_at) == (True, "")
    assert core.shutdowns.open_of("run-1") is None
    assert core.shutdowns.ask(ASK._replace(id="r2")).news
    assert [request.id for request in core.shutdowns.of("ada")] == ["r2", "r1"]


@pytest.mark.parametrize("first", [Move.REJECT, Move.WITHDRAW, Move.FORCE])
def test_what_is_closed_is_told_as_it_is(core: Store, store: Store, first: Move) -> None:
    core.shutdowns.ask(ASK)
    closed = core.shutdowns.move("r1", first, "so be it").request
    events = trail(store)
    for move in Move:
        assert core.shutdowns.move("r1", move, "another word") == (closed, False)
    assert (now(core), trail(store)) == (closed, events)


def test_who_has_agreed_cannot_take_it_back(core: Store) -> None:
    core.shutdowns.ask(ASK)
    core.shutdowns.move("r1", Move.APPROVE)
    for move in (Move.REJECT, Move.WITHDRAW, Move.APPROVE):
        assert not core.shutdowns.move("r1", move, "no").moved
    assert (now(core).phase, now(core).answer) == ("approved", "")


def test_a_request_that_nobody_made_is_not_answered(core: Store) -> None:
    with pytest.raises(NoSuchRequest):
        core.shutdowns.move("r1", Move.APPROVE)


def test_of_ten_answers_one_counts(core: Store, store: Store, race: Race) -> None:
    core.shutdowns.ask(ASK)
    said = race(10, "answer")
    assert sum(line.endswith("True") for line in said) == 1
    assert {line.split()[0] for line in said} == {now(core).answer}
    answered = trail(store, "shutdown.approved") + trail(store, "shutdown.rejected")
    assert [event.type for event in answered] == [f"shutdown.{now(core).phase}"]


# -- the end -----------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.ARCHIVED])
def test_G26_any_end_closes_it(core: Store, store: Store, outcome: Outcome) -> None:
    core.shutdowns.ask(ASK)
    over(store, KILLED._replace(outcome=outcome))
    assert (now(core).phase, bool(now(core).completed_at)) == ("confirmed", True)
    assert now(core).responded_at == ""
    assert len(trail(store, "shutdown.confirmed")) == 1


@pytest.mark.parametrize("answered", [True, False])
def test_T27_T32_force_overrides_and_is_said_when_it_is_proven(
    core: Store, store: Store, *, answered: bool
) -> None:
    core.shutdowns.ask(ASK)
    if answered:
        core.shutdowns.move("r1", Move.APPROVE)
    forced = core.shutdowns.ask(ASK._replace(id="r2", force=True))
    assert (forced.news, forced.request.force, forced.request.id) == (False, True, "r1")
    assert forced.request.phase != "force_killed"
    core.shutdowns.ask(ASK)  # and it stays so
    assert len(trail(store, "shutdown.forced")) == 1
    over(store)
    assert (now(core).phase, now(core).force) == ("force_killed", True)


def test_T27_a_forced_request_is_on_record_without_having_been_asked(
    core: Store, store: Store
) -> None:
    assert core.shutdowns.ask(ASK._replace(force=True)).news
    over(store)
    assert (now(core).phase, bool(now(core).completed_at)) == ("force_killed", True)
    (event,) = trail(store, "shutdown.force_killed")
    assert event.data["force"] is True


@pytest.mark.parametrize("move", [None, Move.APPROVE])
def test_the_request_of_one_that_was_let_go_is_withdrawn(
    core: Store, store: Store, move: Move | None
) -> None:
    core.shutdowns.ask(ASK)
    if move:
        core.shutdowns.move("r1", move)
    over(store, KILLED._replace(outcome=Outcome.ARCHIVED))
    assert now(core).phase == "withdrawn"


def test_a_later_life_is_not_bound_by_it(core: Store, store: Store) -> None:
    core.shutdowns.ask(ASK)
    over(store)
    store.runs.add(an_agent(), a_run("run-2"))
    assert core.shutdowns.open_of("run-2") is None
    assert not core.shutdowns.move("r1", Move.APPROVE).moved


def test_many_who_end_it_close_it_once(core: Store, store: Store, race: Race) -> None:
    core.shutdowns.ask(ASK)
    race(4, "end_run")
    assert len(trail(store, "shutdown.confirmed")) == 1
