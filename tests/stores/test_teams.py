"""What every store promises teams: who belongs to them, in which colour, and until when."""

import pytest
from store_samples import (
    KILLED,
    STOPPED,
    Open,
    Race,
    a_receipt,
    a_run,
    an_agent,
    known,
    running,
    sql,
    stopping,
    trail,
)

from knell.core.errors import BadRequest
from knell.core.ports.store import NotLive, Store
from knell.core.ports.teams import InAnotherTeam, NoSuchTeam, TeamExists
from knell.core.receipt import Receipt
from knell.core.run import Ending, Outcome
from knell.core.teams import COLOURS, Role, Team, TeamMember

CORE = Team("core", "boss")


def spawned_in(
    store: Store, agent: str, run: str, team: str = "core", role: str = ""
) -> TeamMember:
    store.runs.add(an_agent(agent, team=team, role=role), a_run(run, agent))
    member = store.teams.membership(agent)
    assert member
    return member


def over(store: Store, ending: Ending = KILLED, run: str = "run-1") -> Receipt:
    last = known(store, run)._replace(ending=ending)
    return store.endings.end(last, a_receipt(last), ())


# -- teams -------------------------------------------------------------------------------------


def test_a_team_is_kept_as_it_was_made(store: Store, connect: Open) -> None:
    assert store.teams.team("core") is None
    wish = Team("core", "boss", "", "hierarchical", "the core of it")
    made = store.teams.add(wish)
    assert made._replace(created_at="") == wish
    assert made.created_at
    assert connect().teams.teams() == [made]
    (event,) = trail(store, "team.created")
    assert (event.agent, event.data["team"]) == ("boss", "core")


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 65, "all", "7", "ä", "a\n"])
def test_a_bad_name_makes_no_team(store: Store, name: str) -> None:
    with pytest.raises(BadRequest):
        store.teams.add(CORE._replace(name=name))
    with pytest.raises(BadRequest):
        store.teams.add(CORE._replace(topology=name))
    store.teams.add(CORE)
    with pytest.raises(BadRequest):
        store.teams.join("core", name)
    assert store.teams.members("core") == []


def test_a_name_is_one_teams(store: Store) -> None:
    store.teams.add(CORE)
    with pytest.raises(TeamExists):
        store.teams.add(CORE._replace(leader="other"))
    team = store.teams.team("core")
    assert team
    assert team.leader == "boss"


def test_of_many_who_make_it_at_once_one_does(store: Store, race: Race) -> None:
    said = race(6, "make_team")
    assert said.count("TeamExists") == 5
    (team,) = store.teams.teams()
    assert team.description in said


def test_a_leader_that_lives_is_a_member_at_once(store: Store) -> None:
    running(store, "run-1", "boss")
    store.teams.add(CORE)
    (member,) = store.teams.members("core")
    assert (member.agent, member.role, member.run) == ("boss", "leader", "run-1")


def test_only_the_one_whom_the_team_names_leads_it(store: Store) -> None:
    store.teams.add(CORE)
    assert spawned_in(store, "ada", "run-1", role="leader").role == "worker"
    assert spawned_in(store, "boss", "run-2", role="worker").role == "leader"
    assert store.teams.join("core", "cy", "leader").role == "worker"


def test_who_leads_another_team_is_not_made_leader(store: Store) -> None:
    store.teams.add(CORE)
    spawned_in(store, "boss", "run-1")
    with pytest.raises(InAnotherTeam):
        store.teams.add(Team("web", "boss"))
    assert store.teams.team("web") is None


def test_a_leader_that_ends_still_leads(store: Store) -> None:
    store.teams.add(CORE)
    spawned_in(store, "boss", "run-1")
    over(store)
    team = store.teams.team("core")
    assert team
    assert (team.leader, store.teams.members("core")) == ("boss", [])
    assert spawned_in(store, "boss", "run-2").role == "leader"


# -- belonging ---------------------------------------------------------------------------------


