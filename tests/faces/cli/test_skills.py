"""knell skills: in, out again with every byte, and nothing of a person's is touched."""

import os
from pathlib import Path

import pytest

from complaints import complaint
from house import House
from needs import skip_without

FOLDERS = {
    "claude": ".claude/skills",
    "codex": ".codex/skills",
    "gemini": ".gemini/skills",
    "opencode": ".config/opencode/skills",
}
STOP = "tmux-agent-orchestrate-stop"
SCRIPT = f"{STOP}/scripts/stop_session.sh"


def picture(root: Path) -> dict[str, tuple[int, str]]:
    """Everything below: what it is, its mode, and its bytes or where it leads."""
    found: dict[str, tuple[int, str]] = {}
    for path in sorted(root.rglob("*")):
        said = os.readlink(path) if path.is_symlink() else ""
        said = path.read_bytes().hex() if not said and path.is_file() else said
        found[str(path.relative_to(root))] = (path.lstat().st_mode, said)
    return found


def claude(house: House) -> Path:
    """The directory of Claude's skills, with one of the person's own."""
    folder = house.home / FOLDERS["claude"]
    (folder / "mine").mkdir(parents=True)
    (folder / "mine/SKILL.md").write_text("mine\r\n")
    return folder


@pytest.mark.parametrize("kind", FOLDERS)
def test_all_skills_go_in_and_out_and_every_byte_is_as_before(house: House, kind: str) -> None:
    before = picture(house.home)
    folder = house.home / FOLDERS[kind]
    done = house.run("skills", "install", "--kind", kind)
    assert (done.returncode, done.stdout) == (0, f"{kind}: {folder}: all 8 installed\n")
    assert os.access(folder / SCRIPT, os.X_OK)
    assert (folder / STOP / "SKILL.md").read_text().startswith(f"---\nname: {STOP}\n")
    after = picture(house.home)
    again = house.run("skills", "install", "--kind", kind)
    assert (again.returncode, again.stdout) == (0, f"{kind}: {folder}: all 8 installed\n")
    assert picture(house.home) == after, "twice is no error, and no change"
    gone = house.run("skills", "uninstall", "--kind", kind)
    assert (gone.returncode, gone.stdout) == (0, f"{kind}: {folder}: all 8 removed\n")
    assert picture(house.home) == before, "with the directories that had to be made"


def test_a_dry_run_changes_nothing(house: House) -> None:
    claude(house)
    before = picture(house.root)
    for verb in ("install", "uninstall"):
        done = house.run("skills", verb, "--dry-run")
        assert done.returncode == 0, done.stderr
    assert "all 8 would install" in house.run("skills", "install", "-n").stdout
    assert picture(house.root) == before
    assert house.run("skills", "install").returncode == 0
    after = picture(house.home)
    assert "all 8 would uninstall" in house.run("skills", "uninstall", "-n").stdout
    assert picture(house.home) == after


def test_variables_that_move_a_program_move_its_skills(house: House) -> None:
    moved = house.root / "with a space"
    env = house.env | {"CLAUDE_CONFIG_DIR": str(moved)}
    assert house.run("skills", "install", "--kind", "claude", env=env).returncode == 0
    assert (moved / "skills" / STOP / "SKILL.md").exists()
    assert house.run("skills", "uninstall", "--kind", "claude", env=env).returncode == 0
    assert not moved.exists()


def test_a_directory_of_a_project_can_be_named(house: House) -> None:
    project = house.root / "my project"
    project.mkdir()
    words = ("knell-end-agents", "--dir", ".claude/skills")
    assert house.run("skills", "install", *words, cwd=project).returncode == 0
    there = project / ".claude/skills"
    assert [path.name for path in there.iterdir()] == ["knell-end-agents"]
    [one] = house.json("skills", "status", *words, cwd=project)["skills"]
    assert (one["state"], one["path"]) == ("installed", str(there / "knell-end-agents"))
    assert house.run("skills", "uninstall", "--dir", ".claude/skills", cwd=project).returncode == 0
    assert list(project.iterdir()) == []


