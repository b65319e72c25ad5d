"""Which process is this, is it still that one, and a signal that can hit no other."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from house import House, alive, descendants, eventually
from knell.core.process import Alive, Gone, ProcessId, Unknown
from knell.processes.os import linux, proc, system
from knell.processes.queries import ancestors_of
from knell.processes.table import Table
from scenes import end, state_letter, stranger

names = st.binary(max_size=15).filter(lambda name: b"\0" not in name)
evil = st.one_of(names, st.sampled_from([b") S 1 1", b"(((", b")))", b"a\nb", b" ", b") Z", b"\n"]))


def stat_line(pid: int, name: bytes, start: int) -> bytes:
    """As the kernel writes it: 52 fields, the second in brackets and otherwise untouched."""
    rest = b"S 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 %d 26 27" % start
    return b"%d (%s) %s\n" % (pid, name, rest)


@pytest.fixture
def sleeper(house: House) -> Iterator[subprocess.Popen[bytes]]:
    process = house.process("sleep", "99")
    yield process
    process.kill()
    process.wait()


def known(pid: int) -> ProcessId:
    process = system.identify(pid)
    assert process
    return process


# -- /proc/PID/stat --------------------------------------------------------------------------------


@given(st.integers(1, 2**22), evil, st.integers(0, 2**40))
def test_a_name_cannot_forge_the_fields_behind_it(pid: int, name: bytes, start: int) -> None:
    stat = linux.Process(stat_line(pid, name, start))
    assert (stat.pid, stat.name, stat.state) == (pid, os.fsdecode(name), "S")
    assert (stat.ppid, stat.pgid, stat.sid, stat.tty, stat.start) == (7, 8, 9, 10, start)


RENAMED = """
import os
while name := os.read(0, 64):
    open("/proc/self/comm", "wb", 0).write(bytes.fromhex(name.decode()))
    os.write(1, b".")
"""


def test_a_real_process_of_any_name_is_read_by_knell_and_by_its_keeper() -> None:
    process = subprocess.Popen(
        ["python3", "-S", "-c", RENAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    pid = process.pid
    assert process.stdin
    assert process.stdout
    told, heard = process.stdin.fileno(), process.stdout.fileno()

    @settings(max_examples=60)
    @given(name=evil.filter(bool))
    def renamed(name: bytes) -> None:
        os.write(told, name.hex().encode())
        assert os.read(heard, 1) == b"."
        stat, kept = linux.stat_of(pid), proc.live_process(pid)
        assert stat
        assert os.fsencode(stat.name) == name
        assert (stat.ppid, stat.pgid, stat.sid) == (os.getpid(), os.getpgrp(), os.getsid(0))
        assert kept
        assert (kept.ppid, kept.pgid, kept.sid) == (stat.ppid, stat.pgid, stat.sid)
        assert (kept.start, kept.state in "RS") == (stat.start, True)
        assert Table().rows[pid].start == stat.start

    renamed()
    process.communicate()


# -- who it is -------------------------------------------------------------------------------------


def test_the_keeper_and_knell_write_down_the_same_identity(house: House) -> None:
    run = house.spawn(name="luna").run
    assert run.process
    assert run.keeper
    for process in (run.process, run.keeper):
        assert system.identify(process.pid) == process


def test_G1_a_pidfds_number_is_one_processs_for_ever(
    house: House, sleeper: subprocess.Popen[bytes]
) -> None:
    first, again = known(sleeper.pid), known(sleeper.pid)
    if not first.inode:
        pytest.skip("this kernel's pidfds carry no number of their own (Linux < 6.9)")
    assert first == again
    others = [house.process("true") for _ in range(5)]
    inodes = {known(other.pid).inode for other in others}
    for other in others:
        other.wait()
    assert len(inodes | {first.inode}) == 6


@pytest.mark.parametrize("pid", [-1, 0, 1, 2**22 + 1])
def test_G4_nothing_is_opened_under_a_number_that_is_no_agents(pid: int) -> None:
    stat = linux.stat_of(pid)
    process = ProcessId(pid, stat.start if stat else 0, linux.here())
    assert system.open_verified(process) is None


def test_nobody_has_a_number_that_is_free(sleeper: subprocess.Popen[bytes]) -> None:
    process = known(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    assert system.identify(sleeper.pid) is None
    assert linux.stat_of(sleeper.pid) is None
    assert system.look(process) == Gone("exited")
    assert system.open_verified(process) is None


# -- how it is -------------------------------------------------------------------------------------


def test_another_start_time_or_boot_is_another_process(sleeper: subprocess.Popen[bytes]) -> None:
    process = known(sleeper.pid)
    seen = system.look(process)
    assert isinstance(seen, Alive)
    assert seen.process == process
    other = process._replace(start=process.start - 1, inode=max(0, process.inode - 1))
    assert system.look(other) == Gone("reused")
    rebooted = process._replace(boot="0" * 36, start=process.start - 1)
    assert system.look(rebooted) == Gone("rebooted")
    assert isinstance(system.look(process._replace(boot="0" * 36)), Unknown)


def test_G5_a_zombie_is_dead_to_every_eye(sleeper: subprocess.Popen[bytes]) -> None:
    process = known(sleeper.pid)
    os.kill(sleeper.pid, signal.SIGKILL)
    eventually(lambda: state_letter(sleeper.pid) == "Z")
    fd = os.pidfd_open(sleeper.pid)
    assert linux.is_dead(fd)
    os.close(fd)
    assert system.look(process) == Gone("exited")
    assert proc.live_process(sleeper.pid) is None
    told = proc.identity(sleeper.pid)[:2]
    assert told == (process.pid, process.start)  # it is not reaped yet


LEFT = """
import ctypes, threading
threading.Thread(target=lambda: (tell(), time.sleep(99))).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_G5_one_whose_main_thread_has_left_is_alive_to_every_eye(house: House) -> None:
    pid, _ = stranger(house, LEFT)
    process = known(pid)
    eventually(lambda: state_letter(pid) == "Z")
    fd = os.pidfd_open(pid)
    assert not linux.is_dead(fd)
    os.close(fd)
    assert isinstance(system.look(process), Alive)
    assert proc.live_process(pid)
    assert alive(pid) is False  # the test's own eye is the simple one
    os.kill(pid, signal.SIGKILL)
    assert os.waitpid(pid, 0)[0] == pid


