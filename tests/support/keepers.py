"""A keeper on its own, without a store around it."""

import os
import signal
import subprocess
from typing import Any, NamedTuple

from house import House
from knell.core.ports.keepers import Journal, Order
from knell.core.run import digest_of, token_of
from knell.processes import keepers as launching
from knell.processes.journal import ask_end, read_journal
from shells import Log, agent

SEAL = "a word that only its keeper knows"
SEALED = digest_of(token_of(SEAL))  # as the store has it


class Kept(NamedTuple):
    process: subprocess.Popen[bytes]
    rundir: str
    log: Log

    def journal(self) -> Journal:
        return read_journal(self.rundir, SEALED)

    def ask(self, grace: float) -> None:
        ask_end(self.rundir, grace)
        os.kill(self.process.pid, signal.SIGTERM)

    def wait(self) -> Journal:
        self.process.wait(300)
        return self.journal()


def kept(house: House, body: str, python: tuple[str, ...] = (), **order: Any) -> Kept:
    """A keeper of a program with this body; `python` are more flags for its interpreter."""
    words, log = agent(house, body)
    rundir = str(house.state / "runs" / os.urandom(4).hex())
    env = house.env | {"KNELL_RUN": os.path.basename(rundir)}
    order.setdefault("grace", 0.3)
    order.setdefault("seal", SEAL)
    whole = Order(argv=tuple(words.split()), cwd=str(house.root), env=env, **order)
    os.close(launching.prepare(rundir, whole).fifo)
    argv = launching.keeper_argv(rundir, detach=False)
    argv = (*argv[:3], *python, *argv[3:])
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=house.env, cwd="/")
    return Kept(process, rundir, log)
