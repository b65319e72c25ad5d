"""Finds all tmux servers of a Linux machine, whoever their parents are.

A thousand keepers may end at once, so that the sockets are asked first, and all processes are
looked at only where these do not tell.
"""

import _socket  # the same class as in socket, which costs more than all this
import os
import sys

from panes import may_be_tmux
from proc import pids, read
from tmux_client import LISTENS

USUAL = b"/tmux-"  # in the path of a server's socket, unless -S gave it another
OF_THE_SYSTEM = (b"@", b"/run/", b"/var/run/", b"/tmp/.X11-unix/")  # tmux has none of these
OF_A_USER = (b"/run/user/", b"/var/run/user/")
CREDENTIALS = 12  # bytes: pid, user, group


def tmux_servers() -> list[int]:
    """Their pids. A socket that was moved or deleted leads to no server, nor does one that another
    server has taken the path of, and one at an unusual path is not known for a tmux server's.
    Behind a socket that systemd holds, it is systemd that listens."""
    lines = [line for line in read("/proc/net/unix").splitlines() if LISTENS in line]
    paths = [line.split(None, 7)[-1] for line in lines]
    usual = [path for path in paths if USUAL in path]
    found = [listener(path) for path in usual]
    found += [listener(path, refused=0) for path in in_reach() if path not in usual]
    if None in found or len({*usual}) < len(usual) or any(map(is_unusual, paths)):
        return [pid for pid in pids() if is_named_tmux(pid)]
    return [pid for pid in found if pid]


def in_reach() -> list[bytes]:
    """Sockets where tmux makes them: /proc/net/unix has only those of our network namespace, but
    one reaches the others too."""
    found: list[bytes] = []
    for above in {os.environb.get(b"TMUX_TMPDIR", b"/tmp"), b"/tmp"}:
        folder = above + b"%s%d" % (USUAL, os.getuid())
        try:
            found += [folder + b"/" + name for name in os.listdir(folder)]
        except OSError:
            continue
    return found


def listener(path: bytes, refused: int | None = None) -> int | None:
    """The pid of the server; 0 if it is another user's, None if it cannot be told. `refused`: what
    to answer if nobody listens there."""
    asked = _socket.socket(_socket.AF_UNIX)
    try:
        asked.settimeout(0)
        asked.connect(path)
        told = asked.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, CREDENTIALS)
        pid = int.from_bytes(told[:4], sys.byteorder)
        return pid if not pid or is_named_tmux(pid) else None
    except PermissionError:
        return 0
    except ConnectionRefusedError:
        return refused
    except OSError:  # it is frozen, too busy to take clients, or not to be found at that path
        return None
    finally:
        asked.close()


def is_named_tmux(pid: int) -> bool:
    """Also a client, which has no panes."""
    return may_be_tmux(os.fsdecode(read(f"/proc/{pid}/comm")))


def is_unusual(path: bytes) -> bool:
    """Whether a tmux server of this user may have its socket there. It is not asked: a connection
    would start the service behind a socket that systemd holds."""
    if USUAL in path or (path.startswith(OF_THE_SYSTEM) and not path.startswith(OF_A_USER)):
        return False
    try:
        return os.stat(path).st_uid == os.getuid()
    except OSError:
        return True  # it was moved, or is named from another directory
