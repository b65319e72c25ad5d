"""Linux: whether a person may be typing to a process."""

import os


def reads_terminal(pid: int) -> bool:
    """Whether its standard input is a terminal; also where that cannot be seen, as elsewhere than
    on Linux."""
    try:
        file = os.readlink(f"/proc/{pid}/fd/0")
    except OSError:
        return True
    return file.startswith(("/dev/pts/", "/dev/tty", "/dev/console"))
