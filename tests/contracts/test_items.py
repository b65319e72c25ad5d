"""docs/contracts.md names every item of the contracts, and every item has a test."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAST = {"H": 53, "O": 48, "M": 57, "T": 49, "C": 40, "G": 52, "P": 50, "K": 8, "R": 9}


def items() -> list[str]:
    return [f"{family}{number}" for family, last in LAST.items() for number in range(1, last + 1)]


def proven() -> set[str]:
    names = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))
    }
    return {item for name in names for item in re.findall(r"_([HOMTCGPKR]\d+)(?=_)", name)}


def test_every_item_is_described_once_and_in_order() -> None:
    page = (ROOT / "docs" / "contracts.md").read_text("utf-8")
    assert re.findall(r"^- \*\*([HOMTCGPKR]\d+)\*\* ", page, re.MULTILINE) == items()


def test_every_item_has_a_test() -> None:
    assert set(items()) - proven() == set()
