"""Whatever an agent did to its files: after any cleaning every byte is there, or comes back."""

import shutil

from hypothesis import given, settings
from hypothesis import strategies as st

from house import House
from knell.core.worktree import Cleanup
from random_worktrees import CONTENTS, NAMES, STEPS, Scene, Step

steps = st.tuples(st.sampled_from(STEPS), st.sampled_from(NAMES), st.sampled_from(CONTENTS))


@settings(max_examples=12, deadline=None)
@given(
    done=st.lists(steps, max_size=10),
    mode=st.sampled_from([Cleanup.SAFE, Cleanup.FORCE]),
    saves=st.sampled_from([0, 0, 1, 300]),
)
def test_P13_every_byte_is_still_somewhere(
    house: House, done: list[Step], mode: Cleanup, saves: int
) -> None:
    """`make chaos` plays many more (tests/chaos/test_worktrees.py)."""
    scene = Scene(house)
    try:
        for step in done:
            scene.play(step)
        scene.clean(mode, saves=saves)
    finally:
        shutil.rmtree(scene.repo.main)
        shutil.rmtree(scene.work, ignore_errors=True)


def test_P13_force_removes_what_only_holds_work(house: House) -> None:
    scene = Scene(house)
    for step in (("attributes", b"", b""), ("write", b"x.nb", b"kept\noutput 1\n"),
                 ("stage", b"x.nb", b""), ("write", b".env", b"1"), ("detach", b"", b""),
                 ("commit", b"", b""), ("write", b"b", b"1")):  # fmt: skip
        scene.play(step)
    assert scene.clean(Cleanup.FORCE).state == "removed"
