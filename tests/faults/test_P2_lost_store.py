"""P2: a store that is lost, moved away, older or damaged hides no agent that lives."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from house import House, alive, eventually
from knell.core.conversation import KnownConversation
from knell.stores.archive import record_json

FILES = ("knell.db", "knell.db-wal", "knell.db-shm")


def removed(house: House) -> None:
    house.knell.close()
    for name in FILES:
        (house.state / name).unlink(missing_ok=True)


def moved_away(house: House) -> None:
    house.knell.close()
    (house.state / "knell.db").rename(house.state / "knell.db.bad")


def emptied(house: House) -> None:
    house.knell.close()
    (house.state / "knell.db").write_bytes(b"")


def overwritten(house: House) -> None:
    house.knell.close()
    (house.state / "knell.db").write_bytes(b"not a database at all" * 300)


def listed(house: House, *words: str) -> dict[str, Any]:
    return {row["name"]: row for row in house.json("list", *words)["agents"]}


def killed(house: House, *names: str) -> dict[str, str]:
    done = house.json("kill", *names, "--grace", "1")
    return {one["agent"]: one["proof"] for one in done["receipts"]}


@pytest.mark.parametrize("lose", [removed, moved_away, emptied])
def test_P2_a_missing_store_is_rebuilt_from_the_run_directories(
    house: House, lose: Callable[[House], None]
) -> None:
    luna = house.spawn(name="luna", tag="night", task="TASK-1")
    mia = house.spawn(name="mia", place="tmux", server="test")
    bo = house.process("sleep", "100")
    house.run("adopt", str(bo.pid), "--name", "bo", "--tag", "found")
    house.spawn(name="nova")
    house.run("kill", "nova", "--reason", "no longer needed")
    before, receipt = listed(house, "--all"), house.json("receipt", "nova")
    lose(house)
    told = house.run("list")
    assert told.returncode == 0
    assert "restored" in told.stderr
    assert listed(house, "--all") == before
    assert set(listed(house)) == {"luna", "mia", "bo"}
    assert (before["luna"]["tag"], before["mia"]["place"]) == ("night", "tmux")
    assert house.json("receipt", "nova") == receipt
    assert receipt["outcome"] == "killed"
    proofs = killed(house, "luna", "mia", "bo")
    assert (proofs["luna"], proofs["mia"]) == ("proven", "proven")
    assert house.panes() == []
    assert bo.wait(60) != 0
    pids = [one.run.process.pid for one in (luna, mia) if one.run.process]
    assert [pid for pid in pids if alive(pid)] == []
    assert listed(house) == {}


def test_P2_conversation_team_and_token_are_there_again(house: House) -> None:
    house.spawn(name="boss")
    house.run("team", "create", "red", "--leader", "boss")
    house.spawn(name="luna", team="red")
    house.knell.world.store.runs.set_conversation(
        "luna", KnownConversation("7c1d-conversation", "told", "2030-01-01T00:00:00Z")
    )
    pid = house.knell.world.store.runs.newest()["luna"].process
    assert pid
    env = dict(
        pair.split("=", 1)
        for pair in Path(f"/proc/{pid.pid}/environ").read_text().split("\0")
        if "=" in pair
    )
    members = house.json("team", "show", "red")
    removed(house)
    assert house.json("show", "luna")["conversation"] == "7c1d-conversation"
    again = house.json("team", "show", "red")
    assert again["leader"] == "boss"
    assert [one["agent"] for one in again["members"]] == [
        one["agent"] for one in members["members"]
    ]
    proven = house.run("inbox", env=house.env | {k: env[k] for k in env if k.startswith("KNELL_")})
    assert proven.returncode == 0


def test_P2_without_records_the_stamps_and_journals_tell(house: House) -> None:
    """A run directory of an older knell has no record; its keeper and its agent are found.

    Its end is not proven: by what the keeper's last word is known was in the records."""
    luna = house.spawn(name="luna")
    house.spawn(name="nova")
    house.run("kill", "nova")
    for record in house.state.glob("runs/*/record.json"):
        record.unlink()
    removed(house)
    told = house.run("list")
    assert "cannot be known" in told.stderr
    assert set(listed(house)) == {"luna"}
    assert killed(house, "luna") == {"luna": "none_found"}
    assert luna.run.process
    assert not alive(luna.run.process.pid)


def test_P2_with_the_run_directories_gone_too_the_stamps_tell(house: House) -> None:
    luna = house.spawn(name="luna")
    removed(house)
    shutil.rmtree(house.state / "runs")
    assert set(listed(house)) == {"luna"}
    assert set(killed(house, "luna")) == {"luna"}
    assert luna.run.process
    assert not alive(luna.run.process.pid)
    assert luna.run.keeper
    eventually(lambda: luna.run.keeper and not alive(luna.run.keeper.pid))


def test_P2_two_that_bear_one_name_are_both_shown(house: House) -> None:
    luna = house.spawn(name="luna")
    nova = house.spawn(name="nova")
    record = house.state / "runs" / nova.run.id / "record.json"
    record.write_text(record.read_text().replace('"nova"', '"luna"'))
    removed(house)
    pids = {row["pid"] for row in listed(house).values()}
    assert pids == {one.run.process.pid for one in (luna, nova) if one.run.process}
    assert set(killed(house, "all").values()) == {"proven"}


