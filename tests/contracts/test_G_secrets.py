"""G46, G47: nothing private is kept readable, and nothing hostile reaches a shell."""

import json
import os
import stat
from pathlib import Path

import pytest

from house import House, alive, eventually
from knell.core.receipt import Result
from scenes import PROLOGUE, fresh_note, started
from unpacked import plain_content

# -- G46: the last screen, and the files ----------------------------------------------------------

WORDS = "the tests are green"


def secrets() -> dict[str, str]:
    """A line that shows it → the secret in it, new for each test."""
    key = os.urandom(20).hex()
    return {
        f"ANTHROPIC_API_KEY=sk-ant-api03-{key}": f"sk-ant-api03-{key}",
        f"Authorization: Bearer {key[1:]}": key[1:],
        f'password: "{key[2:]}"': key[2:],
        f"export GITHUB_TOKEN={key[3:]}": key[3:],
        f"pushed with ghp_{key[4:]}": f"ghp_{key[4:]}",
        f"git clone https://ada:{key[5:]}@example.org/x": key[5:],
    }


def shown(house: House, text: str, place: str = "headless"):
    """An agent whose screen shows `text`, which it has from a file, not from its arguments.
    It exits 3 once the file `go` is there."""
    source = house.root / "screen.txt"
    source.write_text(text)
    body = f"print(open({str(source)!r}).read(), flush=True)\ntell()\n{WAITS}"
    luna = started(house, body, place=place, server="test" if place == "tmux" else "")
    last = text[-40:].rpartition("\n")[2]
    if place == "tmux":
        eventually(lambda: last in house.tmux("capture-pane", "-p", "-J", "-t", "%0"))
    else:  # the keeper writes it down
        log = Path(luna.run.place.log)
        eventually(lambda: log.stat().st_size > len(text))
    source.unlink()
    return luna


WAITS = """
while not os.path.exists("go"):
    time.sleep(0.02)
sys.exit(3)
"""


def test_G46_the_last_screen_is_kept_without_its_secrets(house: House) -> None:
    lines = secrets()
    luna = shown(house, "\n".join([WORDS, *lines]), "tmux")
    assert house.kill("luna")[0].receipts[0].result is Result.ENDED
    screen = house.knell.receipt("luna").screen
    assert WORDS in screen
    assert screen.count("[redacted]") == len(lines)
    kept = b"".join(plain_content(path) for path in house.state.rglob("*") if path.is_file())
    assert WORDS.encode() in kept
    assert [secret for secret in lines.values() if secret.encode() in kept] == []
    assert not alive(luna.pid)


@pytest.mark.parametrize("place", ["tmux", "headless"])
def test_G46_a_long_screen_is_capped(house: House, place: str) -> None:
    shown(house, "\n".join(f"{number:079}" for number in range(1000)), place)
    house.kill("luna")
    screen = house.knell.receipt("luna").screen
    assert screen.endswith(f"{999:079}")  # its end is what tells why
    assert 8_000 < len(screen) <= 16_384


@pytest.mark.parametrize("place", ["tmux", "headless"])
def test_G46_the_last_screen_of_one_that_ended_by_itself_too(house: House, place: str) -> None:
    lines = secrets()
    luna = shown(house, "\n".join([WORDS, *lines]), place)
    (house.root / "go").touch()
    eventually(lambda: not alive(luna.pid) and not alive(luna.keeper))
    screen = house.knell.receipt("luna").screen
    assert (WORDS in screen, screen.count("[redacted]")) == (True, len(lines))
    assert [secret for secret in lines.values() if secret in screen] == []


@pytest.mark.parametrize("place", ["tmux", "headless"])
@pytest.mark.parametrize("cut", [1, 10, 20, 30])
def test_G46_a_secret_on_the_edge_of_the_cap_is_not_kept_in_part(
    house: House, cut: int, place: str
) -> None:
    secret = f"sk-ant-{os.urandom(20).hex()}"
    rest = 16_384 - len(secret) + cut  # the last 16 KiB begin `cut` characters into it
    lines = ("y" * 79 + "\n") * 300  # as wide as the pane
    shown(house, f"x\nAPI_KEY={secret}\n" + lines[: rest - 2] + "y", place)
    house.kill("luna")
    screen = house.knell.receipt("luna").screen
    assert "yyyy" in screen
    assert secret[cut:] not in screen
    assert secret[-8:] not in screen


