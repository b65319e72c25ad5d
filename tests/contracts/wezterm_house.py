"""A stand-in for wezterm with real panes: a small server that owns ptys, and its command line.

It takes exactly the documented commands and refuses every other. As a real wezterm with
`exit_behavior = "Hold"`, it keeps a pane whose program has ended until it is told to kill it.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from house import House, eventually

COMMAND = """#!{python} -IS
import json, os, socket, sys

with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.environ["WEZTERM_UNIX_SOCKET"])
    server.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
    code, text = json.loads(server.makefile().readline())
(sys.stderr if code else sys.stdout).write(text)
sys.exit(code)
"""

SERVER = """
import json, os, select, signal, socket, sys

path, log = sys.argv[1:]
signal.alarm(1200)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)
panes, drained, born = {}, set(), 0

def do(argv):
    global born
    with open(log, "a") as file: file.write(json.dumps(argv) + "\\n")
    if argv[:1] == ["cli"]: argv = [part for part in argv[1:] if part != "--no-auto-start"]
    match argv:
        case ["list", "--format", "json"]:
            rows = [dict(pane_id=n, tty_name=tty, title="") for n, (_, tty) in panes.items()]
            return 0, json.dumps(rows)
        case ["spawn", "--new-window", "--cwd", cwd, "--", program, *arguments]:
            master, slave = os.openpty()
            if not os.fork():
                os.close(master)
                os.login_tty(slave)
                os.chdir(cwd)
                os.execvp(program, [program, *arguments])
            panes[born] = (master, os.ttyname(slave))
            os.close(slave)
            born += 1
            return 0, str(born - 1) + "\\n"
        case ["get-text", "--pane-id", number, "--start-line", "-200"] if int(number) in panes:
            return 0, "the last screen\\n"
        case ["kill-pane", "--pane-id", number] if int(number) in panes:
            master, _ = panes.pop(int(number))
            os.close(master)
            return 0, ""
    return 1, "unexpected: " + repr(argv)

while True:
    masters = [master for master, _ in panes.values() if master not in drained]
    for ready in select.select([listener, *masters], [], [])[0]:
        if ready is listener:
            connection, _ = listener.accept()
            line = connection.makefile().readline()
            if line: connection.sendall(json.dumps(do(json.loads(line))).encode() + b"\\n")
            connection.close()
            continue
        try:
            if not os.read(ready, 65536): drained.add(ready)
        except OSError:
            drained.add(ready)  # everybody has left that tty; the pane is held
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError:
        pass
"""


class WeztermHouse:
    def __init__(self, house: House) -> None:
        self.socket = str(house.root / "wezterm")
        self.log = house.root / "wezterm.log"

    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@contextlib.contextmanager
def wezterm_in(house: House) -> Iterator[WeztermHouse]:
    """`wezterm` is on the house's PATH from here on."""
    programs = house.root / "bin"
    programs.mkdir()
    command = programs / "wezterm"
    command.write_text(COMMAND.format(python=sys.executable))
    command.chmod(0o755)
    house.env["PATH"] = f"{programs}:{house.env['PATH']}"
    wezterm = WeztermHouse(house)
    argv = [sys.executable, "-IS", "-c", SERVER, wezterm.socket, str(wezterm.log)]
    server = subprocess.Popen(argv, env={"PATH": os.environ["PATH"]})
    try:
        eventually(Path(wezterm.socket).exists)
        yield wezterm
    finally:
        server.kill()
        server.wait()