# -- what is a person's own ------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["folder", "empty folder", "link", "file", "dangling link"])
def test_what_knell_did_not_put_there_stays(house: House, what: str) -> None:
    """Each with the name of a skill of knell's: refused, then put aside when asked, then back."""
    folder = claude(house)
    mine = folder / STOP
    if what == "folder":
        mine.mkdir()
        (mine / "SKILL.md").write_text("their own\n")
        (mine / "SKILL.md").chmod(0o640)
    elif what == "empty folder":
        mine.mkdir(0o750)
    elif what == "file":
        mine.write_text("a file")
    else:
        mine.symlink_to(folder / "mine" if what == "link" else "/nowhere/at/all")
    before = picture(house.home)
    refused = house.run("skills", "install")
    assert refused.returncode == 1
    assert f"{mine}: a " in refused.stderr
    assert "knell did not put there; left alone" in refused.stderr
    assert "hint: --replace puts it aside" in refused.stderr
    assert "  knell-end-agents                installed" in refused.stdout, "the others go in"
    kept = {path: what for path, what in picture(house.home).items() if path in before}
    assert kept == before
    assert house.run("skills", "uninstall").returncode == 0
    assert picture(house.home) == before
    assert house.run("skills", "install", "--replace").returncode == 0
    assert (folder / SCRIPT).exists()
    assert (folder / "mine/SKILL.md").read_bytes().decode() == "mine\r\n"
    assert house.run("skills", "uninstall").returncode == 0
    assert picture(house.home) == before


@pytest.mark.parametrize(
    "how", ["changed", "added", "empty folder", "added link", "gone", "linked", "dir linked"]
)
def test_a_skill_that_a_person_changed_stays_theirs(house: House, how: str) -> None:
    folder = claude(house)
    assert house.run("skills", "install").returncode == 0
    elsewhere = house.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "stop_session.sh").write_text("precious")
    skill = folder / STOP
    if how == "changed":
        (skill / "SKILL.md").write_text("better\n")
    elif how == "added":
        (skill / "notes.md").write_text("mine\n")
    elif how == "empty folder":
        (skill / "assets").mkdir()
    elif how == "added link":
        (skill / "more.md").symlink_to(elsewhere / "stop_session.sh")
    elif how == "gone":
        (skill / "scripts/stop_session.sh").unlink()
    elif how == "linked":
        (skill / "SKILL.md").unlink()
        (skill / "SKILL.md").symlink_to(elsewhere / "stop_session.sh")
    else:
        (skill / "scripts/stop_session.sh").unlink()
        (skill / "scripts").rmdir()
        (skill / "scripts").symlink_to(elsewhere)
    note = ".knell.json"
    before = picture(skill)
    refused = house.run("skills", "install")
    assert refused.returncode == 1
    assert "changed since knell put it there" in refused.stderr
    assert picture(skill) == before
    gone = house.run("skills", "uninstall")
    assert gone.returncode == 0, gone.stderr
    assert "kept; changed since knell put it there: " in gone.stdout
    assert "it is yours now" in gone.stdout
    assert picture(skill) == {path: what for path, what in before.items() if path != note}
    assert sorted(path.name for path in folder.iterdir()) == ["mine", STOP]
    assert (elsewhere / "stop_session.sh").read_text() == "precious"


def test_a_skill_that_was_put_aside_waits_while_a_changed_one_stands_there(house: House) -> None:
    folder = claude(house)
    (folder / STOP).mkdir()
    (folder / STOP / "SKILL.md").write_text("the first\n")
    assert house.run("skills", "install", "--replace").returncode == 0
    (folder / STOP / "SKILL.md").write_text("the second\n")
    twice = house.run("skills", "install", "--replace")
    assert twice.returncode == 1
    assert "is there already" in twice.stderr
    gone = house.run("skills", "uninstall")
    aside = folder.with_name("skills.before-knell") / STOP
    assert f"what stood there before knell is in {aside}" in gone.stdout
    assert (aside / "SKILL.md").read_text() == "the first\n"
    assert (folder / STOP / "SKILL.md").read_text() == "the second\n"


@pytest.mark.parametrize(
    "note", ["", "[]", "{}", '{"files": 7}', '{"files": {}, "made": "x", "aside": 0}', "[" * 9999]
)
def test_a_note_that_knell_did_not_write_gives_nothing_away(house: House, note: str) -> None:
    folder = claude(house)
    (folder / STOP).mkdir()
    (folder / STOP / ".knell.json").write_text(note)
    (folder / STOP / "SKILL.md").write_text("mine\n")
    before = picture(house.home)
    assert house.run("skills", "uninstall").returncode == 0
    assert picture(house.home) == before


def test_a_forged_note_removes_only_what_it_describes(house: House) -> None:
    """Even one that claims to have made every directory above."""
    folder = claude(house)
    (folder / STOP).mkdir()
    note = '{"files": {"../mine/SKILL.md": "0"}, "made": 99, "aside": true}'
    (folder / STOP / ".knell.json").write_text(note)
    assert house.run("skills", "uninstall").returncode == 0
    assert (folder / "mine/SKILL.md").exists()


# -- an older and a newer knell --------------------------------------------------------------------


