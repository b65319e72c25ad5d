"""A cgroup of its own for each run, where one can be made: an atomic kill and a second proof.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os

from look import read


def make(run):
    """A new leaf beside the keeper's own cgroup, or nothing where that is not allowed."""
    parent = own()
    if not parent or not os.access(parent, os.W_OK):
        return ""
    path = parent + "/quell-" + run
    try:
        os.mkdir(path)
    except OSError:
        return ""
    if os.path.exists(path + "/cgroup.kill"):
        return path
    remove(path)
    return ""


def own():
    """The directory of this process's cgroup v2; hybrid machines mount it elsewhere."""
    mine = ""
    for line in read("/proc/self/cgroup").decode().splitlines():
        if line.startswith("0::"):
            mine = line[3:].rstrip("/")
    if os.path.basename(mine).startswith("quell-"):
        mine = os.path.dirname(mine).rstrip("/")  # a run within a run is a sibling: killed apart
    for line in read("/proc/self/mountinfo").decode().splitlines():
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup2 "):
            return left.split()[4] + mine
    return ""


def enter(path):
    if path:
        try:
            with open(path + "/cgroup.procs", "wb", 0) as file:
                file.write(b"0")
        except OSError:
            pass  # not delegated to us: the keeper's own proof is enough


def kill(path, found):
    """One atomic kill, if the processes in the cgroup are exactly `found`; else False."""
    if not path or not found:
        return False
    inside = {int(pid) for pid in read(path + "/cgroup.procs").split()}
    if inside != {process.pid for process in found}:
        return False
    try:
        with open(path + "/cgroup.kill", "wb", 0) as file:
            file.write(b"1")
    except OSError:
        return False
    return True


def remove(path):
    if path:
        try:
            os.rmdir(path)
        except OSError:
            pass  # a spared process lives in it
