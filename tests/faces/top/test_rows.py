"""What the lines of `top` say, without a terminal."""

import pytest

from knell.api.results import AgentView, Snapshot
from knell.faces.text.terminal import columns
from knell.faces.top.rows import (
    COLUMNS,
    EndedAgent,
    ended_row,
    headline,
    layout,
    live_row,
    matches,
    ordered,
)

SEEN = {"activity_age_s": 0.0, "quiet_s": 134.0, "cpu_percent": 38.2, "memory_mb": 410.0}


def view(name: str, **facts: object) -> AgentView:
    blank = AgentView(
        name, "claude", "running", "", "working", 0.0, 1, "tmux", "%1", "", "", "", "", None,
        "/", "", f"run-{name}", "", "h", "2026-01-01T00:00:00Z", "", "", "", "", "", "",
    )  # fmt: skip
    return blank._replace(**(SEEN | facts))


NIGHT = (
    view("nova", activity="stalled", tag="night", task="TASK-3", worktree="fix-login *3"),
    view("luna", processes=4),
    view("a-name-that-is-much-longer-than-any-column-of-a-table-may-be", activity="idle"),
    view("\x1b[31mevil\x1b[0m\nname", activity="waiting", tag="\x07"),
    view("שלום", place="headless", pane=""),
)


@pytest.mark.parametrize("width", [20, 40, 76, 136, 300])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    form = layout(NIGHT, width)
    rows = [live_row(one, form) for one in NIGHT]
    rows += [ended_row(EndedAgent(one), form) for one in NIGHT]
    assert columns(form.titles) <= width or width == 20
    assert max(columns(live_row(one, form).text) for one in NIGHT) <= max(width, 36)
    assert all("\x1b" not in row.text and "\n" not in row.text for row in rows)


def test_what_is_dropped_first_is_what_one_can_do_without() -> None:
    assert layout(NIGHT, 300).titles.split() == [
        *("NAME", "KIND", "ACTIVITY", "QUIET", "CPU", "MEM", "PROC"),
        *("PLACE", "TAG", "TASK", "WORKTREE"),
    ]
    narrow = layout(NIGHT, 60).titles.split()
    assert narrow[:3] == ["NAME", "KIND", "ACTIVITY"] or narrow[:2] == ["NAME", "ACTIVITY"]
    assert "WORKTREE" not in narrow


def test_who_needs_somebody_comes_first_and_the_others_keep_their_place() -> None:
    names = [one.name for one in ordered(NIGHT)]
    assert names[0] == "nova"
    assert names[1].startswith("\x1b")  # it waits
    assert names[2:] == sorted(names[2:])


def test_an_old_activity_carries_its_age() -> None:
    old = view("nova", activity="stalled", activity_age_s=65.0)
    assert "STALLED 1m ago" in live_row(old, layout([old], 200)).text


def test_a_filter_wants_every_word_in_any_column() -> None:
    found = [one.name for one in NIGHT if matches(one, "NIGHT stall")]
    assert found == ["nova"]
    assert all(matches(one, "") for one in NIGHT)
    assert not any(matches(one, "nothing-has-this") for one in NIGHT)


def test_the_headline_counts_and_warns() -> None:
    now = Snapshot("", "h", "/", 1, {}, {}, NIGHT, (), (), None, 0)
    told = headline(now, readonly=True, filtered="filter 'nova': 1 shown")
    assert told.startswith("knell  5 agents   1 STALLED 1 waiting 2 working 1 idle")
    assert "watch OFF (w)" in told
    assert "READ-ONLY" in told
    assert "filter 'nova': 1 shown" in told


def test_long_names_that_differ_at_their_end_can_be_told_apart() -> None:
    views = [view(f"a-rather-long-name-for-the-work-on-the-login-page-{n}") for n in range(10, 40)]
    form = layout(views, 78)
    shown = {live_row(one, form).text.split()[0] for one in views}
    assert len(shown) == len(views)
    assert all(len(live_row(one, form).text) <= 78 for one in views)


def test_room_that_no_column_needs_is_given_to_the_names() -> None:
    name = "a-rather-long-name-for-the-work-on-the-login-page"
    assert live_row(view(name), layout([view(name)], 140)).text.startswith(f"{name} ")


def test_long_names_of_ended_agents_take_no_room_from_what_is_told_of_them() -> None:
    name = "a-rather-long-name-for-the-work-on-the-login-page"
    both = [view("luna"), view(name, state="ended")]
    assert layout(both, 140).widths[0] == COLUMNS[0].width
