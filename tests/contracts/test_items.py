"""docs/contracts.md names every item of the contracts, and every item has a test."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAST = {"H": 53, "O": 48, "M": 57, "T": 49, "C": 40, "G": 52, "P": 53, "K": 8, "R": 9}


def items() -> list[str]:
    return [f"{family}{n}" for family, last in LAST.items() for n in range(1, last + 1)]


# What `make test` does not run proves nothing there: the real programs, and what only stresses.
ELSEWHERE = ("e2e", "chaos")


def is_stress(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(one) == "pytest.mark.stress" for one in test.decorator_list)


def proven() -> set[str]:
    names = {
        node.name
        for file in (ROOT / "tests").rglob("test_*.py")
        if file.relative_to(ROOT / "tests").parts[0] not in ELSEWHERE
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not is_stress(node)
    }
    return {item for name in names for item in re.findall(r"_([HOMTCGPKR]\d+)(?=_)", name)}


def test_every_item_is_described_once_and_in_order() -> None:
    page = (ROOT / "docs" / "contracts.md").read_text("utf-8")
    assert re.findall(r"^- \*\*([HOMTCGPKR]\d+)\*\* ", page, re.MULTILINE) == items()


def test_every_item_has_a_test() -> None:
    assert set(items()) - proven() == set()
