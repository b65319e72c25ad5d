"""Every error has a code, every code has a meaning and a use, and both are in the reference."""

import re
from pathlib import Path

import pytest

from knell.core import errors
from knell.core.codes import Code, Notice
from knell.core.errors import KnellError
from knell.core.receipt import record_from_json

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))


def every_error() -> list[type[KnellError]]:
    import knell.fleet.wire  # noqa: F401 - imported for the errors that they define
    import knell.life.teams.kill_agent  # noqa: F401 - likewise

    found: list[type[KnellError]] = []
    waiting: list[type[KnellError]] = [errors.AskerError, errors.WorldError]
    while waiting:
        for error in waiting.pop().__subclasses__():
            found.append(error)
            waiting.append(error)
    return found


@pytest.mark.parametrize("error", every_error(), ids=lambda error: error.__name__)
def test_each_error_has_a_code_of_its_own(error: type[KnellError]) -> None:
    assert "code" in vars(error), f"{error.__name__} has the code of its parent"
    assert error.code is not Code.OTHER


@pytest.mark.parametrize("code", Code.every())
def test_each_code_is_explained_and_used(code: Code) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert re.fullmatch(r"[A-Z].*\.", code.meaning)
    assert re.search(rf"Code\.{code.name}\b", SOURCE), f"nothing gives {code}"


def test_the_reference_lists_every_code() -> None:
    page = (ROOT / "docs" / "reference" / "codes.md").read_text()
    assert [code for code in Code.every() if f"| `{code}` |" not in page] == []


def test_a_warning_is_read_as_it_was_written() -> None:
    notice = Notice(Code.PANE_NOT_CLOSED, "pane close failed for tmux")
    document = {"code": str(notice.code), "text": notice.text}
    assert record_from_json(Notice, document) == notice
    later = {"code": "of_a_later_version", "text": "x"}
    assert record_from_json(Notice, later) == Notice(Code.OTHER, "x")


@pytest.mark.parametrize("bad", [None, 7, "x", [], {}, {"code": 1, "text": "x"}, {"code": "other"}])
def test_what_is_no_warning_is_refused(bad: object) -> None:
    with pytest.raises((ValueError, TypeError), match=r"Notice|Code"):
        record_from_json(Notice, bad)


def test_no_branch_searches_a_sentence() -> None:
    """Codes are for programs: nothing in src looks for words in a warning or in an error."""
    searches = re.compile(
        r"""["'] in (?:str\(error\)|[\w.]*(?:warning|warnings|detail|message|note)\b)"""
        r"""|(?:warning|detail|message|note|str\(error\))\.startswith\("""
    )
    assert searches.findall(SOURCE) == []
