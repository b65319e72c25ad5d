"""Ended runs are put away, many in one file; nothing of them is lost on the way."""

import json
import os
import resource
import signal
import threading
from pathlib import Path

import pytest
from store_samples import a_receipt, a_run, an_agent

from knell.core.ports.store import RunRecord
from knell.core.run import Ending, Outcome, State
from knell.stores.archive import RunArchive, record_json
from knell.stores.records import packed, unpacked

IDS = ("20300101000000-00000001", "20300131000000-00000002", "20300201000000-00000003")
JOURNAL = b"keeper\t1\t2\tboot\t3\nended\techild\t1.5\tseal\n"


def record_of(run: str, *, live: bool = False) -> RunRecord:
    ending = None if live else Ending(Outcome.KILLED, "operator", "killed")
    state = State.RUNNING if live else State.ENDED
    known = a_run(id=run, ending=ending, state=state, ended_at="" if live else "2030-01-01")
    return RunRecord(an_agent(), known, None if live else a_receipt(known))


def make_directory(runs: Path, run: str, *, live: bool = False) -> Path:
    folder = runs / run
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(record_json(record_of(run, live=live)))
    (folder / "journal").write_bytes(JOURNAL)
    (folder / "end").write_text("2.0")
    os.mkfifo(folder / "ready")
    (folder / "output.log").touch()
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def archive(runs: Path) -> RunArchive:
    for run in IDS:
        make_directory(runs, run)
    return RunArchive(str(runs))


def test_what_was_put_away_is_read_as_before(archive: RunArchive, runs: Path) -> None:
    before = [archive.record(run) for run in IDS]
    assert None not in before
    archive.put_away(IDS)
    assert sorted(path.name for path in runs.iterdir()) == [
        ".ended-203001", ".ended-203002", ".ended.lock"
    ]  # fmt: skip
    anew = RunArchive(str(runs))
    assert [anew.record(run) for run in IDS] == before
    assert [anew.journal(run) for run in IDS] == [JOURNAL] * 3
    assert (anew.ids(), anew.leftovers()) == (list(IDS), [])
    assert {path.stat().st_mode & 0o777 for path in runs.iterdir()} == {0o600}


def test_a_log_with_something_in_it_stays_where_it_is(archive: RunArchive, runs: Path) -> None:
    log = runs / IDS[0] / "output.log"
    log.write_text("forty-two\n")
    (runs / IDS[1] / "told").write_text("1.0 7c1d\n")
    archive.put_away(IDS)
    assert [path.name for path in (runs / IDS[0]).iterdir()] == ["output.log"]
    assert log.read_text() == "forty-two\n"
    assert [path.name for path in (runs / IDS[1]).iterdir()] == ["told"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run": 7}', '{"run": {"id": "x"}}', "null"])
def test_a_directory_without_a_whole_record_is_left_alone(
    archive: RunArchive, runs: Path, text: str
) -> None:
    (runs / IDS[0] / "record.json").write_text(text)
    live = make_directory(runs, "20300101000000-0000000a", live=True)
    before = {path: sorted(os.listdir(path)) for path in (runs / IDS[0], live)}
    archive.put_away([IDS[0], live.name, "20300101000000-00000404"])
    assert {path: sorted(os.listdir(path)) for path in before} == before
    assert not list(runs.glob(".ended-*"))


def test_a_fifo_or_a_link_in_the_place_of_the_record_is_left_alone(
    archive: RunArchive, runs: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(record_json(record_of(IDS[1])))
    for run in IDS[:2]:
        (runs / run / "record.json").unlink()
    os.mkfifo(runs / IDS[0] / "record.json")
    (runs / IDS[1] / "record.json").symlink_to(secret)
    archive.put_away(IDS[:2])
    assert not list(runs.glob(".ended-*"))
    assert secret.exists()


def test_a_crash_between_writing_and_clearing_loses_nothing(
    archive: RunArchive, runs: Path
) -> None:
    """A process that is killed there leaves both; the next housekeeping clears the directory."""
    pid = os.fork()
    if not pid:
        archive._clear = lambda _: os.kill(os.getpid(), 9)  # type: ignore[method-assign]
        archive.put_away(IDS)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == 9
    anew = RunArchive(str(runs))
    assert (anew.ids(), anew.leftovers()) == (list(IDS), list(IDS))
    assert anew.weight(IDS) > 0
    anew.put_away(anew.leftovers())
    assert anew.leftovers() == []
    assert [anew.journal(run) for run in IDS] == [JOURNAL] * 3


def test_a_line_that_was_cut_short_costs_only_itself(archive: RunArchive, runs: Path) -> None:
    archive.put_away(IDS[:1])
    file = runs / ".ended-203001"
    with file.open("ab") as out:
        out.write(b"20300109000000-00000009 AXic")  # its writer was killed here
    archive.put_away(IDS[1:])
    assert archive.ids() == sorted([*IDS, "20300109000000-00000009"])
    assert archive.record("20300109000000-00000009") is None
    assert None not in [archive.record(run) for run in IDS]


def test_no_byte_that_is_changed_is_believed(archive: RunArchive, runs: Path) -> None:
    archive.put_away(IDS[2:])
    file = runs / ".ended-203002"
    text, known = file.read_bytes(), archive.record(IDS[2])
    for at in range(len(IDS[2]) + 1, len(text) - 4, 7):
        file.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
        assert RunArchive(str(runs)).record(IDS[2]) in (None, known)


def test_a_line_for_which_there_is_no_room_leaves_its_directory(
    archive: RunArchive, runs: Path
) -> None:
    """The kernel takes the first bytes of the line and no more, as a full disk does."""
    archive.put_away(IDS[:1])
    before = (runs / ".ended-203001").read_bytes()
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, len(before) + 10))
        archive.put_away(IDS[1:2])
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert RunArchive(str(runs)).leftovers() == list(IDS[1:])
    assert (runs / ".ended-203001").read_bytes() == before


