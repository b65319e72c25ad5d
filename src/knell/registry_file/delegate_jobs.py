"""The registry of delegated jobs, `.mam/jobs`: what became of the agent that has the job."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any, cast

from knell import files
from knell.core.errors import RegistryFailed
from knell.core.redact import redacted
from knell.registry_file.access import UNTOUCHED, content, translated

SCHEMA = 1
EVENTS = ("started", "permission_required", "progress", "completed", "error")
OVER = ("completed", "error", "cancelled")
CUT_SHORT = ("terminated", "stopped")  # outcomes of an agent that was ended before its job was
DETAIL_LIMIT = 200

_JOB = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PATH = re.compile(r"(?<![\w/.])(?:~|\.{1,2})?/\S*")
_TAIL = 65_536  # bytes of the log in which its last number is looked for


def publish(root: str, job: str, event: str, detail: str, data: Mapping[str, Any], at: str) -> None:
    """Append the event and bring the job's file up to date; RegistryFailed if there is none."""
    if not _JOB.fullmatch(job):
        raise RegistryFailed(f"{job[:80]!r} is no job's id", "an id has letters, digits, - and _")
    if event not in EVENTS:
        raise RegistryFailed(f"'{event}' is no event of a job", f"use {', '.join(EVENTS)}")
    stem = os.path.join(root, ".mam", "jobs", job)
    path = stem + ".json"
    if content(path, follow=False) is None:
        raise RegistryFailed(f"there is no job {path}", "the session's delegate_job_id is stale")
    with translated(path), files.locked(stem + ".lock"):
        was = content(path, follow=False)
        record = _record(path, was)
        os.chmod(path, 0o600)  # it holds the broker's password
        seq = max(_number(path, record), _last_in_log(stem + ".events.log")) + 1
        line = json.dumps(
            {
                "schema_version": SCHEMA,
                "seq": seq,
                "job_id": job,
                "event": event,
                "timestamp": at,
                "detail": shortened(detail),
                "data": dict(data),
            }
        )
        # The log first: if we die here, the next event's number is taken from it.
        with translated(stem + ".events.log"):
            files.append_line(stem + ".events.log", line)
        record |= {"last_seq": seq, "updated_at": at, "status": _status(record, event, data)}
        files.replace(path, was, _encoded(record, was or b""))
    audit = os.path.join(root, "delegate_job_logs", job)
    if os.path.isdir(audit):
        with translated(audit):
            files.append_line(os.path.join(audit, "events.ndjson"), line)


def _status(record: Mapping[str, Any], event: str, data: Mapping[str, Any]) -> str:
    """A job that is over stays as it ended; one whose agent was ended is not completed."""
    status = str(record.get("status", "pending"))
    if status in OVER:
        return status
    if event == "completed":
        return "cancelled" if data.get("outcome") in CUT_SHORT else "completed"
    return {"started": "running", "error": "error"}.get(event, status)


def shortened(detail: str) -> str:
    """One line without paths and keys: others read it, over a broker too."""
    line = "".join(c if c.isprintable() else " " for c in detail)
    return _PATH.sub("[path]", redacted(" ".join(line.split())))[:DETAIL_LIMIT]


def _record(path: str, data: bytes | None) -> dict[str, Any]:
    try:
        record = json.loads(data or b"")
    except (ValueError, RecursionError) as error:
        raise RegistryFailed(f"{path} is not JSON ({error})", UNTOUCHED) from error
    if not isinstance(record, dict):
        raise RegistryFailed(f"{path} holds no job", UNTOUCHED)
    return cast("dict[str, Any]", record)


def _encoded(record: Mapping[str, Any], was: bytes) -> bytes:
    """Laid out as it was before."""
    indent = 2 if b"\n" in was.strip() else None
    text = json.dumps(record, indent=indent, ensure_ascii=was.isascii()) + "\n"
    return text.encode("utf-8", "backslashreplace")  # half a surrogate stays the escape it was


def _number(path: str, record: Mapping[str, Any]) -> int:
    last = record.get("last_seq", 0)
    if type(last) is int and last >= 0:
        return last
    raise RegistryFailed(f"the last_seq of {path} is no number", UNTOUCHED)


def _last_in_log(path: str) -> int:
    """The highest number among the log's last lines; a line that a crash cut short has none."""
    with translated(path):
        try:
            lines = files.read_part(path, _TAIL, end=True, follow=False).splitlines()
        except FileNotFoundError:
            return 0
    numbers = [0]
    for line in lines:
        try:
            seq = json.loads(line)["seq"]
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
        if type(seq) is int:
            numbers.append(seq)
    return max(numbers)
