"""Forks until the kernel gives one number again; stdlib only, and small, so that this is quick.

`python taker.py PID LOG DEED`: whoever gets PID writes each signal that it gets into LOG. DEED
`leads` makes it the leader of a session; `leaves` too, and then only a child of it stays. Whoever
stays is named in LOG.left. Exits with 1 if the number did not come, with 2 if it is to try again.
"""

import os
import signal
import sys

FORKS = 3000
UNTAKEN = {signal.SIGKILL, signal.SIGSTOP}


def main() -> int:
    pid, log, deed = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    if os.getpid() == pid:
        return 2  # of all processes it was this one who got it
    for _ in range(FORKS):
        child = os.fork()
        if not child:
            if os.getpid() == pid:
                be_strange(log, deed)
            os._exit(0)
        if child == pid:
            return 0  # it is the reaper's from now on
        os.waitpid(child, 0)
    return 1


def be_strange(log: str, deed: str) -> None:
    for fd in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), fd)
    if deed:
        os.setsid()
    if deed == "leaves" and os.fork():
        os._exit(0)
    for number in signal.valid_signals() - UNTAKEN:
        signal.signal(number, lambda number, _: record(log, number))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    record(log + ".left", os.getpid())
    os.close(os.open(log, os.O_WRONLY | os.O_CREAT, 0o600))
    while True:
        signal.pause()


def record(log: str, number: int) -> None:
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, b"%d " % number)
    os.close(fd)


if __name__ == "__main__":
    sys.exit(main())
