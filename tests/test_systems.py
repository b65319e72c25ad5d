"""What is said of Linux and macOS is one sentence, and nothing else promises more."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from knell.core.systems import PROMISE
from knell.core.telling import told_lines

ROOT = Path(__file__).resolve().parent.parent
# Shell words of GNU and of Linux that a Mac does not have, and calls of Python that only Linux has.
GNU = re.compile(
    r"\bsed -i |\bsed --|\bdate (-d|--)|\bdate [^\n]*%N|\breadlink -f|\bstat (-c|--)"
    r"|\bxargs (-r|-d)|\bgrep (-P|-oP)|\bcp -a --|\bmktemp (--|-p)|\bbase64 -w|\bhead -c -"
    r"|\btail --pid|\bsort -V"
    r"|\bps [^\n]*(--sort|--no-headers|--ppid|--forest)|\bfind [^\n]*-printf|\btar [^\n]*--sort"
    r"|(^|[;&|(] *)(setsid|timeout|nproc|sha256sum|md5sum|taskset|ionice|flock|pidof|tac) ",
    re.MULTILINE,
)
LINUX_CALLS = re.compile(
    r"\b(os\.(eventfd|memfd_create|sched_\w+|copy_file_range|splice|pipe2|O_TMPFILE|O_PATH)"
    r"|select\.epoll|os\.(get|set|list)xattr)\b"
)
# Programs and folders of Linux: only where the other system has a branch of its own beside it.
PROGRAMS = re.compile(
    r"\b(systemctl|systemd-run|journalctl|loginctl|apt-get|xdg-open|unshare)\b|/run/user"
)
SHELL = ("Makefile", "scripts/setup-system", "scripts/try-wheel", ".ci/run")
# The first is Linux's own; what the other writes is read without its fraction as well.
ALLOWED = {"src/knell/processes/os/proc.py", "src/knell/core/telling.py"}
BRANCHES = {
    "src/knell/life/watch/autostart.py": "launchctl",
    "scripts/setup-system": "brew",
    "src/knell/faces/cli/verbs/demo.py": "Debian: ",  # a hint that names its system
}


def read_by_a_mac() -> list[Path]:
    """What a Mac runs: the source, its shell snippets in the plugin and in hooks, the workshop."""
    found = [ROOT / name for name in SHELL]
    found += [path for path in (ROOT / "src").rglob("*") if path.suffix in (".py", ".sh", ".json")]
    return [path for path in found if "linux" not in path.name]


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
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    pages += [ROOT / "server.json", ROOT / "CITATION.cff", *(ROOT / "src").rglob("*.md")]
    assert [page.name for page in pages if claims.search(page.read_text())] == []


def test_the_sentence_stands_in_one_place_of_the_source() -> None:
    sources = [
        path for path in (ROOT / "src").rglob("*.py") if "not yet run there" in path.read_text()
    ]
    assert [path.name for path in sources] == ["systems.py"]


def test_what_only_gnu_or_linux_has_is_in_no_file_that_a_mac_runs() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): hit.group(0)
        for path in read_by_a_mac()
        if (hit := GNU.search(path.read_text()) or LINUX_CALLS.search(path.read_text()))
    }
    assert {path: hit for path, hit in found.items() if path not in ALLOWED} == {}


def test_a_date_without_a_fraction_is_read_as_the_second_that_it_tells() -> None:
    """An older Mac's `date +%s.%N` prints an N."""
    [line] = told_lines(b"1700000000.N 0123-abc\n")
    assert (line.at, line.id) == (1700000000.0, "0123-abc")


def test_a_program_of_linux_has_its_branch_for_the_other_system() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in read_by_a_mac()
        if PROGRAMS.search(path.read_text())
    }
    assert set(found) == set(BRANCHES)
    assert [path for path, text in found.items() if BRANCHES[path] not in text] == []


@pytest.mark.parametrize(
    "line",
    [
        "sed -i s/a/b/ file", "date -d yesterday", 'date +"%s%N"', "readlink -f x", "stat -c %s x",
        "ps -e -o pid --sort=pid", "find . -printf %p", "setsid sleep 9", "x=$(timeout 9 sleep 1)",
        "base64 -w0 file", "ls | xargs -r rm",
    ],
)  # fmt: skip
def test_the_rule_bites(line: str) -> None:
    assert GNU.search(line)


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
