"""`knell run`: the agent's own exit code, streams and surroundings, and nothing left behind."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from house import House, alive, eventually
from shells import agent, path_with_knell
from unpacked import plain_content


def shell(house: House, script: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """A script that finds `knell` on its PATH."""
    env = house.env | {"PATH": path_with_knell(house)}
    return subprocess.run(
        ["bash", "-c", script],
        env=env, cwd=house.root, capture_output=True, text=True, timeout=300, check=False,
        preexec_fn=interruptible, **options,
    )  # fmt: skip


def interruptible() -> None:
    """The tests themselves may run in the background of a shell, where it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# -- exit codes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_it_exits_with_the_agents_code(house: House, code: int) -> None:
    done = house.run("run", "--name", "luna", "--", "sh", "-c", f"exit {code}")
    assert done.returncode == code
    receipt = house.knell.receipt("luna")
    assert receipt.exit_code == code
    expected = ("failed", "crashed") if code else ("completed", "exited")
    assert (receipt.outcome, receipt.reason, receipt.by) == (*expected, "agent")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT])
def test_it_exits_with_128_and_the_signal_that_ended_the_agent(house: House, number: int) -> None:
    done = shell(house, f"knell run --name luna -- sh -c 'kill -{int(number)} $$'; echo $?")
    assert done.stdout.strip() == str(128 + number)
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.exit_signal, receipt.exit_code) == ("failed", number, None)


def test_an_agent_that_dies_of_an_interrupt_interrupts_its_caller(house: House) -> None:
    """The convention by which a shell's loop and a Makefile stop at Ctrl-C."""
    argv = ("run", "--name", "luna", "--", "sh", "-c", "kill -INT $$")
    done = house.run(*argv, preexec_fn=interruptible)
    assert done.returncode == -signal.SIGINT


@pytest.mark.parametrize(
    ("command", "code", "why"),
    [
        ("no-such-program", 127, "No such file"),
        ("./no-such-file", 127, "No such file"),
        ("./not-executable", 126, "Permission denied"),
        ("./directory", 126, "Permission denied"),
        ("./broken", 126, "Exec format error"),
        ("", 127, "No such file"),
        ("./line\n\tby line", 127, "No such file"),
    ],
)
def test_what_cannot_be_started_says_so_as_a_shell_does(
    house: House, command: str, code: int, why: str
) -> None:
    (house.root / "not-executable").write_text("#!/bin/sh\n")
    (house.root / "directory").mkdir()
    (house.root / "broken").write_bytes(b"\x7fELF\0 of no machine")
    (house.root / "broken").chmod(0o755)
    done = house.run("run", "--name", "luna", "--", command)
    assert (done.returncode, done.stdout) == (code, "")
    assert f"cannot start {command}: {why}" in done.stderr
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.reason, receipt.proof) == ("failed", "not_started", "proven")
    assert receipt.detail.endswith(done.stderr.split(": ")[-1].strip())
    assert "\n" not in receipt.detail
    assert [agent["state"] for agent in house.json("list", "--all")["agents"]] == ["ended"]


def test_the_first_program_on_the_path_that_can_be_executed_is_the_one(house: House) -> None:
    for name, mode in (("first", 0o644), ("second", 0o755)):
        (house.root / name).mkdir()
        program = house.root / name / "prog"
        program.write_text(f"#!/bin/sh\necho {name}\n")
        program.chmod(mode)
    path = f"{house.root}/first:{house.root}/second:{os.environ['PATH']}"
    done = house.run("run", "--name", "luna", "--env", f"PATH={path}", "--", "prog")
    assert (done.returncode, done.stdout) == (0, "second\n")


def test_a_script_without_a_first_line_runs(house: House) -> None:
    script = house.root / "script"
    script.write_text('echo "$1 and $2"\n')
    script.chmod(0o755)
    done = house.run("run", "--name", "luna", "--", "./script", "one", "two words")
    assert (done.returncode, done.stdout) == (0, "one and two words\n")


# -- streams ---------------------------------------------------------------------------------------


def test_what_is_piped_in_reaches_the_agent(house: House) -> None:
    done = shell(house, "echo hi | knell run --name luna -- cat")
    assert (done.stdout, done.stderr, done.returncode) == ("hi\n", "", 0)


def test_an_agent_whose_reader_has_left_ends(house: House) -> None:
    """Python ignores SIGPIPE, and what is ignored is inherited: yes would write for ever."""
    done = shell(house, "knell run --name luna -- yes | head -1; echo ${PIPESTATUS[0]}")
    assert done.stdout.split() == ["y", str(128 + signal.SIGPIPE)]


def test_arguments_pass_through_untouched(house: House) -> None:
    words = ["", " ", "a b", "-x", "--help", "$HOME", "'\"\\", "line\nline", "ünï", "*"]
    source = "import json, sys; print(json.dumps(sys.argv[1:]))"
    done = house.run("run", "--name", "luna", "--", sys.executable, "-c", source, *words)
    assert json.loads(done.stdout) == words


# -- what the agent finds --------------------------------------------------------------------------

LOOK = """
import json, os, signal
status = dict(line.split(":\\t") for line in open("/proc/self/status") if ":\\t" in line)
print(json.dumps({
    "signals": [status[name].strip() for name in ("SigBlk", "SigIgn")],
    "fds": sorted(os.listdir("/proc/self/fd")),
    "limits": open("/proc/self/limits").read(),
    "umask": status["Umask"].strip(),
    "nice": os.nice(0),
    "cwd": os.getcwd(),
    "env": dict(os.environ),
}))
"""


