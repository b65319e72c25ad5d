"""knell watch --install: one file, the same every time, and nothing else."""

import configparser
import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from complaints import FAILED, USAGE, complaint
from house import House

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
UNIT = Path("systemd/user/knell-watch.service")


def files(house: House) -> dict[str, bytes]:
    """Every file of the home and whatever else a test made, apart from knell's own state."""
    found = [path for path in house.root.rglob("*") if path.is_file() or path.is_symlink()]
    return {
        str(path.relative_to(house.root)): path.read_bytes()
        for path in found
        if not path.is_relative_to(house.state)
    }


def unit(house: House) -> Path:
    return house.home / ".config" / UNIT


def settings(path: Path) -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(path.read_text())
    return parsed


def test_it_writes_the_unit_and_says_what_to_type(house: House) -> None:
    before = files(house)
    done = house.run("watch", "--install")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"Wrote {unit(house)}",
        "To start it now and at each login:",
        "  systemctl --user daemon-reload",
        "  systemctl --user enable --now knell-watch",
    ]
    assert set(files(house)) - set(before) == {f"home/.config/{UNIT}"}
    assert stat.S_IMODE(unit(house).stat().st_mode) & 0o022 == 0
    service = settings(unit(house))["Service"]
    words = service["ExecStart"]
    assert words.endswith('"-m" "knell" "watch"')
    assert sys.executable in words
    assert service["KillMode"] == "process", "agents that it starts again must not die with it"
    assert service["Restart"] == "on-failure"
    assert f'Environment="KNELL_HOME={house.state}"' in unit(house).read_text()


def test_again_is_the_same_file(house: House) -> None:
    house.run("watch", "--install")
    first = files(house)
    assert house.run("watch", "--install").returncode == 0
    assert files(house) == first


def test_the_wishes_are_in_it(house: House) -> None:
    words = ("--stalled", "kill", "--interval", "30", "--older-than", "300")
    rules = ("--policy", "tag:night=stop", "--policy", "team:web=report")
    house.run("watch", "--install", *words, *rules)
    line = settings(unit(house))["Service"]["ExecStart"]
    for name, value in zip(words[::2] + rules[::2], words[1::2] + rules[1::2], strict=True):
        shown = str(float(value)) if value.isdigit() else value
        assert f'"{name}" "{shown}"' in line


def test_what_it_writes_is_what_the_watch_understands(house: House) -> None:
    """The very words of ExecStart, with --once behind them."""
    words = ("--stalled", "kill", "--interval", "30", "--policy", "tag:a$b%c=stop")
    house.run("watch", "--install", *words)
    line = settings(unit(house))["Service"]["ExecStart"].replace("%%", "%").replace("$$", "$")
    argv = json.loads("[" + line.replace('" "', '", "') + "]")
    done = subprocess.run(
        [*argv, "--once"], env=house.env, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (
        0,
        "no drift: registry file, store and machine agree\n",
    )


def test_XDG_CONFIG_HOME_is_honoured(house: House) -> None:
    house.env["XDG_CONFIG_HOME"] = str(house.root / "xdg")
    house.run("watch", "--install")
    assert (house.root / "xdg" / UNIT).is_file()
    assert not unit(house).exists()


def test_a_dry_run_prints_it_and_writes_nothing(house: House) -> None:
    before = files(house)
    done = house.run("watch", "--install", "--dry-run")
    assert done.returncode == 0
    first, *text = done.stdout.splitlines(keepends=True)
    assert first == f"Would write {unit(house)}\n"
    assert files(house) == before
    house.run("watch", "--install")
    assert "".join(text).startswith(unit(house).read_text())


def test_uninstall_removes_it_and_nothing_else(house: House) -> None:
    house.run("watch", "--install")
    neighbour = unit(house).with_name("other.service")
    neighbour.write_text("[Unit]\n")
    done = house.run("watch", "--uninstall")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"Removed {unit(house)}",
        "To stop it now:",
        "  systemctl --user disable --now knell-watch",
        "  systemctl --user daemon-reload",
    ]
    assert not unit(house).exists()
    assert neighbour.exists()


def test_a_dry_uninstall_removes_nothing(house: House) -> None:
    house.run("watch", "--install")
    done = house.run("watch", "--uninstall", "--dry-run")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Would remove {unit(house)}")
    assert unit(house).exists()


def test_uninstall_without_install(house: House) -> None:
    what, hint = complaint(house.run("watch", "--uninstall"), FAILED)
    assert what == f"{unit(house)} is not there"
    assert hint == "knell watch --install writes it"


def test_install_and_uninstall_at_once_is_refused(house: House) -> None:
    complaint(house.run("watch", "--install", "--uninstall"), USAGE)
    assert not unit(house).exists()


@pytest.mark.parametrize(
    "words",
    [("--policy", "x"), ("--interval", "0"), ("--older-than", "nan"), ("--older-than", "0")],
)
def test_what_every_start_would_refuse_is_not_written(house: House, words: tuple[str, ...]) -> None:
    complaint(house.run("watch", "--install", *words), USAGE)
    assert not unit(house).exists()


def test_as_data(house: House) -> None:
    document = house.json("watch", "--install", "--dry-run")
    assert document["path"] == str(unit(house))
    assert document["text"].startswith("[Unit]\n")
    assert document["next"][0] == "systemctl --user daemon-reload"


def test_a_unit_of_ones_own_that_is_read_only_is_left_alone(house: House) -> None:
    unit(house).parent.mkdir(parents=True)
    unit(house).write_text("[Unit]\n# mine\n")
    unit(house).chmod(0o444)
    complaint(house.run("watch", "--install"), FAILED)
    assert unit(house).read_text() == "[Unit]\n# mine\n"


def test_a_directory_in_its_place(house: House) -> None:
    unit(house).mkdir(parents=True)
    complaint(house.run("watch", "--install"), FAILED)
    complaint(house.run("watch", "--uninstall"), FAILED)
    assert unit(house).is_dir()


@pytest.mark.parametrize("home", ["plain", "with space", 'quote"s', "per%cent", "dol$lar"])
def test_systemd_itself_has_nothing_against_it(house: House, home: str) -> None:
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        pytest.skip("systemd-analyze is not installed")
    house.env["KNELL_HOME"] = str(house.root / home)
    done = house.run("watch", "--install", "--stalled", "kill", "--policy", "tag:night=stop")
    assert done.returncode == 0, done.stderr
    verified = subprocess.run(
        [analyze, "verify", "--user", "--man=no", str(unit(house))],
        env=house.env | {"XDG_RUNTIME_DIR": str(house.root)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if "Failed to initialize manager" in verified.stderr:
        pytest.skip(f"systemd-analyze cannot work here: {verified.stderr.strip()}")
    assert "knell-watch.service" not in verified.stderr, verified.stderr
    assert verified.returncode == 0, verified.stderr
