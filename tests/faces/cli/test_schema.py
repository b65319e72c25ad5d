"""docs/reference/knell.schema.json: what the verbs print with --json fits it, and no key is missing
in it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from house import House

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[3] / "docs/reference/knell.schema.json").read_text("utf-8")
)


def complaint(document: Any, name: str) -> str:
    """What is wrong with it, as a document of that name."""
    checker = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})
    return next((error.message for error in checker.iter_errors(document)), "")


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_what_every_verb_prints_fits_the_schema(house: House) -> None:
    spawn = ("spawn", "--name", "luna", "--in", "headless", "--", "sleep", "600")
    lines: tuple[tuple[str, ...], ...] = (
        spawn, ("list",), ("status",), ("show", "luna"), ("tree", "luna"), ("explain", "luna"),
        ("stalled",), ("kill", "luna"), ("kill", "nobody"), ("receipt", "luna"), ("show", "luna"),
        ("verify", "luna"), ("resume", "luna"), ("stop", "luna"), ("events",), ("doctor",),
    )  # fmt: skip
    for words in lines:
        option = words.index("--") if "--" in words else len(words)
        done = house.run(*words[:option], "--json", *words[option:])
        document = json.loads(done.stdout)
        assert complaint(document, f"knell {words[0]}") == "", words
    error = json.loads(house.run("show", "nobody", "--json").stdout)
    assert complaint(error, "an error") == ""


def test_the_schema_has_every_key_of_a_row_and_of_a_receipt(house: House) -> None:
    house.spawn(name="luna")
    [row] = house.json("list")["agents"]
    [receipt] = house.json("kill", "luna")["receipts"]
    assert set(row) == set(SCHEMA["$defs"]["agent"]["properties"])
    assert set(receipt) == set(SCHEMA["$defs"]["receipt"]["properties"])


@pytest.mark.parametrize("broken", [{"agents": [{}]}, {"agents": {}}, {}])
def test_a_document_that_does_not_fit_is_seen(broken: dict[str, Any]) -> None:
    assert complaint(broken, "knell list") != ""
