"""A kind of another package whose functions fail: every verb works on, and the kind is named."""

import shutil

import pytest

from house import House, eventually
from robin import HERE, Aviary, offer, site
from watchers import configure

FAILING = """
from knell.core.kind import Kind
from knell.core.mcp_client import McpClient
from robin_kind import KIND as GOOD

def fails(*given):
    raise RuntimeError("no luck")

def gives_nothing(*given):
    return None

def kind_with(function):
    return GOOD._replace(
        turn=function, cwd_key=function, tell=function, side=function, said=function,
        conversation=("{cwd_key}/{id}.jsonl",), mcp=McpClient("x", function, args=function),
    )

def leaves(*given):
    raise SystemExit(7)

RAISES = kind_with(fails)
LEAVES = kind_with(leaves)
WRONG = kind_with(gives_nothing)
"""


def brought(house: House, which: str) -> None:
    shutil.copy(HERE / "robin_kind.py", site(house))
    (site(house) / "failing_kind.py").write_text(FAILING)
    offer(house, "robin-agent", {"knell.kinds": {"robin": f"failing_kind:{which}"}})


@pytest.mark.parametrize(
    ("which", "why"), [("RAISES", "no luck"), ("LEAVES", "SystemExit: 7"), ("WRONG", "NoneType")]
)
def test_every_verb_works_and_names_the_kind(house: House, which: str, why: str) -> None:
    aviary = Aviary(house, lambda house: brought(house, which))
    talk = aviary.spawn()["conversation"]
    aviary.say("a song")
    eventually(lambda: aviary.screen().rstrip().endswith("robin>"))
    named = "entry point robin of knell.kinds (robin-agent): "
    shown = house.run("show", "ada")
    assert (shown.returncode, talk in shown.stdout) == (0, True), shown.stderr
    assert f"{named}cwd_key" in shown.stderr
    explained = house.run("explain", "ada")
    assert (explained.returncode, explained.stderr.count(f"{named}turn")) == (0, 1)
    assert why in explained.stderr
    configure(house, "[resume]\nwait = 1\n")  # no function of the kind tells what its screen shows
    for words in (["list"], ["status"], ["stop", "ada"], ["resume", "ada"], ["kill", "ada"]):
        done = house.run(*words)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
        assert "never written to disk" not in done.stdout + done.stderr


def test_what_cannot_be_done_without_the_answer_is_refused(house: House) -> None:
    brought(house, "RAISES")
    done = house.run("mcp", "--config", "robin")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "mcp.snippet: RuntimeError: no luck" in done.stderr
