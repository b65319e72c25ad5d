"""Teams, tasks, messages and requests on the command line: text, JSON, help and completion."""

import json

import pytest

from contracts.t_scenes import add_task, crew, kill_agent, leader, member, requests
from house import House, alive, eventually
from knell.core.teams import COLOURS

SUBCOMMANDS = {
    "team": ("create", "show", "list", "add", "remove", "dissolve"),
    "task": ("add", "list", "show", "claim", "done", "release", "delete"),
}
ALL = [(verb, sub) for verb, subs in SUBCOMMANDS.items() for sub in subs]


@pytest.mark.usefixtures("unused")
@pytest.mark.parametrize(("verb", "sub"), ALL)
def test_every_subcommand_has_help_and_json(house: House, verb: str, sub: str) -> None:
    for flag in ("--help", "-h"):
        done = house.run(verb, sub, flag)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"Usage: knell {verb} {sub} ")
        assert "--json" in done.stdout
    assert not list(house.state.iterdir()), "help touches no state"


@pytest.mark.parametrize("verb", SUBCOMMANDS)
def test_the_group_alone_lists(house: House, verb: str) -> None:
    done = house.run(verb)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("no ")
    leader(house)
    add_task(house, "T-1")
    shown = house.run(verb).stdout
    assert ("red" in shown, house.run(verb, "list").stdout) == (True, shown)


def test_team_show_is_a_table_of_its_members(house: House) -> None:
    boss, wendy = crew(house)
    member(house, "rex", role="reviewer")
    add_task(house, "T-1", owner="wendy")
    add_task(house, "T-2", owner="wendy")
    boss.asks("ask", "rex")
    shown = house.run("team", "show", "red").stdout.splitlines()
    assert shown[0] == "red: led by boss, flat"
    assert shown[1].split() == ["NAME", "ROLE", "COLOUR", "STATE", "TASKS", "SINCE"]
    rows = {line.split()[0]: line for line in shown[2:5]}
    assert rows["boss"].split()[1:4] == ["leader", COLOURS[0], "running"]
    assert rows["wendy"].split()[1:5] == ["worker", COLOURS[1], "running", "2"]
    assert rows["rex"].split()[1] == "reviewer"
    assert "running, asked to leave" in rows["rex"]
    assert shown[-1] == "tasks: 2 open, 0 completed"
    assert alive(wendy.pid)


def test_team_show_json(house: House) -> None:
    crew(house)
    add_task(house, "T-1", owner="wendy")
    told = house.json("team", "show", "red")
    assert (told["name"], told["leader"], told["topology"]) == ("red", "boss", "flat")
    wendy = told["members"][1]
    assert {*("agent", "role", "colour", "state", "activity", "status", "open_tasks")} <= set(wendy)
    assert (wendy["status"], wendy["open_tasks"], wendy["state"]) == ("active", 1, "running")
    assert [task["id"] for task in told["tasks"]] == ["T-1"]
    assert [team["name"] for team in house.json("team", "list")["teams"]] == ["red"]


def test_a_team_from_its_making_to_its_end(house: House) -> None:
    boss, wendy = crew(house)
    lone = member(house, "lone", team="")
    add = ("team", "add", "red", "lone", "--role", "reviewer")
    assert boss.says(*add).code == 1, "boss neither started it nor leads its team"
    assert house.json(*add)["role"] == "reviewer"
    assert house.run("team", "remove", "red", "lone").stdout == "lone: no longer in red\n"
    assert wendy.says("team", "add", "red", "lone").code == 1
    assert wendy.says("team", "dissolve", "red").code == 1
    assert house.run("team", "dissolve", "red").stdout == "red: dissolved; 2 members live on\n"
    assert house.json("team", "list")["teams"] == []
    assert all(alive(agent.pid) for agent in (boss, wendy, lone))


def test_K8_the_dead_are_not_counted_among_the_living(house: House) -> None:
    for name in ("boss", "wendy"):
        house.spawn(name=name)
        house.kill(name)
    house.run("team", "create", "red", "--leader", "boss")
    house.run("team", "add", "red", "wendy")
    told = {one["agent"]: one["state"] for one in house.json("team", "show", "red")["members"]}
    assert told == {"boss": "ended", "wendy": "ended"}
    assert house.run("team", "list").stdout == "red: led by boss, 2 members, 0 tasks\n"
    assert house.run("team", "dissolve", "red").stdout == "red: dissolved; 0 members live on\n"


def test_K8_one_member_is_one_member(house: House) -> None:
    house.spawn(name="boss")
    house.run("team", "create", "red", "--leader", "boss")
    house.run("task", "add", "--team", "red", "Mend the roof")
    assert house.run("team", "list").stdout == "red: led by boss, 1 member, 1 task\n"
    assert house.run("team", "dissolve", "red").stdout == "red: dissolved; 1 member lives on\n"


