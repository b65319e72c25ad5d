"""The wheel: what is in it, what is not, and that it works alone."""

import subprocess
import tomllib
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

import knell
from house import House
from knell.faces.cli.group import VERBS
from wheels import ROOT, Installed, build, names, shared, wheel_of_this_tree

DATA = f"knell-{knell.__version__}.data/data/"
INFO = f"knell-{knell.__version__}.dist-info/"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    [made] = shared(tmp_path_factory, "wheel", wheel_of_this_tree).glob("*.whl")
    return made


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    """No tests, no bench, no scripts, nothing of others'."""
    found = names(wheel)
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "knell").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in found if name.startswith("knell/")}
    assert inside == wanted
    info = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    assert {name.removeprefix(INFO) for name in found if name.startswith(INFO)} == info
    pages = {f"share/man/man1/{page}.1" for page in ("knell", *(f"knell-{verb}" for verb in VERBS))}
    completion = {
        "share/bash-completion/completions/knell",
        "share/zsh/site-functions/_knell",
        "share/fish/vendor_completions.d/knell.fish",
    }
    data = {name.removeprefix(DATA) for name in found if name.startswith(DATA)}
    assert data == pages | completion
    assert [name for name in found if not name.startswith(("knell/", INFO, DATA))] == []


def test_its_metadata_says_what_the_project_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        told = BytesParser().parsebytes(file.read(f"{INFO}METADATA"))
        scripts = [one for one in file.infolist() if one.filename.endswith(".sh")]
    assert (told["Name"], told["Version"]) == ("knell", knell.__version__)
    assert told["Description-Content-Type"] == "text/markdown"
    assert "mcp-name: " in told.get_payload()
    assert {"mcp", "top", "web"} <= set(told.get_all("Provides-Extra", []))
    assert scripts
    assert all(one.external_attr >> 16 & 0o111 for one in scripts), "they can be run"


def test_two_builds_are_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    again = build(wheel.parent / "tree", tmp_path)
    assert again.read_bytes() == wheel.read_bytes()


def test_it_works_alone(wheel: Path, house: House) -> None:
    """In an environment of its own, with the libraries that the base install needs: the command,
    its pages, an agent's whole life, the skills; then it goes and leaves nothing."""
    here = Installed(house.root / "venv")
    before = set(here.folder.rglob("*"))
    here.install(wheel)
    env = house.env | {"PATH": f"{here.folder}/bin:{house.env['PATH']}"}
    assert knell.__version__ in here.run("--version", env=env).stdout
    where = "import knell; print(knell.__file__)"
    found = subprocess.run([here.python, "-c", where], capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(here.folder))
    page = (here.folder / "share/man/man1/knell-kill.1").read_text()
    assert page.rstrip() == here.run("man", "kill", env=env).stdout.rstrip()
    for shell, path in {"bash": "bash-completion/completions/knell"}.items():
        assert (here.folder / "share" / path).read_text() == (
            here.run("completion", shell, env=env).stdout
        )
    words = ("spawn", "--in", "headless", "--name", "luna", "--", "sleep", "1000")
    done = here.run(*words, env=env)
    assert done.returncode == 0, done.stderr
    assert "proven gone" in here.run("kill", "luna", env=env).stdout
    done = here.run("skills", "install", "--kind", "claude", env=env)
    assert "all 8 installed" in done.stdout, done.stderr
    assert here.run("skills", "uninstall", "--kind", "claude", env=env).returncode == 0
    here.uninstall()
    left = {path for path in here.folder.rglob("*") if "__pycache__" not in path.parts}
    assert [path for path in left - before if path.is_file()] == []


def test_the_source_distribution_has_what_it_takes_to_build_the_wheel() -> None:
    """It is listed here; `make package` builds it, and a wheel from it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    listed = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    wanted = {one.removeprefix("/") for one in listed}
    assert {"src", "tests", "scripts", "constraints.txt"} <= wanted
    assert [one for one in wanted if not list(ROOT.glob(one))] == []
