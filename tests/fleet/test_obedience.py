"""Whom a host obeys: each way to give an order that is not one, by somebody who owns the database.

The link runs in this process and is stepped, so that a refusal is seen at once.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fleets import Fleet
from hosts import Host
from house import alive, eventually
from knell.core.fleet.order import FleetOrder, order_text
from knell.faces.fleet.host import ThisHost
from knell.fleet.keys import make_key, sign
from knell.fleet.link import Link
from knell.fleet.private_files import read_credentials


@contextlib.contextmanager
def stepped(host: Host, made: Callable[..., ThisHost] = ThisHost) -> Iterator[Link]:
    """The link of that host, connected."""
    files = host.knell.fleet.files
    pace = {"poll": 0.05, "lease": 1.0}
    link = Link(read_credentials(files.link), files, made(host.knell), pace)
    try:
        step_until(link, lambda: link.wire)
        yield link
    finally:
        link.close()


def step_until(link: Link, fact: Callable[[], Any]) -> Any:
    def once() -> Any:
        link.step()
        return fact()

    return eventually(once)


class Scene:
    """One agent on one host, a real order to end it, and what becomes of whatever is sent."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.host = fleet, fleet.join("build-7", link=False)
        self.run = self.host.spawn(name="luna").run
        self.boss = fleet.boss.knell.fleet
        with stepped(self.host) as link:
            step_until(link, fleet.agents)

    def order(self, target: str = "luna@build-7", **changed: Any) -> FleetOrder:
        """As the operator would give it, with these fields changed before it is signed."""
        from knell.core.fleet.target import far_target
        from knell.fleet.postgres import OrderWish

        wish = OrderWish("kill", far_target(target), {}, 3600.0)
        [one] = self.boss.database.prepare(wish, self.boss._signer())
        return one._replace(**changed)

    def insert(self, order: FleetOrder, *, text: str = "", signature: str | None = None,
               host: str = "build-7") -> str:  # fmt: skip
        """By the super user's hand, past every function."""
        text = text or order_text(order)
        if signature is None:
            signature = sign(self.boss.files.operator_key, text)
        self.fleet.database.sql(
            "INSERT INTO knell.orders (id, host, body, signature, issued_by, expires_at)"
            " VALUES (%s, %s, %s, %s, 'postgres', now() + interval '1 hour')",
            order.id, host, text, signature,
        )  # fmt: skip
        return order.id

    def outcome(self, id: str) -> tuple[str, str]:
        """The state of the order after the link has seen it, and the code of the refusal."""
        row = "SELECT state, answer FROM knell.orders WHERE id = %s"

        def closed() -> Any:
            [(state, answer)] = self.fleet.database.sql(row, id)
            return state not in ("issued", "taken") and (state, answer or {})

        with stepped(self.host) as link:
            state, answer = step_until(link, closed)
        return state, answer.get("error", {}).get("code", "")

    def noted(self) -> list[str]:
        events = self.host.knell.world.store.events.read(0, "", 1000)
        return [str(one.data["code"]) for one in events if one.type == "fleet.refused"]

    @property
    def lives(self) -> bool:
        assert self.run.process
        return alive(self.run.process.pid)


@pytest.fixture
def scene(fleet: Fleet) -> Scene:
    return Scene(fleet)


def test_a_good_order_is_obeyed(scene: Scene) -> None:
    """Or the refusals below would prove nothing."""
    assert scene.outcome(scene.insert(scene.order())) == ("done", "")
    assert not scene.lives
    assert scene.noted() == []


