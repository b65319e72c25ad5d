"""Clean-up after agents that did anything to their worktrees: every byte is kept or comes back."""

import random
import shutil

import pytest

from chaos.conftest import is_long
from chaos.report import Tally
from house import House
from knell.core.receipt import Cleaning
from knell.core.worktree import Cleanup
from random_worktrees import CONTENTS, NAMES, STEPS, Scene, Step


def draw(chance: random.Random) -> list[Step]:
    """Often the same few names, so that steps meet."""
    names = chance.sample(NAMES, chance.randint(1, 5))
    return [
        (chance.choice(STEPS), chance.choice(names), chance.choice(CONTENTS))
        for _ in range(chance.randint(1, 12))
    ]


@pytest.mark.stress
@pytest.mark.parametrize("part", range(10 if is_long() else 1))
def test_random_worktrees(house: House, chance: random.Random, tally: Tally, part: int) -> None:
    """Whatever an agent did to its worktree, and whatever is saved there during its removal: no
    byte and no commit is lost."""
    assert part >= 0
    for _ in range(12):
        told = play_one(house, chance)
        tally.broke(f"random worktree {told.state}")


def play_one(house: House, chance: random.Random) -> Cleaning:
    steps = draw(chance)
    saves = chance.choice((0, 0, 0, 1, 20, 200, 2000))
    mode = chance.choice((Cleanup.SAFE, Cleanup.FORCE))
    scene = Scene(house)
    try:
        for step in steps:
            scene.play(step)
        return scene.clean(mode, saves=saves)
    except AssertionError as error:
        error.add_note(f"{mode}, {saves} saves meanwhile, after {steps}")
        raise
    finally:
        for path in house.root.iterdir():
            if path.is_dir() and path.name.startswith(("repo", "work", "inner", "module")):
                shutil.rmtree(path)
