"""What the pages show is run: every `$ …` line of their console blocks, in order, in a home of its
own with a tmux server of its own; stand-ins play the agent programs. What a page shows as the
answer must be answered, but for numbers and what stands as `…`."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from house import House
from pages import ROOT, Block, Typed, blocks, for_users, likeness, typed, unlike
from reader import Reader

PAGES = {page.relative_to(ROOT).as_posix(): page for page in for_users()}
BLOCKS = {name: blocks(page.read_text("utf-8")) for name, page in PAGES.items()}
CONSOLE = {
    name: [one for one in found if one.language == "console" and one.runs_here]
    for name, found in BLOCKS.items()
}
KNOWN = {"console", "sh", "python", "toml", "json", "yaml", "text", "", "{toctree}"}
MOST_UNRUN = 12  # blocks; the reason stands above each


README = "README.md"  # a newcomer reads it below, and goes on from there


@pytest.mark.parametrize("name", [n for n, found in CONSOLE.items() if found and n != README])
def test_every_line_of_the_page_does_what_it_says(house: House, name: str) -> None:
    assert Reader(house).read(CONSOLE[name]) > 0


def test_a_newcomer_gets_from_the_readme_to_a_resumed_agent(house: House) -> None:
    """By copying the lines of the README, then those of the tutorial, one behind the other."""
    reader = Reader(house)
    assert reader.read(CONSOLE[README]) > 0
    # Agents of the README run beside those of the tutorial, so that lists are longer than shown.
    reader.read(CONSOLE["docs/tutorial.md"], compares=False)
    told = house.json("events", "--last", "1000")["events"]
    ends = [event["data"] for event in told if event["type"] == "life.stopped"]
    assert {"killed", "stopped"} <= {end["outcome"] for end in ends}
    story = house.json("show", "luna")
    assert len(story["runs"]) > 1, "luna was brought back"
    assert story["conversation"]
    assert story["receipt"]["proof"] == "proven"


# -- blocks that are not run here ------------------------------------------------------------------


def test_every_block_is_of_a_known_language() -> None:
    assert {
        (name, b.language) for name, bs in BLOCKS.items() for b in bs if b.language not in KNOWN
    } == set()


def test_blocks_that_are_not_run_say_why_and_are_few() -> None:
    unrun = [(name, one.why_not) for name, found in BLOCKS.items() for one in found if one.why_not]
    assert len(unrun) <= MOST_UNRUN, unrun
    assert [name for name, why in unrun if len(why.split()) < 4] == [], "a reason is a sentence"


def test_what_another_test_runs_is_named_there() -> None:
    for name, found in BLOCKS.items():
        for one in found:
            if one.run_by:
                assert Path(name).name in (ROOT / one.run_by).read_text("utf-8"), (name, one.run_by)


def test_no_command_hides_in_a_block_without_a_language() -> None:
    hidden = [
        (name, line)
        for name, found in BLOCKS.items()
        for one in found
        if one.language in {"", "text"} and one.runs_here
        for line in one.text.splitlines()
        if re.match(r"(\$ |knell |make |pip |tmux )", line) and not name.endswith("reference.md")
    ]
    assert hidden == []


def test_every_shell_block_is_run_somewhere_or_says_why_not() -> None:
    assert [
        name for name, bs in BLOCKS.items() for b in bs if b.language == "sh" and b.runs_here
    ] == []


@pytest.mark.parametrize(
    "name", [n for n, bs in BLOCKS.items() if any(b.language == "json" for b in bs)]
)
def test_every_json_block_is_json(name: str) -> None:
    assert all(json.loads(one.text) for one in BLOCKS[name] if one.language == "json")


@pytest.mark.parametrize(
    "name", [n for n, bs in BLOCKS.items() if any(b.language == "toml" for b in bs)]
)
def test_every_toml_block_is_a_settings_file(house: House, name: str) -> None:
    for one in BLOCKS[name]:
        if one.language == "toml" and one.runs_here:
            tomllib.loads(one.text)
            config = house.root / "config.toml"
            config.write_text(one.text)
            done = house.run("doctor", env=house.env | {"KNELL_CONFIG": str(config)})
            assert "ok  config" in done.stdout, done.stdout


def test_every_verb_of_the_pages_exists(house: House) -> None:
    from knell.faces.cli.group import ALIASES, VERBS

    lines = [one.line for found in CONSOLE.values() for b in found for one in typed(b.text)]
    words = [shlex.split(line, comments=True) for line in lines if line.startswith("knell ")]
    verbs = {found[1] for found in words if not found[1].isdigit()}
    assert verbs
    assert verbs - set(VERBS) - set(ALIASES) == set()


# -- how the pages are read ------------------------------------------------------------------------

SAMPLE = """
<!-- first: mkdir x -->
<!-- may differ: it depends on the machine -->
```console
$ knell list   # a remark
NAME  KIND
$ knell kill nobody   # exit 1
```

<!-- not run: it needs the network -->
```sh
knell doctor
```

<!-- run by tests/git/test_docs.py -->
```sh
git log
```
"""


def test_the_blocks_of_a_page_are_found() -> None:
    one, two, three = blocks(SAMPLE)
    assert (one.language, one.first, one.runs_here) == ("console", ("mkdir x",), True)
    assert (one.may_differ, two.may_differ) == (True, False)
    assert typed(one.text) == [
        Typed("knell list", 0, ("NAME  KIND",)),
        Typed("knell kill nobody", 1, ()),
    ]
    assert (two.why_not, two.runs_here) == ("it needs the network", False)
    assert three == Block("sh", "git log\n", run_by="tests/git/test_docs.py")


def test_a_line_that_goes_on_is_one_line() -> None:
    assert [one.line for one in typed("$ knell spawn \\\n  claude\nok\n")] == [
        "knell spawn   claude"
    ]


def test_an_answer_fits_but_for_its_numbers() -> None:
    said = "luna: claude runs as PID 4812 in tmux %1\nnova:  died after 2.5 s at 00:29:46\n"
    assert unlike(("luna: claude runs as PID 7 in tmux %30",), said) == []
    assert unlike(("nova: died … 10:00:00",), said) == []
    assert unlike(("luna: codex runs as PID 7 in tmux %30",), said) != []
    assert unlike(("nova: …", "luna: …"), said) == ["luna: …"], "in their order"
    assert not likeness("none").fullmatch("none left")


@pytest.mark.parametrize("markdown", ["", "no block", "```console\nknell list\n```\n"])
def test_a_page_without_commands_has_none(markdown: str) -> None:
    assert [one for block in blocks(markdown) for one in typed(block.text)] == []