def test_skills_of_another_version_are_renewed_and_taken_out(house: House) -> None:
    """What an older knell wrote is as it was: replaced. What knell no longer has goes too."""
    folder = claude(house)
    before = picture(house.home)
    assert house.run("skills", "install").returncode == 0
    now = picture(folder)
    old = (folder / STOP / "SKILL.md").read_text()
    for name in (STOP, "an-older-skill"):
        (folder / name).mkdir(exist_ok=True)
        text = "as it was in an older knell\n"
        (folder / name / "SKILL.md").write_text(text)
        note(folder / name)
    states = {one["skill"]: one["state"] for one in house.json("skills")["skills"]}
    assert (states[STOP], states["an-older-skill"]) == ("outdated", "outdated")
    assert house.run("skills", "install").returncode == 0
    assert (folder / STOP / "SKILL.md").read_text() == old
    assert {path for path in picture(folder) if "older" not in path} == set(now)
    assert house.run("skills", "uninstall").returncode == 0
    assert picture(house.home) == before


def note(skill: Path) -> None:
    """As if everything in that folder were as knell had written it."""
    from knell.core.skills import NOTE, new_note

    paths = [path for path in skill.rglob("*") if path.is_file() and path.name != NOTE]
    files = {str(path.relative_to(skill)): path.read_bytes() for path in paths}
    (skill / NOTE).write_bytes(new_note(files, made=0, aside=False).dump())


# -- what the machine refuses ----------------------------------------------------------------------


def test_a_read_only_home_is_named_and_left_alone(house: House) -> None:
    """Also root does not write where a person took away every write bit."""
    folder = claude(house)
    folder.chmod(0o555)
    before = picture(house.home)
    done = house.run("skills", "install")
    assert done.returncode == 1
    assert done.stderr.count("error: ") == 8
    assert f"{folder}/{STOP}: Permission denied: the directory is read-only" in done.stderr
    assert picture(house.home) == before
    folder.chmod(0o755)
    assert house.run("skills", "install").returncode == 0
    folder.chmod(0o555)
    assert house.run("skills", "uninstall").returncode == 1
    assert (folder / SCRIPT).exists()
    folder.chmod(0o755)


def test_a_home_that_cannot_be_written_at_all(house: House) -> None:
    house.home.chmod(0o555)
    done = house.run("skills", "install", "--kind", "codex")
    house.home.chmod(0o755)
    assert done.returncode == 1
    assert "read-only" in done.stderr
    assert list(house.home.iterdir()) == []


@pytest.mark.needs_root
def test_a_directory_of_another_user_is_left_alone(house: House) -> None:
    skip_without("needs_root")
    folder = claude(house)
    os.chown(folder, 12345, 12345)
    assert house.run("skills", "install").returncode == 0, "root may"
    assert (folder / SCRIPT).exists()


def test_a_directory_of_skills_that_is_a_link_is_followed(house: House) -> None:
    """As in a home whose settings are kept in a repository."""
    dotfiles = house.root / "dotfiles"
    dotfiles.mkdir()
    (house.home / ".claude").mkdir()
    (house.home / ".claude/skills").symlink_to(dotfiles)
    assert house.run("skills", "install").returncode == 0
    assert (dotfiles / SCRIPT).exists()
    assert house.run("skills", "uninstall").returncode == 0
    assert list(dotfiles.iterdir()) == []
    dotfiles.rmdir()
    what, hint = complaint(house.run("skills", "install"), 2)
    assert what == f"{house.home}/.claude/skills is a link to what is not there"
    assert hint == "mend the link, or remove it"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("install", "nobody"), "knell has no skill 'nobody'"),
        (("install", "--kind", "aider"), "where aider looks for skills is not known"),
        (("install", "--kind", "claude", "--dir", "x"), "--dir names the directory itself"),
        (("uninstall", "--replace"), "--replace is for install"),
    ],
)
def test_a_wrong_request_is_named(house: House, words: tuple[str, ...], said: str) -> None:
    what, _ = complaint(house.run("skills", *words), 2)
    assert what == said


def test_without_any_program_nothing_is_made(house: House) -> None:
    house.env["PATH"] = "/usr/bin:/bin"
    done = house.run("skills", "install")
    assert done.returncode == 1
    assert "--kind claude" in done.stderr
    assert list(house.home.iterdir()) == []


def test_uninstall_of_knell_takes_the_skills_along(house: House) -> None:
    folder = claude(house)
    before = picture(house.home)
    assert house.run("skills", "install").returncode == 0
    (folder / "knell-end-agents/SKILL.md").write_text("mine now")
    shown = house.run("uninstall", "--dry-run").stdout
    assert f"remove {folder}/{STOP}" in shown
    assert "knell-end-agents" not in shown
    done = house.run("uninstall", "--yes")
    assert done.returncode == 0, done.stderr
    assert "knell-end-agents: " in done.stderr
    assert "it is yours now" in done.stderr
    (folder / "knell-end-agents/SKILL.md").unlink()
    assert not list((folder / "knell-end-agents").glob("*.json"))
    (folder / "knell-end-agents").rmdir()
    assert picture(house.home) == before
