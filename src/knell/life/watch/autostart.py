"""Starts the watch in the background, or at login by a file that the machine reads; and ends it."""

import os
import plistlib
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from knell.core.authority import Deed
from knell.core.codes import Code
from knell.core.environment import without_caller
from knell.core.errors import FileFailed, Refused
from knell.core.ladder import KILL
from knell.core.ports.endings import Callbacks
from knell.core.ports.processes import Target
from knell.core.ports.world import World
from knell.core.process import Alive, ProcessId
from knell.life.base.authority import check_operator
from knell.life.base.members import protected_now
from knell.life.watch.loop import WatchLoop, WatchWish

PASSED_ON = ("KNELL_HOME", "KNELL_CONFIG", "KNELL_HOST", "PATH", "TMUX_TMPDIR")
PATIENCE = 20.0  # seconds in which a watch that was started makes its first round
STEP = 0.1

SYSTEMD = """\
[Unit]
Description=knell watches over AI coding agents

[Service]
ExecStart={command}
{environment}Restart=on-failure
RestartSec=5
# Agents that the watch starts again must not die with it.
KillMode=process

[Install]
WantedBy=default.target
"""


class Service(NamedTuple):
    path: str
    text: str
    next: tuple[str, ...]  # what to type for it to take effect


def set_autostart(world: World, wish: WatchWish, *, install: bool, dry_run: bool) -> Service:
    """A wish that would be refused at every start is refused now."""
    WatchLoop(world, wish)
    found = _for_this_system(world, wish, install=install)
    if dry_run:
        return found
    check_operator(world, Deed.WATCH)
    try:
        there = world.disk.read_whole(found.path)
        if install:
            world.disk.make_directory(os.path.dirname(there.path))
            with world.disk.lock(os.path.join(world.home, "autostart.lock")):
                world.disk.replace(there, found.text.encode())
        elif there.content is not None:
            world.disk.remove(there)
    except FileFailed as error:
        hint = error.hint or "move it aside, or write the file by hand: --dry-run shows it"
        raise FileFailed(f"{found.path}: {error}", hint) from error
    if not install and there.content is None:
        hint = "knell watch --install writes it"
        raise Refused(f"{found.path} is not there", hint, code=Code.FILE_FAILED)
    return found


def _for_this_system(world: World, wish: WatchWish, *, install: bool) -> Service:
    argv, home = _argv(wish), world.env.get("HOME", "/")
    env = {name: world.env[name] for name in PASSED_ON if world.env.get(name)}
    if sys.platform == "darwin":
        path = os.path.join(home, "Library", "LaunchAgents", "knell.watch.plist")
        verb = "load" if install else "unload"
        return Service(path, launchd_agent(argv, env), (f"launchctl {verb} {path}",))
    config = world.env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    path = os.path.join(config, "systemd", "user", "knell-watch.service")
    word = "enable" if install else "disable"
    then = ("systemctl --user daemon-reload", f"systemctl --user {word} --now knell-watch")
    return Service(path, systemd_unit(argv, env), then if install else tuple(reversed(then)))


def _argv(wish: WatchWish) -> list[str]:
    argv = [sys.executable, "-P", "-m", "knell", "watch"]
    options = (
        ("--stalled", wish.policy),
        ("--interval", wish.interval),
        ("--older-than", wish.older_than),
        *(("--policy", rule) for rule in wish.rules),
    )
    return argv + [part for name, value in options if value for part in (name, str(value))]


# -- the text of the file ----------------------------------------------------------------------


def systemd_unit(argv: Sequence[str], env: Mapping[str, str]) -> str:
    environment = "".join(f"Environment={_quoted(f'{name}={env[name]}')}\n" for name in sorted(env))
    return SYSTEMD.format(command=" ".join(map(_quoted, argv)), environment=environment)


def _quoted(word: str) -> str:
    """systemd expands % and $ and reads C escapes inside quotes."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + text.replace("%", "%%").replace("$", "$$") + '"'


def launchd_agent(argv: Sequence[str], env: Mapping[str, str]) -> str:
    agent = {
        "Label": "knell.watch",
        "ProgramArguments": list(argv),
        "EnvironmentVariables": dict(env),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "AbandonProcessGroup": True,  # agents that the watch starts again must not die with it
    }
    return plistlib.dumps(agent).decode()


# -- the watch that runs now -------------------------------------------------------------------


class WatchSwitch(NamedTuple):
    on: bool
    pid: int


def switch_watch(world: World, *, on: bool) -> WatchSwitch:
    """Only the operator may: a watch ends stalled agents, and starts others again."""
    check_operator(world, Deed.WATCH)
    return _start(world) if on else _end(world)


def _start(world: World) -> WatchSwitch:
    if live_watch(world) is None:
        # Without the terminal in which it was asked for: the watch is not of it.
        env = {name: text for name, text in world.env.items() if name not in ("TMUX", "TMUX_PANE")}
        world.keepers.run_detached(("watch",), without_caller(env))
    for _ in range(round(PATIENCE / STEP)):
        if found := live_watch(world):
            return WatchSwitch(on=True, pid=found.pid)
        world.wait([], STEP)
    raise Refused(
        "the watch was started, and has made no round yet",
        "knell watch --once says what hinders it",
        code=Code.WATCH_OFF,
    )


def _end(world: World) -> WatchSwitch:
    found = live_watch(world)
    if found is None:
        raise Refused("no watch runs on this host", "knell watch", code=Code.WATCH_OFF)
    target = Target("watch", "", None, found, "", KILL, alone=True)
    report = world.endings.end([target], Callbacks(lambda: protected_now(world)))["watch"]
    if report.survivors:
        why = f"PID {found.pid}: {report.survivors[0].why}"
        raise Refused(f"the watch could not be ended: {why}", code=Code.NOT_ALLOWED)
    return WatchSwitch(on=False, pid=found.pid)


def live_watch(world: World) -> ProcessId | None:
    """The process of the watch on this host, if it is seen to live."""
    found = world.store.watch.watcher(world.host)
    process = found.process if found else None
    return process if process and isinstance(world.processes.look(process), Alive) else None
