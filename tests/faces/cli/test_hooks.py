"""knell hooks: install, look, uninstall, on real settings files."""

import json
import stat
from pathlib import Path

import pytest

from faces.cli.hook_scenes import ODD, backups, claude_settings, litter
from house import House


@pytest.fixture
def settings(house: House) -> Path:
    return claude_settings(house)


def test_the_file_comes_back_byte_for_byte(house: House, settings: Path) -> None:
    settings.chmod(0o640)
    installed = house.run("hooks", "install", "claude")
    assert (installed.returncode, "installed" in installed.stdout) == (0, True)
    assert settings.read_bytes() != ODD
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert backups(house) == [".json", ".orig"]
    assert next((house.state / "hooks").glob("*.orig")).read_bytes() == ODD
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (house.state / "hooks").iterdir()}
    assert modes == {0o600}
    removed = house.run("hooks", "uninstall", "claude")
    assert (removed.returncode, "removed" in removed.stdout) == (0, True)
    assert settings.read_bytes() == ODD
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert (backups(house), litter(settings)) == ([], [])


def test_asking_twice_changes_nothing(house: House, settings: Path) -> None:
    assert house.json("hooks", "install", "claude")["programs"][0]["changed"]
    first, inode = settings.read_bytes(), settings.stat().st_ino
    again = house.json("hooks", "install", "claude")
    assert (again["ok"], again["programs"][0]["changed"]) == (True, False)
    assert (settings.read_bytes(), settings.stat().st_ino) == (first, inode)
    house.run("hooks", "uninstall", "claude")
    again = house.json("hooks", "uninstall", "claude")
    assert (again["ok"], again["programs"][0]["changed"]) == (True, False)
    assert settings.read_bytes() == ODD


def test_what_was_edited_meanwhile_stays(house: House, settings: Path) -> None:
    house.run("hooks", "install", "claude")
    edited = settings.read_bytes().replace(b'"z":1e2', b'"z":1e2, "model" : "opus"')
    settings.write_bytes(edited)
    assert not house.json("hooks", "install", "claude")["programs"][0]["changed"]
    house.run("hooks", "uninstall", "claude")
    wanted = ODD.replace(b'"z":1e2', b'"z":1e2, "model" : "opus"')
    assert json.loads(settings.read_bytes().decode("utf-8-sig")) == json.loads(
        wanted.decode("utf-8-sig")
    )
    assert b'"z":1e2, "model" : "opus"}\r\n\r\n' in settings.read_bytes()


def test_without_a_backup_ours_are_known_by_their_mark(house: House, settings: Path) -> None:
    house.run("hooks", "install", "claude")
    for path in (house.state / "hooks").iterdir():
        path.write_bytes(b"torn")
    assert house.run("hooks", "uninstall", "claude").returncode == 0
    was, now = (json.loads(one.decode("utf-8-sig")) for one in (ODD, settings.read_bytes()))
    assert now == was


@pytest.mark.parametrize(
    ("program", "path", "there"),
    [
        ("claude", ".claude/settings.json", False),
        ("codex", ".codex/hooks.json", True),
        ("gemini", ".gemini/settings.json", False),
    ],
)
def test_a_file_that_was_not_there_is_gone_again(
    house: House,
    program: str,
    path: str,
    there: bool,  # noqa: FBT001
) -> None:
    file = house.home / path
    if there:
        file.parent.mkdir()
    house.run("hooks", "install", program)
    assert json.loads(file.read_text())["hooks"]["SessionEnd"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    house.run("hooks", "uninstall", program)
    assert not file.exists()
    assert file.parent.exists() == there


def test_a_file_of_ours_with_more_in_it_by_now_stays(house: House) -> None:
    file = house.home / ".claude" / "settings.json"
    house.run("hooks", "install", "claude")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"model": "opus"}))
    house.run("hooks", "uninstall", "claude")
    assert json.loads(file.read_text()) == {"model": "opus"}


@pytest.mark.usefixtures("unused")
def test_a_dry_run_shows_the_difference_and_makes_none(house: House, settings: Path) -> None:
    shown = house.run("hooks", "install", "claude", "--dry-run")
    assert "would install" in shown.stdout
    assert [
        line for line in shown.stdout.splitlines() if line.startswith("+") and "# knell" in line
    ]
    assert settings.read_bytes() == ODD
    assert list(house.state.iterdir()) == []
    house.run("hooks", "install", "claude")
    mine = settings.read_bytes()
    shown = house.run("hooks", "uninstall", "claude", "-n", "--json")
    assert "# knell" in json.loads(shown.stdout)["programs"][0]["diff"]
    assert settings.read_bytes() == mine


def test_a_link_stays_a_link(house: House, settings: Path) -> None:
    real = house.root / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    house.run("hooks", "install", "claude")
    assert settings.is_symlink()
    assert b"# knell" in real.read_bytes()
    house.run("hooks", "uninstall", "claude")
    assert (settings.is_symlink(), real.read_bytes()) == (True, ODD)


