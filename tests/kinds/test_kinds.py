"""The facts hang together, and what is computed from them is what the programs were seen to do."""

import subprocess
import sys
from pathlib import PurePosixPath

import pytest

from quell import kinds
from quell.core.kind import Kind, below_root, conversation_root
from quell.kinds import claude
from quell.kinds.enclosing import ENCLOSING

ALL = [kinds.kind(name) for name in kinds.NAMES]
AGENTS = [kind for kind in ALL if kind.name != "command"]
UUID = "0e0c2a51-9d7e-4c7f-8d7b-6a1d3a0c9b11"

each_kind = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
each_agent = pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: kind.name)


# -- the registry ------------------------------------------------------------------------------


@each_kind
def test_a_kind_bears_the_name_it_is_asked_for(kind: Kind) -> None:
    assert kinds.kind(kind.name) == kind


@pytest.mark.parametrize("name", ["aider", "", "enclosing", "__init__", "..claude", "Claude"])
def test_what_is_no_kind_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        kinds.kind(name)


def test_only_the_kind_that_is_asked_for_is_imported() -> None:
    code = (
        "import sys; from quell import kinds; kinds.kind('codex');"
        "print(*sorted(m for m in sys.modules if m.startswith('quell.kinds.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["quell.kinds.codex", "quell.kinds.enclosing"]


# -- recognising -------------------------------------------------------------------------------


@each_agent
def test_a_kind_is_recognised_by_each_of_its_programs(kind: Kind) -> None:
    for program in kind.programs:
        assert kinds.recognise([program]) == kind.name
        assert kinds.recognise([f"/opt/some where/{program}", "--flag"]) == kind.name


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        ("claude --session-id x", "claude"),
        ("/n/lib/node_modules/@anthropic-ai/claude-code/bin/claude.exe daemon run", "claude"),
        ("/home/a/.local/share/claude/versions/2.1.197 --bg-spare /s", "claude"),
        ("node /n/lib/node_modules/@anthropic-ai/claude-code/cli.js", "claude"),
        ("node /x/bin/codex", "codex"),
        ("/usr/bin/node /n/node_modules/@openai/codex/bin/codex.js resume", "codex"),
        ("/n/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", "codex"),
        ("/usr/bin/node --max-old-space-size=12051 /n/node_modules/.bin/gemini", "gemini"),
        ("node20 -r ./hook.js --no-warnings /n/.bin/gemini -i hi", "gemini"),
        ("bun /n/.pnpm/x/node_modules/opencode-ai/bin/opencode", "opencode"),
        ("python3.11 /usr/local/bin/agy", "agy"),
    ],
)
def test_launchers_as_they_were_seen_are_recognised(argv: str, name: str) -> None:
    assert kinds.recognise(argv.split()) == name


@pytest.mark.parametrize(
    ("argv", "arguments"),
    [
        ("claude --model opus", "--model opus"),
        ("claude", ""),
        ("node /n/lib/node_modules/@anthropic-ai/claude-code/cli.js --model opus", "--model opus"),
        ("node20 -r ./hook.js --no-warnings /n/.bin/gemini -i hi", "-i hi"),
        ("python3.11 -IS /usr/local/bin/agy --conversation x", "--conversation x"),
    ],
)
def test_the_arguments_are_those_behind_the_program(argv: str, arguments: str) -> None:
    assert " ".join(kinds.arguments(argv.split())) == arguments


@pytest.mark.parametrize(
    "argv",
    [
        "",
        "grep claude",
        "tail -f /home/a/.claude/projects/x.jsonl",
        "vim codex",
        "bash -c claude",
        "node -e codex",
        "node -r codex /srv/server.js",
        "node /home/a/gemini.js",
        "node /n/node_modules/@openai/codex-sdk/index.js",
        "node /srv/claude/server.js",
        "node",
        "python3 -m codex",
        "python3 claude.py",
        "claude-squad",
        "/usr/bin/codexer",
        "/opt/claude/versions",
    ],
)
def test_a_word_in_the_command_line_makes_no_agent(argv: str) -> None:
    assert kinds.recognise(argv.split()) == "command"


# -- argv --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start", "resume"),
    [
        ("claude", f"claude --session-id {UUID} -x", f"claude --resume {UUID} -x"),
        ("gemini", f"gemini --session-id {UUID} -x", f"gemini --resume {UUID} -x"),
        ("codex", "codex --no-daemon -x", f"codex resume {UUID} --no-daemon -x"),
        ("opencode", "opencode -x", f"opencode --session {UUID} -x"),
        ("agy", "agy -x", f"agy --conversation {UUID} -x"),
    ],
)
def test_argv_of_a_start_and_of_a_resume(name: str, start: str, resume: str) -> None:
    kind = kinds.kind(name)
    assert " ".join(kind.start_argv(UUID, ("-x",))) == start
    assert " ".join(kind.resume_argv(UUID, ("-x",))) == resume


def test_a_command_is_its_own_argv() -> None:
    command = kinds.kind("command")
    assert command.start_argv("", ("make", "test")) == ("make", "test")
    assert command.resume_argv("", ("make", "test")) == ("make", "test")


