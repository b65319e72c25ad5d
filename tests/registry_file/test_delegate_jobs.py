"""The registry of delegated jobs learns what became of the agent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mirror_samples import NOW, Registry

from knell.core.errors import RegistryFailed

Racer = Callable[..., Any]

RECORD = {
    "schema_version": 1,
    "job_id": "job-1",
    "status": "running",
    "created_at": "2026-06-17T10:00:00Z",
    "updated_at": "2026-06-17T10:00:00Z",
    "prompt": "고양이 and more",
    "broker": {"host": "h", "password": "p"},
    "last_seq": 3,
    "auth_token": "t",
    "mine": [1, None],
}


class Jobs:
    """`.mam/jobs` of a project with one job."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.root = registry.file.parent.parent
        self.folder = self.root / ".mam" / "jobs"
        self.folder.mkdir(parents=True)
        self.file = self.folder / "job-1.json"
        self.log = self.folder / "job-1.events.log"
        self.put()

    def put(self, **changes: object) -> None:
        text = json.dumps({**RECORD, **changes}, indent=2, ensure_ascii=False)
        self.file.write_text(text + "\n")
        self.file.chmod(0o644)

    def publish(self, event: str, detail: str = "", **data: object) -> None:
        self.registry.publish("job-1", event, detail, data)

    @property
    def record(self) -> dict[str, Any]:
        return json.loads(self.file.read_text())

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def jobs(registry: Registry) -> Jobs:
    return Jobs(registry)


def test_M36_progress_is_appended_and_leaves_the_status(jobs: Jobs) -> None:
    jobs.publish("progress", "terminating")
    assert jobs.events == [
        {
            "schema_version": 1,
            "seq": 4,
            "job_id": "job-1",
            "event": "progress",
            "timestamp": NOW,
            "detail": "terminating",
            "data": {},
        }
    ]
    assert jobs.record == {**RECORD, "last_seq": 4, "updated_at": NOW}
    assert list(jobs.record) == list(RECORD)


def test_M9_what_else_is_in_the_job_stays_as_it_was_written(jobs: Jobs) -> None:
    before = jobs.file.read_text()
    jobs.publish("progress", "terminating")
    after = before.replace('"last_seq": 3', '"last_seq": 4')
    assert jobs.file.read_text() == after.replace(
        '"updated_at": "2026-06-17T10:00:00Z"', f'"updated_at": "{NOW}"'
    )


@pytest.mark.parametrize("outcome", ["terminated", "stopped"])
@pytest.mark.parametrize("status", ["pending", "running"])
def test_C8_M41_a_job_whose_agent_was_ended_is_cancelled(
    jobs: Jobs, status: str, outcome: str
) -> None:
    jobs.put(status=status)
    jobs.publish("completed", "killed", outcome=outcome)
    assert jobs.record["status"] == "cancelled"
    assert [(e["event"], e["data"]) for e in jobs.events] == [("completed", {"outcome": outcome})]


@pytest.mark.parametrize("status", ["completed", "error", "cancelled"])
@pytest.mark.parametrize("event", ["completed", "error", "started", "progress"])
def test_C8_a_job_that_is_over_stays_as_it_ended(jobs: Jobs, status: str, event: str) -> None:
    jobs.put(status=status)
    jobs.publish(event, outcome="terminated")
    assert jobs.record["status"] == status
    assert jobs.record["last_seq"] == 4


def test_C8_a_job_whose_agent_finished_is_completed(jobs: Jobs) -> None:
    jobs.publish("completed")
    assert jobs.record["status"] == "completed"


def test_M36_numbers_go_on_after_a_crash_between_log_and_record(jobs: Jobs) -> None:
    jobs.log.write_text('{"seq": 8}\n{"seq": 9}\nno json\n{"seq": tor')
    jobs.publish("progress", "terminating")
    lines = jobs.log.read_text().splitlines()
    assert lines[:4] == ['{"seq": 8}', '{"seq": 9}', "no json", '{"seq": tor']
    assert json.loads(lines[4])["seq"] == jobs.record["last_seq"] == 10