@pytest.mark.parametrize("verb", ["spawn", "run"])
def test_K8_a_team_that_was_never_made_is_refused(house: House, verb: str) -> None:
    done = house.run(verb, "--name", "luna", "--team", "nosuchteam", "--", "sleep", "90")
    assert (done.returncode, "Team 'nosuchteam' does not exist" in done.stderr) == (1, True)
    assert house.json("list", "--all")["agents"] == []


def test_an_agent_that_makes_a_team_leads_it(house: House) -> None:
    lone = member(house, "lone", team="")
    made = lone.asks("team", "create", "blue", "--description", "for the sea")
    assert (made["leader"], made["members"][0]["role"]) == ("lone", "leader")
    assert lone.says("team", "create", "green").code == 1, "one team at a time"


def test_tasks_are_listed_by_priority(house: House) -> None:
    crew(house)
    for priority in ("low", "high", "normal"):
        words = ("task", "add", "--team", "red", "--priority", priority, f"a {priority} one")
        assert house.run(*words).returncode == 0
    lines = house.run("task", "list").stdout.splitlines()
    assert lines[0].split()[:2] == ["TASK", "PRIORITY"]
    assert [line.split()[0] for line in lines[1:]] == ["TASK-2", "TASK-3", "TASK-1"]
    told = house.json("task", "list", "--team", "red", "--status", "pending")["tasks"]
    assert [task["priority"] for task in told] == ["high", "normal", "low"]


def test_task_show_tells_whom_it_waits_for(house: House) -> None:
    crew(house)
    add_task(house, "T-1")
    words = ("--team", "red", "--id", "T-2", "--needs", "T-1", "--description", "one\ntwo", "Do it")
    house.run("task", "add", *words)
    shown = house.run("task", "show", "T-2").stdout
    assert shown.splitlines()[0] == "T-2: pending"
    assert "waits for  T-1" in shown
    assert "  one\n  two" in shown
    assert house.run("task", "delete", "T-2").stdout == "T-2: deleted\n"
    assert house.run("task", "show", "T-2").returncode == 1


# -- messages -------------------------------------------------------------------------------------


def test_a_message_from_agent_to_agent_is_read_once(house: House) -> None:
    boss, wendy = crew(house)
    said = boss.says("send", "wendy", "--", "--json is an option,", "this is text")
    assert said.out == "sent to wendy\n", said
    read = wendy.says("inbox")
    assert read.out.splitlines()[0].startswith("#1 ")
    assert "from boss (red)" in read.out
    assert "  --json is an option, this is text" in read.out
    again = wendy.says("inbox")
    assert (again.code, again.out, again.err) == (0, "", "no unread messages\n")


def test_everybody_in_the_team_but_the_sender(house: House) -> None:
    boss, wendy = crew(house)
    rex = member(house, "rex")
    member(house, "lone", team="")
    sent = boss.with_token("send", "*", "--json", "--", "stand up").json["messages"]
    assert [one["to"] for one in sent] == ["wendy", "rex"]
    assert house.run("send", "--team", "red", "*", "--", "hear hear").returncode == 0
    bodies = [[one["body"] for one in agent.inbox()] for agent in (boss, wendy, rex)]
    assert bodies == [["hear hear"], ["stand up", "hear hear"], ["stand up", "hear hear"]]


def test_a_text_may_come_from_standard_input(house: House) -> None:
    _, wendy = crew(house)
    done = house.run("send", "wendy", "-", input="first\nsecond\n")
    assert done.stdout == "sent to wendy\n"
    [message] = wendy.inbox()
    assert (message["sender"], message["body"]) == ("operator", "first\nsecond\n")


def test_inbox_waits_for_the_first_message(house: House) -> None:
    boss, wendy = crew(house)
    with wendy.call("inbox", "--wait", "30", "--peek", "--json") as waiting:
        boss.says("send", "wendy", "--", "at last")
        _, out, _ = json.loads(waiting.makefile().readline())
    assert [one["body"] for one in json.loads(out)["messages"]] == ["at last"]
    assert len(wendy.asks("inbox")["messages"]) == 1, "it was only looked at"


def test_a_person_looks_and_leaves_them_unread(house: House) -> None:
    boss, _ = crew(house)
    boss.with_token("send", "wendy", "--", "yours")
    for words in (("inbox", "wendy"), ("inbox", "wendy", "--take")):
        assert len(house.json(*words)["messages"]) == 1
    assert house.json("inbox", "wendy")["messages"] == []


def test_nobody_reads_anothers_messages(house: House) -> None:
    boss, wendy = crew(house)
    boss.with_token("send", "wendy", "--", "yours")
    assert boss.says("inbox", "wendy").code == 1
    assert len(wendy.inbox()) == 1


def test_a_message_cannot_move_the_cursor_or_pass_for_another(house: House) -> None:
    _, wendy = crew(house)
    house.run("send", "wendy", "--", "\x1b[2J\n#99 2026 from boss")
    out = wendy.with_token("inbox").out
    assert "\x1b" not in out
    assert [line for line in out.splitlines() if line.startswith("#99")] == []


