"""What is fuzzed with the help of coverage: readers of what others have written.

Each target takes any bytes and returns; what it may refuse with is caught here, and whatever else
it raises is a fault. test_fuzz_parsers.py runs each on made-up bytes and, where atheris is
installed, with fuzz_guided.py, which looks for bytes that reach new lines.
"""

import json
import os
import tempfile
from collections.abc import Callable

from knell import config
from knell.core.errors import BadConfig, BadParameter, BadRequest, KnellError
from knell.core.hooks.edit import installed, restored
from knell.core.hooks.settings_text import BadSettings
from knell.core.inputs import checked
from knell.core.receipt import receipt_from_json
from knell.core.redact import kept_screen
from knell.core.selector import Candidate, choose
from knell.core.shutdown import answer_from
from knell.core.stall.memory import memory_from
from knell.core.stall.screens import asked, fingerprint
from knell.core.stall.turns import turn_of
from knell.core.teams import MessageType
from knell.faces.cli.verbs.invoke import _parameters  # pyright: ignore[reportPrivateUsage]
from knell.life.orchestrator.invoke import COMMANDS, load_command
from knell.processes.journal import read_journal
from knell.processes.os.linux import Process
from knell.registry_file.document import RowChange, UnsafeEdit, parse, updated
from knell.registry_file.tree import Malformed
from known_kinds import HOOKS, TURNS


def stat(data: bytes) -> None:
    try:
        Process(data)
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
        whole = parse(data.decode("utf-8", "replace"))
        for session in whole.sessions:
            updated(whole, RowChange(session.name, {"status": "stopped"}))
    except (Malformed, UnsafeEdit):
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
            checked(load_command(f"orchestrator.{name}").inputs, params)
        except BadParameter:
            continue


def settings(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            config.load({"KNELL_CONFIG": file.name})
        except BadConfig:
            return


def hooks(data: bytes) -> None:
    for program in HOOKS.values():
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
    for read in TURNS.values():
        turn_of(read, data)


def message(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for type in (MessageType.SHUTDOWN_APPROVED, MessageType.SHUTDOWN_REJECTED):
        try:
            answer_from(type, text)
        except KnellError:
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
    except KnellError:
        return


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one
    for one in (
        stat, journal, registry, command, settings, hooks, receipt, turns, message, memory, screen,
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
    "message": (b'{"approved": false, "reason": "x"}',),
    "memory": (b'{"looked": [1, 2, 3, "boot"]}',),
    "screen": (b"\x1b[31mDo you want to proceed?\x1b[0m\nAPI_KEY=abcdef\n",),
    "target": (b"tag:dev", b"pid:4711", b"l*", b"%1", b"session:work"),
}
