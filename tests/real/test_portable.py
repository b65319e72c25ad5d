"""The portable layer: knell by POSIX and psutil only, on this machine, against the same habits."""

import pytest

from chaos.small_range import played as played_with_few_numbers
from knell.api.habits import HABITS
from portable_scenes import played

# What it cannot find (docs/promise.md): who loses its parent before anybody looked, made a session
# of its own and emptied its environment.
ESCAPES = {"scrubbed_daemon", "root_dead_scrubbed"}
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


def test_panes_of_others_in_the_agents_tmux_server_live_on() -> None:
    told = played("a_server_that_others_use")
    assert told == {"others": True, "own": False, "server": True, "kept": True}


def test_a_run_of_the_other_layer_is_seen_and_ended() -> None:
    """An agent that was started under Linux's own layer is the same process under this one."""
    assert played("born_under_the_other_layer") == {"state": "running", "alive": False}


@pytest.mark.parametrize(
    "scene", [("a_keeper_and_its_agent", "leaves"), ("an_adopted_agent",), ("a_child", "kept")]
)
def test_whoever_got_a_dead_agents_number_is_not_hit(
    scene: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNELL_PROCESSES", "portable")
    played_with_few_numbers(*scene)


@pytest.mark.stress
@pytest.mark.parametrize(
    "scene",
    [
        ("a_child", "adopted"),
        ("a_keeper_and_its_agent", "leads"),
        ("everything",),
        ("a_pane",),
        ("a_shared_server",),
        ("between_the_rungs", "adopted", "leaves"),
        ("between_the_rungs", "adopted", "leads"),
        ("between_the_rungs", "kept", "leads"),
        ("the_number_that_is_named",),
        ("while_a_pane_is_adopted",),
        ("a_shell_with_a_keepers_number",),
        ("whoever_asked_first",),
    ],
)
def test_nor_is_one_in_any_other_scene(
    scene: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNELL_PROCESSES", "portable")
    played_with_few_numbers(*scene)