def test_the_agent_finds_what_it_would_find_without_a_keeper(house: House) -> None:
    look = house.root / "look.py"
    look.write_text(LOOK)
    words = f"{shlex.quote(sys.executable)} {look}"
    plain = json.loads(shell(house, words).stdout)
    kept = json.loads(shell(house, f"knell run --name luna -- {words}").stdout)
    own = {name: kept["env"].pop(name) for name in sorted(kept["env"]) if name.startswith("KNELL_")}
    plain["env"].pop("KNELL_HOME")
    assert kept["env"].pop("WINDOWID")  # the mark by which the run's tmux sessions are known
    for env in (plain["env"], kept["env"]):
        env.pop("_")  # bash's own: which program it started last
    assert kept == plain
    assert own["KNELL_AGENT"] == "luna"


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT"])
def test_what_the_caller_ignores_the_agent_ignores(house: House, name: str) -> None:
    """nohup, and the background of a shell without job control, work that way."""
    number = signal.Signals[f"SIG{name}"]
    look = "grep SigIgn /proc/self/status"
    plain = shell(house, f"trap '' {name}; {look}").stdout
    kept = shell(house, f"trap '' {name}; knell run --name luna -- {look}").stdout
    assert kept == plain, "whatever whoever started this test ignores besides"
    assert int(kept.split()[1], 16) & 1 << (number - 1)


def test_a_caller_that_ignores_dead_children_does_not_blind_the_keeper(house: House) -> None:
    """With SIGCHLD ignored the kernel throws every exit status away."""
    done = house.run(
        "run", "--name", "luna", "--", "sh", "-c", "exit 7",
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )  # fmt: skip
    assert done.returncode == 7


def test_a_caller_that_ignores_dead_children_may_use_tmux(house: House) -> None:
    deaf = {"preexec_fn": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)}
    words = ("--in", "tmux", "--tmux-server", "test", "--name", "luna", "--", "sleep", "100")
    for verb in (("spawn", *words), ("screen", "luna"), ("kill", "luna")):
        done = house.run(*verb, **deaf)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def test_a_caller_that_blocks_term_does_not_deafen_the_keeper(house: House) -> None:
    words, log = agent(house, "wait()")
    blocked = {signal.SIGTERM, signal.SIGCHLD}
    started = house.process(
        sys.executable, "-m", "knell", "run", "--name", "luna", "--", *words.split(),
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, blocked),
    )  # fmt: skip
    log.await_pid()
    receipt = house.kill("luna")[0].receipts[0]
    assert (receipt.proof, receipt.warnings) == ("proven", ())
    assert started.wait(300) == 128 + signal.SIGTERM


def test_a_variable_that_was_asked_for_wins_over_the_terminals(house: House) -> None:
    done = house.run("run", "--name", "a", "--env", "TERM=dumb", "--", "printenv", "TERM")
    assert done.stdout == "dumb\n"
    done = house.run("run", "--name", "b", "--", "printenv", "TERM")
    assert done.stdout == "xterm-256color\n"


def test_the_order_with_its_secrets_is_gone_once_it_was_read(house: House) -> None:
    words = ("sh", "-c", 'ls "$(dirname "$KNELL_HEARTBEAT")"')
    done = house.run("run", "--name", "luna", "--env", "API_KEY=secret", "--", *words)
    assert "launch" not in done.stdout.split()
    left = list((house.state / "runs").rglob("*"))
    assert left
    assert not any(b"secret" in plain_content(path) for path in left if path.is_file())
    assert all(path.stat().st_mode & 0o077 == 0 for path in left)


# -- what is written down -----------------------------------------------------------------------


def test_the_receipt_tells_what_the_run_cost(house: House) -> None:
    source = "x = bytearray(60_000_000)\nfor _ in range(3_000_000): pass"
    house.run("run", "--name", "luna", "--", sys.executable, "-S", "-c", source)
    receipt = house.knell.receipt("luna")
    assert receipt.max_rss_kb
    assert receipt.max_rss_kb > 58_000
    assert receipt.cpu_seconds
    assert receipt.cpu_seconds > 0.02


def test_a_run_that_is_over_before_anybody_looked_has_its_identity(house: House) -> None:
    house.run("run", "--name", "luna", "--", "true")
    (run,) = house.knell.show("luna").runs
    assert run.process
    assert run.process.start > 0
    assert run.keeper
    assert run.process.boot == run.keeper.boot


def test_a_start_that_is_killed_half_way_leaves_no_process_and_no_secret(house: House) -> None:
    """Whatever moment the kill falls on: before the keeper reports, or after."""
    for number in range(6):
        name = f"luna-{number}"
        argv = ("run", "--name", name, "--env", "API_KEY=secret", "--", "sleep", "99")
        started = house.process(sys.executable, "-m", "knell", *argv)
        eventually(lambda name=name: house.knell.world.store.runs.of(name))
        os.kill(started.pid, signal.SIGKILL)
        started.wait(300)
    assert house.run("kill", "all", "--yes").returncode == 0
    assert house.json("list")["agents"] == []
    assert stamped(house) == []
    left = [path for path in (house.state / "runs").rglob("*") if path.is_file()]
    assert not any(b"secret" in plain_content(path) for path in left)


def stamped(house: House) -> list[str]:
    """Every live process that was started for this house."""
    home = f"KNELL_HOME={house.state}".encode()
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if home in (path / "environ").read_bytes() and alive(int(path.name)):
                found.append((path / "cmdline").read_text())
    return found
