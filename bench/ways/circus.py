"""circus with an agent as a watcher, told to stop its children too."""

import subprocess
from collections.abc import Mapping, Sequence

from peers import PINS, Peers
from workshop import Bench

from house import eventually
from ways import GRACE, Said, Started
from ways.hands import Done, agent_script, command, written_pid

WATCHER = """
[watcher:{name}]
cmd = {script}
numprocesses = 1
singleton = true
respawn = false
stop_children = true
graceful_timeout = {grace}
"""

ARBITER = """
[circus]
endpoint = ipc://{place}/endpoint
pubsub_endpoint = ipc://{place}/pubsub
check_delay = 1
include = {place}/agents/*.ini
"""


class Circus:
    name = "circus, stop_children"
    version = PINS["circus"]
    grace = GRACE

    def __init__(self, bench: Bench, peers: Peers) -> None:
        self.bench = bench
        self.peers = peers
        self.place = bench.root / "circus"
        self.server: subprocess.Popen[bytes] | None = None

    def unavailable(self) -> str:
        return self.peers.missing()

    def open(self) -> None:
        (self.place / "agents").mkdir(parents=True, exist_ok=True)
        for old in (self.place / "agents").iterdir():
            old.unlink()
        (self.place / "conf").write_text(ARBITER.format(place=self.place))
        self.server = subprocess.Popen(
            [str(self.peers.bin / "circusd"), str(self.place / "conf")],
            env=self.peers.env,
            stdin=subprocess.DEVNULL,
            stdout=(self.place / "log").open("wb"),
            stderr=subprocess.STDOUT,
        )
        eventually(lambda: self.control("list").code == 0)

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Started:
        script = agent_script(self.bench, name, argv, env)
        watcher = WATCHER.format(name=name, script=script, grace=self.grace)
        (self.place / "agents" / f"{name}.ini").write_text(watcher)
        told = self.control("reloadconfig", "--waiting")
        if told.last != "ok":
            raise RuntimeError(f"circusctl: {told.last}")
        return Started(name, written_pid(self.bench, name))

    def end(self, started: Started) -> Said:
        told = said(self.control("stop", started.name, "--waiting"))
        (self.place / "agents" / f"{started.name}.ini").unlink()  # the next start forgets it
        return told

    def end_all(self, started: Sequence[Started]) -> Said:
        """One command for all of its watchers."""
        return said(self.control("stop", "--waiting"))

    def close(self) -> None:
        if self.server:
            self.server.terminate()
            self.server.wait(20)

    def control(self, *words: str) -> Done:
        endpoint = f"ipc://{self.place}/endpoint"
        argv = [
            str(self.peers.bin / "circusctl"),
            "--timeout",
            "50",
            "--endpoint",
            endpoint,
            *words,
        ]
        return command(argv, self.peers.env)


def said(told: Done) -> Said:
    return Said(told.code == 0 and told.last == "ok", told.last)
