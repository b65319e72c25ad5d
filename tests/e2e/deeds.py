"""What the scenes of the table do with an agent, and what must come of it each time."""

import json
import re
import subprocess

from e2e.cells import Unsure
from e2e.home import Home
from knell.core.kind import UUID

CUT_SHORT = ("on", "off", "touch proof")  # said, and the turn was not finished


def come_back(home: Home, name: str = "luna", *options: str) -> None:
    """`knell resume`, and its pane is turned to."""
    done = home.house.run("resume", name, *options, "--json", cwd=home.project)
    check_refusal("resume", done)
    assert done.returncode == 0, done.stdout + done.stderr
    home.pane = home.pane_of(name)
    home.await_ready()


def check_refusal(verb: str, done: subprocess.CompletedProcess[str]) -> None:
    """To refuse is knell's right; a program that was started and died is none."""
    first, *_ = [*done.stderr.strip().splitlines(), *notices(done.stdout), ""]
    if done.returncode == 1 and "did not come back" not in first:
        told = re.sub(r"'(?:[a-z]+(?:-[12])?)'", "'NAME'", first)
        raise Unsure(f"`{verb}`: {re.sub(rf'{UUID}|ses_[0-9A-Za-z]+', 'ID', told)}")


def notices(stdout: str) -> list[str]:
    """What a refusal says in the document that `--json` prints."""
    told = json.loads(stdout).get("receipts", []) if stdout.startswith("{") else []
    return [warning["text"] for one in told for warning in one["warnings"]]


def stop(home: Home, name: str = "luna", *options: str) -> None:
    """`knell stop`; nothing of that agent is left, and its conversation is not another's."""
    receipt = home.receipt("stop", name, *options)
    assert receipt["outcome"] == "stopped"
    assert receipt["survivors"] == []


def goes_on(home: Home, word: str, before: list[str]) -> None:
    """One more exchange: the model is told of these words, whatever was cut short between them."""
    told = [one for one in home.ask(word) if one not in CUT_SHORT]
    assert told == before, f"the model was told of {told}, and {before} had been said"
