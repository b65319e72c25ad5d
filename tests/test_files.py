"""The one safe way to read, replace, lock and append to a small file."""

import errno
import os
from pathlib import Path

import pytest

from knell import files


def refusal(error: type[OSError], *args: object, **options: object) -> str:
    with pytest.raises(error) as raised:
        files.read(*args, **options)  # type: ignore[arg-type]
    return raised.value.strerror or ""


def test_only_a_small_regular_file_is_read(tmp_path: Path) -> None:
    file, link, fifo = tmp_path / "file", tmp_path / "link", tmp_path / "fifo"
    file.write_bytes(b"0123456789")
    link.symlink_to(file)
    os.mkfifo(fifo)
    assert files.read(str(file), 10) == files.read(str(link), 10) == b"0123456789"
    assert "larger than" in refusal(OSError, str(file), 9)
    assert "not a regular file" in refusal(OSError, str(fifo), 10)
    assert "a directory" in refusal(OSError, str(tmp_path), 10)
    assert "not a regular file" in refusal(OSError, "/dev/null", 10)
    assert files.read("/dev/null", 10, devices=True) == b""
    assert "larger than" in refusal(OSError, "/dev/zero", 10, devices=True)
    with pytest.raises(OSError, match="symbolic links") as raised:
        files.read(str(link), 10, follow=False)
    assert raised.value.errno == errno.ELOOP
    refusal(FileNotFoundError, str(tmp_path / "none"), 10)


def test_a_part_is_read_from_either_end(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert files.read_part(str(file), 3, end=False) == b"012"
    assert files.read_part(str(file), 3, end=True) == b"789"
    assert files.read_part(str(file), 30, end=True) == b"0123456789"


def test_overwriting_replaces_a_link_and_follows_none(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"precious")
    link.symlink_to(file)
    files.overwrite(str(link), b"new")
    assert (file.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"precious", b"new", False)
    assert link.stat().st_mode & 0o777 == 0o600
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        files.overwrite(str(tmp_path / "folder"), b"new")
    assert {one.name for one in tmp_path.iterdir()} == {"file", "link", "folder"}


def test_a_replaced_file_keeps_its_mode_and_attributes_but_not_its_time(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o640)
    os.utime(file, (1, 1))
    marked = _marked(file)
    files.replace(str(file), b"old", b"new")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o640)
    assert file.stat().st_mtime > 1
    assert not marked or os.getxattr(file, "user.note") == b"mine"
    assert list(tmp_path.iterdir()) == [file]


def _marked(file: Path) -> bool:
    """Whether the disk keeps extended attributes of users."""
    try:
        os.setxattr(file, "user.note", b"mine")
    except OSError:
        return False
    return True


def test_a_copy_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def refuse(copy: bytes) -> None:
        raise ValueError(copy.decode())

    with pytest.raises(ValueError, match="new"):
        files.replace(str(file), b"old", b"new", refuse)
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"old", [file])


@pytest.mark.parametrize("which", ["file", "directory"])
def test_what_is_read_only_is_not_replaced_even_by_root(tmp_path: Path, which: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    path = file if which == "file" else tmp_path
    path.chmod(0o500 if which == "directory" else 0o400)
    try:
        with pytest.raises(files.ReadOnly, match=f"the {which} is read-only") as refused:
            files.replace(str(file), b"old", b"new")
    finally:
        path.chmod(0o700)
    assert (refused.value.path, file.read_bytes()) == (str(path), b"old")


def test_a_line_is_appended_whole_behind_one_that_a_crash_cut_short(tmp_path: Path) -> None:
    log = tmp_path / "log"
    files.append_line(str(log), "one")
    log.write_bytes(log.read_bytes() + b"tw")
    files.append_line(str(log), "three")
    assert log.read_bytes() == b"one\ntw\nthree\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_lock_that_is_kept_names_its_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    lock = str(tmp_path / "lock")
    kept = pytest.raises(files.StillLocked, match=f"process {os.getpid()} kept")
    with files.locked(lock), kept, files.locked(lock):
        pytest.fail("the lock was given twice")
    with files.locked(lock):
        assert (tmp_path / "lock").read_text() == str(os.getpid())
