"""A tmux client that is asked while an ending holds many files open."""

import os
import resource
import signal
import time

from knell.processes.os.tmux_client import exit_status, read_to_end, start_client

MANY = 1100  # descriptors: more than select() takes


def test_P44_P19_an_answer_is_read_beside_a_thousand_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * MANY), hard))
    null = os.open(os.devnull, os.O_RDONLY)
    held = [null, *(os.dup(null) for _ in range(MANY))]
    try:
        client, inlet = start_client(["echo", "luna"])
        until = time.monotonic() + 100
        assert inlet > MANY
        assert (read_to_end(inlet, until), exit_status(client, until)) == (b"luna\n", 0)
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_answer_counts_also_where_dead_children_are_ignored() -> None:
    """The kernel throws the exit status away then; before, this was a traceback."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        client, inlet = start_client(["echo", "luna"])
        until = time.monotonic() + 100
        assert (read_to_end(inlet, until), exit_status(client, until)) == (b"luna\n", 0)
    finally:
        signal.signal(signal.SIGCHLD, before)
