"""The facts hang together, and what is computed from them is what the programs were seen to do."""

import subprocess
import sys
from pathlib import PurePosixPath

import pytest

from knell import kinds
from knell.core.conversation import below_root, conversation_root
from knell.core.errors import BadRequest
from knell.core.kind import Kind
from knell.core.kind_check import check
from knell.kinds import claude
from knell.life.base.known_conversation import id_in_path
from known_kinds import ALL

KINDS = kinds.KnownKinds(dict)  # no settings
AGENTS = [kind for kind in ALL if kind.name != "command"]
UUID = "0e0c2a51-9d7e-4c7f-8d7b-6a1d3a0c9b11"
SES = "ses_7f3a9c21b4d5e6f708192a3b4c"  # as opencode makes them
HEX = "a9df96a54959457c879e483e676bc565"  # as OpenHands makes them

each_kind = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
each_agent = pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: kind.name)


# -- the registry ------------------------------------------------------------------------------


IDS = {"opencode": SES, "kilo": SES, "cline": "1794847467547_bt90h", "openhands": HEX}


def id_of(name: str) -> str:
    return IDS.get(name, UUID)


@each_kind
def test_a_kind_bears_the_name_it_is_asked_for(kind: Kind) -> None:
    assert KINDS.kind(kind.name) == kind
    assert KINDS.has(kind.name)


def test_whose_turn_it_is_stays_unknown_where_the_conversations_were_not_read() -> None:
    read = {"claude", "codex", "gemini", "kilo", "opencode"}
    assert {kind.name for kind in ALL if kind.turn} == read


@each_agent
def test_a_record_is_as_the_records_of_others_must_be(kind: Kind) -> None:
    check(kind, kind.name)


def test_the_files_of_the_folder_are_the_kinds() -> None:
    names = "agy aider amp auggie claude cline cn codex copilot crush droid gemini kilo kimi"
    assert kinds.built_in() == (*f"{names} opencode openhands qwen vibe".split(), "command")
    assert KINDS.names() == kinds.built_in()


@pytest.mark.parametrize("name", ["robin", "", "_outside", "__init__", "..claude", "Claude", "x/y"])
def test_what_is_no_kind_is_refused(name: str) -> None:
    assert not KINDS.has(name)
    with pytest.raises(BadRequest, match="is no kind of agent"):
        KINDS.kind(name)


def test_only_the_kind_that_is_asked_for_is_imported() -> None:
    code = (
        "import sys; from knell import kinds; kinds.kind('codex');"
        "print(*sorted(m for m in sys.modules if m.startswith('knell.kinds.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["knell.kinds.codex"]


# -- recognising -------------------------------------------------------------------------------


@each_agent
def test_a_kind_is_recognised_by_its_program(kind: Kind) -> None:
    for program in (kind.program, f"{kind.program}.exe"):
        assert KINDS.recognise([program]) == kind.name
        assert KINDS.recognise([f"/opt/some where/{program}", "--flag"]) == kind.name


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
        ("/v/bin/python3 /v/bin/aider --model openai/toy", "aider"),
        ("node /n/node_modules/.bin/auggie", "auggie"),
        ("cline --auto-approve false", "cline"),
        ("/n/node_modules/@cline/cli-linux-x64/bin/cline --cline-hub-daemon --cwd /w", "cline"),
        ("node /n/node_modules/.bin/cn --config /h/config.yaml", "cn"),
        ("node /n/node_modules/.bin/copilot --resume=x", "copilot"),
        ("/n/node_modules/@github/copilot-linux-x64/copilot --resume=x", "copilot"),
        ("/n/node_modules/@factory/cli-linux-x64/bin/droid", "droid"),
        ("node /n/node_modules/.bin/kilo", "kilo"),
        ("/n/node_modules/@kilocode/cli/bin/.kilo", "kilo"),
        ("/v/bin/python3 /v/bin/openhands --resume x", "openhands"),
        ("/usr/bin/node /n/node_modules/.bin/qwen --session-id x", "qwen"),
        ("/v/lib/python3.12/site-packages/vibe/_bin/vibe-rs --trust", "vibe"),
    ],
)
def test_launchers_as_they_were_seen_are_recognised(argv: str, name: str) -> None:
    assert KINDS.recognise(argv.split()) == name


