"""What a host is said to have answered, by somebody who owns the database: nothing is called ended
that the host has not signed.

A trigger of the super user answers each order before its host can see it.
"""

import json
from typing import Any

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from fleets import Fleet
from house import alive, eventually
from knell.core.fleet.answer import answer_text, receipt_text
from knell.fleet.keys import make_key, sign
from knell.fleet.wire import storable
from postgres import Database

FORGE = """
CREATE FUNCTION public.forge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.state := 'done'; NEW.answer := {answer}; NEW.proof := {proof}; NEW.finished_at := now();
    RETURN NEW;
END $$;
"""
UNSIGNED = "not proven: the answer is not signed by build-7"


class Forger:
    """A host with two agents. One has ended, with a receipt; the forger says so of the other."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.host = fleet, fleet.join("build-7")
        self.luna = self.host.spawn(name="luna").run
        self.host.spawn(name="nova")
        fleet.await_agent("build-7", "nova")
        self.real = fleet.json(fleet.boss, "kill", "nova@build-7", "--wait", "200")["receipts"][0]

    @property
    def receipt(self) -> dict[str, Any]:
        return {**self.real, "agent": "luna", "run": self.luna.id}

    @property
    def answer(self) -> dict[str, Any]:
        return {"targets": [{"label": "", "orphaned": [], "receipts": [self.receipt]}]}

    def forge(self, proof: str = "''") -> None:
        """Every order is answered from now on; the proof is an expression of SQL."""
        answer = sql.Literal(Jsonb(self.answer)).as_string(None)
        self.fleet.database.sql(FORGE.format(answer=answer, proof=proof))
        self.fleet.database.sql(
            "CREATE TRIGGER forge BEFORE INSERT ON knell.orders"
            " FOR EACH ROW EXECUTE FUNCTION public.forge()"
        )

    def is_refused(self) -> None:
        """The operator is told by both forms of output, and the agent lives."""
        said = self.fleet.boss.run("kill", "luna@build-7", "--wait", "200")
        assert (said.returncode, UNSIGNED in said.stderr) == (1, True), said
        assert "illed" not in said.stdout
        document = self.fleet.json(self.fleet.boss, "kill", "luna@build-7", "--wait", "9", code=1)
        assert (document["ok"], document["receipts"]) == (False, [])
        assert [one["code"] for one in document["failed"]] == ["answer_not_signed"]
        assert self.luna.process
        assert alive(self.luna.process.pid)


@pytest.fixture
def forger(fleet: Fleet) -> Forger:
    return Forger(fleet)


def test_an_answer_that_a_super_user_wrote_is_not_believed(forger: Forger) -> None:
    forger.forge()
    forger.is_refused()
    listed = forger.fleet.json(forger.fleet.boss, "orders", "--all")["orders"]
    assert [one["state"] for one in listed] == ["unproven", "unproven", "done"]
    shown = forger.fleet.boss.run("show", "luna@build-7", "--wait", "200")
    assert (shown.returncode, UNSIGNED in shown.stderr) == (1, True), shown


def test_the_signature_of_another_answer_proves_nothing(forger: Forger) -> None:
    forger.forge("(SELECT max(proof) FROM knell.orders)")
    forger.is_refused()
    forger.fleet.database.sql("UPDATE knell.orders SET state = 'refused' WHERE proof != ''")
    listed = forger.fleet.json(forger.fleet.boss, "orders", "--all")["orders"]
    assert {one["state"] for one in listed} == {"unproven"}, "the state is signed too"


def test_a_host_that_is_known_is_not_known_by_another_key(forger: Forger) -> None:
    """The super user signs with a key that the database shows as the host's."""
    fleet = forger.fleet
    other = str(forger.host.root / "other.key")
    make_key(other)
    forger.forge()
    waiting = fleet.boss.run("kill", "luna@build-7", "--wait", "0")
    assert waiting.returncode == 1
    [(order, id)] = fleet.database.sql("SELECT id::text, id FROM knell.orders WHERE proof = ''")
    given = json.loads((fleet.boss.state / "fleet" / "operator.json").read_text())
    text = answer_text(given["fleet"], "build-7", order, "done", forger.answer)
    key = make_key(other)
    fleet.database.sql("UPDATE knell.hosts SET key = %s", key)
    fleet.database.sql(
        "UPDATE knell.orders SET proof = %s WHERE id = %s", sign(other, text, "answer"), id
    )
    states = {
        one["id"]: one["state"] for one in fleet.json(fleet.boss, "orders", "--all")["orders"]
    }
    assert states[order] == "unproven"
    status = fleet.boss.run("fleet", "status")
    assert "not the one that is known here" in status.stdout
    # Only the operator can say that the host was set up anew.
    assert fleet.boss.run("fleet", "key", "pin", "build-7", key).returncode == 0
    states = {
        one["id"]: one["state"] for one in fleet.json(fleet.boss, "orders", "--all")["orders"]
    }
    assert states[order] == "done"
    assert "not the one" not in fleet.boss.run("fleet", "status").stdout


