"""A search among thousands of receipts reads one short text of each, and unpacks what it found."""

import json

import pytest
from store_samples import KILLED, a_receipt, a_run, an_agent

from knell.core.ports.ending_store import ReceiptQuery
from knell.core.ports.store import Store
from knell.core.receipt import Cleaning, Death, Proof
from knell.stores import records
from knell.stores.sqlite import SqliteStore

MANY = 2_000
STEPS = 10  # of SQLite's machine, for a receipt that is looked at and not wanted


@pytest.fixture
def crowded(store: Store) -> SqliteStore:
    """Many ended runs, each of an agent of its own."""
    assert isinstance(store, SqliteStore)
    for number in range(20):
        live_and_end(store, f"agent-{number:05}", f"run-{number:05}", tag=f"tag-{number}")
    with store.writing("PRAGMA synchronous = OFF"):
        for number in range(20, MANY):
            like = f"{number % 20:05}", f"{number:05}"
            store.execute(
                "INSERT INTO receipts (run, at, data, words, worktree) SELECT run, at, data,"
                " replace(words, ?, ?), worktree FROM receipts WHERE id = ?",
                *like, number % 20 + 1,
            )  # fmt: skip
    return store


def live_and_end(store: Store, agent: str, id: str, **about: str) -> None:
    run = a_run(id=id, agent=agent)
    store.runs.add(an_agent(name=agent, **about), run)
    death = Death(sentence=f"ended by knell: operator asked, SIGTERM, {agent} was idle")
    receipt = a_receipt(run, proof=Proof.PROVEN, death=death)
    store.endings.end(run._replace(ending=KILLED), receipt, ())


def steps_of(store: SqliteStore, *words: str) -> int:
    """What the search costs SQLite, in steps of its machine; no clock is asked."""
    counted = [0]

    def count() -> int:
        counted[0] += 1
        return 0

    store.db.set_progress_handler(count, 1)
    try:
        store.endings.search(ReceiptQuery(words))
    finally:
        store.db.set_progress_handler(None, 1)
    return counted[0]


def plan_of(store: SqliteStore, *words: str) -> list[str]:
    asked: list[str] = []
    store.db.set_trace_callback(asked.append)
    store.endings.search(ReceiptQuery(words))
    store.db.set_trace_callback(None)
    [query] = asked
    return [row[-1] for row in store.db.execute(f"EXPLAIN QUERY PLAN {query}")]


def test_it_reads_one_table_in_its_own_order(crowded: SqliteStore) -> None:
    assert plan_of(crowded, "nobody") == ["SCAN receipts"]
    assert plan_of(crowded, "agent-00007", "killed", "idle") == ["SCAN receipts"]


@pytest.mark.parametrize("words", [("nobody",), ("agent-01999", "nobody"), ("killed", "nobody")])
def test_a_receipt_that_is_not_wanted_costs_little(
    crowded: SqliteStore, words: tuple[str, ...]
) -> None:
    assert steps_of(crowded, *words) < MANY * STEPS


def test_it_stops_when_it_has_enough(crowded: SqliteStore) -> None:
    assert steps_of(crowded, "killed") < MANY * STEPS / 10


def test_only_what_was_found_is_unpacked(
    crowded: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[bytes] = []
    real = records.unpacked
    monkeypatch.setattr(records, "unpacked", lambda data: unpacked.append(data) or real(data))
    assert len(crowded.endings.search(ReceiptQuery(("agent-01234",)))) == 1
    assert len(unpacked) == 1


@pytest.mark.parametrize(
    "word",
    ["ada", "CLAUDE", "night", "/srv/project", "run-1", "killed", "operator", "proven", "was idle"],
)
def test_every_word_that_people_know_is_found(store: Store, word: str) -> None:
    live_and_end(store, "ada", "run-1", tag="night")
    assert len(store.endings.search(ReceiptQuery((word,)))) == 1
    assert store.endings.search(ReceiptQuery((word, "nobody"))) == []
    assert store.endings.search(ReceiptQuery(("%",))) == []


def test_an_amended_receipt_is_found_by_its_new_words(store: Store) -> None:
    live_and_end(store, "ada", "run-1")
    receipt = store.endings.receipt("run-1")
    assert receipt
    told = receipt.death._replace(sentence="ended by a comet")
    worktree = Cleaning(worktree="/srv/wt", state="kept")
    store.endings.amend([receipt._replace(death=told, cleaning=worktree)])
    assert len(store.endings.search(ReceiptQuery(("comet",)))) == 1
    assert store.endings.search(ReceiptQuery(("SIGTERM",))) == []
    assert len(store.endings.search(ReceiptQuery(with_worktree=True))) == 1


def test_a_receipt_of_an_earlier_knell_is_read(store: Store) -> None:
    assert isinstance(store, SqliteStore)
    live_and_end(store, "ada", "run-1")
    before = store.endings.receipt("run-1")
    assert before
    with store.writing("PRAGMA synchronous = OFF"):
        store.execute("UPDATE receipts SET data = ?", json.dumps(before.to_json()))
    assert store.endings.receipt("run-1") == before
