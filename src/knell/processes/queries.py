"""What verbs may ask about processes: fulfils the port `Processes`."""

from typing import TYPE_CHECKING

from knell.processes.os import system

if TYPE_CHECKING:
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
ancestors = ancestors_of = system.ancestors_of
command, argv, cwd, stamp = system.command_of, system.argv_of, system.cwd_of, system.stamp_of
variable, describe, lineage = system.variable_of, system.describe, system.lineage
cgroup, cgroup_run = system.cgroup_of, system.cgroup_run


def reads_terminal(pid: int) -> bool:
    from knell.processes.os.linux_stdin import reads_terminal

    return reads_terminal(pid)


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"knell.processes.{_IN.get(name, name)}"), name)
