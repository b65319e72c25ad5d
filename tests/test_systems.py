"""What is said of Linux and macOS is one sentence, and nothing else promises more."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from knell.core.systems import PROMISE

ROOT = Path(__file__).resolve().parent.parent
# Shell words of GNU that a Mac does not have, and calls of Python that only Linux has.
GNU = re.compile(r"\b(sed -i |date -d|readlink -f|stat -c|xargs -r|grep -P|cp -a --|mktemp --)")
LINUX_CALLS = re.compile(
    r"\b(os\.(eventfd|memfd_create|sched_\w+|copy_file_range|splice|pipe2|O_TMPFILE|O_PATH)"
    r"|select\.epoll|os\.(get|set|list)xattr)\b"
)
SHELL = ("Makefile", "scripts/setup-system", "scripts/try-wheel", ".ci/run")
# They make users, namespaces or mounts.
ONLY_LINUX = {"scripts/test-as-user", "src/knell/processes/os/proc.py"}


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("page", ["README.md", "docs/promise.md"])
def test_the_page_has_the_sentence(page: str) -> None:
    assert PROMISE in words((ROOT / page).read_text())


def test_so_has_the_help() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "knell", "--help"], capture_output=True, text=True, check=True
    )
    assert PROMISE in words(told.stdout)


def test_no_classifier_promises_a_system_on_which_it_was_not_run() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    systems = {one for one in project["classifiers"] if one.startswith("Operating System")}
    expected = {"Operating System :: POSIX :: Linux"}
    if "not yet run" not in PROMISE:
        expected.add("Operating System :: MacOS")
    assert systems == expected


def test_no_other_page_speaks_of_macos_as_if_it_ran_there() -> None:
    claims = re.compile(
        r"(runs|works|supported|tested) on (macOS|a Mac)|knell does not run on macOS"
    )
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    assert [page.name for page in pages if claims.search(page.read_text())] == []


def test_what_only_gnu_or_linux_has_is_in_no_file_that_a_mac_runs() -> None:
    sources = [ROOT / name for name in SHELL]
    sources += [path for path in (ROOT / "src").rglob("*.py") if "linux" not in path.name]
    found = {
        path.relative_to(ROOT).as_posix(): hit.group(0)
        for path in sources
        if (hit := GNU.search(path.read_text()) or LINUX_CALLS.search(path.read_text()))
    }
    assert {path: hit for path, hit in found.items() if path not in ONLY_LINUX} == {}


def test_the_setup_has_a_branch_for_brew() -> None:
    text = (ROOT / "scripts/setup-system").read_text()
    assert "has brew" in text
    assert "uname -s" in text


def test_both_systems_run_the_same_two_words() -> None:
    text = (ROOT / ".github/workflows/test.yml").read_text()
    assert "[ubuntu-latest, macos-latest]" in text
    assert [line.strip() for line in text.splitlines() if "run: " in line] == [
        "- run: make demo",
        "- run: make test",
    ]
