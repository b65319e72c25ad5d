"""Our hooks in somebody's settings: what goes in, what stays, what is refused."""

import json
from typing import Any

import pytest

from knell.core.hooks.edit import (
    Backup,
    digest,
    found,
    installed,
    is_complete,
    notes,
    parsed,
    restored,
)
from knell.core.hooks.entries import Hooks, entries
from knell.core.hooks.settings_text import BadSettings, JsonText
from known_kinds import CLAUDE, CODEX, GEMINI, HOOKS

MINE = {"hooks": [{"type": "command", "command": "mine"}]}


def put(program: Hooks, text: str, path: str = "settings.json") -> str:
    return installed(program, path, text.encode()).decode()


def cut(program: Hooks, text: str, path: str = "settings.json") -> str:
    content = restored(program, path, text.encode(), None)
    assert content is not None
    return content.decode()


# -- what each program is given --------------------------------------------------------------------


@pytest.mark.parametrize("program", HOOKS.values(), ids=list(HOOKS))
def test_the_start_the_end_and_every_sign_of_life_have_one_short_hook(program: Hooks) -> None:
    made = entries(program)
    assert set(made) == {"SessionStart", "SessionEnd", *program.beats}
    seconds = 1000 if program.milliseconds else 1
    assert all(0 < handler["timeout"] <= 5 * seconds for handler in made.values())
    assert made["SessionEnd"]["timeout"] == 3 * seconds


def test_claude_gets_no_event_that_an_older_claude_would_choke_on() -> None:
    known = {"PreToolUse", "PostToolUse", "Notification", "UserPromptSubmit", "SessionStart",
             "SessionEnd", "Stop", "SubagentStop", "PreCompact"}  # fmt: skip
    assert set(entries(CLAUDE)) <= known


def test_gemini_finds_no_variable_to_expand_in_its_settings() -> None:
    """It would paste the path into the script, unquoted."""
    import re

    for handler in entries(GEMINI).values():
        names = re.findall(r"\$(?:(\w+)|\{([^}]+)\})", handler["command"])
        assert {first or second for first, second in names} <= {"1", "2"}


@pytest.mark.parametrize(
    ("program", "env", "directory"),
    [
        (CLAUDE, {"HOME": "/h"}, "/h/.claude"),
        (CLAUDE, {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}, "/c"),
        (CODEX, {"HOME": "/h"}, "/h/.codex"),
        (CODEX, {"HOME": "/h", "CODEX_HOME": "/c"}, "/c"),
        (GEMINI, {"HOME": "/h"}, "/h/.gemini"),
        (GEMINI, {"HOME": "/h", "GEMINI_CLI_HOME": "/c"}, "/c/.gemini"),
    ],
)
def test_each_program_says_where_its_settings_are(
    program: Hooks, env: dict[str, str], directory: str
) -> None:
    assert program.directory(env) == directory


# -- the edit ------------------------------------------------------------------------------------


def test_the_layout_of_the_file_is_taken_up() -> None:
    text = '{\r\n\t"model": "x",\r\n\t"hooks": {\r\n\t\t"Stop": [\r\n\t\t]\r\n\t}\r\n}\r\n'
    after = put(CLAUDE, text)
    assert after.startswith('{\r\n\t"model": "x",\r\n\t"hooks": {\r\n\t\t"Stop": [\r\n\t\t\t{')
    assert after.endswith("\r\n\t}\r\n}\r\n")
    assert "\n" not in after.replace("\r\n", "")


def test_a_line_stays_a_line() -> None:
    after = put(CLAUDE, '{"model": "x"}')
    assert "\n" not in after
    assert cut(CLAUDE, after) == '{"model": "x"}'


def test_a_comment_stays_beside_what_it_is_about() -> None:
    after = put(GEMINI, '{\n  // theme\n  "ui": 1 // dark\n  // end\n}\n')
    assert after.startswith('{\n  // theme\n  "ui": 1, // dark\n  // end\n  "hooks": {\n')
    assert cut(GEMINI, after) == '{\n  // theme\n  "ui": 1 // dark\n  // end\n}\n'


def test_other_hooks_of_the_same_event_stay_before_ours() -> None:
    """Codex remembers by position which ones are trusted."""
    after = json.loads(put(CODEX, json.dumps({"hooks": {"Stop": [MINE]}}), "hooks.json"))
    assert after["hooks"]["Stop"][0] == MINE
    assert [(one.event, one.group) for one in found(after) if one.event == "Stop"] == [("Stop", 1)]


def test_a_hook_that_was_put_into_our_group_stays() -> None:
    settings = json.loads(put(CLAUDE, "{}"))
    settings["hooks"]["Stop"][0]["hooks"] += MINE["hooks"]
    settings["hooks"]["PreToolUse"].insert(0, MINE)
    after = json.loads(cut(CLAUDE, json.dumps(settings, indent=4)))
    assert after == {"hooks": {"Stop": [MINE], "PreToolUse": [MINE]}}


def test_a_persons_own_hook_that_speaks_of_knell_is_not_ours() -> None:
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "knell list # knell"}]}]}})
    assert not found(json.loads(text))
    assert json.loads(cut(CLAUDE, put(CLAUDE, text))) == json.loads(text)


def test_of_a_key_that_is_there_twice_the_last_counts() -> None:
    text = '{"hooks": {"Stop": 1}, "hooks": {"Stop": []}}'
    after = put(CLAUDE, text)
    assert after.startswith('{"hooks": {"Stop": 1}, "hooks": {"Stop": [')
    assert is_complete(CLAUDE, json.loads(after))


