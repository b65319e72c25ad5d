"""Which place, and what naming one costs."""

import subprocess
import sys

import pytest

from knell import places
from knell.core.errors import BadRequest
from knell.core.ports.terminal import Terminal
from knell.wiring import RealWorld

# What a start must not pay for unless it uses it.
DEAR = {"asyncio", "dataclasses", "inspect", "json", "shutil", "socket", "subprocess", "tempfile"}


@pytest.mark.parametrize("name", places.BUILT_IN)
def test_every_place_is_had_by_its_name(name: str) -> None:
    place: Terminal = RealWorld({}).place(name)
    assert place.name == name


def test_an_unknown_place_is_refused_with_the_names() -> None:
    with pytest.raises(BadRequest) as refused:
        RealWorld({}).place("screen", usable=True)
    assert all(name in refused.value.hint for name in places.BUILT_IN)


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({}, "headless"),
        ({"TMUX": "", "WEZTERM_PANE": ""}, "headless"),
        ({"WEZTERM_PANE": "0"}, "wezterm"),
        ({"WEZTERM_PANE": "0", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"KITTY_LISTEN_ON": "unix:/x"}, "kitty"),
        ({"KITTY_WINDOW_ID": "1", "TMUX": "/x,1,0"}, "tmux"),
    ],
)
def test_the_innermost_terminal_is_taken(env: dict[str, str], name: str) -> None:
    assert places.detect(env) == name


@pytest.mark.parametrize("name", places.BUILT_IN)
def test_naming_one_place_imports_that_one(name: str) -> None:
    script = (
        "import sys\nfrom knell.wiring import RealWorld\nimport knell.core.ports.world\n"
        "before = set(sys.modules)\n"
        f"RealWorld({{}}).place({name!r})\nprint(*(set(sys.modules) - before))"
    )
    told = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(told.stdout.split())
    others = {f"knell.places.{other}" for other in places.BUILT_IN if other != name}
    needed = {"json"} if name in {"kitty", "wezterm"} else set()
    assert loaded & (others | DEAR - needed) == set()
