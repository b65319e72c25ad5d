"""The lease of the watch: one watcher a host."""

import os
import re

from quell.core.errors import Refused
from quell.core.ports import World


def take_lease(world: World) -> None:
    """Refused while another watches; the kernel gives the lease back when its holder dies."""
    path = os.path.join(world.home, lease_name(world.host))
    try:
        os.makedirs(world.home, mode=0o700, exist_ok=True)
        if world.kernel.lease(path):
            return
    except OSError as error:
        raise Refused(
            f"cannot take the lease {path}: {error.strerror}",
            "quell doctor looks at the state directory",
        ) from error
    other = world.store.watcher(world.host)
    pid = f"PID {other.process.pid}" if other and other.process else "another process"
    raise Refused(
        f"{pid} watches here already", "one is enough; quell watch --once does a single round"
    )


def lease_name(host: str) -> str:
    """A host may be called anything; a file may not."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", host):
        from hashlib import sha256

        host = sha256(host.encode(errors="surrogateescape")).hexdigest()
    return f"watch-{host}.lock"
