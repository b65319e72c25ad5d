"""P19: a watch over more agents than it may open files goes on, and still sees each of them end."""

import os
import signal
import subprocess
import sys

import pytest

from house import House, eventually
from watchers import last_run, told

MANY = 240
# Waits for all of them under a limit of open files; tells when it was woken, and of the limit then.
WAITS = """
import resource, sys
from knell.processes.queries import identify
from knell.processes.waiting import Waiter

soft, hard, *pids = map(int, sys.argv[1:])
known = [identify(pid) for pid in pids]
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print("waiting", flush=True)
Waiter()(known, 600.0)
print("woken", resource.getrlimit(resource.RLIMIT_NOFILE)[0], flush=True)
"""


@pytest.mark.parametrize(
    ("soft", "hard"), [(64, 4096), (64, 64)], ids=["limit is raised", "watched in turns"]
)
def test_P19_the_end_of_any_of_many_wakes(house: House, soft: int, hard: int) -> None:
    sleepers = [house.process("sleep", "600") for _ in range(MANY)]
    pids = [str(sleeper.pid) for sleeper in sleepers]
    argv = (sys.executable, "-c", WAITS, str(soft), str(hard), *pids)
    with house.process(*argv, stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout
        assert waiting.stdout.readline() == "waiting\n"
        sleepers[-1].kill()
        woken = waiting.stdout.readline()
    assert woken == f"woken {soft}\n"  # what it starts next inherits its limit
    for sleeper in sleepers:
        sleeper.kill()
        sleeper.wait()


def test_P19_the_watch_outlives_more_agents_than_it_may_open_files(house: House) -> None:
    names = [f"a{number}" for number in range(20)]
    for name in names:
        house.knell.spawn(command=("sleep", "600"), name=name, place="headless")
    limited = ("sh", "-c", 'ulimit -n 24; exec "$@"', "sh", sys.executable, "-m", "knell")
    errors = house.root / "errors"
    with errors.open("w") as err:
        watch = house.process(*limited, "watch", "--interval", "0.1", stdout=err, stderr=err)
    rounds: set[str] = set()

    def has_waited() -> bool:
        known = house.knell.world.store.watch.watcher(os.uname().nodename)
        rounds.add(known.round_at if known else "")
        return len(rounds) > 3 or watch.poll() is not None

    eventually(has_waited)
    for name in (names[0], names[-1]):
        process = last_run(house, name).process
        assert process
        os.kill(process.pid, signal.SIGKILL)
        eventually(lambda name=name: told(house, "life.stopped", name=name) or watch.poll())
        assert watch.poll() is None, errors.read_text()
    watch.kill()
    watch.wait()
