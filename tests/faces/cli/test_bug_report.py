"""knell bug-report: what a person who mends knell needs, and no secret of any known shape."""

import os
import shlex
from pathlib import Path

import knell
from complaints import complaint
from core.test_redact import SCANNED, SECRETS
from house import House, eventually

TITLES = (
    *("versions", "settings that were changed", "doctor", "last events", "receipt"),
    "journal of its keeper",
)
# What stands before the secret, and the secret: as options and assignments have them.
ALL = [(before, secret) for before, secret in SCANNED.values() if "\n" not in secret]
TOLD = [before + secret for before, secret in ALL]
TOLD += [line for line, _ in SECRETS.values()]
PRIVATE = [secret for _, secret in SCANNED.values() if "\n" in secret]


def leaks(text: str) -> list[str]:
    """The secrets of which more than a beginning can be read."""
    secrets = [secret for _, secret in (*ALL, *SECRETS.values())] + PRIVATE
    parts = {part for secret in secrets for part in secret.replace("-----", " ").split()}
    return sorted(part for part in parts if len(part) > 7 and part[-8:] in text)


def report(house: House, *words: str) -> str:
    done = house.run("bug-report", "--output", "-", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_secret_of_any_known_shape_is_in_it(house: House) -> None:
    """In arguments, the reason, a task, a message, a tag, the settings, the screen and the name
    of a directory."""
    folder = house.root / "api_key=Zx81kQplZx81"
    folder.mkdir()
    ready = house.root / "ready"
    says = "; ".join(f"echo {shlex.quote(one)}" for one in (*TOLD, *PRIVATE))
    line = f"{says}; touch {ready}; exec sleep 100"
    words = [word for one in TOLD for word in one.split(" ")]
    house.env["KNELL_CONFIG"] = str(house.root / "config.toml")
    keep = ", ".join(f'"{one}"' for one in TOLD if not set(one) & set('"\\\n'))
    (house.root / "config.toml").write_text(f"[children]\nkeep = [{keep}]\n")
    house.knell.team("red").create()
    house.knell.spawn(
        command=("sh", "-c", line, *words), name="luna", place="tmux", server="test",
        cwd=str(folder), team="red", env={"OPENAI_API_KEY": TOLD[0]},
    )  # fmt: skip
    house.knell.team("red").add_task(f"rotate {TOLD[1]}")
    house.knell.messages.send("luna", text="\n".join(TOLD), team="red")
    eventually(ready.exists)
    house.kill("luna", reason="; ".join(TOLD))
    text = report(house, "luna", "--screen", "--events", "10000")
    assert [title for title in TITLES if f"\n== {title}\n" not in text] == []
    assert "luna" in text
    assert "[redacted]" in text
    assert leaks(text) == []
    assert leaks("\n".join(TOLD)), "the look itself finds them"


def test_it_is_a_new_private_file_and_the_home_is_not_named(house: House) -> None:
    house.spawn(name="luna")
    house.kill("luna", reason=f"it wrote to {house.home}/x")
    done = house.run("bug-report")
    [made] = house.root.glob("knell-bug-report-*.txt")
    assert done.stdout == f"{made}\n"
    assert "read it before you attach it" in done.stderr
    assert made.stat().st_mode & 0o777 == 0o600
    text = made.read_text()
    assert "it wrote to ~/x" in text
    assert str(house.home) not in text
    assert "proof: proven" in text
    again = complaint(house.run("bug-report", "luna", "--output", str(made)), 2)
    assert again.what == f"cannot write {made}: File exists"
    assert made.read_text() == text


def test_a_link_in_the_place_of_the_file_is_not_followed(house: House) -> None:
    precious = house.root / "precious"
    (house.root / "report.txt").symlink_to(precious)
    assert house.run("bug-report", "--output", "report.txt").returncode == 2
    assert not precious.exists()


def test_it_works_while_the_store_is_broken(house: House) -> None:
    """That is when it is needed: each part that cannot be had says why."""
    (house.state / "knell.db").write_bytes(b"garbage" * 1000)
    text = report(house)
    assert text.count("could not look: ") >= 2
    assert "BAD store: " in text
    assert f"knell: {knell.__version__}" in text


def test_without_any_ending_it_says_so(house: House) -> None:
    assert "\n== receipt\nno agent has ended here\n" in report(house)
    assert "could not look: Agent 'nobody' not found" in report(house, "nobody")
    assert sorted(os.listdir(house.root)) == sorted({"home", "state", "t"})


def test_the_screen_is_there_only_when_asked_for(house: House, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    house.knell.spawn(
        command=("sh", "-c", f"echo PRIVATE THOUGHTS; touch {ready}; exec sleep 100"),
        name="luna", place="tmux", server="test",
    )  # fmt: skip
    eventually(ready.exists)
    house.kill("luna")
    assert "screen: PRIVATE THOUGHTS" in report(house, "--screen")
    assert "screen: left out; --screen puts it in" in report(house)
