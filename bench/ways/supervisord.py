"""supervisord with an agent as a program, told to signal the whole process group."""

import subprocess
from collections.abc import Mapping, Sequence

from peers import PINS, Peers
from workshop import Bench

from house import eventually
from ways import GRACE, Said, Started
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


class Supervisord:
    name = "supervisord, stopasgroup and killasgroup"
    version = PINS["supervisor"]
    grace = GRACE

    def __init__(self, bench: Bench, peers: Peers) -> None:
        self.bench = bench
        self.peers = peers
        self.place = bench.root / "supervisord"
        self.settings = ["-c", str(self.place / "conf")]
        self.server: subprocess.Popen[bytes] | None = None

    def unavailable(self) -> str:
        return self.peers.missing()

    def open(self) -> None:
        (self.place / "agents").mkdir(parents=True, exist_ok=True)
        for old in (self.place / "agents").iterdir():
            old.unlink()
        (self.place / "conf").write_text(SERVER.format(place=self.place))
        self.server = subprocess.Popen(
            [str(self.peers.bin / "supervisord"), *self.settings],
            env=self.peers.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(lambda: self.control("pid").code == 0)

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

    def close(self) -> None:
        if self.server:
            self.server.terminate()
            self.server.wait(20)

    def control(self, *words: str) -> Done:
        argv = [str(self.peers.bin / "supervisorctl"), *self.settings, *words]
        return command(argv, self.peers.env)


def said(told: Done) -> Said:
    return Said(told.code == 0 and "ERROR" not in told.text, told.last)
