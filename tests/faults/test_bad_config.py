"""A broken settings file is an error of the person who wrote it, never a silent default."""

from pathlib import Path

import pytest

from complaints import USAGE, complaint
from house import House, alive

BROKEN = {
    "bad TOML": ("[kill\n", "not valid TOML"),
    "not UTF-8": (b"[kill]\ngrace = \xff", "not valid TOML"),
    "unknown key": ("[kill]\ngrase = 3\n", "unknown setting kill.grase"),
    "unknown section": ("[quill]\ngrace = 3\n", "unknown setting quill.grace"),
    "no section": ("grace = 3\n", "'grace' is not a section"),
    "a text for seconds": ('[kill]\ngrace = "2"\n', "kill.grace must be seconds"),
    "a truth for seconds": ("[kill]\ngrace = true\n", "kill.grace must be seconds"),
    "negative seconds": ("[kill]\ngrace = -1\n", "kill.grace must be seconds"),
    "nan seconds": ("[kill]\ngrace = nan\n", "kill.grace must be seconds"),
    "endless seconds": ("[stop]\ngrace = inf\n", "stop.grace must be seconds"),
    "a number for a text": ("[spawn]\nplace = 3\n", "spawn.place must be a text"),
    "an unknown place": ('[spawn]\nplace = "emacs"\n', "emacs"),
    "a text for a list": ('[children]\nkeep = "x"\n', "children.keep must be a list"),
    "a number in a list": ("[children]\nkeep = [1]\n", "children.keep must be a list"),
}
broken = pytest.mark.parametrize(("text", "told"), BROKEN.values(), ids=BROKEN)


def written(house: House, text: str | bytes) -> Path:
    path = house.home / ".config" / "knell" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@broken
def test_spawn_refuses_a_broken_file(house: House, text: str | bytes, told: str) -> None:
    path = written(house, text)
    before = path.read_bytes()
    what, _ = complaint(house.run("spawn", "--name", "luna", "--", "sleep", "100"), USAGE)
    assert told in what
    assert house.json("list", "--all")["agents"] == []
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "verb", [("kill",), ("kill", "--force"), ("stop",), ("stop", "--mode", "soft")]
)
def test_no_ending_begins_with_it(house: House, verb: tuple[str, ...]) -> None:
    """Said before the ending is claimed, so that nothing is left half-way."""
    run = house.spawn(name="luna").run
    written(house, "[kill]\ngrace = -1\n")
    what, hint = complaint(house.run(*verb, "luna"), USAGE)
    assert "config.toml" in what
    assert "correct or remove" in hint
    assert run.process
    assert alive(run.process.pid)
    assert [agent["state"] for agent in house.json("list")["agents"]] == ["running"]


def test_looking_needs_no_settings(house: House) -> None:
    house.spawn(name="luna")
    written(house, "[kill\n")
    assert house.run("list", "--names").stdout == "luna\n"


def test_doctor_says_it_and_goes_on(house: House) -> None:
    written(house, "[kill\n")
    findings = {found["what"]: found for found in house.json("doctor")["findings"]}
    assert not findings["config"]["ok"]
    assert "not valid TOML" in findings["config"]["text"]
    assert findings["store"]["ok"]


@pytest.mark.parametrize("path", ["/no/such/file.toml", "DIRECTORY"])
def test_a_named_file_must_be_there(house: House, path: str) -> None:
    house.env["KNELL_CONFIG"] = str(house.root) if path == "DIRECTORY" else path
    what, hint = complaint(house.run("spawn", "--", "sleep", "100"), USAGE)
    assert house.env["KNELL_CONFIG"] in what
    assert hint
    del house.env["KNELL_CONFIG"]
    assert house.json("list", "--all")["agents"] == []


def test_an_unnamed_file_need_not_be_there(house: House) -> None:
    assert house.run("spawn", "--", "true").returncode == 0


def test_a_good_file_is_obeyed(house: House) -> None:
    """So that the tests above do not pass because nobody reads the file."""
    written(house, '[kill]\ngrace = 0\n[children]\nkeep = ["*dev server*"]\n')
    house.spawn(name="luna")
    [receipt] = house.json("kill", "luna")["receipts"]
    assert [rung["rung"] for rung in receipt["rungs"] if rung["reached"]] == ["kill"]
