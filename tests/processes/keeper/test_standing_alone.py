"""A keeper stands alone from its first moment: nothing that is taken away later can stop it."""

import os
import shutil
from pathlib import Path

import pytest

from house import House, eventually
from keepers import SEAL, SEALED, kept
from knell.processes import keepers as launching
from knell.processes.journal import read_journal

EXITS_WHEN_TOLD = """
say("up")
while not os.path.exists("go"):
    time.sleep(0.01)
if not os.fork():
    os.setsid()
    os.environ.clear()
    time.sleep(99)
os._exit(3)
"""


@pytest.mark.parametrize("rules", [(), ("*never*",)], ids=["plain", "with rules"])
def test_P18_a_keeper_whose_files_are_moved_away_still_proves_the_end(
    house: House, monkeypatch: pytest.MonkeyPatch, rules: tuple[str, ...]
) -> None:
    """As an upgrade does, or a venv that is moved."""
    there = house.root / "there"
    for folder in ("keeper", "os"):
        shutil.copytree(Path(launching.KEEPER).parent.parent / folder, there / folder)
    monkeypatch.setattr(launching, "KEEPER", str(there / "keeper" / "keeper.py"))
    keeper = kept(house, EXITS_WHEN_TOLD, keep=rules)
    eventually(keeper.log.lines)
    there.rename(house.root / "away")
    (house.root / "go").touch()
    journal = keeper.wait()
    assert keeper.process.returncode == 3
    assert (journal.exit_code, journal.ended, journal.proven) == (3, True, True)
    assert journal.run_rss_kb


def test_P18_a_journal_of_an_unknown_version_proves_nothing(tmp_path: Path) -> None:
    lines = f"keeper\t7\t1\tboot\t9\t99\nended\techild\t1700000000\t{SEAL}\n"
    (tmp_path / "journal").write_text(lines)
    journal = read_journal(str(tmp_path), SEALED)
    assert (journal.version, journal.ended, journal.proven) == (99, True, False)
    assert os.listdir(tmp_path) == ["journal"]
