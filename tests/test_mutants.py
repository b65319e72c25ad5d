"""The list of mutations fits the source, and the docs tell how many there are."""

import subprocess
import sys
import tomllib
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent


def test_K7_every_mutation_fits_the_source_and_names_its_test() -> None:
    """Whether each is noticed shows `make mutants`, which takes long."""
    argv = [sys.executable, TOP / "scripts" / "mutants", "--check"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert (done.stdout, done.returncode) == ("", 0)


def test_K7_the_docs_tell_how_many_there_are() -> None:
    text = (TOP / "tests" / "chaos" / "mutants.toml").read_text(encoding="utf-8")
    mutants = tomllib.loads(text)["mutant"]
    told = f"{len(mutants)} mutations of {len({one['item'] for one in mutants})} items"
    assert told in (TOP / "docs" / "contracts.md").read_text(encoding="utf-8")
