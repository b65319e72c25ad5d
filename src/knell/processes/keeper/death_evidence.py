"""What the kernel says about a death that knell did not ask for: was it out of memory?

Looking is bounded and may fail; a failure is written down, and never delays or changes an ending.
"""

import os
import time

from journal import JournalWriter
from proc import FIRST_PID_NAMESPACE, printable, read

LOG_SECONDS = 0.2  # that reading the kernel log may take
LINE = 160  # characters of a record that are kept
RECORD = 8192  # bytes; the kernel refuses a read that is too short for a whole record
KILLS = (b"Killed process ", b"Memory cgroup out of memory", b"Out of memory")
FAULTS = (b"segfault", b"general protection", b"trap ", b"traps:")
BY_SIGNAL = 128  # a shell adds the signal's number to it
FROM_PROGRAMS = 8  # a record's priority from here on is not the kernel's own


class DeathEvidence:
    """Made before the agent starts, so that what happened earlier is not blamed on it."""

    def __init__(self) -> None:
        self.kills_before = kills_on_host()
        self.blind = ""  # why the kernel log cannot be read
        self.log = -1
        try:
            self.log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self.log, 0, os.SEEK_END)
        except OSError as error:
            self.blind = error.strerror or "?"

    def write(self, journal: JournalWriter, cgroup: str, agent: int, status: int) -> None:
        """Writes down what can be seen. That nothing was seen matters only for a death by signal:
        of its own, or as a shell reports its child's."""
        inside = kills_in(cgroup)
        lines = [("oom_run", f"cgroup memory.events: oom_kill {inside}")] if inside else []
        if status:
            lines += [*self.of_log(agent), self.of_host()]
        by_signal = os.WIFSIGNALED(status) or os.WEXITSTATUS(status) > BY_SIGNAL
        for word, what in lines:
            if by_signal or word not in ("looked", "blind", "no_oom"):
                journal.write("saw", word, what)

    def of_host(self) -> tuple[str, str]:
        """The whole machine's counter: a rise names no process, no rise rules a kill out."""
        now = kills_on_host()
        if self.kills_before is None or now is None:
            return ("blind", "/proc/vmstat: could not look: no oom_kill in it")
        if now > self.kills_before:
            return ("oom_host", f"/proc/vmstat: oom_kill rose by {now - self.kills_before}")
        return ("no_oom", "/proc/vmstat: the kernel killed nothing for memory meanwhile")

    def of_log(self, agent: int) -> list[tuple[str, str]]:
        """What the kernel log says about this pid since the agent started."""
        try:
            if os.stat("/proc/self/ns/pid").st_ino != FIRST_PID_NAMESPACE:  # the log counts there
                self.blind = "it counts processes in another namespace"
        except OSError:
            self.blind = self.blind or "which namespace it counts in is unknown"
        if self.blind:
            return [("blind", f"kernel log: could not look: {self.blind}")]
        found: dict[str, str] = {}  # of several records that say the same, the last
        whole = True
        until = time.monotonic() + LOG_SECONDS
        while time.monotonic() < until:
            try:
                record = os.read(self.log, RECORD)
            except BlockingIOError:
                break
            except BrokenPipeError:  # older records were overwritten; the next read goes on
                whole = False
                continue
            except OSError as error:
                self.blind = error.strerror or "?"
                return [*found.items(), ("blind", f"kernel log: could not look: {self.blind}")]
            word = record_about(record, agent)
            if word:
                found[word] = "kernel log: " + short_text(record)
        else:
            whole = False
        if not found:
            text = "nothing about it" if whole else "nothing about it in the part that was read"
            found["looked" if whole else "blind"] = "kernel log: " + text
        return list(found.items())


def kills_on_host() -> int | None:
    """How often the kernel has killed for memory since it booted."""
    return oom_kills(read("/proc/vmstat"))


def kills_in(cgroup: str) -> int | None:
    """The same in one cgroup; None where the memory controller does not count there."""
    return oom_kills(b"\n" + read(cgroup + "/memory.events")) if cgroup else None


def oom_kills(text: bytes) -> int | None:
    _, there, rest = text.partition(b"\noom_kill ")
    digits = rest.split(b"\n", 1)[0].strip()
    return int(digits) if there and digits.isdigit() else None


def record_about(record: bytes, pid: int) -> str:
    """Whether the kernel says here that it killed this process for memory, or that it faulted."""
    head, _, text = record.partition(b";")
    priority = head.split(b",", 1)[0]
    if not priority.isdigit() or int(priority) >= FROM_PROGRAMS:
        return ""
    text = text.split(b"\n", 1)[0]
    number = str(pid).encode()
    if text.startswith(b"oom-kill:"):  # the name before it is the program's choice: from the right
        return "oom" if text.rpartition(b",pid=")[2].split(b",", 1)[0] == number else ""
    if text.startswith(KILLS):
        return "oom" if text.partition(b"Killed process ")[2].split(b" ", 1)[0] == number else ""
    _, there, rest = text.partition(b"[" + number + b"]")
    return "fault" if there and rest.lstrip(b": ").startswith(FAULTS) else ""


def short_text(record: bytes) -> str:
    """The record's text in short: without the sizes that follow the process it names."""
    line = os.fsdecode(record.partition(b";")[2].split(b"\n", 1)[0])
    if line.startswith("oom-kill:"):
        line = line.split(",", 1)[0] + ",pid=" + line.rpartition(",pid=")[2]
    line = line.split(" total-vm:", 1)[0].rstrip(",")
    return printable(line[:LINE])
