"""hcom: an agent that it runs headless, ended by `hcom kill` and by `hcom stop`.

It starts known programs only, so the agent stands in for one of them: a script called `claude`,
first on the PATH that hcom is given. hcom runs it in a pseudo-terminal of its own, as it would run
the real one. `kill` says "Sent", which claims nothing; `stop` says "Stopped".
"""

import json
from collections.abc import Mapping, Sequence

from peers import PINS, Peers
from workshop import Bench

from ways import GRACE, Said, Started
from ways.hands import Done, agent_script, command, written_pid


class Hcom:
    name = ""
    version = PINS["hcom"]
    grace = GRACE  # it cannot be told
    verb = ""
    claims = ""  # how its answer begins when it says that the agent is ended

    def __init__(self, bench: Bench, peers: Peers) -> None:
        self.bench = bench
        self.peers = peers
        self.place = bench.root / f"hcom-{self.verb}"
        self.env = peers.env | {"HCOM_DIR": str(self.place / "state"), "TERM": "xterm"}

    def unavailable(self) -> str:
        return self.peers.missing()

    def open(self) -> None:
        self.place.mkdir(exist_ok=True)

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Started:
        stand_in = self.place / name / "claude"
        stand_in.parent.mkdir()
        stand_in.symlink_to(agent_script(self.bench, name, argv, env))
        first = {"PATH": f"{stand_in.parent}:{self.env['PATH']}"}
        words = ("1", "claude", "--headless", "--json", "--dir", str(stand_in.parent))
        told = self.hcom(*words, **first)
        try:
            called = str(json.loads(told.text)["names"][0])
        except (ValueError, LookupError) as error:
            raise RuntimeError(f"hcom: {told.last}") from error
        return Started(name, written_pid(self.bench, name), called)

    def end(self, started: Started) -> Said:
        return self.said(self.hcom(self.verb, str(started.handle)))

    def end_all(self, started: Sequence[Started]) -> Said:
        return self.said(self.hcom(self.verb, "all"))

    def said(self, told: Done) -> Said:
        lines = [line.strip() for line in told.text.splitlines() if line.strip()]
        first = lines[0] if lines else f"exit status {told.code}"
        return Said(told.code == 0 and bool(self.claims) and first.startswith(self.claims), first)

    def close(self) -> None:
        self.hcom("kill", "all")

    def hcom(self, *words: str, **more: str) -> Done:
        return command([str(self.peers.bin / "hcom"), *words], self.env | more)


class HcomKill(Hcom):
    name = "hcom kill"
    verb = "kill"


class HcomStop(Hcom):
    name = "hcom stop"
    verb = "stop"
    claims = "Stopped"