def test_an_older_entry_of_ours_is_seen_and_replaced() -> None:
    settings = json.loads(put(CLAUDE, "{}"))
    settings["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 60
    settings["hooks"]["Gone"] = settings["hooks"].pop("PreCompact")
    text = json.dumps(settings)
    assert not is_complete(CLAUDE, parsed(CLAUDE, "settings.json", text.encode()))
    assert json.loads(put(CLAUDE, cut(CLAUDE, text))) == json.loads(put(CLAUDE, "{}"))


def test_numbers_that_python_cannot_hold_stay_as_they_are_written() -> None:
    text = '{"a": 1e999, "b": ' + "9" * 5000 + ', "c": 1.0}'
    assert cut(CLAUDE, put(CLAUDE, text)) == text


def test_a_file_that_we_made_is_gone_again_and_one_with_more_in_it_is_not() -> None:
    made = installed(CLAUDE, "settings.json", None)
    backup = Backup("claude", "settings.json", None, digest(made))
    assert restored(CLAUDE, "settings.json", made, backup) is None
    spaced = made.replace(b"\n", b"\n\n")
    assert restored(CLAUDE, "settings.json", spaced, backup) is None
    edited = made.replace(b'"hooks"', b'"model": "x", "hooks"', 1)
    left = restored(CLAUDE, "settings.json", edited, backup)
    assert left is not None
    assert json.loads(left) == {"model": "x"}


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{\n  "a": 1,\n  oops\n}', "line 3 column 3"),
        ('{"a": 1', "line 1 column 8"),
        ('{"a": 1,}', "line 1 column"),
        ('{"a": 1} {"b": 2}', "line 1 column 10"),
        ('{\n// no comments here\n"a": 1}', "line 2 column 1"),
        ("[1]", "not a JSON object"),
        ('{"a": NaN}', "NaN"),
        ("[" * 200_000, "nested too deeply"),
        ('{"hooks": []}', "'hooks' is not an object"),
        ('{"hooks": {"Stop": {}}}', "'hooks.Stop' is not a list"),
    ],
)
def test_what_cannot_be_edited_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(BadSettings, match=told.replace("[", r"\[")):
        put(CLAUDE, text)


def test_bytes_that_are_no_text_are_told_with_their_place() -> None:
    with pytest.raises(BadSettings, match="not UTF-8 text, at byte 7"):
        installed(CLAUDE, "settings.json", b'{"a": "\xff"}')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('model = "x"\nmodel = "y"\n', "line 2"),
        ("[hooks]\nStop = []\n", "takes no more lines"),
        ("hooks = {}\n", "takes no more lines"),
        ("a = " + "[" * 100_000, "not valid TOML"),
    ],
)
def test_toml_that_cannot_be_edited_is_told(text: str, told: str) -> None:
    with pytest.raises(BadSettings, match=told):
        put(CODEX, text, "config.toml")


def test_reshaped_toml_is_left_to_the_person() -> None:
    text = put(CODEX, "", "config.toml").replace("[[hooks.Stop]]\n", "[[hooks.Stop]]\n# hm\n")
    with pytest.raises(BadSettings, match="rewritten") as raised:
        cut(CODEX, text, "config.toml")
    assert "by hand" in raised.value.hint
    shared = put(CODEX, "", "config.toml").replace("}]", '}, { command = "mine" }]')
    with pytest.raises(BadSettings, match="more than our own"):
        cut(CODEX, shared, "config.toml")


def test_codex_may_write_its_tables_behind_ours() -> None:
    """As it really does when a person trusts a hook: among ours, before any closing comment."""
    state = '\n[hooks.state."/c/config.toml:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
    text = put(CODEX, 'model = "x" # mine\n', "config.toml") + state
    assert cut(CODEX, text, "config.toml") == 'model = "x" # mine\n' + state


# -- why hooks that are there do not run -----------------------------------------------------------


def told(program: Hooks, content: str, switches: dict[str, Any], path: str = "/c/h.json") -> str:
    return "; ".join(notes(program, path, put(program, content, path).encode(), switches))


def test_switched_off_hooks_are_told() -> None:
    assert "disableAllHooks" in told(CLAUDE, "", {"disableAllHooks": True})
    assert told(CLAUDE, "", {"disableAllHooks": False}) == ""
    assert "switches them off" in told(GEMINI, "", {"hooksConfig": {"enabled": False}})
    assert "switches them off" in told(
        GEMINI, "", {"hooksConfig": {"disabled": ["knell-heartbeat"]}}
    )
    assert told(GEMINI, "", {"hooksConfig": {"enabled": True}}) == ""
    assert "features.hooks" in told(CODEX, "", {"features": {"hooks": False}})


def test_a_byte_order_mark_is_told_to_those_who_cannot_read_it() -> None:
    assert "byte order mark" in told(GEMINI, "\ufeff{}", {})
    assert told(CLAUDE, "\ufeff{}", {}) == ""


def test_codex_hooks_that_nobody_trusted_yet_are_told() -> None:
    events = ("session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "stop",
              "subagent_stop", "pre_compact", "session_end")  # fmt: skip
    state: dict[str, Any] = {f"/c/h.json:{event}:0:0": {"trusted_hash": "x"} for event in events}
    assert told(CODEX, "", {"hooks": {"state": state}}) == ""
    state["/c/h.json:stop:0:0"]["enabled"] = False
    assert "switched off" in told(CODEX, "", {"hooks": {"state": state}})
    del state["/c/h.json:pre_tool_use:0:0"]
    assert "trusted" in told(CODEX, "", {"hooks": {"state": state}})
    assert "trusted" in told(CODEX, "", {})


def test_where_none_of_ours_is_nothing_is_told() -> None:
    assert notes(CODEX, "/c/hooks.json", b"", {"features": {"hooks": False}}) == []


def test_text_that_only_looks_like_a_comment_is_kept() -> None:
    text = '{"a": "// not /* one */"}'
    assert JsonText(text, comments=True).plain == text
