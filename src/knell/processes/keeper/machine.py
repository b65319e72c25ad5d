"""Which layer the keeper looks at processes by: `proc` is its module, `tmux_servers` beside it.

`--layer NAME DIRECTORY` chooses another one than Linux, with the directory in which psutil is.
"""

import os
import sys

import cgroup

TYPE_CHECKING = False

LAYER = sys.argv[sys.argv.index("--layer") + 1] if "--layer" in sys.argv else "linux"
# Whether a daemon becomes our child when its parent dies, so that wait() proves the end.
ADOPTS = LAYER == "linux" and sys.platform == "linux"
# Whether a hangup of the terminal can be polled for: macOS says of every terminal that it cannot.
TERMINAL_POLLS = sys.platform != "darwin"
# The unit in which the system counts memory, in kilobytes.
RSS_UNIT = 1024 if sys.platform == "darwin" else 1
LOOK_FILES = 8  # that a look has open at once, with a client of tmux, or fewer

if TYPE_CHECKING or LAYER == "linux":
    import proc
    from linux_tmux import tmux_servers
else:
    sys.path.append(sys.argv[sys.argv.index("--layer") + 2])
    cgroup.used = False
    if LAYER == "darwin":
        import darwin as proc
    else:
        import portable_proc as proc
    tmux_servers = proc.tmux_servers

__all__ = ["ADOPTS", "LAYER", "RSS_UNIT", "TERMINAL_POLLS", "can_look", "proc", "tmux_servers"]


def can_look() -> bool:
    """Whether we may open as many files as a look needs. Any process of our user can lower that
    limit, and a process that cannot be looked at is not gone."""
    opened: list[int] = []
    try:
        opened.extend(os.open("/", os.O_RDONLY | os.O_CLOEXEC) for _ in range(LOOK_FILES))
    except OSError:
        return False
    finally:
        for fd in opened:
            os.close(fd)
    return True
