"""Help, versions and suggestions: nobody has to guess what knell would have understood."""

import pytest

import knell
from complaints import USAGE, complaint
from house import House
from knell.faces.cli.group import ALIASES, VERBS

WIDTH = 80


def test_help_lists_every_verb_with_what_it_does(house: House) -> None:
    done = house.run("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for verb, (_, told) in VERBS.items():
        assert any(
            line.split()[:1] == [verb] and told.split()[0] in line
            for line in done.stdout.splitlines()
        )


@pytest.mark.usefixtures("unused")
@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("verb", [*VERBS, *ALIASES])
def test_every_verb_has_help(house: House, verb: str, flag: str) -> None:
    done = house.run(verb, flag)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: knell {verb} ")
    assert "\x1b" not in done.stdout
    assert [line for line in done.stdout.splitlines() if len(line) > WIDTH] == []
    assert f"\n  knell {ALIASES.get(verb, verb)}" in done.stdout, "an example"
    assert not list(house.state.iterdir()), "help touches no state"


def test_without_a_verb_the_status_is_shown_and_where_the_help_is(house: House) -> None:
    done = house.run()
    assert done.returncode == 0
    assert "agents: none" in done.stdout
    assert done.stderr == "all verbs: knell --help\n"


def test_the_version_is_that_of_the_package(house: House) -> None:
    done = house.run("--version")
    assert done.returncode == 0
    assert knell.__version__ in done.stdout


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("kil", "kill"),
        ("lst", "list"),
        ("spwan", "spawn"),
        ("recipt", "receipt"),
        ("rsume", "resume"),
    ],
)
def test_a_mistyped_verb_is_suggested(house: House, typed: str, meant: str) -> None:
    what, hint = complaint(house.run(typed, "luna"), USAGE)
    assert what == f"there is no verb '{typed}'"
    assert hint.startswith("did you mean ")
    assert meant in hint


@pytest.mark.parametrize("typed", ["xyzzy", "", "\x1b[31m", "x" * 300])
def test_an_unknown_verb_points_to_the_list(house: House, typed: str) -> None:
    _, hint = complaint(house.run(typed), USAGE)
    assert "knell" in hint


def test_a_mistyped_option_is_suggested(house: House) -> None:
    what, hint = complaint(house.run("kill", "--graec", "3", "luna"), USAGE)
    assert "--grace" in what
    assert hint == "see knell kill --help"


@pytest.mark.parametrize(
    "args",
    [
        ("tree",),
        ("kill", "--grace"),
        ("kill", "--grace", "soon", "luna"),
        ("stop", "--mode", "rude", "luna"),
        ("completion", "tcsh"),
        ("completion",),
        ("events", "--last", "many"),
        ("show", "luna", "nova"),
    ],
)
def test_a_usage_error_is_one_line_and_a_hint(house: House, args: tuple[str, ...]) -> None:
    _, hint = complaint(house.run(*args), USAGE)
    assert hint == f"see knell {args[0]} --help"


@pytest.mark.parametrize(
    ("args", "plainly"),
    [
        (("kill", "--grace", "soon", "luna"), "'soon' is not a number."),
        (("events", "--last", "many"), "'many' is not a whole number."),
        (("spawn", "--count", "two", "claude"), "'two' is not a whole number."),
    ],
)
def test_a_value_that_is_no_number_is_called_that(
    house: House, args: tuple[str, ...], plainly: str
) -> None:
    assert complaint(house.run(*args), USAGE).what.endswith(plainly)


@pytest.mark.parametrize(
    ("verb", "takes"), [("logs", "[default: 100; 1 or more]"), ("list", "[0 or more]")]
)
def test_which_numbers_an_option_takes_is_told_in_words(
    house: House, verb: str, takes: str
) -> None:
    assert takes in " ".join(house.run(verb, "--help").stdout.split())


def test_the_words_on_what_task_does_are_verbs_that_it_has(house: House) -> None:
    _, doing = VERBS["task"]
    shown = house.run("task", "--help").stdout.partition("Commands:")[2]
    for word in doing.partition(": ")[2].rstrip(".").split(", "):
        assert f"  {word} " in shown, word


def test_a_number_alone_is_told_what_it_starts(house: House) -> None:
    assert complaint(house.run("3"), USAGE).hint == "knell 3 claude starts 3"


@pytest.mark.parametrize("verb", ["fleet", "fleet key", "team", "task", "orders"])
def test_no_sentence_about_a_command_of_a_verb_is_cut(house: House, verb: str) -> None:
    assert "..." not in house.run(*verb.split(), "--help").stdout.partition("Commands:")[2]
