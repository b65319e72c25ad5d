"""knell events: the trail, as it happens, and quiet when nobody reads on."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from house import CEILING, House


@pytest.fixture
def following(house: House) -> Iterator[subprocess.Popen[str]]:
    house.spawn(name="luna")
    child = subprocess.Popen(
        [sys.executable, "-m", "knell", "events", "--follow", "--json"],
        env=house.env, cwd=house.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    yield child
    child.kill()
    child.communicate(timeout=300)


def lines_until(child: subprocess.Popen[str], type: str, agent: str) -> list[dict[str, str]]:
    """Every event up to the one that is waited for; fails when it does not come."""
    assert child.stdout
    fd = child.stdout.fileno()
    seen, text, until = [], "", time.monotonic() + CEILING
    while time.monotonic() < until:
        if not select.select([fd], [], [], 0.2)[0]:
            continue
        text += os.read(fd, 65_536).decode()
        *whole, text = text.split("\n")
        seen += [json.loads(line) for line in whole]
        if any((event["type"], event["agent"]) == (type, agent) for event in seen):
            return seen
    raise AssertionError(f"never came: {type} of {agent}; seen {seen}")


def test_follow_shows_what_was_and_what_comes(
    house: House, following: subprocess.Popen[str]
) -> None:
    lines_until(following, "life.started", "luna")
    house.spawn(name="nova")
    seen = lines_until(following, "life.started", "nova")
    house.kill("nova")
    seen += lines_until(following, "life.stopped", "nova")
    ids = [int(event["id"]) for event in seen]
    assert ids == list(range(ids[0], ids[0] + len(ids))), "each once, none left out"


def test_no_event_is_lost_between_looking_and_following(house: House) -> None:
    house.spawn(name="luna")
    first, second = house.knell.events()
    assert next(house.knell.follow(after=first.id)) == second


def test_ctrl_c_ends_it_quietly(house: House, following: subprocess.Popen[str]) -> None:
    lines_until(following, "life.started", "luna")
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=300)
    assert following.returncode == 130
    assert err.split() == ["interrupted"]


def test_the_last_few_oldest_first(house: House) -> None:
    house.spawn(name="luna")
    house.kill("luna")
    lines = house.run("events", "--last", "2").stdout.splitlines()
    assert len(lines) == 2
    assert "life.stopped" in lines[-1]
    assert "by=operator, reason=killed, outcome=killed" in lines[-1]


def test_of_one_agent(house: House) -> None:
    house.spawn(name="luna")
    house.spawn(name="nova")
    events = house.json("events", "luna")["events"]
    assert {event["agent"] for event in events} == {"luna"}


# -- broken pipes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args", [("events",), ("events", "--json"), ("list",), ("list", "--all", "--json"), ("status",)]
)
def test_a_reader_that_has_left_is_no_failure(house: House, args: tuple[str, ...]) -> None:
    house.spawn(name="luna")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "knell", *args],
        env=house.env, cwd=house.root, stdout=writer, stderr=subprocess.PIPE, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_events_into_head(house: House) -> None:
    for name in ("luna", "nova"):
        house.spawn(name=name)
    line = 'set -o pipefail; "$0" -m knell events | head -1'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_a_kill_whose_reader_has_left_is_done_all_the_same(house: House) -> None:
    house.spawn(name="luna")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "knell", "kill", "luna"],
        env=house.env, cwd=house.root, stdout=writer, stderr=subprocess.PIPE, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    os.close(writer)
    assert done.stderr == ""
    assert house.json("receipt", "luna")["proof"] == "proven"
