"""`doctor` names the version of each agent program, and those that its kind was seen with."""

import json
from pathlib import Path

import pytest

from house import House
from knell.life.base.versions import is_newer


@pytest.mark.parametrize(
    ("version", "seen", "newer"),
    [
        ("2.1.198", ("2.1.197",), True),
        ("2.1.197", ("2.1.197",), False),
        ("2.10.0", ("2.9.9", "2.1.197"), True),
        ("2.1.196", ("2.1.197",), False),
        ("0.62.0-nightly.20261116", ("0.61.0",), True),
        ("0.61.0-preview.3", ("0.61.0",), False),
        ("", ("1.0",), False),
        ("1.0", (), False),
        ("x", ("1.0",), False),
    ],
)
def test_a_version_is_compared_number_by_number(
    version: str, seen: tuple[str, ...], *, newer: bool
) -> None:
    assert is_newer(version, seen) is newer


def installed(house: House, program: str, package: str, text: str) -> None:
    """A program as npm installs it: a link in .bin to a file inside its package."""
    folder = house.root / "node_modules" / package
    (folder / "bin").mkdir(parents=True)
    (folder / "package.json").write_text(text)
    file = folder / "bin" / f"{program}.js"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    bin = house.root / "node_modules" / ".bin"
    bin.mkdir(exist_ok=True)
    (bin / program).symlink_to(file)
    house.env["PATH"] = f"{bin}:/usr/bin:/bin"


def doctor_text(house: House, program: str) -> str:
    found = {one["what"]: one for one in house.json("doctor")["findings"]}
    return found[program]["text"]


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.61.0", "version 0.61.0, which knell was tried with"),
        ("9.0.1", "version 9.0.1; newer than what knell was tried with: 0.61.0"),
        ("0.60.0", "version 0.60.0; knell was tried with 0.61.0"),
    ],
)
def test_R1_doctor_shows_the_seen_and_the_installed_version(
    house: House, version: str, said: str
) -> None:
    package = "@google/gemini-cli"
    installed(house, "gemini", package, json.dumps({"name": package, "version": version}))
    where = house.root / "node_modules" / ".bin" / "gemini"
    assert doctor_text(house, "gemini") == f"{where}; {said}"


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "another", "version": "1.0.0"}',
        '{"name": "@google/gemini-cli"}',
        '{"name": "@google/gemini-cli", "version": "\\u001b[31m1"}',
        '{"name": ["@google/gemini-cli"], "version": "1.0.0"}',
        "[" * 100_000,
        "not json",
        "",
    ],
)
def test_a_package_that_says_nothing_of_use_has_no_version(house: House, text: str) -> None:
    installed(house, "gemini", "@google/gemini-cli", text)
    assert doctor_text(house, "gemini").endswith("; knell was tried with 0.61.0")


def test_a_version_in_the_name_of_the_file_is_the_version(house: House, tmp_path: Path) -> None:
    file = house.home / ".local" / "share" / "claude" / "versions" / "2.1.300"
    file.parent.mkdir(parents=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(file)
    house.env["PATH"] = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    assert "version 2.1.300; newer than what" in doctor_text(house, "claude")


# -- files of a version that knell was not tried with --------------------------------------------


def with_file(house: House, version: str, text: str) -> str:
    """An ended agent whose conversation has this text; what `show` says of it."""
    package = "@google/gemini-cli"
    installed(house, "gemini", package, json.dumps({"name": package, "version": version}))
    id = "11111111-1111-4111-8111-111111111111"
    chats = house.home / ".gemini" / "tmp" / "root" / "chats"
    chats.mkdir(parents=True)
    (chats / "session-2026-11-16T16-10-11111111.jsonl").write_text(text.replace("ID", id))
    (house.root / "node_modules" / ".bin" / "gemini").unlink()
    program = house.root / "node_modules" / package / "bin" / "gemini.js"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    (house.root / "node_modules" / ".bin" / "gemini").symlink_to(program)
    where = ("--in", "headless", "--name", "ada", "--env", "X=1")
    house.run("spawn", *where, "gemini", "--resume", id).check_returncode()
    house.run("kill", "ada").check_returncode()
    return house.json("show", "ada")["why_not_resumable"]


FOREIGN = '{"v": 9, "thread": "ID"}\n{"v": 9, "words": "hello"}\n'
KNOWN = '{"sessionId": "ID", "kind": "main"}\n{"type": "user", "content": [{"text": "hello"}]}\n'


def test_R1_files_of_a_newer_version_that_do_not_parse_are_unsure(house: House) -> None:
    why = with_file(house, "9.0.1", FOREIGN)
    assert why.startswith("unsure: gemini 9.0.1 writes its conversations in a way that knell does")
    assert "(knell was tried with 0.61.0); report it with what `knell doctor` prints" in why
    assert "unsure" in house.run("resume", "ada").stderr
    purged = house.run("stop", "ada", "--purge-conversation", "--yes")
    assert "its conversation was not deleted: unsure" in purged.stdout + purged.stderr
    assert list(house.home.glob(".gemini/tmp/*/chats/*"))


@pytest.mark.parametrize(
    ("version", "text"), [("9.0.1", KNOWN), ("0.61.0", FOREIGN), ("9.0.1", '{"torn": "ID')]
)
def test_R1_what_parses_or_is_only_damaged_is_not(house: House, version: str, text: str) -> None:
    assert with_file(house, version, text) == ""
