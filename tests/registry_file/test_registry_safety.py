"""Several writers, a crash in the middle, files that may not be written: nothing is lost."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mirror_samples import ODD, Registry

from knell import files
from knell.core.errors import RegistryFailed
from knell.registry_file.access import translated

Open = Callable[[str | bytes], Registry]
Racer = Callable[..., Any]

SHOP = "shop-creator-claude"


# -- at the same time --------------------------------------------------------------------------


@pytest.mark.timeout(240)
def test_C22_twenty_writers_lose_nothing(holding: Open, racer: Racer) -> None:
    names = [f"s{number}" for number in range(20)]
    text = "tmux_sessions:  # all\n" + "".join(f"- name: {name}  # of {name}\n" for name in names)
    registry = holding(text)
    racers = [racer("update", registry.path, name) for name in names]
    for one in racers:
        one.go()
    assert [one.end() for one in racers] == [("done", 0)] * 20
    assert [(row["name"], row["turn"]) for row in registry.data()["tmux_sessions"]] == [
        (name, 1) for name in names
    ]
    assert all(f"- name: {name}  # of {name}\n" in registry.text for name in names)


def test_a_lock_that_is_held_is_waited_for(registry: Registry, racer: Racer) -> None:
    holder, writer = racer("hold", registry.path), racer("update", registry.path, SHOP)
    holder.go()
    assert holder.said() == "held"
    writer.go()
    assert registry.text == ODD
    holder.go()
    assert writer.end() == ("done", 0)
    assert registry.session(SHOP)["turn"] == 1


@pytest.mark.parametrize("deed", ["hold", "hold_silently"])
def test_M56_a_lock_that_is_kept_is_reported_with_its_holder(
    registry: Registry, racer: Racer, deed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.2)
    holder = racer(deed, registry.path)
    holder.go()
    assert holder.said() == "held"
    who = f"process {holder.pid}" if deed == "hold" else "another process"
    with pytest.raises(RegistryFailed, match=f"{who} kept it locked"):
        registry.update(SHOP, {"status": "stopped"})
    assert registry.text == ODD
    assert registry.row(SHOP)  # reading waits for nobody


def test_a_holder_that_was_killed_holds_nothing(registry: Registry, racer: Racer) -> None:
    holder = racer("hold", registry.path)
    holder.go()
    assert holder.said() == "held"
    os.kill(holder.pid, signal.SIGKILL)
    registry.update(SHOP, {"status": "stopped"})
    assert registry.session(SHOP)["status"] == "stopped"
    lock = registry.file.with_name(registry.file.name + ".lock")
    assert lock.read_text() == ""


def test_C22_M56_a_hand_edit_during_the_write_is_not_overwritten(file: Path) -> None:
    file.write_bytes(b"as edited")
    for was in (b"as read", None, b"", b"as edited and more"):
        with pytest.raises(files.FileChanged):
            files.replace(str(file), was, b"new")
    assert [one.read_bytes() for one in file.parent.iterdir()] == [b"as edited"]
    files.replace(str(file), b"as edited", b"new")
    assert file.read_bytes() == b"new"


# -- a crash -----------------------------------------------------------------------------------


@pytest.mark.timeout(240)
def test_C22_M56_a_writer_killed_at_any_step_leaves_a_whole_file(
    holding: Open, racer: Racer
) -> None:
    done = 0
    for step in range(1, 60):
        registry = holding(ODD)
        one = racer("die", registry.path, SHOP, str(step))
        one.go()
        said, status = one.end()
        if said == "done":
            break
        assert status == -signal.SIGKILL
        shop = registry.session(SHOP)
        assert registry.text == ODD or shop["note"] == "x" * 10_000
        done += registry.text != ODD
        registry.update("gate", {"status": "running"})
        assert registry.session("gate")["status"] == "running"
        assert sorted(path.suffix for path in registry.file.parent.iterdir()) in (
            [".bak", ".lock", ".yaml"],
            [".bak", ".lock", ".tmp", ".yaml"],
        )
    else:
        pytest.fail("it never came to its end")
    assert step > 6  # it was killed before, within and after the writing
    assert done > 0


# -- the file itself ---------------------------------------------------------------------------


def test_M9_the_last_version_is_kept_beside_it_and_the_mode_stays(registry: Registry) -> None:
    registry.file.chmod(0o640)
    registry.update(SHOP, {"status": "stopped"})
    backup = registry.file.with_name(registry.file.name + ".bak")
    assert backup.read_text() == ODD
    assert [path.stat().st_mode & 0o777 for path in (registry.file, backup)] == [0o640, 0o640]
    second = registry.text
    registry.update(SHOP, {"status": "running"})
    assert backup.read_text() == second
    assert not list(registry.file.parent.glob("*.tmp"))


@pytest.mark.parametrize("which", ["file", "directory"])
def test_M56_what_is_read_only_is_refused_and_stays(registry: Registry, which: str) -> None:
    path = registry.file if which == "file" else registry.file.parent
    mode = path.stat().st_mode
    path.chmod(mode & ~0o222)
    try:
        with pytest.raises(RegistryFailed, match="cannot be used") as raised:
            registry.update(SHOP, {"status": "stopped"})
        with pytest.raises(RegistryFailed):
            registry.add("new", {})
    finally:
        path.chmod(mode)
    assert "writable" in raised.value.hint
    assert registry.text == ODD
    assert list(registry.file.parent.iterdir()) == [registry.file]


@pytest.mark.needs_root
def test_M9_root_gives_the_file_back_to_its_owner(registry: Registry) -> None:
    os.chown(registry.file, 12345, 23456)
    registry.update(SHOP, {"status": "stopped"})
    found = registry.file.stat()
    assert (found.st_uid, found.st_gid) == (12345, 23456)


def test_M9_a_link_stays_a_link(registry: Registry, tmp_path: Path) -> None:
    target = tmp_path / "kept" / "real.yaml"
    target.parent.mkdir()
    registry.file.rename(target)
    registry.file.symlink_to(target)
    registry.update(SHOP, {"status": "stopped"})
    assert registry.file.is_symlink()
    assert target.is_file()
    assert registry.session(SHOP)["status"] == "stopped"
    assert target.with_name("real.yaml.bak").read_text() == ODD
    assert list(registry.file.parent.iterdir()) == [registry.file]


def test_a_link_in_the_place_of_our_own_files_leads_nowhere(
    registry: Registry, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in (".tmp", ".bak.tmp", ".bak"):
        Path(registry.path + name).symlink_to(victim)
    registry.update(SHOP, {"status": "stopped"})
    Path(registry.path + ".lock").unlink()
    Path(registry.path + ".lock").symlink_to(victim)
    with pytest.raises(RegistryFailed):
        registry.update(SHOP, {"status": "running"})
    assert victim.read_text() == "precious"


def test_M56_who_reads_it_during_the_write_reads_one_whole_file(registry: Registry) -> None:
    reader = os.open(registry.path, os.O_RDONLY)
    begun = os.read(reader, 10)
    registry.update(SHOP, {"note": "x" * 10_000})
    assert (begun + os.read(reader, 100_000)).decode() == ODD
    os.close(reader)


def test_M56_a_write_that_finds_no_room_leaves_the_file_as_it_was(registry: Registry) -> None:
    room = len(ODD.encode())  # enough for the copy of what was there, not for what would be
    _, hard = usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(RegistryFailed, match="cannot be used"):
            registry.update(SHOP, {"note": "x" * 10_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert registry.text == ODD
    assert not list(registry.file.parent.glob("*.tmp"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to try")
def test_M56_a_full_disk_is_said_aloud(tmp_path: Path) -> None:
    full = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - closed below
    with full, pytest.raises(RegistryFailed, match="cannot be used"), translated("x"):
        full.write(b"x")
