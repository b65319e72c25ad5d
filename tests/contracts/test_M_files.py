"""M3, M9, M56: a registry file in bad shape, and one that a person keeps for a day."""

import fcntl
import os
import re
import subprocess
import sys

import pytest

from contracts.m_scenes import AGY, NAME, Shop, claude_file, notes_of, ready
from house import House, alive, eventually

DAY = """\
# ============================================================
#  who works here.  Keep the order!  (zoë)
# ============================================================
version:   2          # odd spacing is ours

defaults: &d          # an anchor that the rows share
  team: night

tmux_sessions:        # one row each

# -- the shop ------------------------------------------------
- name: "shop-creator-claude"     # the first
  status:   running               # by hand
  tmux_server: 'test'
  start_command:    "claude --model   opus"   # as typed
  claude_session_id_own: ~        # nothing yet
  settings: *d
  pane: {{pid: 1,  cmd: claude, cwd: {cwd}}}     # one line
  # a comment inside of the row
  mcp_attachments:
  - files
  -   "browser"     # slow

# -- the bank ------------------------------------------------
-   name: shop-creator-agy        # another indent
    status: running
    tmux_server: test
    agy_conversation_id_own: null # nothing yet
    pane:
        pid: 4711    # was
        cmd: agy
        cwd: {cwd}
    mcp_attachments: []

# -- somebody else's: no tool of ours touches it --------------
- {{name: gate, status: archived, archived_at: 2026-06-17T10:00:00Z, note: "leave   me"}}   # flow

# end of the list

owner: "zoë"   # é ☕
...
"""


def comments(text: str) -> list[str]:
    return re.findall(r"#.*", text)


def squeezed(line: str) -> str:
    return " ".join(line.split())


def test_M9_a_day_of_stops_and_resumes_keeps_every_comment(house: House) -> None:
    shop = Shop(house)
    shop.session()
    shop.session(AGY)
    text = DAY.format(cwd=shop.folder)
    shop.file.write_text(text)
    steps = (
        ("stop", "--session", NAME, "--reason", "user_request"),
        ("delete", "--session", AGY),
        ("resume", NAME),
        ("resume", AGY),
        ("watch", "--once"),
        ("stop", "--session", AGY, "--capture-id", "--graceful"),
        ("stop", "--session", AGY),
        ("resume", AGY),
        ("kill", NAME),
        ("resume", NAME),
        ("stop", "--session", NAME, "--mode", "soft"),
        ("delete", "--session", NAME),
        ("delete", "--session", NAME, "--yes"),
        ("resume", NAME),
    )
    others = [line for line in text.splitlines() if "gate" in line or "owner" in line]
    for step in steps:
        done = shop.run(*step)
        assert done.returncode == 0, (step, done)
        now = shop.file.read_text()
        assert comments(now) == comments(text), step
        assert set(others) <= set(now.splitlines())
    assert [row["status"] for row in shop.data()["tmux_sessions"]] == [
        *("running", "running", "archived")
    ]
    # The first write lays out blanks, and a comment behind an anchor gets a line of its own.
    changes = r"own:|pid:|^ *status:|&d|^ *#|^\.\.\.$|^$"
    kept = [squeezed(line) for line in text.splitlines() if not re.search(changes, line)]
    now = [squeezed(line) for line in shop.file.read_text().splitlines()]
    assert [line for line in now if line in kept] == kept


# -- bad shape ------------------------------------------------------------------------------------


def test_M3_a_directory_in_the_files_place(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.file.mkdir()
    done = shop.delete()
    assert (done.returncode, alive(claude.pid)) == (1, True)
    assert f"{shop.file}" in done.stderr
    assert "is a directory" in done.stderr.lower()
    assert list(shop.file.iterdir()) == []


@pytest.mark.parametrize("what", ["file", "folder"])
def test_M56_a_read_only_file_is_left_and_that_is_a_failure(house: House, what: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    before = shop.list(shop.row_text())
    path = shop.file if what == "file" else shop.file.parent
    mode = path.stat().st_mode
    path.chmod(mode & ~0o222)
    done = shop.delete()
    path.chmod(mode)
    assert (done.returncode, shop.file.read_text()) == (1, before)
    assert f"the row '{NAME}' was not written" in done.stderr
    assert "delete complete" not in done.stdout
    assert not alive(claude.pid)  # what was asked was done; only the file could not be told
    assert house.json("receipt", NAME)["outcome"] == "terminated"


def test_M56_a_dead_session_in_a_read_only_file_is_a_failure_too(house: House) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text())
    shop.file.chmod(0o444)
    done = shop.delete()
    assert (done.returncode, shop.file.read_text()) == (1, before)
    assert "was not written" in done.stderr


@pytest.mark.parametrize("row", [NAME, "another-creator-claude"], ids=["its row", "a new row"])
def test_M56_a_start_that_cannot_be_written_is_said_too(house: House, row: str) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text(row, status="terminated"))
    shop.file.chmod(0o444)
    where = ("--in", "tmux", "--tmux-server", "test", "--session", NAME)
    done = shop.run("spawn", *where, "--name", "fresh", "claude")
    claude = eventually(lambda: ready(house))[0]
    assert (shop.file.read_text(), alive(claude.pid)) == (before, True)
    assert "was not written" in done.stderr