def test_the_newest_line_counts_and_keeps_the_journal(archive: RunArchive, runs: Path) -> None:
    archive.put_away(IDS)
    record = record_of(IDS[0])
    learnt = record._replace(agent=record.agent._replace(conversation="c-2"))
    archive.write(learnt)
    assert not (runs / IDS[0]).exists()
    found = archive.record(IDS[0])
    assert found
    assert found.agent.conversation == "c-2"
    assert archive.journal(IDS[0]) == JOURNAL


def test_what_is_forgotten_is_gone_and_the_others_stay(archive: RunArchive, runs: Path) -> None:
    archive.put_away(IDS)
    assert archive.forget([IDS[0], IDS[2], "20300101000000-00000404"]) == ""
    assert (archive.ids(), archive.weight([IDS[0]])) == ([IDS[1]], 0)
    assert archive.record(IDS[1])
    assert not (runs / ".ended-203002").exists(), "a month without runs has no file"


def test_it_is_put_back_as_it_was(archive: RunArchive, runs: Path) -> None:
    before = archive.record(IDS[0])
    archive.put_away(IDS)
    assert archive.put_back(IDS[0])
    assert (runs / IDS[0] / "journal").read_bytes() == JOURNAL
    assert archive.record(IDS[0]) == before
    assert not archive.put_back("20300101000000-00000404")


def test_many_put_away_at_once(runs: Path) -> None:
    """Writers in threads and a forgetter: no line is torn, none is lost."""
    ids = [f"20300101000000-{number:08x}" for number in range(60)]
    gone = [f"20300101000000-{number:08x}" for number in range(1000, 1030)]
    for run in (*ids, *gone):
        make_directory(runs, run)
    RunArchive(str(runs)).put_away(gone)

    def put(part: list[str]) -> None:
        for run in part:
            RunArchive(str(runs)).put_away([run])

    def forget() -> None:
        for run in gone:
            RunArchive(str(runs)).forget([run])

    jobs = [threading.Thread(target=put, args=(ids[at::4],)) for at in range(4)]
    jobs.append(threading.Thread(target=forget))
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    anew = RunArchive(str(runs))
    assert anew.ids() == ids
    assert None not in [anew.record(run) for run in ids]


# -- packing ---------------------------------------------------------------------------------------


def test_what_was_packed_by_the_first_release_with_it_is_read() -> None:
    """The words never change: this text was packed when they were written down."""
    told = json.loads(unpacked(bytes.fromhex(FIRST)))
    assert told == {"agent": "luna", "proof": "proven", "screen": "ü"}


FIRST = "0178f97091b38243aa9a724af3127114d788c474788f522d00af9410b5"


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x02abc", b"\x01", b"\x01abc"])
def test_what_is_no_pack_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="unpacked"):
        unpacked(content)


def test_a_pack_that_was_cut_short_is_refused() -> None:
    whole = packed(b"x" * 1000)
    assert unpacked(whole) == b"x" * 1000
    for length in range(len(whole)):
        with pytest.raises(ValueError, match="unpacked"):
            unpacked(whole[:length])
