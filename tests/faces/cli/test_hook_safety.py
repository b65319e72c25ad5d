"""knell hooks loses no byte that it did not write: damaged, locked and contested files."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faces.cli.hook_scenes import ODD, backups, claude_settings, litter
from house import House
from knell.core.errors import FileFailed
from knell.core.hooks.settings_text import BadSettings
from knell.disk import RealDisk
from unprivileged import handed_over, unprivileged


@pytest.fixture
def settings(house: House) -> Path:
    return claude_settings(house)


@pytest.mark.parametrize("verb", ["install", "uninstall"])
@pytest.mark.parametrize(
    ("content", "told"),
    [(b"{", "line 1"), (b"\xff\xfe{\x00", "not UTF-8"), (b"[]", "not a JSON object")],
)
def test_what_cannot_be_read_is_left_alone(
    house: House, settings: Path, content: bytes, told: str, verb: str
) -> None:
    settings.write_bytes(content)
    done = house.run("hooks", verb, "claude")
    assert (done.returncode, told in done.stderr, str(settings) in done.stderr) == (1, True, True)
    assert (settings.read_bytes(), litter(settings)) == (content, [])


def test_a_read_only_file_is_left_alone(house: House, settings: Path) -> None:
    """Even by root, whom no mode would stop."""
    settings.chmod(0o444)
    done = house.run("hooks", "install", "claude")
    assert (done.returncode, "read-only" in done.stderr) == (1, True)
    assert f"chmod u+w {settings}, then" in done.stderr
    assert (settings.read_bytes(), litter(settings)) == (ODD, [])
    settings.chmod(0o644)
    settings.parent.chmod(0o555)
    done = house.run("hooks", "install", "claude")
    assert f"chmod u+w {settings.parent}, then" in done.stderr
    settings.parent.chmod(0o755)
    house.run("hooks", "install", "claude")
    settings.chmod(0o444)
    assert house.run("hooks", "uninstall", "claude").returncode == 1
    settings.chmod(0o644)
    house.run("hooks", "uninstall", "claude")
    assert settings.read_bytes() == ODD


def test_a_directory_that_may_not_be_written_is_told(house: House, settings: Path) -> None:
    handed_over(house)
    settings.parent.chmod(0o555)
    done = unprivileged(house, "hooks", "install", "claude")
    assert (done.returncode, "Permission denied" in done.stderr) == (1, True)
    assert (settings.read_bytes(), litter(settings)) == (ODD, [])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["directory", "fifo"])
def test_only_a_file_is_a_file(house: House, settings: Path, kind: str) -> None:
    settings.unlink()
    if kind == "directory":
        settings.mkdir()
    else:
        os.mkfifo(settings)
    for verb in ("status", "install", "uninstall"):
        done = house.run("hooks", verb, "claude")
        assert (done.returncode, "not a regular file" in done.stderr) == (1, True)


def test_many_at_once_leave_one_whole_file(house: House, settings: Path) -> None:
    def all_run(verb: str) -> None:
        argv = [sys.executable, "-m", "knell", "hooks", verb, "claude"]
        racers = [
            subprocess.Popen(argv, env=house.env, stdout=subprocess.DEVNULL) for _ in range(6)
        ]
        assert [racer.wait(300) for racer in racers] == [0] * 6

    all_run("install")
    assert house.json("hooks", "status", "claude")["programs"][0]["state"] == "installed"
    assert settings.read_bytes().count(b"session-end") == 1
    all_run("uninstall")
    assert (settings.read_bytes(), litter(settings), backups(house)) == (ODD, [], [])


def test_of_many_that_make_one_directory_one_made_it(tmp_path: Path) -> None:
    def race(path: str) -> list[bool]:
        start = threading.Barrier(8)

        def make(_: int) -> bool:
            start.wait()
            return RealDisk().make_directory(path)

        return list(racers.map(make, range(8)))

    with ThreadPoolExecutor(8) as racers:
        for turn in range(200):
            assert race(f"{tmp_path}/{turn}/hooks").count(True) == 1


def test_a_file_that_changes_under_our_hands_is_left_alone(house: House, settings: Path) -> None:
    looked = RealDisk().read_whole(str(settings))
    settings.write_bytes(b'{"theirs": 1}')
    with pytest.raises(FileFailed, match="meanwhile"):
        RealDisk().replace(looked, b"{}")
    with pytest.raises(FileFailed, match="meanwhile"):
        RealDisk().remove(looked)
    assert (settings.read_bytes(), litter(settings)) == (b'{"theirs": 1}', [])


def test_a_copy_that_fails_the_check_never_takes_the_place(house: House, settings: Path) -> None:
    def refuse(copy: bytes) -> None:
        raise BadSettings(copy.decode())

    with pytest.raises(BadSettings, match="torn"):
        RealDisk().replace(RealDisk().read_whole(str(settings)), b"torn", refuse)
    assert (settings.read_bytes(), litter(settings)) == (ODD, [])
