"""Runs several `knell ARGS`, one after the other, each forked from one process that imported knell.

For commands of one place that no preloaded parent is in: below an agent, in a namespace, as another
user, under a limit. Starting Python and importing knell there is most of what a command costs. Each
is a process of its own, with the arguments and streams of a start, and the environment and place of
the process that was started there: `python FILE OUT COMMANDS`.
"""

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

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


def become(words: list[str], streams: tuple[IO[str], ...]) -> NoReturn:
    """This process is that command from here on."""
    code: Any = 1
    try:
        for number, file in enumerate(streams):
            os.dup2(file.fileno(), number)
        knell = sys.modules["knell"]
        sys.argv = [str(Path(knell.__file__ or "").with_name("__main__.py")), *words]
        sys.modules["knell.faces.cli"].main()
        code = 0
    except SystemExit as left:
        code = left.code
    except BaseException:  # noqa: BLE001  # as the interpreter does it
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


def run(words: list[str]) -> tuple[list[str], int, str, str]:
    with contextlib.ExitStack() as files:
        nothing = files.enter_context(open(os.devnull))
        said, err = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)]
        pid = os.fork() or become(words, (nothing, said, err))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        for file in (said, err):
            file.seek(0)
        return words, code, said.read(), err.read()


def main() -> None:
    del sys.path[0]  # this directory, of which no command has anything
    out, commands = sys.argv[1], json.loads(sys.argv[2])
    for name in NEEDED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is there already need not be looked at, and so copied, by each child
    found = [run(words) for words in commands]
    Path(f"{out}.new").write_text(json.dumps(found))
    os.rename(f"{out}.new", out)


if __name__ == "__main__":
    main()