def test_who_is_started_for_a_team_joins_it(store: Store) -> None:
    store.teams.add(CORE)
    first = spawned_in(store, "ada", "run-1")
    second = spawned_in(store, "bo", "run-2", role="reviewer")
    assert first == TeamMember("core", "ada", "worker", COLOURS[0], first.joined_at, "run-1")
    assert (second.role, second.colour) == ("reviewer", COLOURS[1])
    assert store.teams.members("core") == [first, second]
    event = trail(store, "team.joined")[0]
    assert (event.agent, event.run) == ("ada", "run-1")
    assert event.data == {"team": "core", "role": "worker", "colour": COLOURS[0]}


@pytest.mark.parametrize("team", ["", "web", "gone"])
def test_a_word_that_is_no_team_is_only_a_word(store: Store, team: str) -> None:
    store.teams.add(Team("gone", ""))
    store.teams.dissolve("gone")
    store.runs.add(an_agent(team=team), a_run())
    assert store.teams.membership("ada") is None
    agent = store.runs.agent("ada")
    assert agent
    assert agent.team == team
    assert over(store).tasks == ()


def test_joining_is_told_to_the_agent_and_leaving_too(store: Store) -> None:
    """So that a resume brings it back where it was, and not where it was not."""
    store.teams.add(CORE)
    running(store)
    store.teams.join("core", "ada", Role.REVIEWER.value, "run-1")
    agent = store.runs.agent("ada")
    assert agent
    assert (agent.team, agent.role) == ("core", "reviewer")
    left = store.teams.leave("ada")
    assert left
    assert left.colour == COLOURS[0]
    agent = store.runs.agent("ada")
    assert agent
    assert agent.team == ""
    assert store.teams.leave("ada") is None
    assert [e.data["why"] for e in trail(store, "team.left")] == ["asked for"]


def test_one_added_beforehand_keeps_its_colour_and_role_when_it_starts(store: Store) -> None:
    store.teams.add(CORE)
    added = store.teams.join("core", "ada", "reviewer")
    assert added.run == ""
    store.teams.join("core", "bo")
    store.runs.add(an_agent(), a_run())
    assert store.teams.membership("ada") == added._replace(run="run-1")
    agent = store.runs.agent("ada")
    assert agent
    assert (agent.team, agent.role) == ("core", "reviewer")


def test_joining_twice_changes_at_most_the_role(store: Store) -> None:
    store.teams.add(CORE)
    first = store.teams.join("core", "ada")
    assert store.teams.join("core", "ada") == first
    assert store.teams.join("core", "ada", "reviewer") == first._replace(role="reviewer")
    assert len(trail(store, "team.joined")) == 2


def test_an_agent_is_in_one_team(store: Store) -> None:
    store.teams.add(CORE)
    store.teams.add(Team("web", ""))
    spawned_in(store, "ada", "run-1")
    with pytest.raises(InAnotherTeam):
        store.teams.join("web", "ada")
    over(store)
    assert spawned_in(store, "ada", "run-2", "web").team == "web"
    assert store.teams.members("core") == []


def test_who_starts_for_another_team_than_it_was_added_to_is_of_that(store: Store) -> None:
    store.teams.add(CORE)
    store.teams.add(Team("web", ""))
    store.teams.join("core", "ada")
    assert spawned_in(store, "ada", "run-1", "web").team == "web"
    assert store.teams.members("core") == []


@pytest.mark.parametrize("team", ["web", ""])
def test_nobody_joins_what_is_not_there(store: Store, team: str) -> None:
    running(store)
    with pytest.raises(NoSuchTeam):
        store.teams.join(team, "ada")
    with pytest.raises(NoSuchTeam, match=f"Team '{team}' does not exist"):
        store.teams.dissolve(team)


