"""R8, R9: what a resume repeats of a program's arguments, and how a headless one continues."""

import shlex

import pytest

from knell import kinds
from knell.core.arguments import needs_terminal
from knell.core.errors import BadRequest
from knell.core.kind import Kind

UUID = "019a8e2c-6d6b-7b11-9a05-3f3a5c1f2d10"
SES = "ses_4f1d2c3b4a5e"


def id_of(name: str) -> str:
    return SES if name == "opencode" else UUID


def words(line: str) -> tuple[str, ...]:
    return tuple(shlex.split(line))


@pytest.mark.parametrize(
    ("name", "given", "lasting"),
    [
        ("claude", "'fix it'", ""),
        ("claude", "--model opus 'fix it'", "--model opus"),
        ("claude", "'fix it' --model opus", "--model opus"),
        ("claude", "--dangerously-skip-permissions 'fix it'", "--dangerously-skip-permissions"),
        ("claude", "--allowedTools Bash Edit --model=x", "--allowedTools Bash Edit --model=x"),
        ("claude", "--allowedTools Bash -- 'fix it'", "--allowedTools Bash"),
        ("claude", "--resume ID --fork-session 'go on'", ""),
        ("claude", "-c 'go on'", ""),
        ("claude", "-pc 'go on' --verbose", "--verbose"),
        ("claude", "-p 'fix it' --output-format json --model x", "--model x"),
        ("claude", "--append-system-prompt '- be kind' hi", "--append-system-prompt '- be kind'"),
        ("claude", "--new-in-2027 value 'fix it'", "--new-in-2027 value"),
        ("codex", "-s read-only 'fix it'", "-s read-only"),
        ("codex", "-sread-only 'fix it'", "-sread-only"),
        ("codex", "--search -c a=1 -c b=2 --add-dir x", "--search -c a=1 -c b=2 --add-dir x"),
        ("codex", "--image a.png b.png -m o3", "-m o3"),
        ("codex", "resume ID --no-daemon -m o3", "-m o3"),
        ("codex", "exec --json -s read-only --skip-git-repo-check 'fix it'", "-s read-only"),
        ("codex", "-m o3 exec 'fix it'", "-m o3"),
        ("gemini", "-m pro -p 'fix it' -o json -y", "-m pro -y"),
        ("gemini", "--prompt='fix it' --yolo", "--yolo"),
        ("gemini", "-i 'fix it' --allowed-tools a b", "--allowed-tools a b"),
        ("opencode", "-m a/b --prompt 'fix it'", "-m a/b"),
        ("opencode", "run -m a/b --format json --title x fix it", "-m a/b"),
        ("opencode", "--session ses_1 --fork --auto", "--auto"),
        ("agy", "--model x 'fix it'", "--model x"),
    ],
)
def test_R9_a_resume_repeats_what_lasts(name: str, given: str, lasting: str) -> None:
    kind = kinds.kind(name)
    plain = kind.resume_argv(id_of(name), ())
    assert kind.resume_argv(id_of(name), words(given)) == (*plain, *words(lasting))


@pytest.mark.parametrize(
    ("name", "given", "continued"),
    [
        ("claude", "-p X", "claude --print --resume {id} -- next"),
        (
            "claude",
            "-p --output-format json --allowedTools Bash -- X",
            "claude --print --resume {id} --output-format json --allowedTools Bash -- next",
        ),
        ("codex", "exec X", "codex exec resume {id} -- next"),
        (
            "codex",
            "exec -s read-only --json X",
            "codex exec -s read-only --json resume {id} -- next",
        ),
        ("codex", "-m o3 e X", "codex exec -m o3 resume {id} -- next"),
        ("codex", "exec resume ID X", "codex exec resume {id} -- next"),
        ("gemini", "-p X -o json", "gemini --resume {id} -o json --prompt=next"),
        ("gemini", "X -y", "gemini --resume {id} -y --prompt=next"),
        ("opencode", "run -m a/b X", "opencode run --session {id} -m a/b -- next"),
        (
            "opencode",
            "run -s ses_1 --format json X",
            "opencode run --session {id} --format json -- next",
        ),
    ],
)
def test_R8_a_headless_one_continues_with_the_next_prompt(
    name: str, given: str, continued: str
) -> None:
    argv = kinds.kind(name).continue_argv(id_of(name), words(given), ("next",))
    assert argv == words(continued.replace("{id}", id_of(name)))


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("claude", "-p 'the next one'"),
        ("claude", "the next one"),
        ("gemini", "-p 'the next one'"),
        ("gemini", "--prompt='the next one'"),
        ("codex", "exec 'the next one'"),
        ("opencode", "run the next one"),
    ],
)
def test_R8_the_prompt_may_be_given_as_the_program_takes_it(name: str, added: str) -> None:
    kind = kinds.kind(name)
    same = kind.continue_argv(id_of(name), (), ("the next one",))
    assert kind.continue_argv(id_of(name), (), words(added)) == same


