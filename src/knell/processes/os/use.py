"""What processes use, by the module for this system: files, sockets, memory."""

from typing import TYPE_CHECKING

from knell.processes.os import system

if TYPE_CHECKING or system.LAYER == "linux":
    from knell.processes.os import linux_use as use
else:
    from knell.processes.os import portable_use as use

__all__ = ["use"]
