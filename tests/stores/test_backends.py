"""What every store promises live runs: a token that dies with them, and servers in use."""

import pytest
from store_samples import KILLED, Open, Race, a_process, a_receipt, known, running, trail

from knell.core.errors import StoreFailed
from knell.core.ports.store import NotLive, Store
from knell.core.ports.teams import Backend

SERVER = Backend("s1", "opencode", "/srv/project", a_process(), 28_123, "/tmp/log")


def over(store: Store, run: str = "run-1") -> None:
    last = known(store, run)._replace(ending=KILLED)
    store.endings.end(last, a_receipt(last), ())


def unused(store: Store) -> list[Backend]:
    return [server for server in store.backends.all() if not server.runs]


# -- tokens ------------------------------------------------------------------------------------


def test_G43_a_token_says_which_run_and_dies_with_it(store: Store, connect: Open) -> None:
    run = running(store)
    store.runs.set_token("run-1", "digest")
    assert connect().runs.run_of_token("digest") == run._replace(seal="digest")
    assert store.runs.run_of_token("digest2") is None
    over(store)
    assert store.runs.run_of_token("digest") is None
    with pytest.raises(NotLive, match="Agent 'ada'"):
        store.runs.set_token("run-1", "digest")


def test_G43_no_token_is_nobodys(store: Store) -> None:
    running(store)
    assert store.runs.run_of_token("") is None
    store.runs.set_token("run-1", "digest")
    store.runs.set_token("run-1", "")
    assert store.runs.run_of_token("") is store.runs.run_of_token("digest") is None


def test_a_token_is_one_runs(store: Store) -> None:
    running(store)
    running(store, "run-2", "bo", 4_100)
    store.runs.set_token("run-1", "digest")
    with pytest.raises(StoreFailed):
        store.runs.set_token("run-2", "digest")
    store.runs.set_token("run-1", "newer")
    store.runs.set_token("run-2", "digest")
    found = store.runs.run_of_token("digest")
    assert found
    assert found.id == "run-2"


def test_a_token_is_in_no_event(store: Store) -> None:
    running(store)
    store.runs.set_token("run-1", "d1gest")
    over(store)
    assert not [event for event in trail(store) if "d1gest" in str(event)]


# -- servers -----------------------------------------------------------------------------------


def test_a_server_is_kept_as_it_is(store: Store, connect: Open) -> None:
    server = store.backends.add(SERVER)
    assert server.started_at
    assert server == SERVER._replace(started_at=server.started_at)
    assert connect().backends.all() == [server]


def test_a_project_has_one_server(store: Store) -> None:
    first = store.backends.add(SERVER)
    assert store.backends.add(SERVER._replace(id="s2", port=1)) == first
    other = store.backends.add(SERVER._replace(id="s3", project="/srv/other"))
    assert [server.id for server in store.backends.all()] == ["s1", "s3"]
    assert other.port == first.port


def test_of_many_who_start_one_at_once_one_is_the_projects(store: Store, race: Race) -> None:
    said = race(6, "serve")
    (server,) = store.backends.all()
    assert said == [server.id] * 6


def test_T23_T24_G37_a_server_is_used_as_long_as_a_live_run_uses_it(store: Store) -> None:
    server = store.backends.add(SERVER)
    running(store)
    running(store, "run-2", "bo", 4_100)
    assert unused(store) == [server]
    for run in ("run-1", "run-2", "run-1"):
        assert store.backends.use("s1", run)
    assert store.backends.all() == [server._replace(runs=("run-1", "run-2"))]
    over(store)
    assert store.backends.all()[0].runs == ("run-2",)
    assert unused(store) == []
    assert not store.backends.retire("s1")
    over(store, "run-2")
    assert unused(store) == [server]


def test_a_new_server_is_used_from_the_beginning(store: Store) -> None:
    running(store)
    added = store.backends.add(SERVER._replace(runs=("run-1",)))
    assert added.runs == ("run-1",)
    assert store.backends.all() == [added]
    assert not store.backends.retire("s1")
    over(store)
    assert store.backends.retire("s1")


def test_a_server_that_is_written_down_twice_stays_as_it_is(store: Store) -> None:
    store.backends.add(SERVER)
    store.backends.retire("s1")
    again = store.backends.add(SERVER)
    assert again.retired_at
    assert store.backends.all() == [again]


def test_only_the_living_use_what_is_there(store: Store) -> None:
    store.backends.add(SERVER)
    with pytest.raises(NotLive):
        store.backends.use("s1", "run-1")
    running(store)
    assert not store.backends.use("s2", "run-1")
    over(store)
    with pytest.raises(NotLive, match="ada"):
        store.backends.use("s1", "run-1")


def test_a_retired_server_takes_nobody_in(store: Store) -> None:
    store.backends.add(SERVER)
    running(store)
    assert store.backends.retire("s1")
    assert store.backends.retire("s1")  # who finds it so may finish it
    assert not store.backends.use("s1", "run-1")
    assert [server.id for server in unused(store)] == ["s1"]
    newer = store.backends.add(SERVER._replace(id="s2"))
    assert newer.id == "s2"
    assert store.backends.drop("s1")
    assert not store.backends.drop("s1")
    assert not store.backends.retire("s1")
    assert store.backends.all() == [newer]
    types = [event.type for event in trail(store) if event.type.startswith("server.")]
    assert types == ["server.added", "server.retired", "server.added", "server.dropped"]


def test_a_server_that_died_is_dropped_whoever_used_it(store: Store) -> None:
    store.backends.add(SERVER)
    running(store)
    store.backends.use("s1", "run-1")
    assert store.backends.drop("s1")
    assert store.backends.all() == []


def test_used_or_retired_but_never_both(store: Store, race: Race) -> None:
    store.backends.add(SERVER)
    running(store)
    said = set(race(8, "use_or_retire"))
    assert not {"used True", "retired True"} <= said
    assert not {"used False", "retired False"} <= said