def test_an_ended_run_does_not_join(store: Store) -> None:
    store.teams.add(CORE)
    running(store)
    over(store)
    with pytest.raises(NotLive):
        store.teams.join("core", "ada", "", "run-1")
    store.runs.add(an_agent(), a_run("run-2"))
    with pytest.raises(NotLive):
        store.teams.join("core", "ada", "", "run-1")
    assert store.teams.members("core") == []


def test_a_dissolved_team_holds_nobody_and_may_be_made_again(store: Store) -> None:
    store.teams.add(CORE)
    spawned_in(store, "ada", "run-1")
    assert [member.agent for member in store.teams.dissolve("core")] == ["ada"]
    with pytest.raises(NoSuchTeam):
        store.teams.dissolve("core")
    assert store.teams.membership("ada") is None
    assert known(store).live
    (team,) = store.teams.teams()
    assert team.dissolved_at
    again = store.teams.add(Team("core", "ada"))
    assert (again.dissolved_at, store.teams.members("core")[0].agent) == ("", "ada")
    assert [event.type for event in trail(store) if event.type.startswith("team.")] == [
        *("team.created", "team.joined", "team.left", "team.dissolved"),
        *("team.created", "team.joined"),
    ]


# -- colours, and the end ----------------------------------------------------------------------


def test_twelve_who_join_at_once_get_ten_colours_then_the_longest_held(
    store: Store, race: Race
) -> None:
    store.teams.add(CORE)
    said = race(12, "join")
    held = [member.colour for member in store.teams.members("core")]
    assert sorted(said) == sorted(held)
    assert held == [*COLOURS, *COLOURS[:2]]


def test_T20_T22_an_end_frees_membership_and_colour(store: Store) -> None:
    store.teams.add(CORE)
    spawned_in(store, "ada", "run-1")
    spawned_in(store, "bo", "run-2")
    over(store)
    assert [member.agent for member in store.teams.members("core")] == ["bo"]
    (event,) = trail(store, "team.left")
    assert (event.agent, event.run, event.data["proven"]) == ("ada", "run-1", True)
    assert spawned_in(store, "cy", "run-3").colour == COLOURS[0]


def test_G42_nothing_is_freed_before_the_end_is_proven(store: Store) -> None:
    store.teams.add(CORE)
    run = stopping(store)
    member = store.teams.join("core", "ada")
    store.endings.record_rungs([(run, "kill")])
    assert store.teams.members("core") == [member]
    store.endings.spare(run.id, a_receipt(run))
    assert store.teams.members("core") == [member]


def test_G42_one_that_was_let_go_leaves_and_the_trail_says_that_nothing_is_proven(
    store: Store,
) -> None:
    store.teams.add(CORE)
    spawned_in(store, "ada", "run-1")
    over(store, KILLED._replace(outcome=Outcome.ARCHIVED))
    assert store.teams.members("core") == []
    assert [event.data["proven"] for event in trail(store, "team.left")] == [False]


def test_a_resume_joins_again(store: Store) -> None:
    store.teams.add(CORE)
    first = spawned_in(store, "ada", "run-1", role="reviewer")
    over(store, STOPPED)
    agent = store.runs.agent("ada")
    assert agent
    store.runs.add(agent, a_run("run-2"))
    again = store.teams.membership("ada")
    assert again
    assert (again.run, again.role, again.team) == ("run-2", first.role, "core")


def test_two_who_end_it_at_once_free_it_once(store: Store, race: Race) -> None:
    store.teams.add(CORE)
    spawned_in(store, "ada", "run-1")
    race(6, "end_run")
    assert store.teams.members("core") == []
    assert len(trail(store, "team.left")) == 1


def test_a_failed_join_at_birth_leaves_no_run(store: Store, where: str) -> None:
    """All of it or nothing: an agent that its team does not know must not run."""
    store.teams.add(CORE)
    sql(
        where, "CREATE TRIGGER full BEFORE INSERT ON members BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    with pytest.raises(Exception, match="full"):
        store.runs.add(an_agent(team="core"), a_run())
    assert store.runs.run("run-1") is None
    assert store.runs.agents() == []
