"""Reads what is to be started, and becomes the agent on its side of the fork."""

import errno
import os

LONGEST_GRACE = 86_400.0  # seconds; more cannot be asked for
HEAD = 128  # bytes of a file that tell a binary program from a script
NOT_FOUND, NOT_RUNNABLE = 127, 126  # what a shell says

Env = dict[bytes, bytes]


class LaunchFile:
    """RUNDIR/launch: fields separated by NUL; removed once it is read, for it holds secrets."""

    def __init__(self, rundir: str) -> None:
        path = os.path.join(rundir, "launch")
        with open(path, "rb") as file:
            fields = file.read().split(b"\0")
        os.unlink(path)
        self.cwd, self.grace, self.seal = fields[0], float(fields[1]), os.fsdecode(fields[2])
        self.limit = int(fields[3])  # bytes of output that are kept; 0: all
        rules, args = int(fields[4]), int(fields[5])
        rest = fields[6:]
        self.spare = [os.fsdecode(rule) for rule in rest[:rules]]
        self.argv = rest[rules : rules + args]
        pairs = [pair.partition(b"=") for pair in rest[rules + args :] if b"=" in pair]
        self.env: Env = {name: value for name, _, value in pairs}


def asked_grace(rundir: str) -> float | None:
    """What RUNDIR/end says; None if that is no number of seconds: NaN would put the KILL off for
    ever."""
    try:
        fd = os.open(os.path.join(rundir, "end"), os.O_RDONLY | os.O_NONBLOCK)
        try:
            grace = float(os.read(fd, 64))
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return None
    return grace if 0 <= grace <= LONGEST_GRACE else None


def tell_spawner(rundir: str) -> None:
    """Wakes the command that waits on the fifo, if it still does."""
    try:
        os.close(os.open(os.path.join(rundir, "ready"), os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        pass


def execute(launch: LaunchFile) -> tuple[int, bytes]:
    """Becomes the agent. Returns only if it cannot: the exit code, and why."""
    trying = launch.cwd
    try:
        os.chdir(launch.cwd)
        trying = launch.argv[0]
        raise exec_first_found(launch.argv, launch.env)
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
        return code, b"cannot start " + trying + b": " + os.fsencode(error.strerror or "?")


def exec_first_found(argv: list[bytes], env: Env) -> OSError:
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
