"""circus with an agent as a watcher, told to stop its children too."""

from collections.abc import Mapping, Sequence

from peers import PINS, Peers
from workshop import Bench

from ways import Said, Started
from ways.daemon import Daemon
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


class Circus(Daemon):
    name = "circus, stop_children"
    version = PINS["circus"]

    def __init__(self, bench: Bench, peers: Peers) -> None:
        super().__init__(bench, peers, "circus")

    def open(self) -> None:
        self.serve([str(self.peers.bin / "circusd"), str(self.place / "conf")], ARBITER, "list")

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