def test_kimi_is_recognised_by_what_it_calls_its_process() -> None:
    assert KINDS.recognise(["Kimi Code"]) == "kimi"


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
    words = argv.split()
    assert " ".join(KINDS.kind(KINDS.recognise(words)).arguments(words)) == arguments


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
    assert KINDS.recognise(argv.split()) == "command"


# -- argv --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start", "resume"),
    [
        ("claude", f"claude --session-id {UUID} -x", f"claude --resume {UUID} -x"),
        ("gemini", f"gemini --session-id {UUID} -x", f"gemini --resume {UUID} -x"),
        ("codex", "codex --no-daemon -x", f"codex resume {UUID} --no-daemon -x"),
        ("opencode", "opencode -x", f"opencode --session {SES} -x"),
        ("agy", "agy -x", f"agy --conversation {UUID} -x"),
        ("qwen", "qwen -x", f"qwen --resume {UUID} -x"),
        ("copilot", f"copilot --session-id={UUID} -x", f"copilot --resume={UUID} -x"),
        ("kimi", "kimi -x", f"kimi --session {UUID} -x"),
        ("kilo", "kilo -x", f"kilo --session {SES} -x"),
        ("cline", "cline -x", "cline --id 1794847467547_bt90h -x"),
        ("openhands", "openhands -x", f"openhands --resume {HEX} -x"),
        ("vibe", "vibe -x", f"vibe --resume {UUID} -x"),
        ("amp", "amp -x", f"amp threads continue {UUID} -x"),
        ("auggie", "auggie -x", f"auggie --resume {UUID} -x"),
        ("droid", "droid -x", f"droid --resume {UUID} -x"),
        ("crush", "crush -x", f"crush --session {UUID} -x"),
        ("aider", "aider -x", "aider -x"),  # there is no conversation to name
        ("cn", "cn -x", "cn -x"),  # it cannot be resumed by an id
    ],
)
def test_argv_of_a_start_and_of_a_resume(name: str, start: str, resume: str) -> None:
    kind = kinds.kind(name)
    assert " ".join(kind.start_argv(id_of(name), ("-x",))) == start
    assert " ".join(kind.resume_argv(id_of(name), ("-x",))) == resume


def test_a_command_is_its_own_argv() -> None:
    command = kinds.kind("command")
    assert command.start_argv("", ("make", "test")) == ("make", "test")
    assert command.resume_argv("", ("make", "test")) == ("make", "test")


# -- keys --------------------------------------------------------------------------------------


@each_agent
def test_no_exit_is_typed_before_an_escape(kind: Kind) -> None:
    """Without it, Enter answers yes to a command that waits for permission. aider has no Escape:
    Enter follows only where its screen shows the exit word alone."""
    if kind.exit_keys:
        assert kind.clear_keys[0] == "Escape" or kind.exit_shown


def test_what_leaves_a_program_is_typed_only_where_it_was_seen() -> None:
    unseen = ["amp", "auggie", "crush", "droid"]  # an account, or the program, was not at hand
    asking = ["openhands"]  # it asks again before it leaves
    assert [kind.name for kind in AGENTS if not kind.exit_keys] == unseen + asking


# -- environment -------------------------------------------------------------------------------


def test_no_agent_inherits_the_marks_of_an_enclosing_agent() -> None:
    assert {"CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION"} <= set(KINDS.strip_env())
    assert {"CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE"} <= set(KINDS.strip_env())
    assert {"QWEN_CODE", "COPILOT_CLI", "KILO_PROCESS_ROLE", "CRUSH"} <= set(KINDS.strip_env())


def test_the_list_of_those_marks_is_the_sum_of_what_the_kinds_say() -> None:
    """`spawn` reads it instead of all kinds."""
    assert {*KINDS.strip_env()} == {name for kind in ALL for name in kind.strip_env}