def test_a_key_that_the_operator_listed_is_not_replaced_by_what_is_seen(fleet: Fleet) -> None:
    host = fleet.join("build-7", link=False)
    keys = json.loads(host.run("fleet", "key", "list", "--json").stdout)["keys"]
    own = next(one["key"] for one in keys if one["what"] == "own host")
    assert fleet.json(fleet.boss, "fleet", "key", "pin", "build-7", own)["changed"] is True
    other = make_key(str(host.root / "other.key"))
    fleet.database.sql("UPDATE knell.hosts SET key = %s", other)
    fleet.boss.run("fleet", "status")
    known = [one for one in fleet.json(fleet.boss, "fleet", "key", "list")["keys"]
             if one["what"] == "known host"]  # fmt: skip
    assert known == [{"what": "known host", "name": "build-7", "key": own}]
    assert fleet.json(fleet.boss, "fleet", "key", "pin", "build-7", "--remove")["changed"] is True
    fleet.boss.run("fleet", "status")
    known = [one["key"] for one in fleet.json(fleet.boss, "fleet", "key", "list")["keys"]
             if one["what"] == "known host"]  # fmt: skip
    assert known == [other], "the first that is seen"
    bad = fleet.boss.run("fleet", "key", "pin", "build-7", "rsa:no")
    assert (bad.returncode, "hint:" in bad.stderr) == (2, True), bad


def test_a_receipt_that_a_super_user_wrote_is_not_shown(forger: Forger) -> None:
    fleet, rows = forger.fleet, "SELECT proof FROM knell.receipts WHERE agent = 'nova'"
    [(proof,)] = eventually(lambda: fleet.database.sql(rows))
    shown = fleet.json(fleet.boss, "receipt", "nova@build-7")
    assert shown["run"] == forger.real["run"]
    insert = (
        "INSERT INTO knell.receipts (host, run, number, agent, receipt, proof)"
        " VALUES ('build-7', %s, 1, 'luna', %s, %s)"
    )
    forged = {
        "unsigned": (forger.luna.id, forger.receipt, ""),
        "signed for another run": (forger.luna.id, forger.receipt, proof),
        "of another agent": (forger.real["run"] + "x", forger.real, proof),
    }
    for name, (run, receipt, said) in forged.items():
        fleet.database.sql(insert, run, Jsonb(receipt), said)
        done = fleet.boss.run("receipt", "luna@build-7")
        assert done.returncode == 1, name
        assert "not proven: the receipt is not signed by build-7" in done.stderr, done
        assert "proven gone" not in done.stdout
        fleet.database.sql("DELETE FROM knell.receipts WHERE agent = 'luna'")
    fleet.database.sql("UPDATE knell.receipts SET agent = 'luna'")
    moved = fleet.boss.run("receipt", "luna@build-7")
    assert moved.returncode == 1, "it is nova's"


def test_the_text_that_was_signed_is_written_again_from_the_database(database: Database) -> None:
    """Whatever the database makes of numbers and characters."""
    odd = {
        "numbers": [0.1, 1.0, -0.0, 1e22, 1.5e300, 5e-324, 1e-7, 123456789.125, 2**70, float("nan"),
                    float("inf"), True, None, 1 / 3],
        "words": ["", "a\0b", "\ud800", "é", "\U0001f514", "\x7f", "\\u0000", "\u2028", '"'],
        "z": {"b": [], "a": {}, "": (1, 2.0)},
    }  # fmt: skip
    sent = storable(odd)
    [(stored,)] = database.sql("SELECT %s::jsonb::text", json.dumps(sent))
    back = json.loads(stored)
    assert receipt_text("f", "h", "r", 1, back) == receipt_text("f", "h", "r", 1, sent)
    assert answer_text("f", "h", "o", "done", back) != answer_text("f", "h", "o", "done", {})