# -- keys --------------------------------------------------------------------------------------


@each_agent
def test_no_exit_is_typed_before_an_escape(kind: Kind) -> None:
    """Without it, Enter answers yes to a command that waits for permission."""
    assert kind.exit_keys
    assert kind.clear_keys[0] == "Escape"


# -- environment -------------------------------------------------------------------------------


@each_kind
def test_no_kind_inherits_the_marks_of_an_enclosing_agent(kind: Kind) -> None:
    assert {"CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION"} <= set(kind.strip_env)
    assert {"CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE"} <= set(kind.strip_env)


def test_what_people_set_themselves_is_left_alone() -> None:
    theirs = {"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME", "PAGER"}
    keys = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}
    assert not (theirs | keys) & set(ENCLOSING)
    assert len(set(ENCLOSING)) == len(ENCLOSING)


# -- conversations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "env", "root"),
    [
        ("claude", {}, "/h/.claude/projects"),
        ("claude", {"CLAUDE_CONFIG_DIR": "/c/"}, "/c/projects"),
        ("claude", {"CLAUDE_PROJECT_DIR": "/p", "CLAUDE_CONFIG_DIR": "/c"}, "/p"),
        ("codex", {}, "/h/.codex"),
        ("codex", {"CODEX_HOME": "/c"}, "/c"),
        ("gemini", {}, "/h/.gemini"),
        ("gemini", {"GEMINI_CLI_HOME": "/g"}, "/g/.gemini"),
        ("opencode", {}, "/h/.local/share/opencode"),
        ("opencode", {"XDG_DATA_HOME": "/d"}, "/d/opencode"),
        ("agy", {}, "/h/.gemini/antigravity-cli"),
    ],
)
def test_where_conversations_live(name: str, env: dict[str, str], root: str) -> None:
    assert conversation_root(kinds.kind(name), {"HOME": "/h", **env}) == root


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI"])
def test_the_project_of_an_enclosing_agent_is_not_the_place_of_conversations(mark: str) -> None:
    env = {"HOME": "/h", "CLAUDE_PROJECT_DIR": "/srv/repo", mark: "1"}
    kind = kinds.kind("claude")
    assert conversation_root(kind, env) == "/h/.claude/projects"
    assert conversation_root(kind, {**env, "CLAUDE_CONFIG_DIR": "/c"}) == "/c/projects"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("claude", f"-work-a-b/{UUID}.jsonl"),
        ("codex", f"sessions/2026/11/15/rollout-2026-11-15T19-44-07-{UUID}.jsonl"),
        ("codex", f"archived_sessions/rollout-2026-11-15T19-44-07-{UUID}.jsonl"),
        ("gemini", f"tmp/a-b-1/chats/session-2026-11-15T19-34-{UUID[:8]}.jsonl"),
        ("opencode", "opencode.db"),
        ("agy", f"conversations/{UUID}.db"),
    ],
)
def test_a_conversation_is_found_where_it_was_seen(name: str, path: str) -> None:
    kind = kinds.kind(name)
    globs = below_root(kind, kind.conversation, UUID, "/srv/a.b")
    assert any(PurePosixPath(path).match(glob) for glob in globs)


@each_agent
def test_no_glob_catches_the_files_of_another(kind: Kind) -> None:
    if kind.database:
        return  # everybody's: the vendor's own command forgets one
    for template in (*kind.conversation, *kind.extras):
        assert "{id}" in template or "{id8}" in template
        assert not template.startswith("/")
        assert ".." not in template


@each_agent
@pytest.mark.parametrize("evil", ["*", "", "../x", "a/b", "[a]", "?", "a b", "é", "-", ".."])
def test_an_id_that_is_none_finds_nothing(kind: Kind, evil: str) -> None:
    assert below_root(kind, kind.conversation, evil, "/w") == ()
    assert below_root(kind, kind.extras, evil, "/w") == ()


@each_agent
def test_a_database_is_never_one_conversations_to_delete(kind: Kind) -> None:
    assert kind.database is None or kind.forget


# -- claude's folder of a directory ------------------------------------------------------------


@pytest.mark.parametrize(
    ("cwd", "key"),
    [
        ("/mnt/a.b_c d", "-mnt-a-b-c-d"),
        ("/mnt/é😀", "-mnt----"),
        (f"/mnt/{'x' * 120}/{'z' * 74}", f"-mnt-{'x' * 120}-{'z' * 74}"),
        (f"/mnt/{'x' * 120}/{'z' * 75}", f"-mnt-{'x' * 120}-{'z' * 74}-iegtqi"),
        (f"/mnt/{'x' * 120}/{'y' * 120}", f"-mnt-{'x' * 120}-{'y' * 74}-e8kgqs"),
        (f"/mnt/{'é' * 80}/{'😀' * 60}", f"-mnt-{'-' * 195}-13pxqg"),
    ],
)
def test_the_folder_claude_made_for_a_directory(cwd: str, key: str) -> None:
    """Each of these was made by claude 2.1.197."""
    assert claude.cwd_key(cwd) == key
