"""knell invoke: JSON in, JSON out, and an exit code that a shell can go by."""

import json
from pathlib import Path
from typing import Any

import pytest

import knell
from complaints import USAGE, complaint
from house import House, alive
from knell.life.orchestrator.invoke import AGENT, COMMANDS

KILL = "orchestrator.kill-stalled-agent"


def answered(house: House, *args: str, code: int = 0, **options: Any) -> dict[str, Any]:
    done = house.run("invoke", *args, **options)
    assert (done.returncode, done.stderr) == (code, "")
    return json.loads(done.stdout)


def pid(house: House, name: str = "luna") -> int:
    process = house.spawn(name=name).run.process
    assert process
    return process.pid


# -- how parameters are given --------------------------------------------------------------------


def test_as_one_JSON_argument(house: House) -> None:
    luna = pid(house)
    answer = answered(house, KILL, '{"AGENT_ID": "luna", "GRACE_PERIOD_SECONDS": 5}')
    assert (answer["success"], answer["pid"]) == (True, luna)
    assert answer["grace_period_seconds"] == 5
    assert not alive(luna)


def test_from_a_file_and_from_standard_input(house: House) -> None:
    pids = [pid(house, name) for name in ("luna", "nova")]
    (house.root / "params.json").write_text('{"AGENT_ID": "luna"}')
    assert answered(house, KILL, "@params.json")["pid"] == pids[0]
    assert answered(house, KILL, "-", input='{"AGENT_ID": "nova"}')["pid"] == pids[1]


def test_as_pairs_whose_values_are_JSON_or_else_text(house: House) -> None:
    pid(house)
    answer = answered(
        house, KILL, "AGENT_ID=luna", "GRACE_PERIOD_SECONDS=2.5", "REASON=it hung = twice"
    )
    assert (answer["agent_id"], answer["grace_period_seconds"]) == ("luna", 2.5)
    assert house.knell.receipt("luna").detail == "it hung = twice"


def test_without_any_it_is_given_nothing(house: House) -> None:
    answer = answered(house, "monitor-agent-lifecycle")
    assert (answer["action"], answer["agents"]) == ("check_all", [])
    missing = answered(house, KILL, code=1)
    assert (missing["error"], missing["parameter"]) == ("invalid_parameter", "AGENT_ID")


# -- exit codes ----------------------------------------------------------------------------------


def test_0_for_success_and_1_for_an_answer_that_says_no(house: House) -> None:
    pid(house)
    assert answered(house, KILL, "AGENT_ID=luna", code=0)["success"] is True
    assert answered(house, KILL, "AGENT_ID=nobody", code=1)["error"] == "agent_not_found"
    assert answered(house, "no-such-command", code=1)["error"] == "unknown_command"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "",
        "nonsense",
        '{"AGENT_ID": }',
        '{"AGENT_ID": "luna"} x',
        "'{}'",
        "[" * 100_000,
        '{"AGENT_ID": "luna", "AGENT_ID": "nova"}',
    ],
)
def test_2_for_malformed_JSON_and_nothing_is_done(house: House, text: str) -> None:
    luna = pid(house)
    done = house.run("invoke", KILL, "-", input=text)
    said, hint = complaint(done, USAGE)
    assert said.startswith("the parameters are no JSON: ")
    assert "@FILE" in hint
    assert alive(luna)


@pytest.mark.parametrize("text", ["[]", '"luna"', "7", "true", "null", "NaN"])
def test_2_for_JSON_that_is_no_object(house: House, text: str) -> None:
    said, _ = complaint(house.run("invoke", KILL, text), USAGE)
    assert said.startswith("the parameters are no object but ")


def test_2_for_files_that_cannot_be_read_and_for_many_words(house: House) -> None:
    (house.root / "binary").write_bytes(b"\xff\xfe\x00")
    for words in (("@missing",), ("@.",), ("@binary",), ("{}", "{}"), ("{}", "A=1")):
        complaint(house.run("invoke", KILL, *words), USAGE)
    complaint(house.run("invoke"), USAGE)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1", '"10"', "true"])
def test_numbers_that_nobody_can_mean_are_refused_by_name(house: House, number: str) -> None:
    luna = pid(house)
    params = '{"AGENT_ID": "luna", "GRACE_PERIOD_SECONDS": %s}' % number  # noqa: UP031 - braces
    answer = answered(house, KILL, params, code=1)
    assert (answer["error"], answer["parameter"]) == ("invalid_parameter", "GRACE_PERIOD_SECONDS")
    assert alive(luna)


# -- flags ---------------------------------------------------------------------------------------


def test_dry_run_is_passed_on(house: House) -> None:
    luna = pid(house)
    answer = answered(house, KILL, "AGENT_ID=luna", "--dry-run")
    assert answer["dry_run"] is True
    assert alive(luna)


def test_dry_run_is_refused_where_it_would_be_ignored(house: House) -> None:
    answer = answered(house, "spawn-agent-session", "AGENT_TYPE=x", "--dry-run", code=1)
    assert (answer["error"], answer["parameter"]) == ("invalid_parameter", "DRY_RUN")


# -- the list ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unused")
def test_the_list_names_every_command_and_parameter(house: House) -> None:
    done = house.run("invoke", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    for short, told in COMMANDS.items():
        assert f"{AGENT}.{short}\n    {told}." in done.stdout
    assert "GRACE_PERIOD_SECONDS" in done.stdout
    assert "default 10" in done.stdout
    assert not list(house.state.iterdir()), "a list touches no state"


def test_the_list_of_one_command_as_JSON(house: House) -> None:
    [told] = answered(house, "--list", "kill_stalled_agent", "--json")["commands"]
    assert (told["command"], told["action"]) == (KILL, "kill_stalled_agent")
    assert "agent_not_found" in told["errors"]
    said, hint = complaint(house.run("invoke", "--list", "kill-staled-agent"), USAGE)
    assert said == "there is no command 'kill-staled-agent'"
    assert "kill-stalled-agent" in hint


def test_names_are_completed(house: House) -> None:
    env = house.env | {
        "_KNELL_COMPLETE": "bash_complete",
        "COMP_WORDS": "knell invoke kill",
        "COMP_CWORD": "2",
    }
    assert "kill-stalled-agent" in house.run(env=env).stdout


def test_the_page_on_commands_names_every_parameter_and_error() -> None:
    from knell.life.orchestrator.invoke import describe

    page = (Path(knell.__file__).parents[2] / "docs" / "commands.md").read_text()
    for short in COMMANDS:
        told = describe(f"{AGENT}.{short}")
        assert f"## {short}" in page
        missing = [one["name"] for one in told["parameters"] if f"`{one['name']}`" not in page]
        missing += [code for code in told["errors"] if f"`{code}`" not in page]
        assert missing == []
