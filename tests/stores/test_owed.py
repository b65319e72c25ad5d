"""What every store promises of the steps that an ended run lacks: each claim is followed once."""

import pytest
from store_samples import KILLED, KILLER, OTHER, Open, a_receipt, known, running, stopping

from knell.core.ports.ending_store import End, Owed
from knell.core.ports.store import Store


def owing(store: Store, id: str = "run-1", agent: str = "ada") -> None:
    run = stopping(store, id, agent)._replace(ending=KILLED)
    store.endings.end_all([End(run, a_receipt(run), owed=True)])


def test_it_is_on_record_with_the_end_and_only_if_it_is_said(store: Store, connect: Open) -> None:
    owing(store)
    other = stopping(store, "run-2", "bo")._replace(ending=KILLED)
    store.endings.end(other, a_receipt(other), ())
    assert connect().endings.owed() == [Owed("run-1")]


def test_an_end_that_another_has_recorded_owes_nothing(store: Store) -> None:
    run = stopping(store)._replace(ending=KILLED)
    store.endings.end(run, a_receipt(run), ())
    store.endings.end_all([End(run, a_receipt(run), owed=True)])
    assert store.endings.owed() == []


def test_an_end_that_fails_owes_nothing(store: Store) -> None:
    run = running(store)
    with pytest.raises(ValueError, match="without an ending"):
        store.endings.end_all([End(run._replace(ending=None), a_receipt(run), owed=True)])
    assert store.endings.owed() == []


def test_of_those_that_read_the_same_one_wins(store: Store, connect: Open) -> None:
    owing(store)
    owing(store, "run-2", "bo")
    second = connect()
    read, same = store.endings.owed(), second.endings.owed()
    assert store.endings.claim_owed(read[:1], KILLER) == ["run-1"]
    assert second.endings.claim_owed(same, OTHER) == ["run-2"]
    assert store.endings.owed() == [Owed("run-1", KILLER), Owed("run-2", OTHER)]


def test_the_claim_of_one_that_died_passes_on_once(store: Store) -> None:
    owing(store)
    store.endings.claim_owed([Owed("run-1")], KILLER)
    assert store.endings.claim_owed([Owed("run-1", KILLER)], OTHER) == ["run-1"]
    assert store.endings.claim_owed([Owed("run-1", KILLER)], KILLER) == []


def test_what_came_of_it_settles_it(store: Store) -> None:
    owing(store)
    owing(store, "run-2", "bo")
    more = a_receipt(known(store))._replace(detail="more")
    store.endings.amend([more], ["run-1"])
    assert store.endings.receipt("run-1") == more
    assert store.endings.owed() == [Owed("run-2")]
    assert store.endings.claim_owed([Owed("run-1")], KILLER) == []


def test_a_run_that_is_forgotten_is_owed_nothing(store: Store) -> None:
    owing(store)
    store.pruning.forget(["run-1"], "2031")
    assert store.endings.owed() == []
