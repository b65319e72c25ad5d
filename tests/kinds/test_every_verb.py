"""Every verb with an agent of a kind that nobody has heard of: none needs to know its name."""

import os

import pytest

from every_verb import Walk, led
from house import House, eventually
from knell.faces.cli.group import VERBS
from robin import BRINGS, Aviary, spawn_words

# Verbs that know no agent, or serve until they are stopped; their own tests play them.
WITHOUT = {
    *("top", "web", "attach", "mcp", "hooks", "skills", "demo", "bug-report"),
    *("completion", "uninstall", "man", "help"),
}


@pytest.mark.parametrize("brought", ["package", "settings"])
def test_every_verb_takes_it(house: House, brought: str) -> None:
    aviary = Aviary(house, BRINGS[brought])
    walk = Walk(house)
    started(aviary, walk)
    looked_at(walk)
    led(walk, "ada")
    ended(aviary, walk)
    assert walk.failed == {}
    assert walk.said == VERBS.keys() - WITHOUT


def started(aviary: Aviary, walk: Walk) -> None:
    walk.says(*spawn_words("ada"), has="ada")
    aviary.await_prompt()
    # It leaves at the end of its input.
    walk.says("run", "--name", "eva", "robin", has="robin is here")
    row = ("--agent", "robin", "--session", "made", "--workspace", str(walk.house.root))
    walk.says("create", *row, "--tmux-server", "test", has="made")
    walk.says("kill", "made", has="made")
    aviary.await_prompt()


def looked_at(walk: Walk) -> None:
    for verb in ("list", "show", "status"):
        walk.says(verb, "ada", has="robin")
    walk.says("tree", "ada", has="[agent]")
    walk.says("explain", "ada", has="conversation: changed")
    walk.says("screen", "ada", has="robin is here")
    walk.says("logs", "ada", has="robin is here")
    walk.says("path", "ada")
    for verb in ("stalled", "events", "night", "doctor", "prune"):
        walk.says(verb)
    walk.says("watch", "--once")


def ended(aviary: Aviary, walk: Walk) -> None:
    walk.says("fork", "ada", code=1, has="robin")  # it cannot, and is named
    walk.says("restart", "ada", has="ada")
    aviary.await_prompt()
    walk.says("stop", "ada", has="knell r ada")
    walk.says("receipt", "ada", has="proven")
    walk.says("verify", "ada")
    walk.says("resume", "ada", has="ada")
    aviary.await_prompt()
    pid = aviary.started()["pid"]
    walk.says("kill", "ada", has="proven gone")
    eventually(lambda: not os.path.exists(f"/proc/{pid}"))
    walk.house.tmux("new-session", "-d", "-x", "80", "-y", "24", "robin")
    aviary.await_prompt()
    walk.says("adopt", walk.house.panes()[-1], "--tmux-server", "test", "--name", "ida", has="ida")
    walk.says("delete", "ida", "--yes", has="ida")
    walk.says("reap")
