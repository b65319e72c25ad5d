"""Thousands of processes that do nothing, and a count of how often each was looked at."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from house import House, pids

# Each forks its share at once, and all end with the first. They are bounded by an alarm as well.
SOURCE = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
    setsid();
    alarm(1200);
    for (int left = atoi(argv[1]); left > 0; left--) {
        pid_t child = fork();
        if (child < 0) { perror("fork"); return 1; }
        if (!child) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(1200);
            for (;;) pause();
        }
    }
    puts("up");
    fflush(stdout);
    for (;;) pause();
}
"""


@contextlib.contextmanager
def crowd(house: House, many: int) -> Iterator[set[int]]:
    """The pids of so many strangers; without a compiler each is a `sleep`."""
    compiler = shutil.which("cc")
    if compiler:
        program = house.root / "crowd"
        source = house.root / "crowd.c"
        source.write_text(SOURCE)
        subprocess.run([compiler, "-O1", "-o", str(program), str(source)], check=True, timeout=300)
        argv = [str(program), str(many)]
    else:
        argv = ["setsid", "sh", "-c", f"{'sleep 150 & ' * many} echo up; wait"]
    first = house.process(*argv, stdout=subprocess.PIPE, text=True)
    assert first.stdout
    try:
        said = first.stdout.readline()
        assert said == "up\n", said
        yield members(first.pid)
    finally:
        for pid in members(first.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        first.wait(300)
        first.stdout.close()


def members(session: int) -> set[int]:
    """Everybody in the session that the first of the crowd leads."""
    return {pid for pid in pids() if session_of(pid) == session}


def session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def looked_at(house: House, *words: str) -> tuple["subprocess.CompletedProcess[str]", list[int]]:
    """`knell WORDS`, and whose directory in /proc it looked into, as often as it did."""
    log = house.root / "opened"
    log.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("opened.py")), str(log), *words],
        env=house.env, cwd=house.root, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    parts = [path.split("/") for path in log.read_text().splitlines()]
    return done, [int(part[2]) for part in parts if part[1] == "proc" and part[2].isdigit()]