def test_the_marks_of_all_kinds_are_known_without_loading_one() -> None:
    code = (
        "import sys; from knell import kinds; kinds.KnownKinds(dict).strip_env();"
        "print(*(m for m in sys.modules if m.startswith('knell.kinds.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["knell.kinds._children_env"]


def test_what_people_set_themselves_is_left_alone() -> None:
    theirs = {"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME", "PAGER"}
    keys = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}
    assert not (theirs | keys) & set(KINDS.strip_env())


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
        ("qwen", {"QWEN_HOME": "/q"}, "/q"),
        ("qwen", {"QWEN_HOME": "/q", "QWEN_RUNTIME_DIR": "/r"}, "/r"),
        ("copilot", {"COPILOT_HOME": "/c"}, "/c"),
        ("kilo", {"XDG_DATA_HOME": "/d"}, "/d/kilo"),
        ("vibe", {"VIBE_HOME": "/v"}, "/v"),
    ],
)
def test_where_conversations_live(name: str, env: dict[str, str], root: str) -> None:
    assert conversation_root(kinds.kind(name), {"HOME": "/h", **env}, KINDS.strip_env) == root


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI"])
def test_the_project_of_an_enclosing_agent_is_not_the_place_of_conversations(mark: str) -> None:
    env = {"HOME": "/h", "CLAUDE_PROJECT_DIR": "/srv/repo", mark: "1"}
    kind = kinds.kind("claude")
    assert conversation_root(kind, env, KINDS.strip_env) == "/h/.claude/projects"
    assert (
        conversation_root(kind, {**env, "CLAUDE_CONFIG_DIR": "/c"}, KINDS.strip_env)
        == "/c/projects"
    )


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("claude", f"-work-a-b/{UUID}.jsonl"),
        ("codex", f"sessions/2026/11/15/rollout-2026-11-15T19-44-07-{UUID}.jsonl"),
        ("codex", f"archived_sessions/rollout-2026-11-15T19-44-07-{UUID}.jsonl"),
        ("gemini", f"tmp/a-b-1/chats/session-2026-11-15T19-34-{UUID[:8]}.jsonl"),
        ("opencode", "opencode.db"),
        ("agy", f"conversations/{UUID}.db"),
        ("qwen", f"projects/-srv-a-b/chats/{UUID}.jsonl"),
        ("copilot", f"session-state/{UUID}/events.jsonl"),
        ("cline", "data/sessions/{0}/{0}.messages.json".format(IDS["cline"])),
        ("cn", f"sessions/{UUID}.json"),
        ("kilo", "kilo.db"),
        ("kimi", f"sessions/b15ddda592c6b72ec807312ffb5438f6/{UUID}/context.jsonl"),
        ("openhands", f"conversations/{HEX}/base_state.json"),
        ("vibe", f"logs/session/unified/{UUID}/CURRENT"),
    ],
)
def test_a_conversation_is_found_where_it_was_seen(name: str, path: str) -> None:
    kind = kinds.kind(name)
    globs = below_root(kind, kind.conversation, id_of(name), "/srv/a.b")
    assert any(PurePosixPath(path).match(glob) for glob in globs)


def test_copilot_is_followed_by_the_file_that_it_holds_open() -> None:
    """/new opens another; `flags: 02100001` of the open file said that it is open for writing."""
    kind = kinds.kind("copilot")
    path = f"/h/.copilot/session-state/{UUID}/inuse.20632.hold"
    assert kind.holds
    assert id_in_path(kind, "/h/.copilot", path) == UUID
    assert id_in_path(kind, "/h/.copilot", "/h/.copilot/session-store.db") == ""


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


@pytest.mark.parametrize(
    ("name", "words", "forks"),
    [
        ("claude", "--resume ID --fork-session", True),
        ("claude", "--fork-session --resume=ID", True),
        ("claude", "--resume ID fork", False),
        ("claude", "--resume OTHER --fork-session", False),
        ("codex", "-c x=y fork ID --no-daemon", True),
        ("codex", "resume ID fork", False),
        ("opencode", "--session ID --fork", True),
        ("opencode", "--session OTHER --fork", False),
        ("gemini", "--resume ID", False),
    ],
)
def test_which_conversation_a_command_line_copies(name: str, words: str, *, forks: bool) -> None:
    assert kinds.kind(name).forks(words.split(), "ID") is forks