def test_each_bad_order_is_refused_and_noted(scene: Scene) -> None:
    """One after another on one host: the agent lives through all of them."""
    now, good = time.time(), scene.order()
    other = scene.host.root / "other.key"
    key = make_key(str(other))
    foreign = order_text(scene.order(key=key))
    old: dict[str, Any] = {"issued_at": now - 7200, "expires_at": now - 3600}
    bad: dict[str, tuple[Callable[[], str], str]] = {
        "unsigned": (lambda: scene.insert(scene.order(), signature=""), "order_unreadable"),
        "no text": (lambda: scene.insert(scene.order(), text="kill luna"), "order_unreadable"),
        "signed by another key, which it names": (
            lambda: scene.insert(
                json_order(foreign), text=foreign, signature=sign(str(other), foreign)),
            "key_not_trusted"),
        "signed by another key, and names the operator's": (
            lambda: scene.insert(one := scene.order(), signature=sign(str(other), order_text(one))),
            "order_unreadable"),
        "expired": (lambda: scene.insert(scene.order(**old)), "order_expired"),
        "valid for a year": (
            lambda: scene.insert(scene.order(expires_at=now + 86400 * 365)), "order_expired"),
        "for another host": (lambda: scene.insert(scene.order(host="build-8")), "order_foreign"),
        "of another fleet": (lambda: scene.insert(scene.order(fleet="x")), "order_foreign"),
        "under another id": (
            lambda: scene.insert(scene.order(), text=order_text(good)), "order_foreign"),
        "for another incarnation": (
            lambda: scene.insert(scene.order(boot="another")), "other_incarnation"),
        "by a host that is not trusted": (
            lambda: scene.insert(scene.order(signer="host:build-8")), "key_not_trusted"),
    }  # fmt: skip
    for name, (send, code) in bad.items():
        assert scene.outcome(send()) == ("refused", code), name
    assert scene.lives
    assert scene.noted() == [code for _, code in bad.values()]


def json_order(text: str) -> FleetOrder:
    fields = json.loads(text)
    del fields["form"]
    return FleetOrder(**fields)


def test_every_field_is_signed(scene: Scene) -> None:
    good = scene.order()
    signature = sign(scene.boss.files.operator_key, order_text(good))
    changes: dict[str, Any] = {
        "verb": "stop", "target": "all", "runs": (), "options": {"force": True}, "by": "operator:e",
        "expires_at": good.expires_at + 60, "issued_at": good.issued_at - 1, "boot": "",
        "host": "build-8", "fleet": "f", "signer": "host:x",
    }  # fmt: skip
    assert {*changes} | {"id", "key"} == {*FleetOrder._fields}, "a field that is not tried here"
    for name, value in changes.items():
        altered = scene.order()._replace(**{name: value})
        sent = good._replace(**{name: value, "id": altered.id})
        assert scene.outcome(scene.insert(sent, signature=signature))[0] == "refused", name
    assert scene.lives


def test_an_order_that_is_put_back_is_not_done_again(scene: Scene) -> None:
    id = scene.insert(scene.order())
    assert scene.outcome(id) == ("done", "")
    again = scene.host.spawn(name="luna").run
    scene.fleet.database.sql("UPDATE knell.orders SET state = 'issued', answer = NULL")
    assert scene.outcome(id) == ("done", "")
    assert again.process
    assert alive(again.process.pid)
    assert len(scene.fleet.database.sql("SELECT 1 FROM knell.receipts")) == 1


def test_an_order_that_is_put_back_with_other_words_is_refused(scene: Scene) -> None:
    order = scene.order()
    id = scene.insert(order)
    assert scene.outcome(id) == ("done", "")
    again = scene.host.spawn(name="luna").run
    with stepped(scene.host) as link:
        rows = "SELECT 1 FROM knell.agents WHERE run = %s"
        step_until(link, lambda: scene.fleet.database.sql(rows, again.id))
    text = order_text(scene.order(id=id))
    signature = sign(scene.boss.files.operator_key, text)
    scene.fleet.database.sql(
        "UPDATE knell.orders SET state = 'issued', answer = NULL, body = %s, signature = %s", text,
        signature,
    )  # fmt: skip
    assert scene.outcome(id) == ("refused", "order_replayed")
    assert again.process
    assert alive(again.process.pid)


