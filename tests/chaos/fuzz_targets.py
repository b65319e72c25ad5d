"""What is fuzzed with the help of coverage: readers of what others have written.

Each target takes any bytes and returns; what it may refuse with is caught here, and whatever else
it raises is a fault. test_fuzz_parsers.py runs each on made-up bytes and, where atheris is
installed, with fuzz_guided.py, which looks for bytes that reach new lines.
"""

import json
import os
import tempfile
from collections.abc import Callable

from quell import config
from quell.core.errors import BadConfig, BadRequest, QuellError
from quell.core.hookedit import installed, restored
from quell.core.hooks import PROGRAMS
from quell.core.jsontext import BadSettings
from quell.core.message import Letter, answer_from
from quell.core.receipt import receipt_from_json
from quell.core.redact import kept_screen
from quell.core.screens import asked, fingerprint
from quell.core.selector import Candidate, choose
from quell.core.signs import memory_from
from quell.core.turns import turn_of
from quell.faces.cli.invoke import _parameters  # pyright: ignore[reportPrivateUsage]
from quell.faces.commands import COMMANDS, spec_of
from quell.faces.commands.parameters import BadParameter, checked
from quell.mirrors.nodes import Malformed
from quell.mirrors.revising import Wish, document, updated
from quell.mirrors.splicing import Inseparable
from quell.processes.identity import parse_stat
from quell.processes.journal import read_journal


def stat(data: bytes) -> None:
    try:
        parse_stat(data)
    except ValueError:
        return


def journal(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as rundir:
        with open(os.path.join(rundir, "journal"), "wb") as file:
            file.write(data)
        found = read_journal(rundir)
    for process in (found.keeper, found.process, *found.kept_ids):
        assert process is None or 0 <= process.pid < 2**31
    assert abs(found.began) < 1e300


def registry(data: bytes) -> None:
    try:
        whole = document(data.decode("utf-8", "replace"))
        for session in whole.sessions:
            updated(whole, [Wish(session.name, {"status": "stopped"}, ())])
    except (Malformed, Inseparable):
        return


def command(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    if text.startswith("@") or text == "-" or "\0" in text:
        return  # a file, standard input, and what can be no argument
    try:
        params = _parameters((text,))
    except BadRequest:
        return
    for name in COMMANDS:
        try:
            checked(spec_of(f"orchestrator.{name}").parameters, params)
        except BadParameter:
            continue


def settings(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            config.load({"QUELL_CONFIG": file.name})
        except BadConfig:
            return


def hooks(data: bytes) -> None:
    for program in PROGRAMS.values():
        for path in program.files:
            try:
                with_ours = installed(program, path, data)
                without = restored(program, path, with_ours, None)
            except BadSettings:
                continue
            assert isinstance(without, bytes | None)


def receipt(data: bytes) -> None:
    try:
        found = receipt_from_json(json.loads(data))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return
    json.dumps(found.to_json())


def turns(data: bytes) -> None:
    for dialect in ("claude", "codex", "gemini", "opencode"):
        turn_of(dialect, data)


def letter(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for type in (Letter.SHUTDOWN_APPROVED, Letter.SHUTDOWN_REJECTED):
        try:
            answer_from(type, text)
        except QuellError:
            continue


def memory(data: bytes) -> None:
    try:
        parts = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(parts, dict):
        memory_from(parts)


def screen(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    kept_screen(text)
    fingerprint(text)
    asked(text)


def target(data: bytes) -> None:
    crowd = (
        Candidate("luna", "r1", pids=(4711,), tag="dev", pane="%1", session="work"),
        Candidate("nova", "r2", live=False, team="red"),
    )
    try:
        choose(data.decode("utf-8", "surrogateescape"), crowd)
    except QuellError:
        return


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one
    for one in (
        stat, journal, registry, command, settings, hooks, receipt, turns, letter, memory, screen,
        target,
    )
}  # fmt: skip
# A beginning for each, so that the search need not find the grammar first.
SEEDS: dict[str, tuple[bytes, ...]] = {
    "stat": (b"12 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n",),
    "journal": (
        b"keeper\t10\t100\tboot\t1\nborn\t11\t101\tboot\t2\t/leaf\ncause\tasked\t1.5\n",
        b"found\t11\t101\t0\tS\tagent\tsleep\nrung\tterm\t0\nexit\tsignal\t15\t20\t0.1\n",
        b"reaped\t11\tsignal\t15\nended\techild\t1700000000.0\n",
    ),
    "registry": (b"tmux_sessions:\n- name: luna\n  status: running\n  pane: {pid: 5}\n",),
    "command": (b'{"AGENT_ID": "luna", "GRACE_PERIOD": 5, "DRY_RUN": true}', b"AGENT_ID=luna"),
    "settings": (b'[kill]\ngrace = 2.0\n[children]\nkeep = ["x"]\n',),
    "hooks": (b'{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}', b"[hooks]\na = 1\n"),
    "receipt": (b'{"agent": "luna", "result": "ended", "pane": {"place": "x"}}',),
    "turns": (b'{"type": "user", "message": {"content": "x"}}\n',),
    "letter": (b'{"approved": false, "reason": "x"}',),
    "memory": (b'{"looked": [1, 2, 3, "boot"]}',),
    "screen": (b"\x1b[31mDo you want to proceed?\x1b[0m\nAPI_KEY=abcdef\n",),
    "target": (b"tag:dev", b"pid:4711", b"l*", b"%1", b"session:work"),
}
