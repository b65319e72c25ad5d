"""Writes, or removes, the file by which the machine starts the watch at login."""

import os
import sys
from typing import NamedTuple

from quell.core.errors import Refused
from quell.core.ports import World
from quell.core.service import launchd_agent, systemd_unit
from quell.life import hookfiles
from quell.life.watch import Watch, WatchWish

PASSED_ON = ("QUELL_HOME", "QUELL_CONFIG", "QUELL_HOST", "PATH", "TMUX_TMPDIR")


class Service(NamedTuple):
    path: str
    text: str
    next: tuple[str, ...]  # what to type for it to take effect


def service(world: World, wish: WatchWish, *, install: bool, dry_run: bool) -> Service:
    """A wish that would be refused at every start is refused now."""
    Watch(world, wish)
    found = _for_this_system(world, wish, install=install)
    if dry_run:
        return found
    try:
        if install:
            _write(found)
        else:
            _remove(found)
    except hookfiles.SettingsFailed as error:
        hint = error.hint or "move it aside, or write the file by hand: --dry-run shows it"
        raise hookfiles.SettingsFailed(f"{found.path}: {error}", hint) from error
    return found


def _write(found: Service) -> None:
    there = hookfiles.look(found.path)
    hookfiles.make_directory(os.path.dirname(found.path))
    hookfiles.replace(there, found.text.encode(), lambda _: None)


def _remove(found: Service) -> None:
    there = hookfiles.look(found.path)
    if there.content is None:
        raise Refused(f"{found.path} is not there", "quell watch --install writes it")
    hookfiles.remove(there)


def _for_this_system(world: World, wish: WatchWish, *, install: bool) -> Service:
    argv, home = _argv(wish), world.env.get("HOME", "/")
    env = {name: world.env[name] for name in PASSED_ON if world.env.get(name)}
    if sys.platform == "darwin":
        path = os.path.join(home, "Library", "LaunchAgents", "quell.watch.plist")
        verb = "load" if install else "unload"
        return Service(path, launchd_agent(argv, env), (f"launchctl {verb} {path}",))
    config = world.env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    path = os.path.join(config, "systemd", "user", "quell-watch.service")
    word = "enable" if install else "disable"
    then = ("systemctl --user daemon-reload", f"systemctl --user {word} --now quell-watch")
    return Service(path, systemd_unit(argv, env), then if install else tuple(reversed(then)))


def _argv(wish: WatchWish) -> list[str]:
    argv = [sys.executable, "-m", "quell", "watch"]
    options = (
        ("--stalled", wish.policy),
        ("--interval", wish.interval),
        ("--older-than", wish.older_than),
        *(("--policy", rule) for rule in wish.rules),
    )
    return argv + [part for name, value in options if value for part in (name, str(value))]