def test_a_key_that_is_trusted_no_more_gives_no_orders(scene: Scene) -> None:
    assert scene.host.knell.fleet.distrust(scene.fleet.key)
    assert scene.outcome(scene.insert(scene.order())) == ("refused", "key_not_trusted")
    assert scene.lives


@pytest.mark.parametrize("name", ["trusted", "host.key", "link.json"])
def test_a_secret_that_others_can_read_is_not_used(scene: Scene, name: str) -> None:
    """The host says which file, and goes on alone."""
    path = scene.host.state / "fleet" / name
    path.chmod(0o644)
    done = scene.host.run("fleet", "status")
    said = done.stdout + done.stderr
    if name != "link.json":
        id = scene.insert(scene.order())
        one = scene.fleet.begin_link("build-7")
        said += scene.fleet.hear(one, "not linked")
        scene.fleet.unlink("build-7")
        assert scene.fleet.database.sql("SELECT state FROM knell.orders WHERE id = %s", id) == [
            ("issued",)
        ]
    assert "0644" in said
    assert scene.lives
    assert scene.host.run("kill", "luna").returncode == 0


class Skewed(ThisHost):
    """Its clock is an hour ahead."""

    def clock(self) -> float:
        return super().clock() + 3600


def test_a_clock_that_is_an_hour_off_changes_nothing_and_is_shown(scene: Scene) -> None:
    """Orders expire by the clock of the database."""
    id = scene.insert(scene.order())
    with stepped(scene.host, Skewed) as link:
        row = "SELECT state FROM knell.orders WHERE id = %s"
        step_until(link, lambda: scene.fleet.database.sql(row, id) == [("done",)])
        said = scene.fleet.boss.run("fleet", "status")
    assert "3600" in said.stdout or "1 h" in said.stdout or "60 min" in said.stdout, said.stdout


@pytest.mark.parametrize(
    "options", [{"grace": "soon"}, {"grace": float("1e308")}, {"odd": 1}, {"force": []}]
)
def test_options_that_make_no_sense_are_an_answer(scene: Scene, options: dict[str, Any]) -> None:
    """And the link goes on: the next order is obeyed."""
    state, code = scene.outcome(scene.insert(scene.order(options=options)))
    assert state in ("refused", "done")
    assert code or not scene.lives
    if scene.lives:
        assert scene.outcome(scene.insert(scene.order())) == ("done", "")


def test_words_that_the_database_cannot_hold_stop_nothing(scene: Scene) -> None:
    """Halves of characters, NUL, numbers that are none: the rest is published all the same."""
    store = scene.host.knell.world.store
    for data in ({"x": "\ud800"}, {"x": "a\0b"}, {"x": float("nan")}, {"x": float("inf")},
                 {"x": "\x1b[31m"}, {"x": "y" * 2_000_000}):  # fmt: skip
        scene.host.knell.server.note("test.odd", data)
    scene.host.knell.server.note("test.last", {})
    assert store
    with stepped(scene.host) as link:
        last = "SELECT 1 FROM knell.events WHERE type = 'test.last'"
        step_until(link, lambda: scene.fleet.database.sql(last))
        assert link.trouble == ""
    odd = scene.fleet.database.sql("SELECT count(*) FROM knell.events WHERE type = 'test.odd'")
    assert odd == [(6,)]
    shown = scene.fleet.boss.run("events", "--fleet")
    assert "\x1b" not in shown.stdout


def test_a_flood_of_notifications_is_not_a_flood_of_questions(scene: Scene) -> None:
    """Anybody in the database can notify anybody."""
    from knell.fleet.link import channel

    with stepped(scene.host) as link:
        asked = 0
        ask = link._take_orders

        def count(wire: Any) -> None:
            nonlocal asked
            asked += 1
            ask(wire)

        link._take_orders = count  # type: ignore[method-assign]
        link.poll_every = 3600.0
        conn = scene.fleet.database.connect()
        for number in range(300):
            conn.execute("SELECT pg_notify(%s, %s)", (channel("build-7"), str(number)))
            link.step()
        conn.close()
    assert 0 < asked < 300
