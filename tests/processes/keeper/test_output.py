"""A headless agent's output: the newest of it is kept, whatever the agent writes."""

import os
from pathlib import Path

import pytest

from house import House, alive, eventually
from needs import skip_without
from scenes import SLEEPS, end, started
from watchers import configure

LIMIT = 1 << 20
FLOODS = """
line = b"x" * 1023 + b"\\n"
for number in range(20_000):
    os.write(1, b"%08d" % number + line[8:])
os.write(2, b"the last word\\n")
tell()
sleep()
"""


def logs(house: House, run: str) -> list[Path]:
    return sorted((house.state / "runs" / run).glob("output.log*"))


def limited(house: House) -> None:
    configure(house, "[output]\nlimit = 1\n")


def test_P20_the_output_of_a_headless_agent_is_a_ring(house: House) -> None:
    limited(house)
    luna = started(house, FLOODS)
    screen = house.knell.world.place("headless").screen
    eventually(lambda: screen(luna.run.place).endswith("the last word\n"))
    files = logs(house, luna.run.id)
    assert [file.name for file in files] == ["output.log", "output.log.1"]
    assert LIMIT // 3 < sum(file.stat().st_size for file in files) <= LIMIT
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    text = b"".join(file.read_bytes() for file in reversed(files))
    numbers = [int(line[:8]) for line in text.splitlines() if line[:8].isdigit()]
    assert numbers == list(range(numbers[0], 20_000))  # nothing is missing in between
    receipt = house.kill("luna")[0].receipts[0]
    assert receipt.proof == "proven"


def test_P20_what_was_written_last_is_there_when_the_run_is_over(house: House) -> None:
    limited(house)
    body = 'os.write(1, b"y" * 60_000)\nos.write(2, b"goodbye\\n")\ntell()\nos._exit(0)'
    luna = started(house, body)
    eventually(lambda: not alive(luna.keeper))
    assert logs(house, luna.run.id)[0].read_bytes().endswith(b"goodbye\n")


def test_P20_a_child_that_lives_on_may_go_on_writing(house: House) -> None:
    limited(house)
    child = "while :; do echo still here; sleep 0.05; done"
    luna = started(house, f"os.posix_spawn('/bin/sh', ['sh', '-c', {child!r}], {{}})\n" + SLEEPS,
                   keep=("*still here*",))  # fmt: skip
    (log,) = logs(house, luna.run.id)
    eventually(lambda: log.stat().st_size)
    receipt = house.kill("luna")[0].receipts[0]
    (kept,) = receipt.kept
    size = log.stat().st_size
    eventually(lambda: log.stat().st_size > size)
    assert alive(kept.pid)
    end(kept.pid)


@pytest.fixture
def small_disk(house: House) -> House:
    """Its runs are on a disk of 16 MB."""
    skip_without("needs_root")
    runs = house.state / "runs"
    runs.mkdir(mode=0o700)
    if os.system(f"mount -t tmpfs -o size=16m,mode=700 tmpfs {runs}"):
        pytest.skip("no tmpfs can be mounted here")
    return house


@pytest.mark.needs_root
def test_P20_room_is_left_for_the_store(small_disk: House) -> None:
    """The default limit is larger than this disk: the agent fills it, and not to the end."""
    try:
        started(small_disk, FLOODS)
        disk = os.statvfs(small_disk.state / "runs")
        assert disk.f_bavail >= disk.f_blocks // 20 - 64
        assert small_disk.kill("luna")[0].receipts[0].proof == "proven"
    finally:
        os.system(f"umount -l {small_disk.state / 'runs'}")


def test_P20_a_limit_that_is_no_whole_number_is_refused(house: House) -> None:
    configure(house, "[output]\nlimit = 1.5\n")
    done = house.run("spawn", "--in", "headless", "--name", "luna", "--", "sleep", "99")
    assert done.returncode != 0
    assert "output.limit must be a whole number" in done.stderr
