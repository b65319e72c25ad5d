"""Print mode in a pipe: `alias claude='knell run claude'` must not be felt in a script."""

import pytest

from e2e.claude_home import DOCILE, PROCESSES, STUBBORN, ClaudeHome


@pytest.mark.parametrize("habit", [DOCILE, STUBBORN])
def test_G2_print_mode_in_a_pipe_leaves_nothing(home: ClaudeHome, habit: str) -> None:
    """`knell run claude -p` answers on stdout with exit code 0, and nothing stays behind."""
    home.serve_mcp(habit)
    done = home.knell("run", "claude", "-p", "say hello")
    assert (done.stdout, done.stderr) == ("answer 1: hello\n", "")
    assert len(home.mcp_pids()) == PROCESSES[habit]
    home.assert_nothing_left()
    assert home.written("answer 1: hello")


def test_G2_its_exit_code_and_input_are_the_agents(home: ClaudeHome) -> None:
    """What is piped in reaches it, and a failure of Claude's own is its caller's to see."""
    done = home.house.run("run", "claude", "-p", cwd=home.project, input="say hello")
    assert (done.returncode, done.stdout) == (0, "answer 1: hello\n")
    plain = home.run_plainly("-p", "hi", "--resume", "11111111-2222-4333-8444-555555555555")
    kept = home.knell(
        "run", "claude", "-p", "hi", "--resume", "11111111-2222-4333-8444-555555555555", code=1
    )
    assert plain.returncode == 1
    assert (kept.stdout, kept.stderr) == (plain.stdout, plain.stderr)
    home.assert_nothing_left()