# -- signals ---------------------------------------------------------------------------------------


def test_G11_term_ends_one_that_is_stopped(sleeper: subprocess.Popen[bytes]) -> None:
    os.kill(sleeper.pid, signal.SIGSTOP)
    eventually(lambda: state_letter(sleeper.pid) == "T")
    fd = system.open_verified(known(sleeper.pid))
    assert fd is not None
    assert system.send(fd, signal.SIGTERM) == ""
    assert sleeper.wait(300) == -signal.SIGTERM
    assert system.send(fd, signal.SIGTERM) == ""  # gone already: no complaint
    os.close(fd)


def test_G1_the_keepers_hand_checks_who_it_is_too(house: House) -> None:
    echo = house.process("cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert echo.stdin
    assert echo.stdout
    process = proc.live_process(echo.pid)
    assert process
    process.start -= 1
    assert proc.send(process, signal.SIGKILL) == ""
    os.write(echo.stdin.fileno(), b"alive")
    assert os.read(echo.stdout.fileno(), 5) == b"alive"
    process.start += 1
    assert proc.send(process, signal.SIGKILL) == ""
    echo.communicate()
    assert echo.returncode == -signal.SIGKILL


# -- stamps and commands ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "stamp"),
    [
        ({"KNELL_RUN": "first", "A": "b"}, "first"),
        ({"A": "b", "KNELL_RUN": "middle", "C": "d"}, "middle"),
        ({"A": "b", "KNELL_RUN": ""}, ""),
        ({"NOT_KNELL_RUN": "no", "A": "KNELL_RUN=no"}, None),
        ({}, None),
    ],
)
def test_a_stamp_is_a_whole_variable(house: House, env: dict[str, str], stamp: str | None) -> None:
    pid = os.posix_spawn("/bin/sleep", ["sleep", "99"], env)
    eventually(lambda: b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes())
    assert system.stamp_of(pid) == stamp
    end(pid)
    os.waitpid(pid, 0)
    assert system.stamp_of(pid) is None


def test_a_command_is_one_printable_line(house: House) -> None:
    words = ["sleep", "99\n", "\x1b[31m", "\udc80", "ü" * 500]
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 99; :", *words], {})
    eventually(lambda: b"sleep 99; :" in Path(f"/proc/{pid}/cmdline").read_bytes())
    told = system.command_of(pid)
    assert told.isprintable()
    assert told.startswith("sh -c sleep 99; : sleep 99? ?[31m ? ü")
    assert len(told) == 400
    process = proc.live_process(pid)
    assert process
    assert process.command() == told
    children = eventually(lambda: descendants(pid))
    end(pid, *children)
    os.waitpid(pid, 0)


NO_DESCRIPTOR_LEFT = """
import os, resource, sys
from knell.core.errors import WorldError
from knell.processes.os import system

process = system.identify(int(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0) + 1, 4096))
try:
    print(system.open_verified(process))
except WorldError as error:
    print(error)
"""


def test_P19_a_process_is_not_gone_because_no_descriptor_is_left() -> None:
    argv = [sys.executable, "-c", NO_DESCRIPTOR_LEFT, str(os.getpid())]
    told = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300).stdout
    assert told == f"cannot look at process {os.getpid()}: Too many open files\n"


def test_a_forked_process_has_a_number_and_ancestors_of_its_own() -> None:
    """The number was looked up once, so that a child of a program that uses knell got its
    parent's."""
    assert system.my_number() == os.getpid()
    child = os.fork()
    if not child:
        own = system.my_number() == os.getpid() and os.getppid() in ancestors_of()
        os._exit(0 if own and system.me().pid == os.getpid() else 1)
    assert os.waitpid(child, 0)[1] == 0
