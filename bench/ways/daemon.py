"""What the supervisors share: a daemon of their own, and a file for each agent that it includes."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from peers import Peers
from workshop import Bench

from house import eventually
from ways import GRACE
from ways.hands import Done


class Daemon:
    grace = GRACE

    def __init__(self, bench: Bench, peers: Peers, place: str) -> None:
        self.bench = bench
        self.peers = peers
        self.place: Path = bench.root / place
        self.server: subprocess.Popen[bytes] | None = None

    def unavailable(self) -> str:
        return self.peers.missing()

    def control(self, *words: str) -> Done:
        """Its own command that talks to the daemon."""
        raise NotImplementedError

    def serve(self, argv: Sequence[str], settings: str, answers: str) -> None:
        """Starts it without any agent, and returns once it obeys that word."""
        (self.place / "agents").mkdir(parents=True, exist_ok=True)
        for old in (self.place / "agents").iterdir():
            old.unlink()
        (self.place / "conf").write_text(settings.format(place=self.place))
        with (self.place / "log").open("wb") as log:
            self.server = subprocess.Popen(
                argv,
                env=self.peers.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        eventually(lambda: self.control(answers).code == 0)

    def close(self) -> None:
        if self.server:
            self.server.terminate()
            self.server.wait(20)
