"""Fuzzing every reader of what others wrote; guided by coverage where atheris is installed."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.conftest import is_long, seed
from chaos.fuzz_targets import SEEDS, TARGETS
from chaos.fuzzing import fuzzed
from chaos.report import Tally

pytestmark = pytest.mark.stress

HERE = Path(__file__).resolve().parent
NAMES = sorted(TARGETS)
GUIDED, SECONDS = (NAMES, 8) if is_long() else (["stat"], 1)  # for each of them
DEEP = (b"[" * 50_000, b'{"a":' * 50_000, b'{"AGENT_ID":' + b"[" * 50_000, b"a: " + b"[" * 500)
LONG = (b"a" * 250_000, b"-a" * 50_000, b"token" * 40_000, b"eyJ-" * 40_000, b"a://" * 40_000)
HUGE = (
    b"9" * 5000,
    b'{"pid": ' + b"9" * 5000 + b"}",
    b"-" + b"9" * 5000,
    b"1e999",
    b"NaN",
    b"\xff",
)


@pytest.mark.parametrize("name", NAMES)
def test_no_bytes_crash_a_reader(name: str, tally: Tally) -> None:
    """Whatever bytes it is given, each reader reads them or refuses them in its own words"""
    pieces = st.sampled_from([*SEEDS[name], *HUGE])
    mixed = st.lists(st.one_of(pieces, st.binary(max_size=20)), max_size=3).map(b"".join)

    @fuzzed(40)
    @given(data=st.one_of(st.binary(max_size=200), mixed, cut(SEEDS[name])))
    def tried(data: bytes) -> None:
        TARGETS[name](data)

    for data in (*SEEDS[name], *DEEP, *LONG, *HUGE):
        TARGETS[name](data)
    tried()
    tally.broke("hostile bytes for a reader", 40)


@st.composite
def cut(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """A good beginning with a piece cut out, doubled or overwritten."""
    whole = draw(st.sampled_from(seeds))
    one, other = sorted(draw(st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole)))))
    middle = draw(st.sampled_from([b"", whole[one:other] * 2, b"\x00", b"9" * 40, b"\xf0\x9f"]))
    return whole[:one] + middle + whole[other:]


@pytest.mark.parametrize("name", GUIDED)
def test_no_bytes_that_reach_new_lines_crash_a_reader(
    name: str, tmp_path: Path, tally: Tally
) -> None:
    """Nor do bytes that were chosen because they reach lines of it that no others did"""
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed; it is made for CPython 3.11 to 3.13 on x86-64")
    corpus = tmp_path / "corpus"
    options = [f"-max_total_time={SECONDS}", f"-seed={seed() % 2**32 or 1}", "-max_len=4096",
               "-rss_limit_mb=2048", "-timeout=20", f"-artifact_prefix={tmp_path}/"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(HERE / "fuzz_guided.py"), name, str(corpus), *options],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": f"{HERE.parent}:{HERE.parent / 'support'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    tally.broke("second of fuzzing by coverage", SECONDS)
