"""A tmux session for each agent, ended by `tmux kill-session`."""

import shutil
from collections.abc import Mapping, Sequence

from workshop import Bench

from house import eventually
from ways import GRACE, Said, Started
from ways.hands import Done, agent_script, command, written_pid


class KillSession:
    name = "tmux kill-session"
    version = ""
    server = "bench-ways"  # its name, on a socket below the workshop's root
    grace = GRACE  # it cannot be told

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def unavailable(self) -> str:
        if not shutil.which("tmux"):
            return "tmux is not installed"
        self.version = command(["tmux", "-V"], self.bench.env).last.removeprefix("tmux ")
        return ""

    def open(self) -> None:
        """A session that stays keeps the server, and the server's command line bare of agents."""
        self.new_session("stays", "sleep", "86400")

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Started:
        script = agent_script(self.bench, name, argv, env)
        self.new_session(name, str(script))
        return Started(name, written_pid(self.bench, name))

    def end(self, started: Started) -> Said:
        told = self.tmux("kill-session", "-t", started.name)
        return Said(told.code == 0, told.last or f"exit status {told.code}")

    def end_all(self, started: Sequence[Started]) -> Said:
        told = [self.end(agent) for agent in started]
        return Said(all(each.success for each in told), told[-1].text)

    def close(self) -> None:
        self.tmux("kill-server")
        eventually(lambda: self.tmux("list-sessions").code)

    def new_session(self, name: str, *argv: str) -> None:
        told = self.tmux("-f", "/dev/null", "new-session", "-d", "-s", name, *argv)
        if told.code:
            raise RuntimeError(f"tmux: {told.last}")

    def tmux(self, *words: str) -> Done:
        return command(["tmux", "-L", self.server, *words], self.bench.env)
