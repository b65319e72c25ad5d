"""The work of a team: claims that prove themselves, and nothing is done twice."""

import json

from contracts.t_scenes import (
    Puppet,
    add_task,
    crew,
    leader,
    member,
    refusals,
    task,
)
from house import House, eventually
from scenes import stranger


def test_a_task_is_claimed_and_done_by_a_member(house: House) -> None:
    boss, wendy = crew(house)
    added = boss.asks("task", "add", "--team", "red", "--priority", "high", "Mend the roof")
    assert (added["id"], added["status"], added["priority"]) == ("TASK-1", "pending", "high")
    claimed = wendy.asks("task", "claim", "TASK-1")
    assert (claimed["owner"], claimed["status"], claimed["warnings"]) == (
        "wendy",
        "in_progress",
        [],
    )
    assert claimed["owner_run"] == wendy.run.id
    done = wendy.asks("task", "done", "TASK-1", "--claim", str(claimed["token"]))
    assert done["status"] == "completed"
    assert wendy.says("task", "claim", "TASK-1").code == 1


def test_the_leader_claims_none_and_hands_out(house: House) -> None:
    boss, _ = crew(house)
    add_task(house, "T-1")
    said = boss.with_token("task", "claim", "T-1")
    assert (said.code, "claims none" in said.err) == (1, True)
    assert boss.asks_with_token("task", "claim", "T-1", "--for", "wendy")["owner"] == "wendy"


def test_a_worker_claims_for_nobody_else(house: House) -> None:
    _, wendy = crew(house)
    member(house, "wanda")
    add_task(house, "T-1")
    assert wendy.with_token("task", "claim", "T-1", "--for", "wanda").code == 1
    assert task(house, "T-1").owner == ""
    [refused] = refusals(house)
    assert "hands out no tasks" in refused["why"]


def test_in_a_hierarchical_team_only_who_hands_out_decides(house: House) -> None:
    boss = leader(house, topology="hierarchical")
    wendy = member(house, "wendy")
    manager = member(house, "manny", role="task-manager")
    for name in ("T-1", "T-2", "T-3"):
        add_task(house, name)
    assert wendy.with_token("task", "claim", "T-1").code == 1
    assert manager.asks_with_token("task", "claim", "T-1")["owner"] == "manny"
    assert manager.asks_with_token("task", "claim", "T-2", "--for", "wendy")["owner"] == "wendy"
    assert boss.asks_with_token("task", "claim", "T-3", "--for", "wendy")["owner"] == "wendy"


def test_who_is_not_in_the_team_has_no_part_in_it(house: House) -> None:
    crew(house)
    lone = Puppet(house, "lone")
    add_task(house, "T-1")
    assert lone.with_token("task", "claim", "T-1").code == 1
    assert lone.with_token("task", "add", "--team", "red", "Intrude").code == 1
    assert lone.with_token("task", "delete", "T-1").code == 1
    assert task(house, "T-1").status == "pending"


def test_needs_are_a_warning_cycles_are_refused_and_completing_frees(house: House) -> None:
    boss, wendy = crew(house)
    add_task(house, "T-1")
    boss.asks_with_token(
        "task", "add", "--team", "red", "--id", "T-2", "--needs", "T-1", "Then this"
    )
    said = boss.with_token("task", "add", "--team", "red", "--id", "T-3", "--needs", "T-9", "No")
    assert (said.code, "no task 'T-9'" in said.err) == (1, True)
    claimed = wendy.asks_with_token("task", "claim", "T-2")
    assert claimed["warnings"] == [{"code": "task_not_ready", "text": "task 'T-1' is not done yet"}]
    said = boss.with_token("task", "delete", "T-1")
    assert (said.code, "needed by T-2" in said.err) == (1, True)
    wendy.asks_with_token("task", "claim", "T-1")
    wendy.asks_with_token("task", "done", "T-1")
    assert task(house, "T-2").needs == ()


def test_G27_a_former_owner_finishes_nothing(house: House) -> None:
    """The task was handed on; whoever still works on it hears so."""
    boss, wendy = crew(house)
    wanda = member(house, "wanda")
    old = add_task(house, "T-1", owner="wendy").token
    boss.asks_with_token("task", "release", "T-1")
    wanda.asks_with_token("task", "claim", "T-1")
    for words in (("done", "T-1"), ("done", "T-1", "--claim", str(old)), ("release", "T-1")):
        said = wendy.with_token("task", *words)
        assert said.code == 1, said
    assert (task(house, "T-1").owner, task(house, "T-1").status) == ("wanda", "in_progress")
    wanda.asks_with_token("task", "done", "T-1")


