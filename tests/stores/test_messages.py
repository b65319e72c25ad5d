"""What every store promises messages: each is read once, by whoever bears the name."""

import pytest
from store_samples import KILLED, Clock, Open, Race, a_receipt, a_run, an_agent, known, trail

from knell.core.errors import BadRequest
from knell.core.ports.store import Store
from knell.core.ports.teams import NoSuchTeam
from knell.core.teams import EVERYBODY, LONGEST, Message, Team


@pytest.fixture
def core(store: Store) -> Store:
    store.teams.add(Team("core", "boss"))
    for name in ("ada", "bo", "cy"):
        store.teams.join("core", name)
    return store


def sent(core: Store, body: str = "hello", to: str = "ada") -> Message:
    (message,) = core.messages.send("core", "boss", [to], "plain", body)
    return message


def unread(core: Store, agent: str) -> int:
    return len(core.messages.peek(agent, 1000))


def test_a_message_comes_as_it_was_sent(core: Store, connect: Open, clock: Clock) -> None:
    (message,) = core.messages.send("core", "boss", ["ada"], "idle", "résumé 🎉\nline", "in short")
    assert message == Message(
        1, "core", "boss", "ada", "idle", "résumé 🎉\nline", clock_of(message), "", "in short"
    )
    assert connect().messages.peek("ada", 10) == [message]
    (taken,) = core.messages.take("ada", 10)
    assert taken._replace(read_at="") == message
    assert taken.read_at == clock.last


def clock_of(message: Message) -> str:
    assert message.at
    return message.at


def test_a_message_is_read_once_and_in_order(core: Store) -> None:
    messages = [sent(core, str(number)) for number in range(5)]
    assert unread(core, "ada") == 5
    assert core.messages.peek("ada", 2) == messages[:2]
    assert [message.body for message in core.messages.take("ada", 2)] == ["0", "1"]
    assert [message.body for message in core.messages.take("ada", 9)] == ["2", "3", "4"]
    assert core.messages.take("ada", 9) == core.messages.peek("ada", 9) == []
    assert unread(core, "ada") == 0


@pytest.mark.parametrize("limit", [0, -1])
def test_who_takes_nothing_gets_nothing(core: Store, limit: int) -> None:
    sent(core)
    assert core.messages.take("ada", limit) == []
    assert unread(core, "ada") == 1


def test_G45_messages_of_the_same_moment_are_told_apart(core: Store) -> None:
    messages = core.messages.send("core", "boss", ["ada", "bo", "ada", ""], "plain", "same")
    assert [(message.to, message.at) for message in messages] == [
        ("ada", messages[0].at),
        ("bo", messages[0].at),
    ]
    core.messages.take("ada", 1)
    assert (unread(core, "ada"), unread(core, "bo")) == (0, 1)


def test_everybody_is_everybody_but_the_sender(core: Store) -> None:
    core.teams.join("core", "boss")
    messages = core.messages.send("core", "bo", [EVERYBODY], "plain", "all of you")
    assert [message.to for message in messages] == ["ada", "cy", "boss"]
    assert unread(core, "bo") == 0
    with pytest.raises(BadRequest):
        core.messages.send("", "bo", [EVERYBODY], "plain", "all of you")


def test_a_message_to_nobody_is_no_event(core: Store, store: Store) -> None:
    core.teams.add(Team("web", ""))
    assert core.messages.send("web", "boss", [EVERYBODY], "plain", "hello?") == []
    assert trail(store, "message.sent") == []


def test_the_trail_knows_of_a_message_and_not_what_it_says(core: Store, store: Store) -> None:
    core.messages.send("core", "boss", ["ada", "bo"], "plain", "s3cret", "also s3cret")
    (event,) = trail(store, "message.sent")
    assert event.agent == "boss"
    assert event.data == {"team": "core", "type": "plain", "to": ["ada", "bo"], "ids": [1, 2]}


@pytest.mark.parametrize(
    ("team", "type", "body"),
    [("core", "gossip", "x"), ("core", "plain", "x" * (LONGEST + 1)), ("web", "plain", "x")],
)
def test_bad_messages_are_not_sent(core: Store, team: str, type: str, body: str) -> None:
    with pytest.raises((BadRequest, NoSuchTeam)):
        core.messages.send(team, "boss", ["ada"], type, body)
    assert unread(core, "ada") == 0


def test_those_without_a_team_write_too(core: Store) -> None:
    core.messages.send("", "operator", ["dee"], "plain", "you there")
    assert [message.sender for message in core.messages.take("dee", 1)] == ["operator"]


def test_an_inbox_survives_its_readers_end(core: Store, store: Store) -> None:
    store.runs.add(an_agent(), a_run())
    sent(core)
    run = known(store)._replace(ending=KILLED)
    store.endings.end(run, a_receipt(run), ())
    sent(core, "later")
    store.runs.add(an_agent(), a_run("run-2"))
    assert [message.body for message in core.messages.take("ada", 9)] == ["hello", "later"]


def test_half_a_character_does_not_stop_a_message(core: Store) -> None:
    sent(core, "caf\udce9")
    assert [message.body for message in core.messages.take("ada", 9)] == ["caf?"]


def test_G45_of_many_readers_at_once_each_message_comes_to_one(core: Store, race: Race) -> None:
    for number in range(30):
        sent(core, str(number))
    said = [id for line in race(2, "take") for id in line.split()]
    assert sorted(said, key=int) == [str(number) for number in range(1, 31)]
    assert unread(core, "ada") == 0


def test_who_polls_an_empty_inbox_writes_nothing(core: Store, clock: Clock) -> None:
    before = clock.last
    assert core.messages.take("ada", 10) == []
    assert clock.last == before
