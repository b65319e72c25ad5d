"""RUNDIR/journal: tab-separated, one fact a line. processes/journal.py reads it.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os

from kin import Kin
from look import Process, pidfd_inode


class Diary:
    def __init__(self, rundir: str) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self.fd = os.open(os.path.join(rundir, "journal"), flags, 0o600)
        self.noted: set[tuple[str, int]] = set()

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
            inode = pidfd_inode(process.pid) if word == "kept" else 0
            facts = (process.pid, process.start, inode, process.state)
            self.write(word, *facts, why, process.command())

    def note_kin(self, kin: Kin) -> None:
        for process in kin.found:
            self.note("found", process, "agent" if process.pid == kin.agent else "tree")
        for process, why in kin.spared:
            self.note("kept", process, why)
