"""What a target may be, whom it means, and that it never means more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.errors import Ambiguous, AskerError, BadRequest, NoSuchAgent, NoSuchGroup, Refused
from knell.core.selector import Candidate, choose

LUNA = Candidate(
    "luna", "20260101-aa", tag="dev", team="red", session="work", pane="%1", pids=(77,)
)
NOVA = Candidate("nova", "20260102-bb", tag="dev", pane="%2", pids=(88, 89))
KIRA = Candidate("kira", "20260103-cc", live=False, tag="dev")
STRAY = Candidate("kira", "20260103-cc", live=False, orphan=True, tag="dev", pids=(99,))
EVERYBODY = [LUNA, NOVA, KIRA, STRAY]


def names(target: str, among: list[Candidate] = EVERYBODY) -> list[str]:
    return [candidate.agent for candidate in choose(target, among).candidates]


# -- who is meant --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("luna", LUNA),
        ("name:luna", LUNA),
        ("77", LUNA),
        ("pid:77", LUNA),
        ("89", NOVA),
        ("%1", LUNA),
        ("pane:%1", LUNA),
        ("work", LUNA),
        ("session:work", LUNA),
        ("id:20260101", LUNA),
        ("99", STRAY),
    ],
)
def test_H3_H8_one_agent_is_meant(target: str, meant: Candidate) -> None:
    chosen = choose(target, EVERYBODY)
    assert chosen.candidates == (meant,)
    assert chosen.label == ""


def test_H10_the_name_of_a_stopped_agent_means_its_orphan() -> None:
    assert choose("kira", EVERYBODY).candidates == (STRAY,)


def test_an_ended_agent_is_still_found_by_name() -> None:
    assert choose("kira", [LUNA, KIRA]).candidates == (KIRA,)


def test_H5_all_means_the_live_and_the_orphaned_but_not_the_ended() -> None:
    chosen = choose("all", EVERYBODY)
    assert chosen.candidates == (LUNA, NOVA, STRAY)
    assert chosen.label == "all"


def test_all_of_nobody_is_nobody_and_no_error() -> None:
    assert choose("all", []).candidates == ()


def test_H6_a_tag_means_its_instances_and_its_orphans() -> None:
    chosen = choose("tag:dev", EVERYBODY)
    assert chosen.candidates == (LUNA, NOVA, STRAY)
    assert chosen.label == "tag:dev"


def test_a_team_means_its_members() -> None:
    assert names("team:red") == ["luna"]


def test_a_group_whose_members_have_all_ended_is_known_but_empty() -> None:
    assert choose("tag:dev", [KIRA]).candidates == ()


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("*", ["luna", "nova", "kira"]),
        ("l*", ["luna"]),
        ("?o?a", ["nova"]),
        ("[ln]*", ["luna", "nova"]),
    ],
)
def test_a_glob_means_whoever_it_matches_and_lives(target: str, meant: list[str]) -> None:
    chosen = choose(target, EVERYBODY)
    assert [candidate.agent for candidate in chosen.candidates] == meant
    assert chosen.label == target


def test_a_glob_that_matches_only_ended_agents_is_known_but_empty() -> None:
    assert choose("k*", [KIRA]).candidates == ()


def test_a_glob_minds_upper_case() -> None:
    with pytest.raises(NoSuchAgent):
        choose("L*", EVERYBODY)


def test_a_name_wins_over_a_session_of_that_name() -> None:
    named_work = Candidate("work", "20260104-dd")
    assert choose("work", [LUNA, named_work]).candidates == (named_work,)


# -- nobody is meant -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    ["lunar", "luna ", " luna", "LUNA", "lun", "666", "pid:666", "%9", "session:no", "id:x"],
)
def test_H35_nobody_is_meant(target: str) -> None:
    with pytest.raises(NoSuchAgent) as refused:
        choose(target, EVERYBODY)
    assert str(refused.value) == f"Agent '{target}' not found"
    assert refused.value.hint


def test_H33_an_unknown_tag_is_said_in_the_contracts_words() -> None:
    with pytest.raises(NoSuchGroup, match=r"^No agents with tag 'nope'$"):
        choose("tag:nope", EVERYBODY)


EMPTY = ("tag:", "team:", "pid:", "id:", "name:", "session:", "pane:")


@pytest.mark.parametrize("target", [*EMPTY, "pid:x", "pid:-1", "color:red", "a:b"])
def test_a_malformed_target_is_a_bad_request_with_a_hint(target: str) -> None:
    with pytest.raises(BadRequest) as refused:
        choose(target, EVERYBODY)
    assert refused.value.hint


@pytest.mark.parametrize("target", ["0", "1", "00", "01", "pid:0", "pid:1"])
def test_pid_0_and_1_are_never_targets_even_if_on_record(target: str) -> None:
    with pytest.raises(Refused) as refused:
        choose(target, [LUNA._replace(pids=(0, 1))])
    assert refused.value.hint


# -- more than one is meant ----------------------------------------------------------------------


@pytest.mark.parametrize("target", ["id:2026", "session:work", "pane:%1", "5"])
def test_more_than_one_where_one_is_meant_names_them_all(target: str) -> None:
    twin = Candidate("zoe", "20260109-zz", session="work", pane="%1", pids=(5,))
    with pytest.raises(Ambiguous) as refused:
        choose(target, [LUNA._replace(pids=(5,)), twin])
    assert refused.value.candidates == ("luna", "zoe")
    assert "luna, zoe" in str(refused.value)
    assert refused.value.hint


def test_several_orphans_of_one_agent_are_not_ambiguous() -> None:
    second = STRAY._replace(pids=(100,))
    assert choose("kira", [KIRA, STRAY, second]).candidates == (STRAY, second)


# -- suggestions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "meant"), [("lnua", "luna"), ("luna2", "luna"), ("novaa", "nova"), ("kirra", "kira")]
)
def test_a_mistyped_name_is_suggested(typed: str, meant: str) -> None:
    with pytest.raises(NoSuchAgent) as refused:
        choose(typed, EVERYBODY)
    assert meant in refused.value.close
    assert meant in refused.value.hint


def test_at_most_three_are_suggested() -> None:
    crowd = [Candidate(f"agent-{n}", f"run-{n}") for n in range(50)]
    with pytest.raises(NoSuchAgent) as refused:
        choose("agent-x", crowd)
    assert 1 <= len(refused.value.close) <= 3


# -- evil strings --------------------------------------------------------------------------------

EVIL = st.one_of(
    st.text(max_size=60),
    st.text(st.sampled_from("*?[]!%:;$`'\"\\./ \n\0-~{}()|&<>lunaov019"), max_size=40),
    st.sampled_from(["*" * 300, "[" * 300, "[!", "?" * 5000, "%", ":", "::", "pid::", "²", "٣"]),
)


@given(EVIL)
def test_no_string_means_more_than_it_says(target: str) -> None:
    """Whatever is written, the answer is a choice among the candidates or an error to act on."""
    try:
        chosen = choose(target, EVERYBODY)
    except AskerError as error:
        to_act_on = str(error) and error.hint
        assert to_act_on
        return
    assert chosen.candidates
    assert set(chosen.candidates) <= set(EVERYBODY)
    if not chosen.label:  # one agent was meant, and one was found
        assert len({candidate.agent for candidate in chosen.candidates}) == 1


@given(EVIL)
def test_only_a_name_a_glob_a_group_or_all_can_choose_by_accident(target: str) -> None:
    """Nobody is chosen whom the string does not name exactly, or by a mark that people type."""
    crowd = [Candidate("x" * 70, "zzzz")]
    try:
        choose(target, crowd)
    except AskerError:
        return
    assert target == "all" or any(mark in target for mark in "*?[") or target.startswith("id:z")
