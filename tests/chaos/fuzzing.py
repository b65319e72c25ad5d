"""What the fuzz tests share: how hard they try, hostile words, and a quick command line."""

import json
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
from hypothesis import strategies as st

from chaos.conftest import is_long, seed
from house import House
from knell.faces import exits

LONGER = 8  # the long version tries this many times as much as the short one
EXIT_CODES = set(map(int, exits.Exit))
HUNG = -1
PATIENCE = 300.0  # seconds that one command may take on a busy machine

Test = Callable[..., Any]


def fuzzed(examples: int = 60) -> Callable[[Test], Test]:
    """Tries that many examples, always the same ones for the same seed, and writes none down."""
    count = examples * LONGER if is_long() else examples
    chosen = hypothesis.settings(max_examples=count, database=None, print_blob=False)
    return lambda test: hypothesis.seed(seed())(chosen(test))


# -- what nobody should say ----------------------------------------------------------------------

# No number here may be the pid of a process that somebody else has started.
NUMBERS = [
    "0", "-0", "1", "-1", "00", "+1", "1.5", "1e3", "1e999", "nan", "inf", "-inf", "0x10", "1_0",
    "2147483647", "2147483648", "4294967297", "9223372036854775807", "9223372036854775808",
    "9" * 40, "9" * 5000, "-" + "9" * 40, "²", "٣", "１",  # noqa: RUF001 - digits of other scripts
]  # fmt: skip
WORDS = [
    "", " ", "-", "--", "---", "%", "%0", "%99999999", "@", "=", ":", ".", "..", "../..", "/", "~",
    "a b", "a\nb", "\n", "\t", "\r", "\x1b[31m", "\x1b]0;x\x07", "\x7f", "\x00", "a\x00b", "\udcff",
    "\ud800", "é", "🦊", "\u202e", "\u2028", "\x85", "x" * 300, "x" * 70_000, "a/b", "a.b", "a:b",
    "'", '"', "`", "$(x)", "${HOME}", "%s", "{}", "{0}", "' OR 1=1 --", "\\", "\\0", "None", "null",
    "true", "[]", "[", "[z", "[!a-z]", "!", "tag:", "team:", "tag:x", "team:x", "pid:", "pid:1",
    "pid:0", "pid:-1", "pid:x", "id:", "id:x", "name:", "session:", "session:x", "pane:", "pane:%1",
    "nobody", "lun", "LUNA", "luna ", " luna", "luna\x00", "@host", "luna@host", "-x", "--x",
    "--json=1", "--name", "--yes=", "-" * 100,
]  # fmt: skip


def hostile_words() -> st.SearchStrategy[str]:
    """Words that mean nobody. A text made up on the spot has no digit, so it is no pid."""
    letters = st.characters(exclude_categories=("Nd", "Nl", "No"), exclude_characters="*?")
    return st.one_of(st.sampled_from(WORDS), st.sampled_from(NUMBERS), st.text(letters, max_size=8))


def json_values() -> st.SearchStrategy[Any]:
    """Anything that a JSON reader may hand over, with the values that programs trip on."""
    odd = [0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**40, 1e308, float("inf"), float("nan"), True]
    leaves = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), hostile_words(), st.sampled_from(odd)
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(hostile_words(), inner, max_size=3)
        ),
        max_leaves=6,
    )


# -- a command line without its start-up time ------------------------------------------------------


class Said(NamedTuple):
    """What became of one command."""

    argv: tuple[str, ...]
    code: int  # HUNG: it had to be ended
    out: str
    err: str

    def check(self) -> "Said":
        """No command hangs, crashes, or ends with a code that is not documented."""
        assert self.code in EXIT_CODES, self
        assert "Traceback" not in self.err, self
        return self

    def check_json(self) -> Any:
        """And with --json it prints one document, or a usage error that came before it."""
        self.check()
        return json.loads(self.out, parse_constant=_no_json)


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


class Shell:
    """Runs `knell` in a fork of a process that has imported it: the same, without the start."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, *argv: str, env: dict[str, str] | None = None, stdin: str = "") -> Said:
        """`knell ARGV`; `env` is added to the house's own."""
        order = {"argv": argv, "env": {**self._house.env, **(env or {})}, "stdin": stdin}
        process = self._started()
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], PATIENCE * 2)[0]:
            raise AssertionError(f"the shell does not answer: {argv}")
        code, out, err = json.loads(process.stdout.readline())
        return Said(argv, code, out, err)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            script = Path(__file__).with_name("fuzz_shell.py")
            argv = [sys.executable, str(script), str(PATIENCE)]
            self._process = self._house.process(
                *argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        return self._process

    def close(self) -> None:
        if self._process is not None and self._process.stdin and self._process.stdout:
            self._process.stdin.close()
            self._process.wait(300)
            self._process.stdout.close()


@contextmanager
def shell_in(house: House) -> Iterator[Shell]:
    shell = Shell(house)
    try:
        yield shell
    finally:
        shell.close()
