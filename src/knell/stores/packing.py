"""Makes records small: texts of one shape, compressed against words that all of them have.

What was packed stays readable for ever, so WORDS never changes: other words get another number.
"""

import zlib

LARGEST = 64 * 1024 * 1024  # bytes of what is unpacked

# The shape of a run's record, its receipt and its keeper's journal. Later words are found cheaper.
_WORDS = (
    b"keeper\t1\tborn\t/sys/fs/cgroup/unified/knell-\ncause\texit\ncause\tsignal\ncause\tasked\t"
    b"\nfound\t\t0\tS\tchild\t\t0\tS\tagent\t\nrung\tkill\t\nrung\tterm\t0\nreaped\t\texit\t0\n"
    b"reaped\t\tsignal\t9\nreaped\t\tsignal\t15\nexit\texit\t0\t\nexit\tsignal\t15\t\nusage\t"
    b"\t0.00\nended\techild\t17"
    b'{"agent": {"name": "", "kind": "claude", "kind": "codex", "kind": "command", "cwd": "/home/'
    b'", "args": ["--model", ""], "env": [], "place": "tmux", "place": "headless", "server": "", '
    b'"team": "", "tag": "", "role": "", "task": "", "keep": [], "conversation": "", "created_at":'
    b' "20-T:00:00.000+00:00", "restart": 0, "conversation_source": "told", "conversation_source":'
    b' "", "conversation_since": "", "conversation_root": "", "cut_off_after": 0}, "lost_env": [],'
    b' "run": {"id": "20", "agent": "", "host": "", "state": "ended", "place": {"name": "headless"'
    b', "pane": "", "server": "", "server_pid": 0, "session": "", "log": "/home/.local/state/knell'
    b'/runs/20/output.log"}, "started_at": "20", "parent": "", "keeper": "", "process": "", '
    b'"cgroup": "/sys/fs/cgroup/unified/knell-20", "owner": "", "ending": {"outcome": "completed",'
    b' "outcome": "failed", "outcome": "stopped", "outcome": "killed", "by": "watch", "by": '
    b'"operator", "reason": "user_request", "reason": "exit", "reason": "killed", "detail": "", '
    b'"exit_code": null, "exit_signal": 15, "tasks": "", "cleanup": ""}, "ended_at": "20", "rung":'
    b' "term", "task": "", "restarted_from": "", "attempt": 0, "heartbeat": "", "seal": ""}, '
    b'"token": "", "receipt": {"agent": "", "run": "20", "kind": "claude", "kind": "command", '
    b'"place": "headless", "by": "operator", "reason": "killed", "outcome": "killed", "result": '
    b'"ended", "pid": , "started_at": "20", "finished_at": "20", "duration_ms": 1, "proof": '
    b'"none_found", "proof": "proven", "rungs": [{"rung": "term", "at_ms": 5, "reached": true}, {'
    b'"rung": "kill", "at_ms": 0, "reached": false}], "processes": [{"pid": , "command": "sh -c ",'
    b' "via": "agent", "ended_by": "term"}, {"pid": , "command": "", "via": "child", "ended_by": '
    b'"kill"}], "survivors": [], "kept": [], "pane": {"place": "headless", "id": "", "closed": '
    b'true, "closed": null, "retry": ""}, "tasks": [], "worktree": "", "cleaning": {"session_dir":'
    b' "", "worktree": "", "state": "none", "why": "", "rescue": "", "quarantined": false, '
    b'"branch": "", "lock_removed": "", "failed": [], "warnings": [], "unseen": 0, "would": false,'
    b' "uncommitted": 0}, "conversation": {"id": "", "exists": true, "complete": true, "resume": '
    b'"claude --resume ", "exists": null, "complete": null, "resume": "", "source": "", "since": '
    b'"", "why": "a command keeps no conversation; resume starts it again", "purged": []}, '
    b'"screen": "", "detail": "", "code": null, "exit_code": 0, "exit_signal": null, "exit_code": '
    b'null, "exit_signal": 15, "max_rss_kb": , "cpu_seconds": 0.00, "warnings": [], "death": {'
    b'"how": "ended by itself", "how": "ended by knell", "sentence": "ended by knell: operator '
    b'asked (killed), SIGTERM, after  s", "exit_code": null, "signal": "SIGTERM", "sent_by": '
    b'"knell, for operator (killed)", "evidence": ["its keeper saw SIGTERM"], "suspects": [], '
    b'"left": [], "seconds": , "max_rss_kb": , "cpu_seconds": 0.00, "run_max_rss_kb": , '
    b'"run_cpu_seconds": 0.00}}}'
)
_NUMBERED = {1: _WORDS}  # by the first byte of what was packed
_NEWEST = 1


def packed(text: bytes) -> bytes:
    press = zlib.compressobj(9, zdict=_NUMBERED[_NEWEST])
    return bytes((_NEWEST,)) + press.compress(text) + press.flush()


def unpacked(content: bytes) -> bytes:
    """ValueError for what `packed` did not make, or what was damaged since."""
    try:
        press = zlib.decompressobj(zdict=_NUMBERED[content[0]])
        text = press.decompress(content[1:], LARGEST)
    except (zlib.error, KeyError, IndexError) as error:
        raise ValueError(f"cannot be unpacked: {error}") from error
    if not press.eof:
        raise ValueError("cannot be unpacked: it is cut short")
    return text
