"""Numbers that were luna's are given again, for real, at every moment of an ending.

The scenes are in reuse_scenes.py. Each ends well only if the stranger who got the number was sent
no signal at all, luna is gone, and the receipt says so and nothing else.
"""

import random
from collections.abc import Sequence

import pytest

from chaos.conftest import is_long
from chaos.report import Tally
from chaos.small_range import played

FAULT = "a pid given to a stranger"
HALF = 0.5
Words = Sequence[str]

# The first of each are the sharpest: they are always played.
BEFORE: Sequence[Words] = (
    ("a_keeper_and_its_agent", "leaves"),
    ("an_adopted_agent",),
    ("a_child", "kept"),
    ("a_child", "adopted"),
    ("a_keeper_and_its_agent", "leads"),
    ("everything",),
    ("a_pane",),
    ("a_shared_server",),
)
HELD: Sequence[Words] = (
    ("while_knell_stands_still", "keeper", "open"),
    *(
        ("while_knell_stands_still", whose, moment)
        for whose in ("agent", "child", "keeper")
        for moment in ("open", "signal")
    ),
    ("while_its_keeper_stands_still", "open"),
    ("while_its_keeper_stands_still", "signal"),
)
RUNGS: Sequence[Words] = (
    ("between_the_rungs", "adopted", "leaves"),
    ("between_the_rungs", "adopted", "leads"),
    ("between_the_rungs", "kept", "leads"),
)
MEANT: Sequence[Words] = (
    ("the_number_that_is_named",),
    ("while_a_pane_is_adopted",),
)
ASKING: Sequence[Words] = (
    ("a_shell_with_a_keepers_number",),
    ("whoever_asked_first",),
)


def play(scenes: Sequence[Words], chance: random.Random, tally: Tally) -> None:
    """All of them, or in the short version the first; with or without cgroups, by chance."""
    for scene in scenes if is_long() else scenes[:1]:
        played(*scene, cgroup=chance.random() < HALF)
        tally.broke(FAULT)


def test_before_the_command(chance: random.Random, tally: Tally) -> None:
    """Whoever got the number of a dead keeper, agent, child, pane or server is never signalled"""
    play(BEFORE, chance, tally)


def test_between_look_and_signal(chance: random.Random, tally: Tally) -> None:
    """A number that changes hands between the look and the signal gets none"""
    play(HELD, chance, tally)


@pytest.mark.stress
def test_between_two_rungs(chance: random.Random, tally: Tally) -> None:
    """Whoever gets an agent's number after TERM is not hit by KILL"""
    play(RUNGS, chance, tally)


@pytest.mark.stress
def test_who_is_meant(chance: random.Random, tally: Tally) -> None:
    """Neither `knell kill PID` nor `knell adopt` takes a stranger for the process that was meant"""
    play(MEANT, chance, tally)


@pytest.mark.stress
def test_who_asks(chance: random.Random, tally: Tally) -> None:
    """Whoever got the number of a dead keeper, or of a killed knell, does not act in its name"""
    play(ASKING, chance, tally)
