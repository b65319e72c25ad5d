"""knell uninstall: shows first, takes back what is knell's, and nothing else."""

import subprocess
import sys

import pytest

from house import House, eventually


def furnish(house: House) -> None:
    (house.home / ".claude").mkdir()
    (house.home / ".claude/settings.json").write_text("{}\n")
    assert house.run("hooks", "install", "claude").returncode == 0
    assert house.run("watch", "--install").returncode == 0
    folder = house.home / ".config/fish/completions"
    folder.mkdir(parents=True)
    (folder / "knell.fish").write_text(house.run("completion", "fish").stdout)
    (house.home / ".bashrc").write_text(house.run("completion", "bash").stdout)


def test_a_dry_run_shows_and_changes_nothing(house: House) -> None:
    furnish(house)
    before = sorted(path for path in house.home.rglob("*"))
    shown = house.run("uninstall", "--purge", "--dry-run")
    assert "knell-watch.service" in shown.stdout
    assert "knell.fish" in shown.stdout
    assert str(house.state / "knell.db") in shown.stdout
    assert "settings of claude" in shown.stdout
    assert ".bashrc mentions" in shown.stderr
    assert sorted(path for path in house.home.rglob("*")) == before
    assert house.run("uninstall").returncode == 1, "without a terminal it needs --yes"
    assert sorted(path for path in house.home.rglob("*")) == before


def test_manual_pages_are_listed_by_name(house: House) -> None:
    pages = house.home / ".local/share/man/man1"
    pages.mkdir(parents=True)
    names = [f"knell-{word}.1" for word in ("stop", "adopt", "kill", "ask", "top", "run")]
    for name in names:
        (pages / name).touch()
    shown = house.run("uninstall", "--dry-run").stdout
    assert [line.rpartition("/")[2] for line in shown.splitlines()] == sorted(names)


@pytest.mark.usefixtures("unused")
def test_everything_goes_and_what_is_others_stays(house: House) -> None:
    furnish(house)
    (house.state / "mine.txt").write_text("not knell's")
    bashrc = (house.home / ".bashrc").read_text()
    done = house.run("uninstall", "--purge", "--yes")
    assert done.returncode == 0, done.stderr
    assert (house.home / ".claude/settings.json").read_text() == "{}\n"
    assert not list(house.home.rglob("knell*"))
    assert [path.name for path in house.state.iterdir()] == ["mine.txt"]
    assert (house.home / ".bashrc").read_text() == bashrc


def test_the_watch_is_stopped_and_agents_go_on(house: House) -> None:
    house.spawn(name="luna")
    watch = subprocess.Popen(
        [sys.executable, "-m", "knell", "watch"],
        env=house.env, cwd=house.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    eventually(lambda: house.knell.snapshot(look=False).watch)
    assert house.run("uninstall", "--purge", "--yes").returncode == 1, "an agent runs"
    assert house.run("uninstall", "--yes").returncode == 0
    assert watch.wait(timeout=300) is not None
    assert [view.name for view in house.knell.list()] == ["luna"]
