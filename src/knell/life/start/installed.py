"""Refuses a start whose program is nowhere on PATH, and says how to get the program."""

import os
from collections.abc import Mapping

from knell.core.agent import Agent
from knell.core.errors import LaunchFailed
from knell.core.kind import Kind


def check_installed(kind: Kind, agent: Agent, env: Mapping[str, str]) -> None:
    """Nothing is recorded of it: there is no run whose failure could be told better later."""
    path = dict(agent.env).get("PATH", env.get("PATH", os.defpath))
    folders = [kind.program] if "/" in kind.program else path.split(":")
    if not kind.program or not all(map(os.path.isabs, folders)):
        return  # relative to a directory that is not ours: the start itself will tell
    files = [os.path.join(folder, kind.program) for folder in folders]
    if not any(map(os.path.lexists, files)):
        where = "there" if "/" in kind.program else "on PATH"
        raise LaunchFailed(f"{kind.program} is not {where}", kind.install)
