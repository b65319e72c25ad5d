"""A simulated day with everybody in it: no one is ended who should live, all hung are found."""

from day import Chronicle, spend
from day_parts import CAST
from house import House

ROUNDS = 72  # eighteen minutes under watch, and what the machine sleeps and the watch is paused

# What was seen of each part, wherever it was played, at some time of the day.
SEEN = {
    "beats": {"working"},
    "tool": {"working"},
    "prints": {"working"},
    "rests": {"idle"},
    "hooked": {"working", "idle"},
    "prompts": {"working", "waiting"},
    "asks": {"waiting"},
    "limited": {"waiting"},
    "thinks": {"unknown"},
    "stopped": {"working", "waiting"},
    "quiet": {"unknown"},
}


def test_in_a_day_only_the_hung_are_ended_and_all_of_them(house: House) -> None:
    told = spend(house, ROUNDS)
    assert told.wrong == []
    assert told.ended_wrongly == []
    assert told.missed == []
    assert {part.name for part in CAST} == set(told.verdicts)
    assert unseen(told) == {}


def unseen(told: Chronicle) -> dict[str, set[str]]:
    """Verdicts that should have been given and were not, by agent."""
    missing = {
        name: SEEN.get(name.rsplit("-", 1)[0], set()) - set(verdicts)
        for name, verdicts in told.verdicts.items()
    }
    return {name: verdicts for name, verdicts in missing.items() if verdicts}
