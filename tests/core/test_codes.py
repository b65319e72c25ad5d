"""Every error has a code, every code has a meaning and a use, and both are in the reference."""

import ast
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


# -- codes are for programs, sentences for people ----------------------------------------------

SENTENCES = {"warning", "warnings", "message", "detail", "note", "hint", "why", "strerror", "said"}
LOOKS = {"startswith", "endswith", "find", "index", "count", "search", "match", "fullmatch"}
# Where another program has nothing but its words to tell by.
FOREIGN = {
    "places/kitty.py": "kitty says in words that remote control is disabled",
    "processes/journal.py": "a keeper's journal; keepers of older versions are still alive",
}


def is_sentence(node: ast.expr) -> bool:  # noqa: PLR0911 - a case a line
    """`warning`, `error.detail`, `str(error)`, `receipt["message"]`, `one.text`."""
    match node:
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id="error" | "trouble")]):
            return True
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return is_sentence(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="lower" | "strip" | "casefold")):
            return is_sentence(inner)
        case ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name in SENTENCES
        case ast.Attribute(value=ast.Name(id="warning" | "notice" | "one"), attr="text"):
            return True
        case ast.Attribute(attr=name):
            return name in SENTENCES
    return False


def searches(tree: ast.AST) -> list[int]:
    """The lines that look for words in a sentence."""
    found: list[int] = []
    for node in ast.walk(tree):
        match node:
            case ast.Compare(
                left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[inside]
            ) if is_sentence(inside):
                found.append(node.lineno)
            case ast.Call(func=ast.Attribute(value=inside, attr=attr)) if attr in LOOKS:
                if is_sentence(inside) or any(map(is_sentence, node.args)):
                    found.append(node.lineno)
    return found


def test_no_branch_searches_a_sentence() -> None:
    """Nothing in src looks for words in a warning or in an error, but for words of others"""
    found = {
        path.relative_to(ROOT / "src" / "knell").as_posix(): lines
        for path in (ROOT / "src").rglob("*.py")
        if (lines := searches(ast.parse(path.read_text())))
    }
    assert {path: len(lines) for path, lines in found.items()} == dict.fromkeys(FOREIGN, 1)


@pytest.mark.parametrize(
    "source",
    [
        'if "read-only" in str(error.strerror): ...',
        'if "gone" in str(error): ...',
        'if receipt.detail.startswith("not"): ...',
        'if "pane" not in warning.text.lower(): ...',
        're.search("no .* found", answer["message"])',
        'any("x" in warning for warning in warnings)',
    ],
)
def test_a_search_is_seen(source: str) -> None:
    assert len(searches(ast.parse(source))) == 1


def literal_codes(tree: ast.AST) -> list[int]:
    """The lines that make up a code of their own: `{"code": "no_luck"}`, `code=f"no_{what}"`."""
    found: list[int] = []
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=keys, values=values):
                given = [v for k, v in zip(keys, values, strict=True) if is_word(k, "code")]
            case ast.keyword(arg="code", value=value):
                given = [value]
            case _:
                continue
        made = [one for one in given if is_word(one) or isinstance(one, ast.JoinedStr)]
        found += [one.lineno for one in made]
    return found


def is_word(node: ast.expr | None, word: str = "") -> bool:
    match node:
        case ast.Constant(value=str(value)):
            return word in ("", value)
    return False


def test_every_code_is_of_the_one_list() -> None:
    """Also those that a server answers: none is written as a text of its own"""
    found = {
        path.name: lines
        for path in (ROOT / "src").rglob("*.py")
        if (lines := literal_codes(ast.parse(path.read_text())))
    }
    assert found == {}


@pytest.mark.parametrize("source", ['{"code": "no_luck"}', 'f(code=f"no_{luck}")'])
def test_a_code_of_its_own_is_seen(source: str) -> None:
    assert literal_codes(ast.parse(source)) == [1]
