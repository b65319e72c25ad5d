"""What every store promises letters: each is read once, by whoever bears the name."""

import pytest
from store_samples import KILLED, Clock, Open, Race, a_receipt, a_run, an_agent, known, trail

from quell.core.errors import BadRequest
from quell.core.message import EVERYBODY, LONGEST, Message
from quell.core.store import Store
from quell.core.team import Team
from quell.core.teamwork import NoSuchTeam, TeamStore


@pytest.fixture
def core(store: Store) -> TeamStore:
    store.teamwork.add_team(Team("core", "boss"))
    for name in ("ada", "bo", "cy"):
        store.teamwork.join("core", name)
    return store.teamwork


def sent(core: TeamStore, body: str = "hello", to: str = "ada") -> Message:
    (letter,) = core.send("core", "boss", [to], "plain", body)
    return letter


def test_a_letter_comes_as_it_was_sent(core: TeamStore, connect: Open, clock: Clock) -> None:
    (letter,) = core.send("core", "boss", ["ada"], "idle", "résumé 🎉\nline", "in short")
    assert letter == Message(
        1, "core", "boss", "ada", "idle", "résumé 🎉\nline", clock_of(letter), "", "in short"
    )
    assert connect().teamwork.peek("ada", 10) == [letter]
    (taken,) = core.take("ada", 10)
    assert taken._replace(read_at="") == letter
    assert taken.read_at == clock.last


def clock_of(letter: Message) -> str:
    assert letter.at
    return letter.at


def test_a_letter_is_read_once_and_in_order(core: TeamStore) -> None:
    letters = [sent(core, str(number)) for number in range(5)]
    assert core.count("ada") == 5
    assert core.peek("ada", 2) == letters[:2]
    assert [letter.body for letter in core.take("ada", 2)] == ["0", "1"]
    assert [letter.body for letter in core.take("ada", 9)] == ["2", "3", "4"]
    assert core.take("ada", 9) == core.peek("ada", 9) == []
    assert core.count("ada") == 0


@pytest.mark.parametrize("limit", [0, -1])
def test_who_takes_nothing_gets_nothing(core: TeamStore, limit: int) -> None:
    sent(core)
    assert core.take("ada", limit) == []
    assert core.count("ada") == 1


def test_G45_letters_of_the_same_moment_are_told_apart(core: TeamStore) -> None:
    letters = core.send("core", "boss", ["ada", "bo", "ada", ""], "plain", "same")
    assert [(letter.to, letter.at) for letter in letters] == [
        ("ada", letters[0].at),
        ("bo", letters[0].at),
    ]
    core.take("ada", 1)
    assert (core.count("ada"), core.count("bo")) == (0, 1)


def test_everybody_is_everybody_but_the_sender(core: TeamStore) -> None:
    core.join("core", "boss")
    letters = core.send("core", "bo", [EVERYBODY], "plain", "all of you")
    assert [letter.to for letter in letters] == ["ada", "cy", "boss"]
    assert core.count("bo") == 0
    with pytest.raises(BadRequest):
        core.send("", "bo", [EVERYBODY], "plain", "all of you")


def test_a_letter_to_nobody_is_no_event(core: TeamStore, store: Store) -> None:
    core.add_team(Team("web", ""))
    assert core.send("web", "boss", [EVERYBODY], "plain", "hello?") == []
    assert trail(store, "message.sent") == []


def test_the_trail_knows_of_a_letter_and_not_what_it_says(core: TeamStore, store: Store) -> None:
    core.send("core", "boss", ["ada", "bo"], "plain", "s3cret", "also s3cret")
    (event,) = trail(store, "message.sent")
    assert event.agent == "boss"
    assert event.data == {"team": "core", "type": "plain", "to": ["ada", "bo"], "ids": [1, 2]}


@pytest.mark.parametrize(
    ("team", "type", "body"),
    [("core", "gossip", "x"), ("core", "plain", "x" * (LONGEST + 1)), ("web", "plain", "x")],
)
def test_bad_letters_are_not_sent(core: TeamStore, team: str, type: str, body: str) -> None:
    with pytest.raises((BadRequest, NoSuchTeam)):
        core.send(team, "boss", ["ada"], type, body)
    assert core.count("ada") == 0


def test_those_without_a_team_write_too(core: TeamStore) -> None:
    core.send("", "operator", ["dee"], "plain", "you there")
    assert [letter.sender for letter in core.take("dee", 1)] == ["operator"]


def test_an_inbox_survives_its_readers_end(core: TeamStore, store: Store) -> None:
    store.add_run(an_agent(), a_run())
    sent(core)
    run = known(store)._replace(ending=KILLED)
    store.end(run, a_receipt(run), ())
    sent(core, "later")
    store.add_run(an_agent(), a_run("run-2"))
    assert [letter.body for letter in core.take("ada", 9)] == ["hello", "later"]


def test_half_a_character_does_not_stop_a_letter(core: TeamStore) -> None:
    sent(core, "caf\udce9")
    assert [letter.body for letter in core.take("ada", 9)] == ["caf?"]


def test_G45_of_many_readers_at_once_each_letter_comes_to_one(core: TeamStore, race: Race) -> None:
    for number in range(30):
        sent(core, str(number))
    said = [id for line in race(2, "take") for id in line.split()]
    assert sorted(said, key=int) == [str(number) for number in range(1, 31)]
    assert core.count("ada") == 0


def test_who_polls_an_empty_inbox_writes_nothing(core: TeamStore, clock: Clock) -> None:
    before = clock.last
    assert core.take("ada", 10) == []
    assert clock.last == before