KEPT = """
import json, os, signal, subprocess, sys, time
signal.alarm(1200)
open({note!r} + ".up", "w").close()
while not os.path.exists({note!r} + ".go"): time.sleep(0.01)
words = ("task done T-1", "task claim T-2", "inbox", "approve")
argv = [sys.executable, "-m", "knell"]
said = [subprocess.run(argv + w.split(), capture_output=True, text=True) for w in words]
open({note!r} + ".new", "w").write(json.dumps([[s.returncode, s.stderr] for s in said]))
os.rename({note!r} + ".new", {note!r})
"""


def test_G27_what_outlives_its_run_works_for_nobody(house: House) -> None:
    """A child that was kept alive still carries its agent's name, whose next life has the task."""
    boss = leader(house)
    note, kept = house.root / "orphan", house.root / "kept_child.py"
    kept.write_text(KEPT.format(note=str(note)))
    source = (
        "import os, sys, time\n"
        f"argv = [sys.executable, {str(kept)!r}]\n"
        "if not os.fork(): os.setsid(), os.execv(sys.executable, argv)\n"
        "time.sleep(120)"
    )
    house.knell.spawn(
        command=house.script(source),
        name="wendy",
        cwd=str(house.root),
        team="red",
        keep=["*kept_child.py"],
        place="headless",
    )
    eventually((house.root / "orphan.up").exists)
    boss.asks("kill", "wendy")
    member(house, "wendy")
    for name in ("T-1", "T-2"):
        add_task(house, name, owner="wendy" if name == "T-1" else "")
    house.run("send", "wendy", "--", "only for your present life")
    (house.root / "orphan.go").touch()
    eventually(note.exists)
    told = json.loads(note.read_text())
    assert [code for code, _ in told] == [1, 1, 1, 1], told
    assert all("has ended" in err for _, err in told)
    assert task(house, "T-1").status == "in_progress"
    assert task(house, "T-2").status == "pending"
    assert len(house.json("inbox", "wendy")["messages"]) == 1
    house.run("reap", "--yes")


def test_a_resumed_agent_finishes_what_was_left_with_it(house: House) -> None:
    boss, _ = crew(house)
    add_task(house, "T-1", owner="wendy")
    assert boss.says("kill", "wendy", "--tasks", "leave").code == 0
    assert task(house, "T-1").owner == "wendy"
    again = member(house, "wendy")
    again.asks_with_token("task", "done", "T-1")
    assert task(house, "T-1").status == "completed"


BAD = {
    "no title": (("task", "add", "--team", "red", " "), 2),
    "long title": (("task", "add", "--team", "red", "x" * 501), 2),
    "bad id": (("task", "add", "--team", "red", "--id", "a b", "Title"), 2),
    "no team": (("task", "add", "--team", "green", "Title"), 1),
    "no task": (("task", "claim", "T-9", "--for", "wendy"), 1),
    "who": (("task", "claim", "T-1"), 2),
    "nobody": (("task", "claim", "T-1", "--for", "nemo"), 1),
    "empty team": (("team", "create", ""), 2),
    "long team": (("team", "create", "x" * 65), 2),
    "same team": (("team", "create", "red"), 1),
    "two leaders": (("team", "add", "red", "wendy", "--role", "leader"), 2),
    "no agent": (("team", "add", "red", "nemo"), 1),
    "remove the leader": (("team", "remove", "red", "boss"), 1),
    "show no team": (("team", "show", "green"), 1),
}


def test_bad_input_is_one_line_and_a_hint(house: House) -> None:
    crew(house)
    add_task(house, "T-1")
    before = everything(house)
    for name, (words, code) in BAD.items():
        done = house.run(*words)
        assert done.returncode == code, (name, done)
        error, hint = done.stderr.splitlines()
        assert (error[:7], hint[:6]) == ("error: ", "hint: "), name
        assert everything(house) == before, name


def everything(house: House) -> object:
    """What a refused command may not have changed."""
    return house.knell.teams(), house.knell.team("red").show(), house.knell.tasks("red")


def test_an_adopted_agent_works_in_a_team_as_well(house: House) -> None:
    crew(house)
    pid, _ = stranger(house, "tell()\nsleep()")
    house.knell.adopt(str(pid), name="luna")
    house.knell.team("red").add("luna", "reviewer")
    add_task(house, "T-1", owner="luna")
    house.kill("luna")
    assert task(house, "T-1").status == "pending"