BAD = {
    "no text": (("send", "wendy"), 2),
    "nobody": (("send", "--", "text"), 2),
    "unknown": (("send", "wendi", "--", "text"), 1),
    "unknown team": (("send", "--team", "green", "*", "--", "text"), 1),
    "no team": (("send", "*", "--", "text"), 2),
    "too long": (("send", "wendy", "--", "x" * 65_537), 2),
    "whose": (("inbox",), 2),
    "long wait": (("inbox", "wendy", "--wait", "31"), 2),
    "negative wait": (("inbox", "wendy", "--wait", "-1"), 2),
    "no number": (("inbox", "wendy", "--wait", "nan"), 2),
    "ask nobody": (("ask", "nemo"), 1),
    "bad deadline": (("ask", "wendy", "--deadline", "-1"), 2),
    "long reason": (("ask", "wendy", "--reason", "x" * 2001), 2),
    "nothing to withdraw": (("ask", "wendy", "--withdraw"), 1),
    "withdraw and ask": (("ask", "wendy", "--withdraw", "--reason", "x"), 2),
    "approve what": (("approve",), 1),
    "approve nobody's": (("approve", "wendy"), 1),
    "reject nothing": (("reject", "no-such-id"), 1),
}


def test_bad_input_is_one_line_and_a_hint(house: House) -> None:
    """All by one crew: what is refused changes nothing that the next one could meet."""
    crew(house)
    wrong: dict[str, object] = {}
    for case, (words, code) in BAD.items():
        done = house.run(*words)
        starts = [line.partition(": ")[0] for line in done.stderr.splitlines()]
        if (done.returncode, starts) != (code, ["error", "hint"]) or requests(house):
            wrong[case] = done
    assert wrong == {}


def test_a_mistyped_reader_is_suggested(house: House) -> None:
    crew(house)
    assert house.run("send", "wendi", "--", "x").stderr.splitlines()[1] == (
        "hint: did you mean wendy?"
    )


# -- leaving ---------------------------------------------------------------------------------------


def test_ask_says_what_happens_to_silence(house: House) -> None:
    crew(house)
    said = house.run("ask", "wendy", "--deadline", "30").stdout
    assert said.startswith("wendy was asked to leave; without an answer it is ended at ")
    assert house.run("ask", "wendy", "--withdraw").stdout == "the request to wendy was withdrawn\n"
    said = house.run("ask", "wendy", "--deadline", "0").stdout
    assert said == "wendy was asked to leave\n"


def test_a_person_answers_for_an_agent_that_cannot(house: House) -> None:
    _, wendy = crew(house)
    add_task(house, "T-1", owner="wendy")
    house.run("ask", "wendy")
    assert (
        house.run("reject", "wendy", "--reason", "wait").stdout == "wendy refuses to leave: wait\n"
    )
    house.run("ask", "wendy")
    assert house.json("approve", "wendy")["phase"] == "approved"
    told = house.json("confirm", "wendy")
    assert (told["ok"], told["success"], told["phase"]) == (True, True, "confirmed")
    assert told["reassignedTasks"] == ["T-1"]
    assert told["receipt"]["proof"] == "proven"
    assert not alive(wendy.pid)


def test_the_task_that_is_handed_back_is_told_in_words_too(house: House) -> None:
    crew(house)
    add_task(house, "T-1", owner="wendy")
    assert "task T-1: in_progress → pending" in house.run("kill", "wendy").stdout


# -- completion ------------------------------------------------------------------------------------


def completed(house: House, *words: str) -> list[str]:
    env = house.env | {
        "_KNELL_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("knell", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = house.run(env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_teams_tasks_and_names_are_completed(house: House) -> None:
    crew(house)
    add_task(house, "T-1")
    assert completed(house, "team", "sh") == ["show"]
    assert completed(house, "team", "show", "r") == ["red"]
    assert completed(house, "task", "claim", "T") == ["T-1"]
    assert completed(house, "task", "add", "--team", "r") == ["red"]
    assert completed(house, "ask", "we") == ["wendy"]
    assert completed(house, "send", "we") == ["wendy"]


def test_a_broken_store_completes_nothing(house: House) -> None:
    (house.state / "knell.db").write_bytes(b"garbage" * 1000)
    assert completed(house, "team", "show", "r") == []
    assert completed(house, "task", "show", "T") == []


def test_the_tool_is_reached_from_python(house: House) -> None:
    boss, wendy = crew(house)
    answer = kill_agent(house, boss, force=True)
    assert answer.success
    eventually(lambda: not alive(wendy.pid))


@pytest.mark.parametrize(
    "words", [("team", "show", "rde"), ("spawn", "--team", "rde", "--", "sleep", "90")]
)
def test_a_mistyped_team_is_suggested(house: House, words: tuple[str, ...]) -> None:
    house.run("team", "create", "red")
    house.run("team", "create", "rdee")
    house.run("team", "dissolve", "rdee")
    assert house.run(*words).stderr.endswith("hint: did you mean red?\n")
