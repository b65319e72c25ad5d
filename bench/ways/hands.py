"""What a person does by hand, for the ways that need it: start a program, run a command."""

import os
import select
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from workshop import Bench

from house import eventually

# A shell's part: the agent gets a session of its own, and is reaped as soon as it ends.
SHELL = """
import os, sys
pid = os.fork()
if not pid:
    os.setsid()
    os.execv(sys.argv[1], sys.argv[1:])
os.waitpid(pid, 0)
"""


class Done(NamedTuple):
    code: int
    text: str  # all that it printed
    last: str  # the last line of it


def command(argv: Sequence[str], env: Mapping[str, str], seconds: float = 60) -> Done:
    """Runs a command to its return, and reaps orphans at once meanwhile, as an init would.

    Without that, whoever waits for a process that is not its own child waits for us.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            argv, env=dict(env), stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        code = await_end(process.pid, seconds)
        process.returncode = code  # Popen may not wait for it a second time
        output.seek(0)
        text = output.read().decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return Done(code, text, lines[-1] if lines else "")


def await_end(pid: int, seconds: float) -> int:
    """The exit code of a child of ours; it is killed when its time is over."""
    watch = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(watch, select.POLLIN)
    until = time.monotonic() + seconds
    try:
        while not poll.poll(5):
            reap_others(pid)
            if time.monotonic() > until:
                os.kill(pid, 9)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        os.close(watch)


def reap_others(pid: int) -> None:
    look = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while (dead := os.waitid(os.P_ALL, 0, look)) and dead.si_pid != pid:
        os.waitpid(dead.si_pid, 0)


def agent_script(
    bench: Bench, name: str, argv: Sequence[str], env: Mapping[str, str], first: str = ":"
) -> Path:
    """A script that becomes the agent after it has written down its pid.

    For what wants a file or one word as its command; and no other process then has the agent's
    words in its own command line.
    """
    script = bench.root / f"{name}.sh"
    exports = [f"export {key}={shlex.quote(value)}" for key, value in env.items()]
    note = shlex.quote(str(pid_file(bench, name)))
    written = f"echo $$ > {note}.new && mv {note}.new {note}"
    lines = ["#!/bin/sh", *exports, written, first, f"exec {shlex.join(argv)}", ""]
    script.write_text("\n".join(lines))
    script.chmod(0o700)
    return script


def pid_file(bench: Bench, name: str) -> Path:
    return bench.root / f"{name}.pid"


def written_pid(bench: Bench, name: str) -> int:
    """The agent's pid, once its script has begun."""
    eventually(pid_file(bench, name).exists)
    return int(pid_file(bench, name).read_text())


def by_hand(bench: Bench, name: str, script: Path) -> int:
    """Starts it in a session of its own below something like a shell; the agent's pid.

    Not by Popen, which would want to be waited for: the shell goes with its agent, and is reaped
    with all the others.
    """
    argv = [bench.python, "-I", "-S", "-c", SHELL, str(script)]
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    os.posix_spawn(argv[0], argv, bench.env, file_actions=nowhere)
    return written_pid(bench, name)
