"""Who uses something below a path: real processes, each with one way of doing so."""

import _ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from house import House, eventually
from knell.core.ports.processes import OpenFiles
from knell.processes.open_files import open_files
from repo import bystander

WAYS = {
    "cwd": "os.chdir(sys.argv[1])",
    "open file": "file = open(sys.argv[1] + '/file')",
    "mapped file": "file = open(sys.argv[1] + '/file'); map = mmap.mmap(file.fileno(), 0, prot=1)",
}


def folder(house: House, name: str = "folder") -> Path:
    path = house.root / name
    path.mkdir()
    (path / "file").write_text("something")
    return path


def pids(holding: OpenFiles) -> set[int]:
    return {one.member.process.pid for one in holding.files}


@pytest.mark.parametrize("how", WAYS)
def test_each_way_of_using_a_folder_is_seen(house: House, how: str) -> None:
    path = folder(house)
    beside = folder(house, "folder-2")
    with (
        bystander(house, WAYS[how], str(path)) as pid,
        bystander(house, WAYS[how], str(beside)),
    ):
        found = open_files([str(path)])
    assert [(one.member.process.pid, one.path) for one in found.files] == [(pid, str(path))]
    assert found.files[0].how in (how, "open file")  # mmap keeps a descriptor of its own
    assert found.users(str(path))[0].endswith(f"(pid {pid}, {found.files[0].how})")


def test_a_program_that_runs_from_there_is_seen(house: House) -> None:
    path = folder(house)
    program = path / "program"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    with house.process(str(program), "100") as process:
        eventually(lambda: os.readlink(f"/proc/{process.pid}/exe") == str(program))
        found = open_files([str(path)])
        process.kill()
    assert [(one.member.process.pid, one.how) for one in found.files] == [(process.pid, "exe")]


def test_a_library_that_is_only_mapped_is_seen(house: House) -> None:
    """The loader closes a library's file once it is mapped."""
    path = folder(house, "with blank")
    shutil.copy(_ctypes.__file__, path / "lib.so")
    loads = "import ctypes; ctypes.CDLL(sys.argv[1] + '/lib.so')"
    with bystander(house, loads, str(path)) as pid:
        found = open_files([str(path)])
    assert [(one.member.process.pid, one.how) for one in found.files] == [(pid, "mapped file")]
    assert found.files[0].file == str(path / "lib.so")


def test_names_that_break_careless_parsing(house: House) -> None:
    path = folder(house, 'new\nline and "blank" (deleted)')
    shutil.copy(_ctypes.__file__, path / "lib.so")
    loads = "import ctypes; ctypes.CDLL(sys.argv[1] + '/lib.so')"
    with (
        bystander(house, WAYS["cwd"], str(path)) as one,
        bystander(house, WAYS["open file"], str(path)) as two,
        bystander(house, loads, str(path)) as three,
    ):
        assert pids(open_files([str(path)])) == {one, two, three}


def test_a_link_to_the_folder_is_the_folder(house: House) -> None:
    path = folder(house)
    (house.root / "alias").symlink_to(path)
    with bystander(house, WAYS["cwd"], str(path)) as pid:
        assert pids(open_files([str(house.root / "alias")])) == {pid}


def test_several_paths_in_one_pass_are_told_apart(house: House) -> None:
    one, two, three = (str(folder(house, name)) for name in ("one", "two", "three"))
    with (
        bystander(house, WAYS["cwd"], one) as first,
        bystander(house, WAYS["open file"], two) as second,
    ):
        found = open_files([one, two, three])
    by_path = {path: {h.member.process.pid for h in found.of(path)} for path in (one, two, three)}
    assert by_path == {one: {first}, two: {second}, three: set()}
    assert found.users(one, without={first}) == ()


def test_nobody_there_and_nothing_asked(house: House) -> None:
    path = folder(house)
    with (path / "file").open():  # this process itself does not count
        assert open_files([str(path), str(house.root / "never")]).files == ()
    assert open_files([]) == OpenFiles()


def test_a_mount_is_not_below_a_folder_beside_it() -> None:
    found = open_files(["/proc", "/pro", "/nowhere"])
    assert ("/proc", "/proc") in found.mounts
    assert {path for path, _ in found.mounts} == {"/proc"}


# -- containers --------------------------------------------------------------------------------

OF_ITS_OWN = ("unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-ec")
own_mounts = pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run([*OF_ITS_OWN, "true"], capture_output=True, check=False).returncode != 0,
    reason="this machine lets nobody make a mount namespace",
)


@own_mounts
def test_whoever_knows_the_folder_by_another_path_is_seen(house: House) -> None:
    """As a container does that has the folder mounted as its workspace."""
    path, mounted = folder(house), house.root / "workspace"
    mounted.mkdir()
    does = f"mount --bind {path} {mounted}; cd {mounted}; echo 1; exec sleep 100"
    with house.process(*OF_ITS_OWN, does, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        found = open_files([str(path)])
        process.kill()
    assert [(one.member.process.pid, one.how) for one in found.files] == [(process.pid, "cwd")]


@own_mounts
def test_what_is_mounted_inside_is_told(house: House) -> None:
    """To delete below it would delete elsewhere."""
    path, elsewhere = folder(house), folder(house, "elsewhere")
    point = path / "with blank"
    point.mkdir()
    asks = "import sys\nfrom knell.processes.open_files import open_files\n"
    asks += "print(open_files([sys.argv[1]]).users(sys.argv[1]))"
    does = f'mount --bind {elsewhere} "{point}"; exec {sys.executable} -c "{asks}" {path}'
    told = subprocess.run(
        [*OF_ITS_OWN, does], cwd=house.root, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == str((f"a mount at {point}",))