@pytest.mark.timeout(240)
def test_M36_ten_writers_number_their_events_without_gap(jobs: Jobs, racer: Racer) -> None:
    racers = [racer("publish", jobs.registry.path, "job-1") for _ in range(10)]
    for one in racers:
        one.go()
    assert [one.end() for one in racers] == [("done", 0)] * 10
    assert [event["seq"] for event in jobs.events] == list(range(4, 54))
    assert jobs.record["last_seq"] == 53


def test_M36_the_files_are_private(jobs: Jobs) -> None:
    jobs.publish("progress")
    for path in jobs.folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_M36_the_audit_copy_is_kept_only_where_there_is_a_place(jobs: Jobs) -> None:
    jobs.publish("progress", "one")
    audit = jobs.root / "delegate_job_logs" / "job-1"
    assert not audit.exists()
    audit.mkdir(parents=True)
    jobs.publish("progress", "two")
    assert (audit / "events.ndjson").read_text() == jobs.log.read_text().splitlines()[1] + "\n"


@pytest.mark.parametrize(
    ("detail", "kept"),
    [
        ("line\nof\ttwo\x1b[0m\r\n", "line of two [0m"),
        ("wrote /home/me/.ssh/id and ~/x, ../y", "wrote [path] and [path] [path]"),
        ("and/or 1/2", "and/or 1/2"),
        ("with token=abcdefgh12345", "with token=[redacted]"),
        ("x" * 500, "x" * 200),
        ("\0", ""),
    ],
)
def test_M36_a_detail_is_one_short_line_without_paths_and_keys(
    jobs: Jobs, detail: str, kept: str
) -> None:
    jobs.publish("progress", detail)
    assert jobs.events[0]["detail"] == kept


# -- refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "job", ["", ".", "..", "../job-1", "a/b", "job-1.json", "/etc/passwd", "x\0", "a b", "j" * 200]
)
def test_M56_a_hostile_id_reaches_no_file(jobs: Jobs, job: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RegistryFailed, match="no job's id"):
        jobs.registry.publish(job, "progress", "x", {})
    assert sorted(tmp_path.rglob("*")) == before


def test_M56_a_job_that_is_not_there_is_not_made(jobs: Jobs) -> None:
    with pytest.raises(RegistryFailed, match="there is no job") as raised:
        jobs.registry.publish("job-2", "progress", "x", {})
    assert "delegate_job_id" in raised.value.hint
    assert sorted(jobs.folder.iterdir()) == [jobs.file]


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"last_seq": "3"}', b'{"last_seq": true}', b"\xff", b"[" * 100_000],
)
def test_M56_a_job_that_cannot_be_read_is_left_alone(jobs: Jobs, content: bytes) -> None:
    jobs.file.write_bytes(content)
    with pytest.raises(RegistryFailed, match=r"job-1\.json"):
        jobs.publish("progress")
    assert jobs.file.read_bytes() == content
    assert not jobs.log.exists()


def test_M56_an_event_that_is_none_is_refused(jobs: Jobs) -> None:
    with pytest.raises(RegistryFailed, match="no event of a job"):
        jobs.publish("killed")
    assert not jobs.log.exists()


@pytest.mark.parametrize("name", ["job-1.json", "job-1.events.log", "job-1.lock"])
def test_M56_links_in_the_jobs_folder_are_not_followed(
    jobs: Jobs, name: str, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("{}")
    (jobs.folder / name).unlink(missing_ok=True)
    (jobs.folder / name).symlink_to(victim)
    with pytest.raises(RegistryFailed):
        jobs.publish("progress")
    assert victim.read_text() == "{}"


def test_M36_a_registry_outside_of_a_hermes_folder_has_its_jobs_beside_it(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "sessions.yaml")
    (tmp_path / ".mam" / "jobs").mkdir(parents=True)
    (tmp_path / ".mam" / "jobs" / "j.json").write_text("{}")
    registry.publish("j", "progress", "x", {})
    assert json.loads((tmp_path / ".mam" / "jobs" / "j.json").read_text())["last_seq"] == 1
