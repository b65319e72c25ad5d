"""knell, as its users have it: under a keeper with a cgroup, without one, adopted, and portable."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from workshop import Bench

from ways import GRACE, Said, Started
from ways.hands import Done, agent_script, by_hand, command

# In a mount namespace of its own, where nothing of cgroup v2 is to be seen.
WITHOUT_CGROUP = ("unshare", "--mount", "sh", "-c", 'umount -a -t cgroup2; exec "$@"', "sh")


class Spawned:
    """`knell spawn` in a state of its own, ended by `knell kill`."""

    name = ""
    grace = GRACE
    within: tuple[str, ...] = ()  # what the spawning command runs in

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.version = ""
        self.env = bench.env | {"KNELL_HOME": str(bench.root / type(self).__name__.lower())}

    def unavailable(self) -> str:
        self.version = self.knell("--version").last.split()[-1]
        return ""

    def open(self) -> None:
        pass

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Started:
        told_env = [word for key, value in env.items() for word in ("--env", f"{key}={value}")]
        words = ("spawn", "--in", "headless", "--name", name, *told_env, "--json", "--", *argv)
        told = command([*self.within, self.bench.knell, *words], self.env)
        try:
            pid = int(json.loads(told.text)["agents"][0]["pid"])
        except (ValueError, LookupError) as error:
            raise RuntimeError(f"knell: {told.last}") from error
        return Started(name, pid)

    def end(self, started: Started) -> Said:
        return said(self.knell("kill", started.name, "--grace", str(self.grace)))

    def end_all(self, started: Sequence[Started]) -> Said:
        return said(self.knell("kill", "all", "--grace", str(self.grace)))

    def close(self) -> None:
        self.knell("kill", "all", "--force")

    def knell(self, *words: str) -> Done:
        return command([self.bench.knell, *words], self.env)


class WithCgroup(Spawned):
    name = "knell, with cgroup"

    def unavailable(self) -> str:
        return super().unavailable() or no_cgroup()


class KeeperOnly(Spawned):
    name = "knell, keeper only"

    def unavailable(self) -> str:
        why = super().unavailable()
        if why or no_cgroup():
            return why  # then every run here is one without a cgroup
        if os.getuid() or not shutil.which("unshare"):
            return "only root can hide cgroup v2, with unshare"
        self.within = WITHOUT_CGROUP
        return ""


class Portable(Spawned):
    """The layer for systems without pidfds, child subreapers and cgroups, on this machine."""

    name = "portable layer of knell"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.env["KNELL_PROCESSES"] = "portable"


class Adopted(Spawned):
    """Started by hand and adopted before it does anything; no keeper, no stamp."""

    name = "knell, adopted"

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Started:
        """It waits at a pipe until it is adopted: some habits begin with the agent's own end."""
        gate = self.bench.root / f"{name}.gate"
        os.mkfifo(gate)
        script = agent_script(self.bench, name, argv, env, first=f"read -r _ < {gate}")
        pid = by_hand(self.bench, name, script)
        told = self.knell("adopt", str(pid), "--name", name)
        with gate.open("w") as opened:
            opened.write("go\n")
        if told.code:
            raise RuntimeError(f"knell adopt: {told.last}")
        return Started(name, pid)


def said(told: Done) -> Said:
    """Its first line is the verdict; how to resume comes last."""
    return Said(told.code == 0, told.text.strip().split("\n")[0])


def no_cgroup() -> str:
    """Why no run can have a cgroup here; the keeper probes for the same."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup2 "):
            own = Path("/proc/self/cgroup").read_text().split("0::", 1)[-1].split("\n")[0]
            place = left.split()[4] + own.rstrip("/")
            return "" if os.access(place, os.W_OK) else f"{place} is not writable for this user"
    return "no cgroup v2 is mounted"
