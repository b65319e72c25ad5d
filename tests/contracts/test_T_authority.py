"""T3, T9, T40, T41, T47, C6, C31, G43: who may end whom, and how a caller proves who it is."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contracts.o_scenes import fall_silent
from contracts.t_scenes import (
    PUPPET,
    Puppet,
    begun,
    crew,
    events,
    gone,
    kill_agent,
    leader,
    member,
    members,
    refusals,
    requests,
)
from house import House, alive, eventually
from knell import Knell
from knell.core.errors import Refused
from scenes import adopted, number
from unpacked import plain_content

ENDING = {
    "kill": ("kill", "wendy"),
    "kill --yes": ("kill", "wendy", "--yes"),
    "kill team": ("kill", "team:red", "--yes"),
    "stop": ("stop", "wendy"),
    "stop --mode soft": ("stop", "wendy", "--mode", "soft"),
    "restart": ("restart", "wendy"),
    "ask": ("ask", "wendy"),
}


def test_T3_no_member_ends_another(house: House) -> None:
    _, wendy = crew(house)
    wanda = member(house, "wanda")
    for seen, (name, words) in enumerate(ENDING.items(), 1):
        said = wanda.says(*words)
        assert said.code == 1, (name, said)
        assert "leader" in said.err, name
        assert said.err.splitlines()[1].startswith("hint: "), name
        assert alive(wendy.pid), name
        assert requests(house) == [], name
        assert [refused["by"] for refused in refusals(house)] == ["agent:wanda"] * seen, name


def test_T3_T9_the_leader_does(house: House) -> None:
    boss, wendy = crew(house)
    [receipt] = boss.asks("kill", "wendy")["receipts"]
    assert (receipt["result"], receipt["by"]) == ("ended", "agent:boss")
    assert not alive(wendy.pid)


@pytest.mark.parametrize("verb", ["stop", "restart"])
def test_T9_in_every_way(house: House, verb: str) -> None:
    boss, wendy = crew(house)
    boss.asks(verb, "wendy")
    assert not alive(wendy.pid)
    assert refusals(house) == []


def test_T40_the_leader_of_one_team_is_nobody_in_another(house: House) -> None:
    crew(house)
    bob = leader(house, "bob", "blue")
    told = kill_agent(house, bob, force=True)
    assert told.error == "Only the team leader can kill agents"
    said = bob.says("kill", "wendy")
    assert (said.code, "only its leader" in said.err) == (1, True)


def test_T41_the_team_must_be_the_agents_own(house: House) -> None:
    """The original did not look: its leader could name any team of its own and end a stranger."""
    _, wendy = crew(house)
    bob = leader(house, "bob", "blue")
    told = kill_agent(house, bob, team="blue", force=True)
    assert (told.success, told.error) == (False, "Agent 'wendy' not found")
    assert alive(wendy.pid)


# -- the leader ------------------------------------------------------------------------------------


@pytest.mark.parametrize("force", [False, True])
def test_T47_the_tool_does_not_end_the_leader(house: House, *, force: bool) -> None:
    boss, _ = crew(house)
    told = kill_agent(house, boss, "boss", force=force)
    assert not told.success
    assert "the leader is not killed by this tool" in told.error
    assert alive(boss.pid)
    assert requests(house, "boss") == []


@pytest.mark.parametrize("words", [("kill", "boss"), ("stop",), ("kill", "boss", "--yes")])
def test_T47_nor_does_the_leader_end_itself(house: House, words: tuple[str, ...]) -> None:
    boss, _ = crew(house)
    said = boss.says(*words)
    assert (said.code, "no agent ends a leader" in said.err) == (1, True)
    assert "knell team dissolve red" in said.err
    boss.asks("team", "dissolve", "red")
    boss.says(*words)
    gone(house, "boss")


def test_T47_nor_does_a_member_or_a_stranger(house: House) -> None:
    boss, wendy = crew(house)
    lone = Puppet(house, "lone")
    for agent in (wendy, lone):
        assert agent.says("kill", "boss", "--yes").code == 1
    assert alive(boss.pid)
    assert len(refusals(house)) == 2


@pytest.mark.parametrize("verb", ["kill", "stop", "restart"])
def test_C6_a_person_ends_a_leader_only_when_told_twice(house: House, verb: str) -> None:
    boss, _ = crew(house)
    done = house.run(verb, "boss")
    assert done.returncode == 1
    what, hint = done.stderr.splitlines()
    assert what == "error: 'boss' leads team 'red': wendy would be without one"
    assert hint.startswith("hint: add --yes, or knell kill boss --dissolve")
    assert alive(boss.pid)
    [refused] = refusals(house)
    assert refused["by"] == "operator"
    assert house.run(verb, "boss", "--yes").returncode == 0
    assert not alive(boss.pid)


def test_C6_dissolve_ends_the_leader_and_then_the_team(house: House) -> None:
    boss, wendy = crew(house)
    done = house.run("kill", "boss", "--dissolve")
    assert done.returncode == 0, done.stderr
    assert (alive(boss.pid), alive(wendy.pid)) == (False, True)
    assert house.knell.teams() == []
    assert house.json("list")["agents"][0]["name"] == "wendy"
    assert Knell(env=house.env)._world.store.runs.seats() == {}


def test_C6_who_ends_all_of_a_team_needs_to_say_it_once(house: House) -> None:
    boss, wendy = crew(house)
    other = leader(house, "bob", "blue")
    assert house.run("kill", "team:red").returncode == 0
    assert [alive(one.pid) for one in (boss, wendy, other)] == [False, False, True]
    assert house.run("kill", "all").returncode == 0
    assert not alive(other.pid)


def test_C6_a_glob_that_leaves_members_behind_is_refused(house: House) -> None:
    boss, wendy = crew(house)
    done = house.run("kill", "b*")
    assert (done.returncode, alive(boss.pid), alive(wendy.pid)) == (1, True, True)


def test_C6_a_person_who_overrides_the_leader_is_on_record(house: House) -> None:
    crew(house)
    lone = Puppet(house, "lone")
    assert house.run("kill", "wendy", "lone").returncode == 0
    [override] = events(house, "authority.override")
    assert override == {"by": "operator", "team": "red", "role": "worker"}
    [stopped] = events(house, "life.stopped", "wendy")
    assert stopped["by"] == "operator"
    assert not alive(lone.pid)


# -- agents without a team, and families -----------------------------------------------------------


def test_C6_who_is_in_no_team_is_anybodys(house: House) -> None:
    _, wendy = crew(house)
    lone = Puppet(house, "lone")
    assert wendy.says("kill", "lone").code == 0
    assert not alive(lone.pid)


def test_who_started_an_agent_may_end_it_also_in_a_team(house: House) -> None:
    boss, wendy = crew(house)
    words = ("spawn", "--name", "helper", "--in", "headless", "--", "sleep", "90")
    assert wendy.says(*words).code == 0
    boss.asks("team", "add", "red", "helper")
    assert members(house) == ["boss", "wendy", "helper"]
    assert wendy.says("kill", "helper").code == 0
    assert members(house) == ["boss", "wendy"]


def test_only_the_leader_starts_members(house: House) -> None:
    boss, wendy = crew(house)
    words = ("--team", "red", "--in", "headless", "--", "sleep", "90")
    said = wendy.says("spawn", "--name", "sneak", *words)
    assert (said.code, "Only the team leader can spawn agents" in said.err) == (1, True)
    assert len(refusals(house)) == 1
    assert boss.says("spawn", "--name", "helper", *words).code == 0
    assert members(house) == ["boss", "wendy", "helper"]
    words = ("--team", "just-a-word", "--in", "headless", "--", "sleep", "90")
    assert wendy.says("spawn", "--name", "other", *words).code == 1


def test_a_member_may_stop_itself(house: House) -> None:
    _, wendy = crew(house)
    wendy.says("stop")
    gone(house, "wendy")
    assert house.knell.receipt("wendy").by == "agent:wendy"


def test_C31_a_leader_ends_several_only_when_it_says_so_twice(house: House) -> None:
    boss, wendy = crew(house)
    wanda = member(house, "wanda")
    said = boss.says("kill", "wendy", "wanda")
    assert (said.code, "unasked" in said.err) == (1, True)
    assert len(refusals(house)) == 1
    assert boss.says("kill", "wendy", "wanda", "--yes").code == 0
    assert (alive(wendy.pid), alive(wanda.pid)) == (False, False)


def test_stalled_kill_minds_it_too(house: House) -> None:
    boss, wendy = crew(house)
    fall_silent(house, boss.run, wendy.run)
    env = house.env | {"KNELL_TOKEN": Puppet(house, "lone").token}
    with type(house.knell)(env=env) as knell:
        knell.world.clock = house.knell.world.clock
        with pytest.raises(Refused, match="only its leader"):
            knell.end_stalled("wendy")
    with pytest.raises(Refused, match="leads team 'red'"):
        house.knell.end_stalled()
    assert (alive(boss.pid), alive(wendy.pid)) == (True, True)
    assert len(refusals(house)) == 2


# -- proof of who asks -----------------------------------------------------------------------------

SCRUBBED = ("KNELL_RUN", "KNELL_AGENT", "KNELL_TOKEN", "KNELL_HEARTBEAT")
DISGUISES: dict[str, dict[str, Any]] = {
    "scrubbed": {"without": SCRUBBED},
    "on behalf": {"without": SCRUBBED, "env": {"KNELL_ON_BEHALF": "operator"}},
}


@pytest.mark.parametrize("how", DISGUISES.values(), ids=DISGUISES)
def test_G43_a_scrubbed_environment_promotes_nobody(house: House, how: dict[str, Any]) -> None:
    """The original let everybody pass who had no name."""
    _, wendy = crew(house)
    wanda = member(house, "wanda")
    said = wanda.says("kill", "wendy", **how)
    assert (said.code, "only its leader" in said.err) == (1, True)
    assert alive(wendy.pid)


def test_G43_nor_does_anothers_name_or_token(house: House) -> None:
    """Ancestry is asked first: inside wanda, nobody is boss."""
    boss, wendy = crew(house)
    wanda = member(house, "wanda")
    stolen = {"KNELL_RUN": boss.run.id, "KNELL_AGENT": "boss", "KNELL_TOKEN": boss.token}
    assert wanda.says("kill", "wendy", env=stolen).code == 1
    assert alive(wendy.pid)
    [refused] = refusals(house)
    assert refused["by"] == "agent:wanda"


def test_G43_the_token_proves_a_process_that_is_nobodys_child(house: House) -> None:
    """Before the stamp, which anybody can copy."""
    boss, wendy = crew(house)
    claims = {"KNELL_RUN": wendy.run.id, "KNELL_AGENT": "wendy"}
    done = begun(house, "kill", "wendy", KNELL_TOKEN=boss.token, **claims)
    done.communicate(timeout=300)
    assert done.returncode == 0
    [stopped] = events(house, "life.stopped", "wendy")
    assert stopped["by"] == "agent:boss"


def test_G43_a_forged_token_is_nobodys(house: House) -> None:
    boss, _ = crew(house)
    server = house.knell.server
    real = boss.token
    assert server.holder_of(real) is not None
    for forged in ("", real[:-1], real + "A", real.swapcase(), "A" * 43, "\udcff", "x" * 100_000):
        assert server.holder_of(forged) is None


def test_G43_a_token_dies_with_its_run(house: House) -> None:
    """Replayed, it is worth nothing, and the next life has another."""
    boss, wendy = crew(house)
    token = wendy.token
    holder = house.knell.server.holder_of(token)
    assert holder
    assert (holder.agent, holder.run) == ("wendy", wendy.run.id)
    boss.asks("kill", "wendy")
    assert house.knell.server.holder_of(token) is None
    again = member(house, "wendy")
    assert again.token != token
    assert house.knell.server.holder_of(token) is None


def test_G43_the_token_is_in_no_file_no_event_and_no_command_line(house: House) -> None:
    boss = Puppet(house, "boss", restart=3)
    wendy = Puppet(house, "wendy", place="tmux", server="test")
    for agent in (boss, wendy):
        token = agent.token.encode()
        assert len(token) == 43
        files = [path for path in house.root.rglob("*") if path.is_file()]
        assert len(files) > 5
        assert [path for path in files if token in plain_content(path)] == []
        lines = [Path(f"/proc/{pid}/cmdline") for pid in (agent.pid, number(agent.run.keeper))]
        assert not any(token in line.read_bytes() for line in lines)


def test_G43_an_adopted_agent_has_no_token(house: House) -> None:
    luna = adopted(house, "tell()\nsleep()")
    with closing(sqlite3.connect(house.state / "knell.db")) as db:
        query = "SELECT token FROM instances WHERE run = ?"
        assert db.execute(query, [luna.run.id]).fetchone() == ("",)


def test_G43_a_team_without_a_leader_is_led_by_no_agent(house: House) -> None:
    """Nobody's empty name is not the empty name of nobody."""
    house.knell.team("red").create()
    wendy, lone = member(house, "wendy"), Puppet(house, "lone")
    for agent in (lone, None):
        told = kill_agent(house, agent)
        assert told.error == "Only the team leader can kill agents"
    assert lone.says("team", "dissolve", "red").code == 1
    assert alive(wendy.pid)


def test_no_agent_ends_what_it_runs_in_also_as_a_leader(house: House) -> None:
    outer = Puppet(house, "outer")
    door, up = house.root / "inner.door", house.root / "inner.up"
    env = ("--env", f"DOOR={door}", "--env", f"KNELL_READY={up}")
    words = ("spawn", "--name", "inner", "--in", "headless", *env, "--")
    assert outer.says(*words, sys.executable, "-S", "-c", PUPPET).code == 0
    eventually(up.exists)
    inner = Puppet.__new__(Puppet)
    inner.house, inner.name, inner.door = house, "inner", door
    house.knell.team("red").create(leader="inner")
    house.knell.team("red").add("outer")
    said = inner.says("kill", "outer", "--yes")
    assert (said.code, "ancestors" in said.err) == (1, True)
    assert alive(outer.pid)
