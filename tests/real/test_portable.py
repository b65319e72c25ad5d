"""The portable layer: knell by POSIX and psutil only, on this machine, against the same habits."""

import pytest

from chaos.small_range import played as played_with_few_numbers
from chaos.test_pid_reuse import ASKING, BEFORE, HELD, MEANT, RUNGS, Words
from every_verb import SERVING
from knell.api.habits import ESCAPES as DOCUMENTED
from knell.api.habits import HABITS
from knell.faces.cli.group import VERBS
from portable_scenes import played

ESCAPES = {name.replace("-", "_") for name in DOCUMENTED}
SAMPLE = (
    ("daemon", "headless"),
    ("root_dead", "headless"),
    ("ignores_term", "tmux"),
    ("setsid", "tmux"),
)
PLACES = ("headless", "tmux")


def ends(habit: str, place: str) -> None:
    told = played("habit", habit, place)
    assert (told["proof"], told["agent_lives"]) == ("none_found", False)
    assert told["result"] in ("ended", "already_ended")
    assert not told["escaped"] or habit in ESCAPES, told


@pytest.mark.parametrize(("habit", "place"), SAMPLE)
def test_no_process_survives_a_keeper_that_adopts_nobody(habit: str, place: str) -> None:
    ends(habit, place)


@pytest.mark.stress
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("habit", HABITS)
def test_only_the_documented_habits_escape(habit: str, place: str) -> None:
    ends(habit, place)


@pytest.mark.parametrize("habit", sorted(ESCAPES))
def test_what_escapes_is_never_called_proven(habit: str) -> None:
    """Whether a look falls into the moment in which it could be seen is chance."""
    ends(habit, "headless")


def test_one_that_hops_from_pid_to_pid_is_caught_by_its_session() -> None:
    assert played("one_that_hops_for_minutes") == {"proof": "none_found", "escaped": 0}


def test_every_verb_works() -> None:
    """Also: `kill luna` ends luna and not luna-2."""
    told = played("every_verb")
    assert told["failed"] == {}
    assert "luna-2" in told["left"]
    assert {*told["said"], *SERVING, "demo"} == set(VERBS)


def test_the_demo_takes_away_what_escaped_and_says_what_may() -> None:
    assert played("demo") == {"code": 0, "left": [], "says": True}


def test_panes_of_others_in_the_agents_tmux_server_live_on() -> None:
    told = played("a_server_that_others_use")
    assert told == {"others": True, "own": False, "server": True, "kept": True}


def test_a_server_with_panes_of_another_run_lives_on() -> None:
    told = played("a_server_that_another_run_uses")
    assert told == {"ended": True, "panes": True, "nova": True}


def test_of_a_server_that_was_started_later_the_agent_loses_only_its_own_session() -> None:
    told = played("a_server_that_came_later")
    assert told == {"others": True, "own": False, "server": True}


def test_a_run_of_the_other_layer_is_seen_and_ended() -> None:
    """An agent that was started under Linux's own layer is the same process under this one."""
    assert played("born_under_the_other_layer") == {"state": "running", "alive": False}


SHARPEST: tuple[Words, ...] = (
    *BEFORE[:3],
    ("while_knell_stands_still", "child", "signal"),
    ("while_a_pane_is_adopted",),
)
SCENES = tuple(dict.fromkeys(map(tuple, (*BEFORE, *HELD, *RUNGS, *MEANT, *ASKING))))


@pytest.mark.parametrize("scene", SHARPEST)
def test_whoever_got_a_dead_agents_number_is_not_hit(
    scene: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNELL_PROCESSES", "portable")
    played_with_few_numbers(*scene)


@pytest.mark.stress
@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene not in SHARPEST])
def test_nor_is_one_in_any_other_scene(scene: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNELL_PROCESSES", "portable")
    played_with_few_numbers(*scene)
