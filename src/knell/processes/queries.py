"""What verbs may ask about processes: fulfils the port `Processes`."""

from typing import TYPE_CHECKING

from knell.processes.os import system

if TYPE_CHECKING:
    from knell.core.process import Ancestor
    from knell.processes.abilities import abilities
    from knell.processes.leftovers import foreign_leftovers
    from knell.processes.members import members
    from knell.processes.open_files import connected_from, open_files, written_files
    from knell.processes.table import all_processes, foreground, stamped
    from knell.processes.vitals import cpu_free_percent, memory_free_mb, traffic, usage, vitals

# These take long to load: __getattr__ does it when they are asked for.
__all__ = [
    "abilities", "all_processes", "connected_from", "cpu_free_percent", "foreground",
    "foreign_leftovers", "members", "memory_free_mb", "open_files", "stamped", "traffic", "usage",
    "vitals", "written_files",
]  # fmt: skip
_IN = {
    **dict.fromkeys(("all_processes", "foreground", "stamped"), "table"),
    **dict.fromkeys(("cpu_free_percent", "memory_free_mb", "traffic", "usage"), "vitals"),
    "foreign_leftovers": "leftovers",
    **dict.fromkeys(("connected_from", "written_files"), "open_files"),
}  # the others are in modules of their own names

me, identify, look, pids = system.me, system.identify, system.look, system.pids
command, argv, cwd, stamp = system.command_of, system.argv_of, system.cwd_of, system.stamp_of
variable, lineage, reads_terminal = system.variable_of, system.lineage, system.reads_terminal
cgroup, cgroup_run = system.cgroup_of, system.cgroup_run


def ancestors_of(pid: int | None = None) -> tuple[int, ...]:
    """Parent, grandparent, … of a process, or of ourselves, up to init."""
    line = system.line_of(system.my_number() if pid is None else pid)
    return tuple(one.ppid for one in line if one.ppid > 1)


ancestors = ancestors_of


def describe(pid: int) -> "Ancestor | None":
    stat = system.stat_of(pid)
    return system.ancestor(stat) if stat else None


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"knell.processes.{_IN.get(name, name)}"), name)
