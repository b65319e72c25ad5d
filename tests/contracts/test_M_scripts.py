"""The documented scripts (M1): the same options and outputs as ever, over the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.m_scenes import NAME, Shop, ready
from house import House, alive, eventually

SKILLS = Path(__file__).parents[2] / "src/knell/plugin/skills"
SCRIPTS = {
    "stop": "stop_session.sh",
    "delete": "delete_session.sh",
    "create": "create_session.sh",
    "resume": "resume_session.sh",
    "monitor": "reconcile.sh",
    "status": "status.sh",
}


def script(shop: Shop, word: str, *args: str) -> subprocess.CompletedProcess[str]:
    """As the skill says it: sh runs it, knell is on PATH."""
    folder = shop.house.root / "bin with a space"
    folder.mkdir(exist_ok=True)
    (folder / "knell").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m knell "$@"\n')
    (folder / "knell").chmod(0o755)
    env = shop.house.env | {"PATH": f"{folder}:{shop.house.env['PATH']}"}
    path = SKILLS / f"tmux-agent-orchestrate-{word}/scripts/{SCRIPTS[word]}"
    return subprocess.run(
        [path, *args], cwd=shop.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=env, check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "options", "status"),
    [
        ("stop", (), "terminated"),
        ("stop", ("--mode", "soft"), "archived"),
        ("stop", ("--capture-id", "--reason", "api_error", "--graceful"), "stopped"),
        ("delete", (), "terminated"),
        ("delete", ("--mode=soft",), "archived"),
    ],
)
def test_M1_M26_the_scripts_end_a_session_as_they_always_did(
    house: House, word: str, options: tuple[str, ...], status: str
) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    done = script(shop, word, "--session", NAME, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{word} complete"
    assert (shop.row()["status"], alive(claude.pid)) == (status, status == "archived")
    if status == "stopped":
        assert (shop.row()["stop_reason"], shop.row()["termination_mode"]) == (
            "api_error", "graceful",
        )  # fmt: skip
        again = script(shop, word, "--session", NAME, *options)
        assert (again.returncode, "already stopped (" in again.stdout) == (0, True)


def test_M16_a_session_without_a_row_is_refused(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list()
    for word in ("stop", "delete"):
        done = script(shop, word, "--session", NAME)
        told = f"NOT in YAML — refusing to {word} (no audit trail)."
        assert (done.returncode, told in done.stdout) == (1, True)
    assert alive(claude.pid)


def test_M54_create_resume_monitor_and_status_are_scripts_too(house: House) -> None:
    shop = Shop(house)
    new = ("--agent", "claude", "--session", NAME, "--tmux-server", "test", "--role", "creator")
    done = script(shop, "create", *new, "--submit-job", "mend  the 'roof' $HOME")
    assert done.returncode == 0, done.stderr
    [claude] = eventually(lambda: ready(house))
    argv = Path(f"/proc/{claude.pid}/cmdline").read_bytes().decode().split("\0")
    assert "mend  the 'roof' $HOME" in argv, "whole, and no shell has read it"
    assert (shop.row()["status"], shop.row()["role"]) == ("running", "creator")
    assert NAME in script(shop, "status").stdout
    found = script(shop, "monitor", "--once", "--emit-diff", "--dry-run")
    assert found.returncode == 0
    assert {one["session"] for one in json.loads(found.stdout)["drift"]} <= {NAME}
    assert script(shop, "stop", "--session", NAME, "--capture-id").returncode == 0
    assert not alive(claude.pid)
    back = script(shop, "resume", "--session", NAME)
    assert back.returncode == 0, back.stderr
    assert shop.row()["status"] == "running"


@pytest.mark.parametrize(
    ("word", "options"),
    [
        ("stop", ("--mode", "rude", "--session", NAME)),
        ("resume", ()),
        ("resume", ("--session",)),
        ("create", ("--submit-job",)),
        ("monitor", ("--subscribe",)),
    ],
)
def test_a_wrong_option_of_a_script_exits_with_2(
    house: House, word: str, options: tuple[str, ...]
) -> None:
    done = script(Shop(house), word, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


def test_a_script_says_where_knell_is_missing(house: House) -> None:
    path = SKILLS / "tmux-agent-orchestrate-stop/scripts/stop_session.sh"
    done = subprocess.run(
        [path, "--session", NAME], env=house.env | {"PATH": "/nowhere"}, capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (127, 1)
    assert "knell is not on PATH" in done.stderr