def test_P2_a_record_that_calls_a_living_agent_ended_is_not_believed(house: House) -> None:
    house.spawn(name="luna")
    nova = house.spawn(name="nova")
    house.run("kill", "nova")
    [mine] = house.state.glob("runs/*/record.json")
    kept = house.knell.world.archive.record(nova.run.id)
    assert kept
    forged, ended = json.loads(mine.read_text()), json.loads(record_json(kept))
    forged["run"] |= {key: ended["run"][key] for key in ("state", "ending", "ended_at")}
    mine.write_text(json.dumps(forged))
    removed(house)
    assert set(listed(house)) == {"luna"}
    assert killed(house, "luna") == {"luna": "proven"}


def test_P2_a_receipt_that_the_agent_left_itself_proves_nothing(house: House) -> None:
    """The keeper is killed and a receipt forged: the agent lives, so nothing is over."""
    luna = house.spawn(name="luna")
    house.spawn(name="nova")
    house.run("kill", "nova")
    forged = house.json("receipt", "nova") | {"agent": "luna", "run": luna.run.id}
    (house.state / "runs" / luna.run.id / "receipt.json").write_text(json.dumps(forged))
    assert luna.run.keeper
    assert luna.run.process
    os.kill(luna.run.keeper.pid, 9)
    eventually(lambda: luna.run.keeper and not alive(luna.run.keeper.pid))
    assert set(listed(house)) == {"luna"}
    os.kill(luna.run.process.pid, 9)
    eventually(lambda: luna.run.process and not alive(luna.run.process.pid))
    assert listed(house) == {}
    assert house.json("receipt", "luna")["proof"] != "proven"


def test_P2_an_agent_of_another_home_is_not_taken(house: House) -> None:
    house.spawn(name="luna")
    (house.root / "other" / "runs" / "20200101000000-00000000").mkdir(parents=True)
    elsewhere = house.env | {"KNELL_HOME": str(house.root / "other")}
    assert house.json("list", env=elsewhere)["agents"] == []
    assert set(listed(house)) == {"luna"}


def test_P2_a_damaged_store_names_the_repair_and_is_repaired(house: House) -> None:
    house.spawn(name="luna")
    overwritten(house)
    told = house.run("list")
    assert told.returncode != 0
    assert "knell doctor --repair" in told.stderr
    assert "knell doctor --repair" in house.run("doctor").stdout
    repaired = house.run("doctor", "--repair")
    assert repaired.returncode == 0
    [aside] = house.state.glob("knell.db.bad-*")
    assert aside.read_bytes().startswith(b"not a database at all")
    assert set(listed(house)) == {"luna"}
    assert killed(house, "luna") == {"luna": "proven"}


def test_P2_an_older_store_is_brought_up_to_date(house: House) -> None:
    house.spawn(name="nova")
    house.knell.close()
    shutil.copy(house.state / "knell.db", house.root / "old.db")
    house.run("kill", "nova", "--reason", "later")
    receipt = house.json("receipt", "nova")
    house.spawn(name="luna")
    removed(house)
    shutil.copy(house.root / "old.db", house.state / "knell.db")
    assert "older copy; restored 1 run" in house.run("doctor").stderr
    assert set(listed(house)) == {"luna"}
    assert house.json("receipt", "nova") == receipt
    assert "knell doctor --repair" not in house.run("doctor").stdout
    assert killed(house, "luna") == {"luna": "proven"}


def test_P2_what_is_not_damaged_is_not_replaced(house: House) -> None:
    """A newer knell's store, or another program's, is no ruin: it is left where it is."""
    house.spawn(name="luna")
    house.knell.close()
    db = sqlite3.connect(house.state / "knell.db")
    [(version,)] = db.execute("PRAGMA user_version")
    db.execute("PRAGMA user_version = 9999")
    db.close()
    told = house.run("doctor", "--repair")
    assert told.returncode != 0
    assert "newer" in told.stderr
    assert list(house.state.glob("knell.db.bad-*")) == []
    db = sqlite3.connect(house.state / "knell.db")
    db.execute(f"PRAGMA user_version = {version}")
    db.close()


def test_P2_the_watch_keeps_two_backups_and_doctor_tells_their_age(house: House) -> None:
    house.spawn(name="luna")
    assert "no backup yet" in house.run("doctor").stdout
    house.run("watch", "--once")
    house.run("watch", "--once")
    first = house.state / "knell.db.backup-1"
    assert not (house.state / "knell.db.backup-2").exists()
    assert first.stat().st_mode & 0o777 == 0o600
    assert "backup" in house.run("doctor").stdout
    day = first.stat().st_mtime - 25 * 3600
    os.utime(first, (day, day))
    house.run("watch", "--once")
    assert first.stat().st_mtime > day
    assert (house.state / "knell.db.backup-2").stat().st_mtime == day


def test_P2_a_backup_brings_back_what_no_run_directory_has(house: House) -> None:
    house.run("team", "create", "red")
    house.run("task", "add", "--team", "red", "paint it")
    house.run("watch", "--once")
    house.spawn(name="luna")
    overwritten(house)
    assert house.run("doctor", "--repair").returncode == 0
    assert [one["title"] for one in house.json("task", "list")["tasks"]] == ["paint it"]
    assert set(listed(house)) == {"luna"}


def test_P2_commands_that_find_it_missing_at_once_rebuild_it_once(house: House) -> None:
    house.spawn(name="luna")
    removed(house)
    argv = (sys.executable, "-m", "knell", "list", "--json")
    several = [house.process(*argv, stdout=-1, text=True) for _ in range(6)]
    for one in several:
        out, _ = one.communicate(timeout=120)
        assert '"luna"' in out
    assert len(house.json("events")["events"]) >= 1
    assert list(house.state.glob("knell.db.new-*")) == []
