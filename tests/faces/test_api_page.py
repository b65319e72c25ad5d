"""The Python examples of all pages: each runs, and a type checker understands it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from house import House
from pages import for_users

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in for_users()
    if "```python\n" in page.read_text("utf-8")
]
CLAUDE = "#!/bin/sh\nexec sleep 100\n"


def program(page: str) -> str:
    """The examples of a page, one behind the other, as a reader would type them."""
    text = (ROOT / page).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    return "\n".join(blocks)


@pytest.mark.parametrize("page", PAGES)
def test_every_example_runs(house: House, page: str) -> None:
    programs = house.root / "programs"
    programs.mkdir()
    stand_in = programs / "claude"
    stand_in.write_text(CLAUDE)
    stand_in.chmod(0o755)
    env = house.env | {"PATH": f"{programs}:{house.env['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-c", program(page)],
        env=env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert house.knell.list() == []


def test_a_type_checker_understands_every_example(tmp_path: Path) -> None:
    """In one run: most of what it takes is to read knell, whatever the number of pages."""
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not installed beside this interpreter")
    for page in PAGES:
        written = tmp_path / re.sub(r"\W", "_", page.removesuffix(".md"))
        written.with_suffix(".py").write_text(program(page))
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    done = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "--project", str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "No source files found" not in done.stdout


def test_every_public_method_has_its_place_on_the_page() -> None:
    from knell import Knell

    text = (ROOT / "docs/api.md").read_text("utf-8")
    inside = {"world"}  # what the methods stand on; no face touches it
    methods = [name for name in dir(Knell) if not name.startswith("_") and name not in inside]
    assert [name for name in methods if not re.search(rf"\b(knell|bound)\.{name}\b", text)] == []
