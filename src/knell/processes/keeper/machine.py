"""Which layer the keeper looks at processes by: `proc` is its module, `tmux_servers` beside it.

Part of the keeper: standard library only, no import of knell. `--layer NAME DIRECTORY` chooses
another one than Linux, with the directory in which psutil is.
"""

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

__all__ = ["ADOPTS", "LAYER", "RSS_UNIT", "TERMINAL_POLLS", "proc", "tmux_servers"]