@pytest.mark.parametrize("place", ["tmux", "headless"])
def test_G46_whatever_the_umask_only_the_owner_can_read(house: House, place: str) -> None:
    state = house.root / "fresh" / "home"
    house.env["KNELL_HOME"] = str(state)
    where = ("--in", "tmux", "-L", "test") if place == "tmux" else ("--in", "headless")
    note = fresh_note(house)
    ready = ("--name", "luna", "--env", f"KNELL_READY={note}")
    command = house.script(PROLOGUE + "print(1, flush=True)\ntell()\nsleep()")
    done = house.run("spawn", *where, *ready, "--", *command, umask=0)
    assert done.returncode == 0, done.stderr
    eventually(note.exists)
    assert open_to_others(state) == []
    assert {"knell.db", "journal"} <= {path.name for path in state.rglob("*")}
    assert house.run("kill", "luna", umask=0).returncode == 0
    assert house.run("events", umask=0).returncode == 0
    assert any(path.name.startswith(".ended-") for path in state.rglob("*"))
    assert open_to_others(state) == []


def test_G46_what_is_written_elsewhere_is_private_too(house: House) -> None:
    """The settings of other programs may hold keys: what knell makes there is its owner's alone."""
    (house.home / ".claude").mkdir(mode=0o700)
    done = house.run("hooks", "install", "claude", umask=0)
    assert done.returncode == 0, done.stderr
    assert (house.home / ".claude" / "settings.json").exists()
    assert open_to_others(house.home) == []


def open_to_others(state: Path) -> list[str]:
    modes = {path: path.lstat().st_mode for path in (state, *state.rglob("*"))}
    return [f"{path} {stat.filemode(mode)}" for path, mode in modes.items() if mode & 0o077]


# -- G47: names and arguments as weapons -----------------------------------------------------------

HOSTILE = [
    "$(touch pwned)",
    "`touch pwned`",
    "x;touch pwned",
    "x\ntouch pwned",
    "#(touch pwned)",
    "'; import os; os.system('touch pwned'); '",
    "../../pwned",
    "-pwned",
    "=x",
    "%0",
    "x" * 65,
    "x\x1b]0;pwned\x07",
]


def pwned(house: House) -> list[Path]:
    return list(house.root.rglob("*pwned*"))


@pytest.mark.parametrize("name", HOSTILE)
def test_G47_a_hostile_name_is_refused_and_never_run(house: House, name: str) -> None:
    where = ("--in", "tmux", "-L", "test")
    done = house.run("spawn", *where, f"--name={name}", "--", "sleep", "90")
    assert done.returncode == 2
    assert "hint: try " in done.stderr
    assert "\x1b" not in done.stderr
    assert house.knell.list(with_ended=True) == []
    assert house.panes() == []
    assert pwned(house) == []


@pytest.mark.parametrize("option", ["--tag", "--team", "--role", "--task"])
def test_G47_so_is_every_other_word_that_names_something(house: House, option: str) -> None:
    done = house.run("spawn", "--in", "headless", f"{option}=$(touch pwned)", "--", "sleep", "90")
    assert done.returncode == 2
    assert house.knell.list(with_ended=True) == []


@pytest.mark.parametrize("verb", ["kill", "stop", "receipt", "show", "resume", "tree"])
def test_G47_a_hostile_target_is_just_not_found(house: House, verb: str) -> None:
    for target in ("$(touch pwned)", "'; import os; os.system('touch pwned'); '", "#(touch pwned)"):
        done = house.run(verb, target)
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr
    assert pwned(house) == []


def test_G47_arguments_directory_and_environment_arrive_literally(house: House) -> None:
    words = [*HOSTILE, "", " ", "a\\;", ";", '"', "*", "~", "#{pid}", "$HOME", "ü", "\t"]
    folder = house.root / "#(touch pwned) $(touch pwned);"
    folder.mkdir()
    note = fresh_note(house)
    body = (
        "import json\ntell(json.dumps([sys.argv[1:], os.getcwd(), os.environ['HOSTILE']]))\nsleep()"
    )
    done = house.run(
        "spawn", "--in", "tmux", "-L", "test", "--name", "luna", "--session", "#(touch pwned)",
        "--cwd", str(folder), "--env", "HOSTILE=$(touch pwned)", "--env", f"KNELL_READY={note}",
        "--", *house.script(PROLOGUE + body, *words),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    eventually(note.exists)
    assert json.loads(note.read_text()) == [words, str(folder), "$(touch pwned)"]
    assert house.run("kill", "luna").returncode == 0
    folder.rmdir()
    assert pwned(house) == []


def test_G47_a_name_is_no_part_of_the_question_to_the_store(house: House) -> None:
    house.spawn(name="luna")
    done = house.run("events", "x' OR '1'='1")
    assert "life.started" not in done.stdout
    assert "Traceback" not in done.stderr
