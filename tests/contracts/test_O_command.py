"""O1 to O5 and O12 to O17: how the command is called, what it may be given, what it touches."""

import json
import math
import subprocess
import sys
from typing import Any

import pytest

import knell
from contracts.o_scenes import DEVELOPER, KILL, ask, kill, life, pid_of, sql, words, worker
from house import House, alive
from knell.core.errors import BadParameter
from knell.core.inputs import Input, checked
from knell.life.orchestrator.invoke import COMMANDS, describe, full_name

NAN, INFINITY = math.nan, math.inf


# -- names ---------------------------------------------------------------------------------------


def test_O1_command_agent_and_action(house: House) -> None:
    told = describe(KILL)
    assert (told["command"], told["agent"]) == ("orchestrator.kill-stalled-agent", "orchestrator")
    assert told["action"] == "kill_stalled_agent"


@pytest.mark.parametrize(
    "name", ["orchestrator.kill-stalled-agent", "kill-stalled-agent", "kill_stalled_agent"]
)
def test_O1_each_of_its_names_carries_it_out(house: House, name: str) -> None:
    pid = pid_of(worker(house))
    assert ask(house, name, AGENT_ID=DEVELOPER)["success"] is True
    assert not alive(pid)


def test_O2_its_description() -> None:
    assert describe(KILL)["description"] == ("Terminate unresponsive agents and clean up resources")


def test_O3_the_tables_that_it_reads_and_writes() -> None:
    """The body of the contract writes orchestrator_task too, and C23 says that this counts."""
    tables = describe(KILL)["tables"]
    assert tables["read"] == ["agent_lifecycle"]
    assert {"agent_lifecycle", "orchestrator_task"} <= set(tables["write"])


def test_K5_O4_the_tools_of_the_contract_are_named() -> None:
    assert describe(KILL)["required_tools"] == ["subprocess", "psutil", "database"]


def test_O4_it_has_all_its_tools_with_it(house: House) -> None:
    """It kills without psutil: the kernel is asked directly."""
    pid = pid_of(worker(house))
    (house.root / "psutil.py").write_text("raise ImportError('not here')")
    asked = f"import knell; print(knell.invoke_command({KILL!r}, {{'AGENT_ID': {DEVELOPER!r}}}))"
    env = house.env | {"PYTHONPATH": str(house.root)}
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env=env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 0)
    assert "'success': True" in done.stdout
    assert not alive(pid)


def test_O5_the_trace_is_in_SQLite(house: House) -> None:
    worker(house)
    kill(house)
    [(count,)] = sql(house, "SELECT count(*) FROM events WHERE type = ?", f"command.{KILL}")
    assert count == 1


def test_O5_a_call_with_a_bad_parameter_is_traced_without_its_values(house: House) -> None:
    """Nothing of them was checked: they may hold a key, or be of any size."""
    key = "sk-ant-0123456789abcdef"
    broken = {"AGENT_ID": "\ud800"}
    for wrong in ({}, broken, {"AGENT_ID": "nobody", "TASKS": key}, {key: 1}):
        assert ask(house, KILL, **wrong)["error"] == "invalid_parameter"
    told = [json.loads(data) for (data,) in sql(house, "SELECT data FROM events ORDER BY id")]
    refused = {"success": False, "error": "invalid_parameter", "by": "operator"}
    names = ("AGENT_ID", "AGENT_ID", "TASKS", "")
    assert told == [{"parameters": {}, "parameter": name} | refused for name in names]


# -- parameters and their defaults ---------------------------------------------------------------


def test_O12_AGENT_ID_is_a_text(house: House) -> None:
    worker(house)
    answer = kill(house)
    assert (answer["agent_id"], answer["success"]) == (DEVELOPER, True)


def test_O12_it_is_an_id_and_no_pattern(house: House) -> None:
    pid = pid_of(worker(house))
    for pattern in ("all", "*", "code-developer-*", f"pid:{pid}", str(pid), "tag:x", f"id:{pid}"):
        answer = kill(house, pattern)
        assert (answer["error"], answer["agent_id"]) == ("agent_not_found", pattern)
    assert alive(pid)