def test_R8_an_option_that_is_given_anew_replaces_the_old_one() -> None:
    """Codex takes a model only once."""
    codex = kinds.kind("codex")
    argv = codex.continue_argv(UUID, words("exec -m o3 -c a=1 X"), words("-m o4 -c b=2 next"))
    assert argv == words(f"codex exec -c a=1 -m o4 -c b=2 resume {UUID} -- next")


def test_R8_a_prompt_is_no_template() -> None:
    argv = kinds.kind("claude").continue_argv(UUID, (), ("{id} {prompt} {args}",))
    assert argv[-1] == "{id} {prompt} {args}"


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_R8_without_a_prompt_there_is_nothing_to_continue_with(name: str) -> None:
    kind = kinds.kind(name)
    with pytest.raises(BadRequest, match="needs a prompt"):
        kind.continue_argv(id_of(name), ("-p", "X"), ("--model", "x"))


@pytest.mark.parametrize(
    ("name", "added", "end"),
    [
        ("claude", "go on", "-- 'go on'"),
        ("codex", "'go on' -m o4", "-m o4 -- 'go on'"),
        ("gemini", "go on", "'--prompt-interactive=go on'"),
        ("opencode", "go on", "'--prompt=go on'"),
        ("agy", "go", "go"),
    ],
)
def test_R8_in_a_terminal_a_prompt_is_sent_as_the_program_takes_it(
    name: str, added: str, end: str
) -> None:
    kind = kinds.kind(name)
    plain = kind.resume_argv(id_of(name), ())
    assert kind.resume_argv(id_of(name), ("old",), words(added)) == (*plain, *words(end))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("claude", ""),
        ("claude", "--model x"),
        ("codex", ""),
        ("codex", "'fix it'"),
        ("codex", "-m exec"),
        ("gemini", ""),
        ("opencode", ""),
    ],
)
def test_R3_who_needs_a_terminal(name: str, args: str) -> None:
    assert needs_terminal(kinds.kind(name), words(args))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("claude", "'fix it'"),  # it prints the answer where it has no terminal
        ("claude", "-p 'fix it'"),
        ("claude", "-pc 'fix it'"),
        ("claude", "mcp list"),
        ("claude", "-- -p"),
        ("codex", "exec 'fix it'"),
        ("codex", "-m o3 exec 'fix it'"),
        ("gemini", "-p 'fix it'"),
        ("gemini", "'fix it'"),
        ("opencode", "run hi"),
        ("agy", ""),  # not known
        ("command", "vi"),
    ],
)
def test_R3_who_needs_none(name: str, args: str) -> None:
    assert not needs_terminal(kinds.kind(name), words(args))


def test_a_kind_without_facts_is_read_as_before() -> None:
    kind = Kind("robin", program="robin", resume=("-r", "{id}"), picks=("-r",))
    argv = kind.resume_argv("x", words("--fast yes -r y 'fix it'"), ("--now",))
    assert argv == words("robin -r x --fast yes --now")


def test_what_knell_adds_itself_is_not_added_twice() -> None:
    """Codex refuses --no-daemon given twice."""
    assert kinds.kind("codex").start_argv("", ("--no-daemon",)) == ("codex", "--no-daemon")
