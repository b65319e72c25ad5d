"""What an agent inherits, what it must not, and that the keeper agrees."""

import ast
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import knell.processes
from knell.core import environment
from knell.core.environment import OF_ONE_RUN, PANE_PREFIXES, PANE_VARIABLES, agent_environment

KEEPERS_JOB_CONTROL = Path(knell.processes.__file__).parent / "keeper" / "job_control.py"
STAMP = {"KNELL_RUN": "run-2", "KNELL_AGENT": "nova"}

names = st.sampled_from([*PANE_VARIABLES, *OF_ONE_RUN, "KITTY_PID", "WEZTERM_PANE", "PATH", "LANG"])
variables = st.dictionaries(names | st.text(min_size=1, max_size=8), st.text(max_size=8))


def constants(source: str) -> dict[str, tuple[str, ...]]:
    """Read, not imported: the keeper's files belong to a bare interpreter."""
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id.startswith("PANE_")
    }


def test_the_keepers_copy_of_the_pane_variables_is_the_same() -> None:
    copy = constants(KEEPERS_JOB_CONTROL.read_text("utf-8"))
    assert copy == {
        "PANE_VARIABLES": environment.PANE_VARIABLES,
        "PANE_PREFIXES": environment.PANE_PREFIXES,
    }


def test_the_callers_pane_and_run_stay_with_the_caller() -> None:
    caller = {
        "PATH": "/bin",
        "TMUX": "/tmp/x,1,0",
        "TMUX_PANE": "%7",
        "TERM": "screen",
        "KITTY_WINDOW_ID": "3",
        "WEZTERM_PANE": "4",
        "KNELL_RUN": "run-1",
        "KNELL_TOKEN": "secret",
        "KNELL_HOME": "/state",
    }
    env = agent_environment(caller, (), (), STAMP)
    assert env == {"PATH": "/bin", "KNELL_HOME": "/state", **STAMP}


def test_what_was_asked_for_wins_over_the_caller_and_the_stamp_over_both() -> None:
    asked = (("LANG", "C"), ("KNELL_RUN", "forged"), ("TERM", "dumb"))
    env = agent_environment({"LANG": "de"}, asked, (), STAMP)
    assert env == {"LANG": "C", "TERM": "dumb", **STAMP}


def test_the_variables_of_an_enclosing_agent_are_stripped() -> None:
    env = agent_environment({"CLAUDECODE": "1", "A": "b"}, (), ("CLAUDECODE",), {})
    assert env == {"A": "b"}


@given(variables, variables, st.lists(names, max_size=3))
def test_no_pane_or_run_of_the_caller_ever_leaks(
    caller: dict[str, str], asked: dict[str, str], strip: list[str]
) -> None:
    env = agent_environment(caller, asked.items(), strip, STAMP)
    assert STAMP.items() <= env.items()
    for name in set(env) - set(asked) - set(STAMP):
        assert name not in {*PANE_VARIABLES, *OF_ONE_RUN, *strip}
        assert not name.startswith(PANE_PREFIXES)
        assert env[name] == caller[name]