@pytest.mark.parametrize(
    ("name", "default"),
    [
        pytest.param("GRACE_PERIOD_SECONDS", 10, id="O13"),
        pytest.param("FORCE_KILL", False, id="O14"),
        pytest.param("CLEANUP", True, id="O15"),
    ],
)
def test_O13_O14_O15_defaults(name: str, default: object) -> None:
    [told] = [one for one in describe(KILL)["parameters"] if one["name"] == name]
    assert told["default"] == default
    assert type(told["default"]) is type(default)


def test_O13_a_grace_of_zero_is_not_taken_for_none(house: House) -> None:
    """0 gives no time for TERM; only a grace that is not given means ten seconds."""
    pid = pid_of(worker(house))
    answer = kill(house, GRACE_PERIOD_SECONDS=0)
    assert (answer["grace_period_seconds"], answer["kill_signal"]) == (0, "SIGKILL")
    assert answer["killed_gracefully"] is False
    assert not alive(pid)


def test_O16_the_heartbeat_timeout_belongs_to_kill_stalled(house: House) -> None:
    """Who gives one believes that a healthy agent is spared; without the action it would not be."""
    pid = pid_of(worker(house))
    answer = kill(house, HEARTBEAT_TIMEOUT_SECONDS=120)
    assert (answer["error"], answer["parameter"]) == (
        "invalid_parameter",
        "HEARTBEAT_TIMEOUT_SECONDS",
    )
    assert alive(pid)


def test_O17_the_agent_is_looked_up_in_agent_lifecycle(house: House) -> None:
    worker(house)
    row = life(house)
    answer = kill(house)
    assert (answer["pid"], answer["task_id"]) == (row["pid"], row["task_id"])
    assert row["status"] == "running"


# -- bad input -----------------------------------------------------------------------------------

WRONG: list[tuple[str, Any]] = [
    ("AGENT_ID", None),
    ("AGENT_ID", ""),
    ("AGENT_ID", 7),
    ("AGENT_ID", ["luna"]),
    ("AGENT_ID", "lu\nna"),
    ("AGENT_ID", "lu\0na"),
    ("AGENT_ID", "\ud800"),
    ("AGENT_ID", "x" * 1001),
    *(("GRACE_PERIOD_SECONDS", bad) for bad in (-1, -0.001, NAN, INFINITY, -INFINITY, 1e300)),
    *(("GRACE_PERIOD_SECONDS", bad) for bad in (10**400, True, "10", None, [], {}, 86_401)),
    *(("FORCE_KILL", bad) for bad in (0, 1, "true", None, 1.0)),
    *(("CLEANUP", bad) for bad in ("safe", "force", 1, None)),
    *(("HEARTBEAT_TIMEOUT_SECONDS", bad) for bad in (0, -5, NAN, True, "120", None, 10**9)),
    *(("ACTION", bad) for bad in ("kill", "", None, True, ["kill_stalled"])),
    ("TASKS", "forget"),
    ("STRICT", "yes"),
]


def test_a_wrong_value_is_refused_by_name_and_nothing_is_done(house: House) -> None:
    pid = pid_of(worker(house))
    for name, value in WRONG:
        case = (name, repr(value)[:80])
        timed = {"ACTION": "kill_stalled"} if name == "HEARTBEAT_TIMEOUT_SECONDS" else {}
        answer = house.knell.invoke(KILL, {"AGENT_ID": DEVELOPER} | timed | {name: value})
        assert (answer["success"], answer["error"]) == (False, "invalid_parameter"), case
        assert answer["parameter"] == name, case
        assert answer["message"].startswith(f"{name} must be "), case
        json.dumps(answer)
        assert alive(pid), case


