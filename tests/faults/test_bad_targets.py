"""Targets that mean nobody, too many or nothing: said in one line, and nobody is touched."""

import sys

import pytest

from complaints import FAILED, USAGE, complaint
from house import House, alive

EVIL = {
    "blank": " ",
    "blanks inside": "lu na",
    "newline": "lu\nna",
    "shell": "luna; touch pwned",
    "substitution": "$(touch pwned)",
    "up": "..",
    "path": "../../etc/passwd",
    "300 letters": "x" * 300,
    "emoji": "🦊",
    "escape codes": "\x1b[31mluna\x1b[0m",
    "window title": "\x1b]0;pwned\x07",
    "look-alike": "lunа",  # noqa: RUF001 - the last letter is Cyrillic
    "superscript": "²",
    "huge number": "9" * 30,
    "very huge number": "9" * 5000,
    "half a character": "\udcff",
    "percent": "%",
    "pane": "%99999999",
    "sql": "' OR 1=1 --",
}
MALFORMED = ["tag:", "team:", "pid:", "pid:x", "pid:²", f"pid:{'9' * 30}", "color:red", "a:b"]
one_name_verbs = pytest.mark.parametrize("verb", ["show", "tree", "receipt", "resume", "status"])


def untouched(house: House, pid: int) -> bool:
    """Alive, running, and nobody ever claimed its ending."""
    types = {event.type for event in house.knell.events()}
    return alive(pid) and types <= {"life.spawning", "life.started"}


@pytest.fixture
def luna(house: House) -> int:
    run = house.spawn(name="luna", tag="dev").run
    assert run.process
    return run.process.pid


# -- nobody --------------------------------------------------------------------------------------


def test_H35_an_unknown_name_is_not_found(house: House, luna: int) -> None:
    what, hint = complaint(house.run("kill", "nobody"), FAILED)
    assert what == "Agent 'nobody' not found"
    assert "knell list" in hint
    assert untouched(house, luna)


def test_a_mistyped_name_is_suggested_and_not_taken(house: House, luna: int) -> None:
    _, hint = complaint(house.run("kill", "lnua"), FAILED)
    assert hint == "did you mean luna?"
    assert untouched(house, luna)


def test_H33_an_unknown_tag_is_not_found(house: House, luna: int) -> None:
    what, _ = complaint(house.run("kill", "tag:nope"), FAILED)
    assert what == "No agents with tag 'nope'"
    assert untouched(house, luna)


def test_a_glob_that_matches_nobody_is_not_found(house: House, luna: int) -> None:
    complaint(house.run("kill", "x*"), FAILED)
    assert untouched(house, luna)


@pytest.mark.parametrize("target", EVIL.values(), ids=EVIL)
def test_an_evil_target_is_not_found_and_does_nothing(house: House, target: str) -> None:
    pid = house.spawn(name="luna").run.process.pid  # type: ignore[union-attr]
    code = house.run("kill", target).returncode
    assert code == FAILED
    if target.strip():
        complaint(house.run("kill", target), FAILED)
    complaint(house.run("show", target), FAILED)
    assert untouched(house, pid)
    assert not list(house.root.rglob("pwned"))


@one_name_verbs
def test_every_verb_that_takes_a_name_says_the_same(house: House, luna: int, verb: str) -> None:
    what, hint = complaint(house.run(verb, "lnua"), FAILED)
    assert what == "Agent 'lnua' not found"
    assert hint == "did you mean luna?"


@pytest.mark.parametrize("verb", [("reap",), ("stop",), ("events",)])
def test_so_do_the_others(house: House, luna: int, verb: tuple[str, ...]) -> None:
    what, _ = complaint(house.run(*verb, "nobody"), FAILED)
    assert what == "Agent 'nobody' not found"
    assert untouched(house, luna)


# -- no target at all ----------------------------------------------------------------------------


@pytest.mark.parametrize("args", [(), ("",), ("", ""), ("-",)])
def test_H36_an_empty_target_list(house: House, luna: int, args: tuple[str, ...]) -> None:
    what, hint = complaint(house.run("kill", *args), FAILED)
    assert what == "no targets specified"
    assert "knell kill NAME" in hint
    assert untouched(house, luna)


@pytest.mark.parametrize("word", ["tag", "team", "pid", "id", "name", "session", "pane"])
@pytest.mark.parametrize("verb", ["kill", "stop"])
def test_a_word_and_a_colon_mean_nobody(house: House, luna: int, verb: str, word: str) -> None:
    """`kill session:` meant the only agent that has no session: fuzzing found it."""
    what, _ = complaint(house.run(verb, f"{word}:"), USAGE)
    assert what == f"'{word}:' names no {word}"
    assert untouched(house, luna)


def test_stop_without_a_target_outside_an_agent(house: House, luna: int) -> None:
    what, hint = complaint(house.run("stop"), FAILED)
    assert what == "no targets specified"
    assert "inside an agent" in hint
    assert untouched(house, luna)


@pytest.mark.parametrize("verb", ["show", "tree", "receipt", "adopt", "fork"])
def test_a_missing_name_is_a_usage_error(house: House, verb: str) -> None:
    what, hint = complaint(house.run(verb), USAGE)
    assert "Missing argument" in what
    assert hint == f"see knell {verb} --help"


