"""The source is broken on purpose, a promise at a time: the promise's own test must notice."""

import random
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from chaos.report import Tally

pytestmark = pytest.mark.stress

TOP = Path(__file__).resolve().parent.parent.parent
FEW = 2


@pytest.mark.timeout(3600)
def test_a_broken_promise_is_noticed_by_its_test(
    chance: random.Random, often: int, tally: Tally
) -> None:
    """Each change that breaks an item of the contracts makes that item's own test fail"""
    text = (TOP / "tests" / "chaos" / "mutants.toml").read_text(encoding="utf-8")
    items = sorted({mutant["item"] for mutant in tomllib.loads(text)["mutant"]})
    chosen = items if often > 1 else chance.sample(items, FEW)
    argv = [sys.executable, TOP / "scripts" / "mutants", *chosen]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr
    noticed = int(done.stdout.splitlines()[-1].split()[0])
    assert noticed >= len(chosen)
    tally.broke("a promise in the source, noticed by its own test", noticed)
