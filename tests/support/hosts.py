"""Hosts of a fleet: a house for each, and where the machine allows it a network for each.

In networks of their own the hosts reach the database by a wire (a veth pair) each: `cut` makes its
packets vanish, `mend` lets them through again. Nothing is made in the machine's own network, and a
network is gone with the process that holds it.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from house import SERVERS, House, eventually

WORKSHOP = "10.117"  # the first half of every address in here


class Host(House):
    """A house with a name in the fleet; its commands may run in a network of their own."""

    def __init__(self, root: Path, name: str, net: int = 0) -> None:
        root.mkdir(mode=0o700)
        super().__init__(root)
        self.name, self.net = name, net
        self.env["KNELL_HOST"] = name
        self.knell.close()
        self.knell = type(self.knell)(env=self.env)

    def run(self, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
        if not self.net:
            return super().run(*args, **options)
        options = {"env": self.env, "cwd": self.root, "timeout": 300} | options
        return subprocess.run(
            [*inside(self.net), sys.executable, "-m", "knell", *args],
            capture_output=True, text=True, check=False,
            **({} if "input" in options else {"stdin": subprocess.DEVNULL}), **options,
        )  # fmt: skip

    def begin(self, *args: str, **options: Any) -> Any:
        if not self.net:
            return super().begin(*args, **options)
        options = {"env": self.env, "cwd": self.root} | options
        return subprocess.Popen(
            [*inside(self.net), sys.executable, "-m", "knell", *args], **options
        )


def inside(net: int) -> list[str]:
    """What comes before a command that runs in the network of that process."""
    return ["nsenter", f"--net=/proc/{net}/ns/net"]


# -- networks --------------------------------------------------------------------------------------


def may_make_networks() -> bool:
    """Root on a machine whose kernel lets it."""
    if os.geteuid() != 0:
        return False
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return done.returncode == 0


class Wires:
    """A network for the database and one for each host, with a wire from each host to it."""

    def __init__(self) -> None:
        self._holders: list[subprocess.Popen[bytes]] = []
        self.database = self._network()
        strict = "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter"
        subprocess.run([*inside(self.database), "sh", "-c", strict], check=True)
        self._hosts: list[int] = []

    def _network(self) -> int:
        """A process in a network of its own; the network goes when it does."""
        holder = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", "unshare", "--net", "sleep", "infinity"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        SERVERS.add(holder.pid)
        self._holders.append(holder)
        here = os.readlink("/proc/self/ns/net")
        eventually(lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != here)
        ip(holder.pid, "link", "set", "lo", "up")
        return holder.pid

    def host(self) -> int:
        """The network of a new host, joined to the database's."""
        net, number = self._network(), len(self._hosts) + 1
        self._hosts.append(net)
        near, far = f"h{number}", f"d{number}"
        subprocess.run(
            ["ip", "link", "add", near, "netns", str(net), "type", "veth", "peer", "name", far,
             "netns", str(self.database)],
            check=True, capture_output=True,
        )  # fmt: skip
        for who, wire, last in ((net, near, 2), (self.database, far, 1)):
            ip(who, "address", "add", f"{WORKSHOP}.{number}.{last}/24", "dev", wire)
            ip(who, "link", "set", wire, "up")
        return net

    def address(self, net: int) -> str:
        """The database's address, as that host reaches it."""
        return f"{WORKSHOP}.{self._hosts.index(net) + 1}.1"

    def cut(self, net: int) -> None:
        """Packets vanish in both directions, and nobody is told.

        The database's end has no way back to the host, and (rp_filter) lets nothing in that it
        could not answer. On the host's end the kernel would tell the sender at once.
        """
        ip(self.database, "route", "add", "blackhole", self._end(net))

    def mend(self, net: int) -> None:
        ip(self.database, "route", "del", "blackhole", self._end(net))

    def _end(self, net: int) -> str:
        return f"{WORKSHOP}.{self._hosts.index(net) + 1}.2/32"

    def close(self) -> None:
        for holder in self._holders:
            holder.kill()
            holder.wait()
            SERVERS.discard(holder.pid)


def ip(net: int, *words: str) -> None:
    done = subprocess.run([*inside(net), "ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
