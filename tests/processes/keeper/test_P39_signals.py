"""P39: a keeper outlives each signal that can be refused, and its agent knows nothing of that."""

import os
import signal

from house import House, alive, eventually
from scenes import SLEEPS, started

ENDS_OR_PASSES_ON = {
    *(signal.SIGTERM, signal.SIGHUP),  # they end the run
    *(signal.SIGINT, signal.SIGQUIT),  # they are the agent's
}
CANNOT_BE_REFUSED = {signal.SIGKILL, signal.SIGSTOP}
REFUSED = sorted(signal.valid_signals() - ENDS_OR_PASSES_ON - CANNOT_BE_REFUSED)


def disposition(pid: int, field: str) -> int:
    with open(f"/proc/{pid}/status") as file:
        [mask] = [line.split()[1] for line in file if line.startswith(field + ":")]
    return int(mask, 16)


def test_P39_no_signal_that_can_be_refused_ends_a_keeper(house: House) -> None:
    luna = started(house, SLEEPS)
    for number in REFUSED:
        os.kill(luna.keeper, number)
    os.kill(luna.keeper, signal.SIGCONT)
    receipt = house.kill("luna", grace=1)[0].receipts[0]
    assert receipt.proof == "proven"
    eventually(lambda: not alive(luna.keeper))


def test_P39_the_agent_ignores_nothing_that_its_caller_did_not(house: House) -> None:
    luna = started(house, SLEEPS)
    ignored, ours = disposition(luna.pid, "SigIgn"), disposition(os.getpid(), "SigIgn")
    mine = [n for n in signal.valid_signals() if ignored & ~ours & 1 << n - 1]
    assert set(mine) <= {signal.SIGPIPE, signal.SIGXFSZ}  # the agent is a Python program
    house.kill("luna", grace=1)
