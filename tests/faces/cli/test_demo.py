"""knell demo: the same agents ended by tmux and by knell, counted by `ps`; the counts add up."""

import re
from pathlib import Path

import pytest

from house import House, descendants


def table(text: str, head: str) -> dict[str, list[int]]:
    """Row → its numbers, of the table with that heading."""
    lines = text[text.index(head) :].splitlines()[1:]
    rows = [re.fullmatch(r"(\S+)\s+(\d+) of (\d+)\s+(\d+) of (\d+)", line) for line in lines]
    return {row[1]: [int(number) for number in row.groups()[1:]] for row in rows if row}


def test_K8_the_counts_of_the_demo_add_up(house: House) -> None:
    done = house.run("demo")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    counts = table(done.stdout, "AGENT            left by")
    together = counts.pop("together")
    assert together == [sum(column) for column in zip(*counts.values(), strict=True)]
    left_by_tmux, before_tmux, left_by_knell, before_knell = together
    assert (len(counts), left_by_knell) == (7, 0)
    assert before_tmux == before_knell
    assert counts["daemon"][0] == counts["own-group"][0] == 1
    assert left_by_tmux < before_tmux
    ended = [int(number) for number in re.findall(r"(\d+) process(?:es)?, proven", done.stdout)]
    assert sum(ended) == before_knell
    assert f"{before_knell} processes ended; 7 of 7 endings proven." in done.stdout
    assert done.stdout.count(f"   {before_knell} processes.") == 2
    assert descendants() == [], "what tmux left has been ended too"


@pytest.mark.parametrize(("without", "code"), [("tmux", 0), ("ps", 1)])
def test_without_a_program_the_demo_says_what_it_cannot_show(
    house: House, without: str, code: int
) -> None:
    programs = house.root / "programs"
    programs.mkdir()
    for folder in house.env["PATH"].split(":"):
        for program in Path(folder).iterdir() if Path(folder).is_dir() else ():
            link = programs / program.name
            if program.name != without and not link.is_symlink():
                link.symlink_to(program)
    done = house.run("demo", env=house.env | {"PATH": str(programs)})
    assert done.returncode == code, done.stderr
    assert "tmux kill-session" not in done.stdout
    assert ("needs ps" in done.stderr) is (without == "ps")
