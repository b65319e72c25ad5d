"""Doubts about who asks. It may be an agent of another KNELL_HOME, which any program can set; or
a command that an agent had a terminal program start, and that no person typed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from knell.core.authority import OPERATOR, UNPROVEN, Caller
from knell.core.process import KEEPER, MULTIPLEXERS
from knell.life.base.members import starters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knell.core.ports.world import World
    from knell.core.process import Ancestor
    from knell.core.run import Run

ELSEWHERE = "an agent of another KNELL_HOME"
SHELLS = (
    *("sh", "bash", "rbash", "dash", "ash", "zsh", "fish", "ksh", "mksh", "yash", "tcsh", "csh"),
    *("nu", "xonsh", "elvish", "pwsh"),
)
RC_FILES = ("--rcfile", "--init-file")  # editors start their shells with these


# -- another KNELL_HOME -------------------------------------------------------------------------


def run_elsewhere(world: World, chain: Sequence[Ancestor]) -> str:
    """The run in whose keeper, cgroup or stamp this process is, though no live run of this
    KNELL_HOME is it; empty for a person."""
    keeper = next((one.pid for one in chain if one.name == KEEPER), 0)
    if not keeper:
        return world.processes.cgroup_run() or world.env.get("KNELL_RUN", "")
    words = world.processes.argv(keeper)
    rundir = next((word for word in words if os.path.dirname(word).endswith("/runs")), "")
    return os.path.basename(rundir) or UNPROVEN


def caller_elsewhere(world: World, run: str) -> Caller:
    """An unproven caller, unless its run started every agent of this KNELL_HOME, as an agent does
    that tries knell out: then it is the operator here."""
    for one in world.store.runs.newest().values():
        if run not in starters_of(world, one):
            doubt = f"this is {ELSEWHERE}, and '{one.agent}' is not its own"
            return Caller(UNPROVEN, doubt=doubt)
    return Caller(OPERATOR, elsewhere=run)


def is_below_keeper(world: World, pid: int) -> bool:
    """Whether that process was started below the keeper that this one is below."""
    own = [one.pid for one in world.processes.lineage() if one.name == KEEPER]
    return bool(own) and own[0] in world.processes.ancestors_of(pid)


def older_agent(world: World, than: Ancestor) -> str:
    """An agent, of whatever KNELL_HOME, that is older than that process; in words."""
    seen = (world.processes.describe(one.process.pid) for one in world.processes.all_processes())
    keepers = (one for one in seen if one and one.name == KEEPER and one.start <= than.start)
    return ELSEWHERE if any(keepers) else ""


# -- what a terminal program started -----------------------------------------------------------


def opened_by_command(world: World, here: Sequence[Run], chain: Sequence[Ancestor]) -> str:
    """Whether this is a command that an agent may have given to a terminal, as `tmux new-window
    COMMAND` does. Below a shell that reads what is typed it is a person's; so is all that is older
    than the agents."""
    names = [one.name for one in chain]
    server = next((number for number, name in enumerate(names) if name in MULTIPLEXERS), 0)
    if not server:
        return ""
    first = chain[server - 1]
    if any(_is_typed_to(world, one) for one in chain[1:server]):
        return ""
    older = [run for run in here if run.process and run.process.start <= first.start]
    agent = f"'{older[0].agent}'" if older else older_agent(world, first)
    terminal = names[server].partition(":")[0]
    why = f"{terminal} started it as a command, and {agent} may have asked for that"
    return why if agent else ""


def _is_typed_to(world: World, one: Ancestor, files: Sequence[str] = ()) -> bool:
    """Whether it is a shell that reads what is typed, and no pipe, file or here-document."""
    is_shell = _is_shell(world.processes.argv(one.pid), files)
    return is_shell and world.processes.reads_terminal(one.pid)


def _is_shell(argv: Sequence[str], files: Sequence[str] = ()) -> bool:
    """Whether this is a shell without a command and without a script. `files`: options for files
    that it may be told to read first; an agent can name one too."""
    shell = os.path.basename(argv[0]).removeprefix("-") if argv else ""
    if tuple(argv[1:2]) == ("-c",):  # as tmux starts it: sh -c zsh
        return shell in SHELLS and _is_shell(" ".join(argv[2:]).split())
    words = [word for word, last in zip(argv[1:], argv, strict=False) if last not in files]
    return shell in SHELLS and all(word.startswith("-") for word in words) and "-c" not in words


def left_by_tmux(world: World, older: Run, chain: Sequence[Ancestor], top: Ancestor) -> str:
    """Whether tmux may have started the orphan for an agent, by `run-shell`: it knows that server
    by a variable. So does a terminal that a person started there, but in it there is a shell."""
    branch = chain[: chain.index(top) + 1]
    if not any(world.processes.variable(one.pid, "TMUX") for one in branch):
        return ""
    if any(_is_typed_to(world, one, RC_FILES) for one in branch[1:]):
        return ""
    return f"its parents are gone, and '{older.agent}' may have had tmux start it"
