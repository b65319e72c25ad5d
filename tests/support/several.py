"""Runs several `knell ARGS`, one after the other, each forked from one process that imported knell.

For commands of one place that no preloaded parent is in: below an agent, in a namespace, as another
user, under a limit. Starting Python and importing knell there is most of what a command costs. Each
is a process of its own, with the arguments and streams of a start, and the environment and place of
the process that was started there: `python FILE OUT COMMANDS`.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from preloaded import become_knell, settle

Done = subprocess.CompletedProcess[str]
# What the commands need most, so that none of them has to import it again.
NEEDED = (
    *("datetime", "hashlib", "select", "socket", "sqlite3", "subprocess", "tomllib"),
    *("knell.faces.cli", "knell.faces.cli.group", "knell.api.parts", "knell.wiring"),
    *(f"knell.faces.cli.verbs.{one}" for one in ("end", "installed", "messages", "remove")),
    *(f"knell.faces.cli.verbs.{one}" for one in ("resume", "start", "watch")),
    *(f"knell.life.end.{one}" for one in ("cleanup", "engine", "kill", "prune", "reap")),
    *("knell.life.start.adopt", "knell.life.start.resume", "knell.life.watch.autostart"),
    *("knell.life.hooks", "knell.life.skills", "knell.life.teams.answer", "knell.stores.runs"),
)


# -- the test's side -------------------------------------------------------------------------------


def argv(out: Path, commands: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The command that runs these, and writes to that file what came of them all."""
    return (sys.executable, __file__, str(out), json.dumps([list(words) for words in commands]))


def ends(out: Path) -> list[Done]:
    """What came of each."""
    return [Done(words, code, said, err) for words, code, said, err in json.loads(out.read_text())]


# -- the side that runs them -----------------------------------------------------------------------


def run(words: list[str]) -> tuple[list[str], int, str, str]:
    with contextlib.ExitStack() as files:
        nothing = files.enter_context(open(os.devnull))
        said, err = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)]
        streams = [file.fileno() for file in (nothing, said, err)]
        pid = os.fork() or become_knell(words, streams)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        for file in (said, err):
            file.seek(0)
        return words, code, said.read(), err.read()


def main() -> None:
    del sys.path[0]  # this directory, of which no command has anything
    out, commands = sys.argv[1], json.loads(sys.argv[2])
    for name in NEEDED:
        importlib.import_module(name)
    settle()
    found = [run(words) for words in commands]
    Path(f"{out}.new").write_text(json.dumps(found))
    os.rename(f"{out}.new", out)


if __name__ == "__main__":
    main()