def test_M56_a_purge_that_cannot_be_written_is_a_failure_too(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    assert shop.stop().returncode == 0
    before, file = shop.file.read_text(), claude_file(shop, claude.conversation)
    shop.file.chmod(0o444)
    done = shop.stop("--purge-conversation", "--yes")
    assert (shop.file.read_text(), file.exists()) == (before, False)
    assert (done.returncode, f"the row '{NAME}' was not written" in done.stderr) == (1, True)


def test_M3_a_giant_is_not_read(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    with shop.file.open("wb") as file:
        file.truncate(200_000_000)
    done = shop.delete()
    assert (done.returncode, alive(claude.pid)) == (1, True)
    assert "larger than" in done.stderr
    assert shop.file.stat().st_size == 200_000_000


def test_M3_a_large_but_possible_one_is(house: House) -> None:
    shop = Shop(house)
    shop.list(*(shop.row_text(f"row-{number}-creator-claude") for number in range(300)))
    before = shop.file.read_text()
    assert shop.delete(name="row-150-creator-claude").returncode == 0
    assert shop.row("row-150-creator-claude")["status"] == "terminated"
    assert comments(shop.file.read_text()) == comments(before)


HOLDS = """
import fcntl, os, signal, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
os.write(fd, str(os.getpid()).encode())
print("held", flush=True)
signal.pause()
"""


def test_M56_a_lock_of_somebody_who_died_holds_nobody_up(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text())
    lock = f"{shop.file}.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, lock], stdout=subprocess.PIPE)
    assert holder.stdout
    assert holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert os.path.getsize(lock) > 0  # its name still stands in it
    assert shop.delete().returncode == 0
    assert shop.row()["status"] == "terminated"


def test_M56_a_lock_that_is_kept_is_waited_for(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    lock = os.open(f"{shop.file}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    delete = (sys.executable, "-m", "knell", "delete", "--session", NAME)
    asking = house.process(*delete, "--registry", str(shop.file), stdout=subprocess.DEVNULL)
    eventually(lambda: not alive(claude.pid))
    os.close(lock)
    assert asking.wait(timeout=300) == 0
    assert shop.row()["status"] == "terminated"


def test_M56_a_lock_that_is_never_given_back_is_a_failure_with_a_name(house: House) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text())
    lock = os.open(f"{shop.file}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    done = shop.delete()
    os.close(lock)
    assert (done.returncode, shop.file.read_text()) == (1, before)
    assert "locked" in done.stderr


def test_M56_two_at_once_both_write(house: House) -> None:
    shop = Shop(house)
    names = [f"row-{number}-creator-claude" for number in range(6)]
    shop.list(*map(shop.row_text, names))
    delete = ("delete", "--registry", str(shop.file), "--session")
    asking = [house.begin(*delete, name, stdout=subprocess.DEVNULL) for name in names]
    assert [one.wait(timeout=300) for one in asking] == [0] * len(names)
    assert {row["status"] for row in shop.data()["tmux_sessions"]} == {"terminated"}


def test_M56_the_file_before_the_last_write_is_kept(house: House) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text())
    shop.delete()
    assert shop.file.with_name(f"{shop.file.name}.bak").read_text() == before


def test_M3_a_link_to_the_file_stays_a_link(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    elsewhere = house.root / "shared.yaml"
    shop.list(shop.row_text())
    shop.file.rename(elsewhere)
    shop.file.symlink_to(elsewhere)
    assert shop.stop().returncode == 0
    assert (shop.file.is_symlink(), shop.row()["status"]) == (True, "stopped")
    assert notes_of(house, claude.pid)[1:] == [["left", "exit"]]
    assert claude_file(shop, claude.conversation).exists()
