"""The other side of fuzzing.Shell: orders as JSON lines in, (code, out, err) as JSON lines out."""

import importlib
import json
import os
import select
import signal
import sys
import tempfile

from knell.faces import cli
from knell.faces.cli import group

SPARED = {"mcp", "demo"}  # seldom said here, and slow to import


def main() -> None:
    for module, _ in group.VERBS.values():
        if module not in SPARED:
            importlib.import_module(f"knell.faces.cli.verbs.{module}")
    importlib.import_module("knell.api")
    importlib.import_module("knell.wiring")
    importlib.import_module("knell.stores.sqlite")
    importlib.import_module("knell.processes.queries")
    patience = float(sys.argv[1])
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(carried_out(json.loads(line), patience)).encode())
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()


def carried_out(order: dict, patience: float) -> tuple[int, str, str]:
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        stdin.write(os.fsencode(order["stdin"]))
        stdin.seek(0)
        child = os.fork()
        if not child:
            become_knell(order, (stdin.fileno(), out.fileno(), err.fileno()))
        code = ended(child, patience)
        texts: list[str] = []
        for file in (out, err):
            file.seek(0)
            texts.append(os.fsdecode(file.read()))
        return code, texts[0], texts[1]


def become_knell(order: dict, files: tuple[int, int, int]) -> None:
    """In the child: never returns."""
    code = 99
    try:
        for fd, file in enumerate(files):
            os.dup2(file, fd)
        os.environ.clear()
        os.environ.update(order["env"])
        sys.argv = ["knell", *order["argv"]]
        cli.main()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 98
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - as the interpreter does
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def ended(child: int, patience: float) -> int:
    """Its exit code; -1 if it had to be ended."""
    fd = os.pidfd_open(child)
    try:
        hung = not select.select([fd], [], [], patience)[0]
    finally:
        os.close(fd)
    if hung:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return -1 if hung else code


if __name__ == "__main__":
    main()