def test_the_variable_that_moves_the_settings_is_followed(house: House) -> None:
    moved = house.root / "elsewhere"
    moved.mkdir()
    env = house.env | {"CLAUDE_CONFIG_DIR": str(moved)}
    house.run("hooks", "install", "claude", env=env)
    assert (moved / "settings.json").exists()
    assert not (house.home / ".claude").exists()
    # Installed there, it is found again without the variable.
    assert str(moved) in house.run("hooks", "status", "claude").stdout
    house.run("hooks", "uninstall", "claude")
    assert list(moved.iterdir()) == []


def test_another_file_can_be_named(house: House) -> None:
    file = house.root / "mine.json"
    assert house.run("hooks", "install", "claude", "--settings", "mine.json").returncode == 0
    assert json.loads(file.read_text())["hooks"]
    states = house.json("hooks", "status", "claude")["programs"]
    assert {(one["path"], one["state"]) for one in states} == {
        (str(house.home / ".claude/settings.json"), "absent"),
        (str(file), "installed"),
    }
    house.run("hooks", "uninstall", "claude")
    assert not file.exists()


def test_a_wrong_request_is_told(house: House) -> None:
    assert house.run("hooks", "install", "--settings", "x.json").returncode == 2
    assert house.run("hooks", "install", "claude", "codex", "--settings", "x").returncode == 2
    assert house.run("hooks", "install", "gemini", "--settings", "x.toml").returncode == 2
    assert house.run("hooks", "install", "nobody").returncode == 2
    nowhere = house.run("hooks", "install", "claude", "--settings", "no/such/x.json")
    assert (nowhere.returncode, "No such file" in nowhere.stderr) == (1, True)


# -- which programs --------------------------------------------------------------------------------


def test_all_that_are_here_are_meant(house: House) -> None:
    env = house.env | {"PATH": str(house.root)}
    nobody = house.run("hooks", "status", env=env)
    assert (nobody.returncode, "none of claude, codex, gemini" in nobody.stderr) == (1, True)
    (house.home / ".gemini").mkdir()
    codex = house.root / "codex"
    codex.write_text("#!/bin/sh\n")
    codex.chmod(0o755)
    seen = json.loads(house.run("hooks", "--json", env=env).stdout)["programs"]
    assert [one["program"] for one in seen] == ["codex", "gemini"]


def test_one_failure_spares_the_others(house: House, settings: Path) -> None:
    settings.write_text('{\n  "a": 1,\n  oops\n}')
    done = house.run("hooks", "install", "claude", "gemini")
    assert done.returncode == 1
    assert "line 3 column 3" in done.stderr
    assert (house.home / ".gemini" / "settings.json").exists()
    told = house.json("hooks", "status", "claude", "gemini")
    assert [one["state"] for one in told["programs"]] == ["failed", "installed"]
    assert not told["ok"]


# -- Codex has two files -------------------------------------------------------------------------


def test_codex_hooks_go_where_its_hooks_already_are(house: House) -> None:
    """It warns at every start when two files have hooks."""
    home = house.home / ".codex"
    home.mkdir()
    before = b'# mine\nmodel = "x"\r\n[[hooks.Stop]]\nhooks = [{ type = "command", command = "a" }]'
    (home / "config.toml").write_bytes(before)
    told = house.json("hooks", "install", "codex")["programs"][0]
    assert (told["path"], told["state"]) == (str(home / "config.toml"), "installed")
    assert not (home / "hooks.json").exists()
    assert "trusted" in told["notes"][0]
    house.run("hooks", "uninstall", "codex")
    assert (home / "config.toml").read_bytes() == before


def test_a_config_without_hooks_is_left_alone(house: House) -> None:
    home = house.home / ".codex"
    home.mkdir()
    before = b'model = "x"\n[hooks.state."/a:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
    (home / "config.toml").write_bytes(before)
    house.run("hooks", "install", "codex")
    assert (home / "config.toml").read_bytes() == before
    assert json.loads((home / "hooks.json").read_text())["hooks"]


def test_what_codex_wrote_about_our_hooks_stays(house: House) -> None:
    home = house.home / ".codex"
    home.mkdir()
    config = home / "config.toml"
    config.write_text("[[hooks.Stop]]\nhooks = []\n")
    house.run("hooks", "install", "codex")
    state = f'\n[hooks.state."{config}:stop:1:0"]\ntrusted_hash = "sha256:1"\n'
    config.write_text(config.read_text() + state)
    house.run("hooks", "uninstall", "codex")
    assert config.read_text() == "[[hooks.Stop]]\nhooks = []\n" + state


# -- an agent with them --------------------------------------------------------------------------


def test_an_agent_that_knell_started_beats(house: House, settings: Path) -> None:
    """The hook as installed, run inside a real run, touches that run's own heartbeat."""
    house.run("hooks", "install", "claude")
    hooks = json.loads(settings.read_bytes().decode("utf-8-sig"))["hooks"]
    command = hooks["SessionStart"][-1]["hooks"][0]["command"]
    told = b'{"session_id": "s"}'
    source = f"import subprocess; subprocess.run(['sh', '-c', {command!r}], input={told!r})"
    done = house.run("run", "--name", "luna", "--", *house.script(source))
    assert done.returncode == 0
    rundir = next((house.state / "runs").iterdir())
    assert (rundir / "heartbeat").exists()
    assert '{"session_id": "s"}' in (rundir / "session-start").read_text()
