"""supervisord with an agent as a program, told to signal the whole process group."""

from collections.abc import Mapping, Sequence

from peers import PINS, Peers
from workshop import Bench

from ways import Said, Started
from ways.daemon import Daemon
from ways.hands import Done, agent_script, command, written_pid

# Whole seconds only: 1 is the shortest wait between TERM and KILL that it can be told.
PROGRAM = """
[program:{name}]
command={script}
autorestart=false
startsecs=0
stopasgroup=true
killasgroup=true
stopwaitsecs={wait}
stdout_logfile=NONE
stderr_logfile=NONE
"""

SERVER = """
[supervisord]
logfile={place}/log
pidfile={place}/pid
nodaemon=true
[unix_http_server]
file={place}/socket
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://{place}/socket
[include]
files={place}/agents/*.conf
"""


class Supervisord(Daemon):
    name = "supervisord, stopasgroup and killasgroup"
    version = PINS["supervisor"]

    def __init__(self, bench: Bench, peers: Peers) -> None:
        super().__init__(bench, peers, "supervisord")
        self.settings = ["-c", str(self.place / "conf")]

    def open(self) -> None:
        self.serve([str(self.peers.bin / "supervisord"), *self.settings], SERVER, "pid")

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Started:
        script = agent_script(self.bench, name, argv, env)
        program = PROGRAM.format(name=name, script=script, wait=max(1, round(self.grace)))
        (self.place / "agents" / f"{name}.conf").write_text(program)
        told = self.control("update", name)
        if told.code or "added" not in told.text:
            raise RuntimeError(f"supervisorctl: {told.last}")
        return Started(name, written_pid(self.bench, name))

    def end(self, started: Started) -> Said:
        return said(self.control("stop", started.name))

    def end_all(self, started: Sequence[Started]) -> Said:
        """Its own word for all of them: given names it stops one after another."""
        return said(self.control("stop", "all"))

    def control(self, *words: str) -> Done:
        argv = [str(self.peers.bin / "supervisorctl"), *self.settings, *words]
        return command(argv, self.peers.env)


def said(told: Done) -> Said:
    return Said(told.code == 0 and "ERROR" not in told.text, told.last)