@pytest.mark.parametrize("words", [("resume",), ("resume", ""), ("resume", "luna", "--last")])
def test_resume_takes_a_name_or_last(house: House, words: tuple[str, ...]) -> None:
    what, hint = complaint(house.run(*words), USAGE)
    assert what == "name one agent or group, or write --last"
    assert hint.startswith("knell list --ended")


@pytest.mark.parametrize("verb", ["resume", "fork"])
@pytest.mark.parametrize("option", ["--dry-run", "--jsno"])
def test_an_option_that_is_not_knells_is_given_to_nobody(
    house: House, verb: str, option: str
) -> None:
    """It would have gone to the agent's program, and `resume --dry-run` would have resumed."""
    house.spawn(name="luna")
    house.kill("luna")
    what, hint = complaint(house.run(verb, "luna", option), USAGE)
    assert option in what
    assert hint == f"see knell {verb} --help"
    assert house.json("list")["agents"] == []


def test_adopting_what_is_in_knells_charge_says_so(house: House, luna: int) -> None:
    assert complaint(house.run("adopt", "luna"), FAILED).hint.endswith("knell show luna")
    assert untouched(house, luna)


@pytest.mark.parametrize("verb", ["show", "receipt"])
def test_an_empty_name_is_not_found(house: House, luna: int, verb: str) -> None:
    complaint(house.run(verb, ""), FAILED)


# -- nothing that could be a target ----------------------------------------------------------------


@pytest.mark.parametrize("target", MALFORMED)
def test_a_malformed_target_is_a_bad_request(house: House, luna: int, target: str) -> None:
    complaint(house.run("kill", target), USAGE)
    complaint(house.run("show", target), USAGE)
    assert untouched(house, luna)


def test_a_bad_request_is_refused_before_anything_is_done(house: House, luna: int) -> None:
    complaint(house.run("kill", "luna", "tga:dev"), USAGE)
    assert untouched(house, luna)


def test_H39_a_target_that_is_not_found_does_not_stop_the_others(house: House, luna: int) -> None:
    done = house.run("kill", "nobody", "luna")
    assert done.returncode == FAILED
    assert "Agent 'nobody' not found" in done.stderr
    assert "for 'luna'" in done.stdout
    assert not alive(luna)


# -- more than one -------------------------------------------------------------------------------


def test_an_ambiguous_target_names_them_all_and_ends_none(house: House) -> None:
    first = house.spawn(name="luna").run
    second = house.spawn(name="nova").run
    shared = first.id[:8]  # the day on which both were started
    what, hint = complaint(house.run("kill", f"id:{shared}"), FAILED)
    assert "luna, nova" in what
    assert "exactly" in hint
    for run in (first, second):
        assert run.process
        assert alive(run.process.pid)


def test_a_session_with_two_agents_is_ambiguous(house: House) -> None:
    runs = [
        house.spawn(name=name, place="tmux", server="test", session="work").run
        for name in ("luna", "nova")
    ]
    complaint(house.run("kill", "session:work"), FAILED)
    assert all(run.process and alive(run.process.pid) for run in runs)


@pytest.mark.parametrize("target", ["all", "tag:dev", "*"])
def test_resume_of_a_group_in_which_all_live(house: House, target: str) -> None:
    house.spawn(name="luna", tag="dev")
    what, _ = complaint(house.run("resume", target), FAILED)
    assert what == f"no agent of '{target}' has ended"


@pytest.mark.parametrize("target", ["all", "tag:dev", "*"])
@pytest.mark.parametrize("verb", ["show", "receipt"])
def test_a_group_where_one_is_meant(house: House, verb: str, target: str) -> None:
    """Not the first of them, and nobody at all is no crash."""
    complaint(house.run(verb, target), FAILED)
    house.spawn(name="luna", tag="dev")
    house.spawn(name="nova", tag="dev")
    what, _ = complaint(house.run(verb, target), FAILED)
    assert "luna, nova" in what


@pytest.mark.parametrize("target", ["luna", "l*", "tag:dev", "all"])
def test_H34_a_second_kill_is_no_failure(house: House, luna: int, target: str) -> None:
    assert house.run("kill", target).returncode == 0
    done = house.run("kill", target)
    told = "'luna' ended " if target == "luna" else ""  # when, by whom and where
    assert (done.returncode, done.stderr[: len(told) or None]) == (0, told)


# -- from standard input -------------------------------------------------------------------------


def test_targets_are_read_from_standard_input(house: House, luna: int) -> None:
    done = house.run("kill", "-", input="\n  luna  \nluna\n\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Ended process group") == 1
    assert not alive(luna)


def test_garbage_on_standard_input_is_not_found(house: House, luna: int) -> None:
    done = house.process(sys.executable, "-m", "knell", "kill", "-", stdin=-1, stdout=-1, stderr=-1)
    _, err = done.communicate(b"\xff\xfe\x00lu\n", timeout=300)
    assert done.returncode == FAILED
    assert b"not found" in err
    assert b"Traceback" not in err
    assert untouched(house, luna)
