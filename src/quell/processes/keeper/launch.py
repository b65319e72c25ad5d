"""What is to be started, and the agent's side of the fork.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import errno
import os

HEAD = 128  # bytes in which a program betrays that it is not a text
NOT_FOUND, NOT_RUNNABLE = 127, 126  # what a shell says

Env = dict[bytes, bytes]


class Launch:
    """The request: one file of NUL-separated fields, removed once read, for it holds secrets."""

    def __init__(self, rundir: str) -> None:
        path = os.path.join(rundir, "launch")
        with open(path, "rb") as file:
            fields = file.read().split(b"\0")
        os.unlink(path)
        self.cwd, self.grace = fields[0], float(fields[1])
        rules, args = int(fields[2]), int(fields[3])
        rest = fields[4:]
        self.spare = [os.fsdecode(rule) for rule in rest[:rules]]
        self.argv = rest[rules : rules + args]
        pairs = [pair.partition(b"=") for pair in rest[rules + args :] if b"=" in pair]
        self.env: Env = {name: value for name, _, value in pairs}


def execute(launch: Launch) -> tuple[int, bytes]:
    """Becomes the agent. Returns only if it cannot: the exit code, and why."""
    trying = launch.cwd
    try:
        os.chdir(launch.cwd)
        trying = launch.argv[0]
        raise replaced(launch.argv, launch.env)
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
        return code, b"cannot start " + trying + b": " + os.fsencode(error.strerror or "?")


def replaced(argv: list[bytes], env: Env) -> OSError:
    """Tries every program that the name may mean; returns why none could be executed."""
    trouble: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for path in candidates(argv[0], env):
        try:
            os.execve(path, argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if error.errno == errno.ENOEXEC and is_text(path):  # a script without its first line
                os.execve(b"/bin/sh", [b"/bin/sh", path, *argv[1:]], env)
            trouble = error
    return trouble


def candidates(name: bytes, env: Env) -> list[bytes]:
    if not name or b"/" in name:
        return [name] if name else []
    directories = env.get(b"PATH", os.fsencode(os.defpath)).split(b":")
    return [os.path.join(directory or b".", name) for directory in directories]


def is_text(path: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return b"\0" not in file.read(HEAD)
    except OSError:
        return False
