"""Writes RUNDIR/journal: a fact a line, fields separated by tabs. processes/journal.py reads it."""

import os

from descendants import Descendants
from machine import proc
from proc import Process

VERSION = 1  # grows when a line's meaning changes; processes/journal.py says what it can read


class JournalWriter:
    def __init__(self, rundir: str) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self.fd = os.open(os.path.join(rundir, "journal"), flags, 0o600)
        self.noted: set[tuple[str, int]] = set()
        self.spared: set[str] = set()  # identities of those that may live on

    def write(self, *fields: str | int) -> None:
        line = "\t".join(str(field).replace("\t", " ").replace("\n", " ") for field in fields)
        try:
            os.write(self.fd, os.fsencode(line + "\n"))
        except OSError:
            pass  # a full disk must not save an agent; without its last line nothing is proven

    def note(self, word: str, process: Process, why: str) -> None:
        """Once for each process and word."""
        if (word, process.pid) not in self.noted:
            self.noted.add((word, process.pid))
            inode = proc.identity(process.pid)[3] if word == "kept" else 0
            facts = (process.pid, process.start, inode)
            self.spared |= {":".join(map(str, facts))} if word == "kept" else set()
            self.write(word, *facts, process.state, why, process.command())

    def write_last_word(self, proof: str, at: float, seal: str) -> None:
        """With the identities of the spared: the agent can write into this file, but not the seal,
        and knell ends these when it is told to."""
        self.write("ended", proof, f"{at:.3f}", seal, ",".join(sorted(self.spared)))

    def note_descendants(self, family: Descendants) -> None:
        for process in family.found:
            self.note("found", process, "agent" if process.pid == family.agent else "tree")
        for process, why in family.spared:
            self.note("kept", process, why)


def exit_of(status: int) -> tuple[str, int]:
    if os.WIFSIGNALED(status):
        return ("signal", os.WTERMSIG(status))
    return ("exit", os.WEXITSTATUS(status))