@pytest.mark.parametrize(
    ("name", "meant"),
    [("AGENTID", "AGENT_ID"), ("agent_id", "AGENT_ID"), ("FORCE", "FORCE_KILL"), ("X", "")],
)
def test_an_unknown_parameter_is_refused_and_the_nearest_named(
    house: House, name: str, meant: str
) -> None:
    answer = house.knell.invoke(KILL, {"AGENT_ID": DEVELOPER, name: True})
    assert (answer["error"], answer["parameter"]) == ("invalid_parameter", name)
    assert answer["agent_id"] == DEVELOPER
    assert (f"did you mean {meant}?" if meant else "known are AGENT_ID") in answer["message"]


@pytest.mark.parametrize("params", [[], "AGENT_ID", 3, None, True, {1: 2}, {None: 1}])
def test_what_is_no_object_of_names_is_refused(house: House, params: Any) -> None:
    answer = house.knell.invoke(KILL, params)
    assert (answer["success"], answer["error"]) == (False, "invalid_parameter")


def test_neither_an_agent_nor_an_action_is_refused(house: House) -> None:
    answer = house.knell.invoke(KILL, {})
    assert (answer["error"], answer["parameter"]) == ("invalid_parameter", "AGENT_ID")


@pytest.mark.parametrize(
    ("name", "near"),
    [("kill-stalled-agnt", "kill-stalled-agent"), ("spawn_agent", "spawn-agent-session")],
)
def test_an_unknown_command_is_told_the_nearest_names(house: House, name: str, near: str) -> None:
    answer = house.knell.invoke(name, {})
    assert (answer["success"], answer["error"]) == (False, "unknown_command")
    assert near in answer["message"]


@pytest.mark.parametrize("name", ["", "orchestrator.", "..", None, 7, "kill"])
def test_no_name_at_all_is_an_answer_too(house: House, name: Any) -> None:
    assert house.knell.invoke(name, {})["error"] == "unknown_command"


@pytest.mark.parametrize("short", COMMANDS)
def test_every_command_explains_each_of_its_parameters(short: str) -> None:
    told = describe(full_name(short))
    assert told["errors"]["invalid_parameter"]
    assert told["errors"]["database_error"]
    json.dumps(told)
    for one in told["parameters"]:
        assert one["meaning"]
        assert one["must_be"]
        assert one["required"] == ("default" not in one)


@pytest.mark.parametrize("short", COMMANDS)
def test_every_default_is_one_that_could_be_given(short: str) -> None:
    for one in describe(full_name(short))["parameters"]:
        if one.get("default") is not None:
            assert checked(_table(short), {one["name"]: one["default"]} | _needed(short))


def _table(short: str) -> tuple[Input, ...]:
    from knell.life.orchestrator.invoke import load_command

    return load_command(full_name(short)).inputs


def _needed(short: str) -> dict[str, Any]:
    told = describe(full_name(short))["parameters"]
    return {one["name"]: "x" for one in told if one["required"]}


def test_a_command_is_a_list_of_words_or_one_name() -> None:
    table = (Input("COMMAND", "command", "What to launch."),)
    assert checked(table, {"COMMAND": words()})
    for bad in ([], [""] * 1001, ["a", 1], ["a\0b"], ["\ud800"], "", 7):
        with pytest.raises(BadParameter):
            checked(table, {"COMMAND": bad})


def test_O30_the_database_is_released_after_the_command(house: House) -> None:
    """Also in a program that goes on: no descriptor of the store stays open."""
    source = (
        "import os, knell\n"
        f"knell.invoke_command({KILL!r}, {{'AGENT_ID': 'nobody'}})\n"
        "fds = [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')"
        " if os.path.exists(f'/proc/self/fd/{fd}')]\n"
        "print([name for name in fds if 'knell.db' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", source],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert (house.state / "knell.db").exists()


def test_invoke_command_is_part_of_the_package() -> None:
    assert "invoke_command" in knell.__all__
    assert callable(knell.invoke_command)
