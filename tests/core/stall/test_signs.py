"""Signs of life and the verdict on them: who is aged, who is not, and who alone is stalled."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.errors import BadRequest
from knell.core.stall.memory import (
    BUSY,
    STREAM,
    Memory,
    Trace,
    first_age,
    memory_from,
    memory_parts,
    remembered,
)
from knell.core.stall.signs import Clock, Connection, Look, Sign, StartTime, Traffic, Turn
from knell.core.stall.verdict import Activity, StallLimits, checked_patience, judge

BORN = StartTime(wall=1_000_000.0, up=5_000.0)
PATIENCE = StallLimits(beat=120.0, tool=900.0)


def clock(after: float, *, slept: float = 0.0, set_by: float = 0.0, boot: str = "b") -> Clock:
    """So many seconds awake after the run began."""
    return Clock(BORN.wall + after + slept + set_by, BORN.up + after, BORN.up + after + slept, boot)


def watched(*looks: Look, longest: float = math.inf) -> Memory:
    memory: Memory | None = None
    for look in looks:
        memory = remembered(memory, look, BORN, longest)
    assert memory
    return memory


def verdict(look: Look, memory: Memory, *, promised: bool = False) -> Activity:
    return judge(look, memory, promised=promised, limits=PATIENCE).activity


# -- what ages and what does not ---------------------------------------------------------------

beating = Sign("beat 1", BORN.wall + 10)


def test_a_sign_that_stays_ages_by_the_time_that_was_watched() -> None:
    memory = watched(Look(clock(10), beat=beating), Look(clock(40), beat=beating))
    assert memory.beat == Trace("beat 1", 30.0, changed=True)


def test_the_evidence_does_not_call_alive_what_merely_stood_there() -> None:
    last = Look(clock(40), output=Sign("a"), conversation=Sign("2"))
    memory = watched(Look(clock(10), output=Sign("a"), conversation=Sign("1")), last)
    evidence = judge(last, memory, promised=False, limits=PATIENCE).evidence
    assert ("neither", "output: unchanged in the 30 s that it was watched") in evidence
    assert ("for", "conversation: changed 0 s ago") in evidence


def test_the_last_sign_of_life_is_one_that_was_seen_to_change() -> None:
    """And not the time since the first look at what merely stood there."""
    memory = Memory(clock(60), output=Trace("a", 57.0, changed=True), cpu=Trace("1.0", 40.0))
    found = judge(Look(clock(60)), memory, promised=False, limits=PATIENCE)
    assert (found.why, found.quiet) == ("its last sign of life is 57 s old", 57.0)


def test_another_mark_is_a_new_sign() -> None:
    memory = watched(Look(clock(10), beat=beating), Look(clock(40), beat=Sign("beat 2")))
    assert memory.beat == Trace("beat 2", 0.0, changed=True)


@pytest.mark.parametrize(
    "later",
    [
        clock(40, slept=8 * 3600),
        clock(40, set_by=86_400),
        clock(40, set_by=-86_400),
    ],
    ids=["suspended", "set forward", "set back"],
)
def test_neither_sleep_nor_a_set_clock_ages_anybody(later: Clock) -> None:
    memory = watched(Look(clock(10), beat=beating), Look(later, beat=beating))
    assert memory.beat == Trace("beat 1", 30.0, changed=True)
    first = watched(Look(later, beat=beating))
    assert first.beat
    assert first.beat.quiet <= 30.0


def test_a_watcher_that_was_stopped_ages_nobody_for_longer_than_its_round() -> None:
    looks = (Look(clock(10), beat=beating), Look(clock(5_000), beat=beating))
    assert watched(*looks, longest=30.0).beat == Trace("beat 1", 30.0, changed=True)


def test_after_a_reboot_nothing_is_added() -> None:
    memory = watched(Look(clock(10), beat=beating), Look(clock(700, boot="other"), beat=beating))
    assert memory.beat == Trace("beat 1", 0.0, changed=True)


def test_what_could_not_be_looked_at_keeps_its_age() -> None:
    seen = Look(clock(10), output=Sign("a"))
    again = Look(clock(40), output=Sign("a"))
    blind = Look(clock(4_000), unseen=("output",))
    assert watched(seen, again, blind).output == Trace("a", 30.0)
    assert watched(blind, blind).output == Trace("", 0.0)
    assert watched(seen, blind, Look(clock(4_030), output=Sign("b"))).output == Trace(
        "b", 0.0, changed=True
    )


def test_the_first_look_believes_a_file_only_if_the_clocks_agree() -> None:
    sign = Sign("x", BORN.wall + 10)
    assert first_age(clock(310), sign, BORN) == pytest.approx(300)
    assert first_age(clock(310, set_by=60), sign, BORN) is None
    assert first_age(clock(310), Sign("x"), BORN) is None
    assert first_age(clock(310), sign, StartTime(0.0, 0.0)) is None
    assert first_age(clock(310, slept=200), sign, BORN) == pytest.approx(300)


def test_cpu_time_is_a_sign_from_a_tenth_of_a_core_on() -> None:
    idle = watched(Look(clock(0), cpu=1.0), Look(clock(100), cpu=1.0 + 99 * BUSY))
    assert idle.cpu
    assert idle.cpu.quiet == 100
    busy = watched(Look(clock(0), cpu=1.0), Look(clock(100), cpu=1.0 + 101 * BUSY))
    assert busy.cpu
    assert busy.cpu.quiet == 0
    one_left = watched(Look(clock(0), cpu=1.0), Look(clock(100), cpu=0.5))
    assert one_left.cpu
    assert one_left.cpu.quiet == 0


def streamed(*carried: tuple[int, int]) -> Trace:
    """The trace of one connection that had received and sent so much, every 10 seconds."""
    at = enumerate(carried)
    looks = [Look(clock(10 * n), traffic=Traffic((Connection("7", *both),))) for n, both in at]
    stream = watched(*looks).stream
    assert stream
    return stream


def test_R6_an_answer_that_arrives_is_a_sign_and_a_hung_model_is_none() -> None:
    assert streamed((1_000, 90_000), (2_500, 90_000)) == Trace("7:2500:90000", 0.0, changed=True)
    assert streamed((1_000, 90_000), (1_000, 90_000)) == Trace("7:1000:90000", 10.0)
    slow = int(10 * STREAM)
    assert streamed((0, 900), (slow, 900)).changed
    alive_only = streamed((0, 900), (slow - 1, 900))
    assert alive_only == Trace(f"7:{slow - 1}:900", 10.0)


def test_R6_what_asks_again_and_again_hears_nothing_of_its_model() -> None:
    """Telemetry and polls bring an answer for each question; a large transfer counts either way."""
    assert not streamed((0, 0), (900, 900), (1_800, 1_800)).changed
    assert streamed((0, 0), (100, 100_000)).changed


def test_R6_a_connection_that_is_new_tells_nothing_yet() -> None:
    first = Look(clock(0), traffic=Traffic((Connection("7", 10, 10),)))
    again = Look(clock(10), traffic=Traffic((Connection("8", 5_000, 10),)))
    assert watched(first, again).stream == Trace("8:5000:10", 10.0)
    unseen = watched(first, Look(clock(10)))
    assert unseen.stream == Trace("7:10:10")


def test_R6_a_tool_that_reads_or_writes_goes_on() -> None:
    """Also if all it prints is figures; what moves while the model is waited for is no tool."""
    first, again = (Look(clock(at), traffic=Traffic((), at), turn=Turn.TOOL) for at in (0, 10))
    assert watched(first, again).tools == Trace("10", 0.0, changed=True)
    assert watched(first, again._replace(traffic=first.traffic)).tools == Trace("0", 10.0)
    assert watched(first, again._replace(turn=Turn.OPEN)).tools is None


marks = st.sampled_from(["a", "b"])
signs = st.none() | st.builds(Sign, marks, st.sampled_from([0.0, BORN.wall, BORN.wall + 9e9]))
steps = st.tuples(st.floats(0, 1000), st.floats(0, 1e6), st.floats(-1e6, 1e6), signs, st.booleans())


@given(st.lists(steps, min_size=1, max_size=8))
def test_nobody_is_older_than_the_time_that_was_watched(
    course: list[tuple[float, float, float, Sign | None, bool]],
) -> None:
    """Whatever the clocks do, a sign that was seen at the first look ages by waking time alone."""
    awake, slept, memory = 0.0, 0.0, None
    for wakes, sleeps, set_by, sign, blind in course:
        awake, slept = awake + wakes, slept + sleeps
        look = Look(
            clock(awake, slept=slept, set_by=set_by),
            output=None if blind else sign,
            unseen=("output",) if blind else (),
        )
        memory = remembered(memory, look, StartTime(0.0, 0.0))
        assert memory.output is None or 0 <= memory.output.quiet <= awake + 1e-6


traces = st.none() | st.builds(Trace, st.text(), st.floats(0, 1e9))
clocks = st.builds(Clock, *[st.floats(0, 1e12)] * 3, st.text())
used = st.none() | st.builds(Trace, st.floats(0, 1e9).map(repr), st.floats(0, 1e9))


carried = st.none() | st.builds(Trace, st.just("12:3400:56 13:0:0"), st.floats(0, 1e9))


@given(st.builds(Memory, clocks, traces, traces, traces, used, carried, traces, traces))
def test_a_memory_comes_back_from_its_text(memory: Memory) -> None:
    assert memory_from(json.loads(json.dumps(memory_parts(memory)))) == memory


GOOD = memory_parts(watched(Look(clock(1), beat=beating, cpu=1.0)))


@pytest.mark.parametrize(
    "bad",
    [
        {},
        GOOD | {"at": None},
        GOOD | {"at": [1, 2, 3]},
        GOOD | {"at": [math.nan, 2, 3, "b"]},
        GOOD | {"beat": ["x", math.nan]},
        GOOD | {"beat": ["x", -5]},
        GOOD | {"beat": "xy"},
        GOOD | {"beat": 7},
        GOOD | {"cpu": ["no number", 1.0]},
        GOOD | {"cpu": ["nan", 1.0]},
        GOOD | {"stream": ["12:3400", 1.0, False]},
        GOOD | {"stream": ["12:many:56", 1.0, False]},
    ],
)
def test_a_memory_that_makes_no_sense_is_none(bad: dict[str, object]) -> None:
    assert memory_from(GOOD) is not None
    assert memory_from(bad) is None


# -- the verdict -------------------------------------------------------------------------------


def silent(seconds: float, **more: object) -> tuple[Look, Memory]:
    """Every sign has stood still for so long."""
    still = {"conversation": Sign("c"), "output": Sign("o"), "cpu": 1.0} | more
    looks = [Look(clock(0))._replace(**still), Look(clock(seconds))._replace(**still)]
    return looks[1], watched(*looks)


@pytest.mark.parametrize(
    ("seconds", "more", "expected"),
    [
        (60, {}, "unknown"),  # nothing was seen to move
        (130, {}, "unknown"),
        (130, {"turn": Turn.DONE}, "idle"),
        (90_000, {"turn": Turn.DONE}, "idle"),
        (90_000, {}, "unknown"),
        (130, {"turn": Turn.OPEN}, "unknown"),
        (901, {"turn": Turn.OPEN}, "stalled"),
        (901, {"turn": Turn.TOOL}, "stalled"),
        (130, {"turn": Turn.OPEN, "hung_up": 1}, "stalled"),
        (130, {"turn": Turn.DONE, "hung_up": 1}, "idle"),
        (130, {"hung_up": 1}, "unknown"),
        (130, {"turn": Turn.TOOL, "hung_up": 1}, "unknown"),
        (90_000, {"stopped": ("PID 7 (sh) is stopped",)}, "unknown"),
        (130, {"turn": Turn.TOOL, "stopped": ("PID 7 (sh) is stopped",)}, "stalled"),
        (90_000, {"turn": Turn.TOOL, "asks": "Do you want to proceed?"}, "waiting"),
        (90_000, {"turn": Turn.OPEN, "limited": "resets 3pm"}, "waiting"),
        (90_000, {"turn": Turn.OPEN, "retries": "Retrying in 5s"}, "waiting"),
        (90_000, {"turn": Turn.OPEN, "state": "T"}, "waiting"),
        (90_000, {"turn": Turn.OPEN, "alive": None}, "unknown"),
        (90_000, {"turn": Turn.OPEN, "alive": False}, "unknown"),
    ],
)
def test_the_verdict(seconds: float, more: dict[str, object], expected: str) -> None:
    assert verdict(*silent(seconds, **more)) == expected


def test_a_promise_to_beat_that_was_broken_is_a_stall() -> None:
    look, memory = silent(121, beat=beating)
    assert verdict(look, memory, promised=True) is Activity.STALLED
    assert verdict(look, memory, promised=False) is Activity.UNKNOWN  # hooks rest when it thinks
    fresh, recent = silent(60, beat=beating)
    assert verdict(fresh, recent, promised=True) is Activity.WORKING


def test_a_job_that_was_stopped_before_its_last_word_is_not_what_it_waits_for() -> None:
    job = ("PID 7 (vi) is stopped",)
    before = Look(clock(0), stopped=job, conversation=Sign("c"), cpu=1.0)
    call = Look(clock(300), stopped=job, conversation=Sign("d"), cpu=1.0, turn=Turn.TOOL)
    later = call._replace(at=clock(500))
    assert verdict(later, watched(before, call, later)) is Activity.UNKNOWN
    since = (before._replace(stopped=()), call, later)
    assert verdict(later, watched(*since)) is Activity.STALLED


def test_a_screen_that_cannot_be_seen_is_no_still_screen() -> None:
    still = {"conversation": Sign("c"), "cpu": 1.0, "turn": Turn.OPEN}
    blind = Look(clock(5_000), unseen=("output",), odd=("tmux did not answer",))._replace(**still)
    memory = watched(Look(clock(0), output=Sign("o"))._replace(**still), blind)
    assert verdict(blind, memory) is not Activity.STALLED
    told = judge(blind, memory, promised=False, limits=PATIENCE).evidence
    assert ("unseen", "output: not looked at") in told
    assert ("unseen", "tmux did not answer") in told


looks = st.builds(
    Look,
    st.just(clock(0)),
    alive=st.sampled_from([True, False, None]),
    state=st.sampled_from(["S", "R", "D", "T", "t", "?"]),
    stopped=st.sampled_from([(), ("PID 7 (sh) is stopped",)]),
    hung_up=st.integers(0, 2),
    turn=st.sampled_from(list(Turn)),
    asks=st.sampled_from(["", "y/n"]),
    limited=st.sampled_from(["", "later"]),
    retries=st.sampled_from(["", "Retrying"]),
)


@given(
    looks,
    st.builds(Memory, st.just(clock(0)), traces, traces, traces, used, carried, traces, traces),
)
def test_only_silence_that_something_forbids_is_ever_a_stall(look: Look, memory: Memory) -> None:
    """And what speaks for life always wins."""
    for promised in (True, False):
        found = judge(look, memory, promised=promised, limits=PATIENCE)
        assert found.why
        if found.activity is not Activity.STALLED:
            continue
        assert look.alive
        assert look.state not in "Tt"
        assert not look.asks
        assert not look.limited
        assert not look.retries
        assert look.turn is not Turn.DONE
        assert not (memory.beat and memory.beat.quiet <= PATIENCE.beat)
        signs = memory[2:7]  # all but the heartbeat and the trouble
        recent = any(one and one.quiet <= PATIENCE.beat for one in signs)
        assert not recent or (promised and memory.beat is not None)
        conversation = memory.conversation
        assert not (conversation and conversation.changed and conversation.quiet <= PATIENCE.beat)
        broken = promised and memory.beat is not None
        assert broken or look.turn in (Turn.OPEN, Turn.TOOL)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, 1e12])
def test_a_patience_that_nobody_can_mean_is_refused(seconds: float) -> None:
    with pytest.raises(BadRequest, match="heartbeat timeout"):
        checked_patience(seconds)


def test_C21_a_shorter_patience_than_the_band_comes_first() -> None:
    """Three seconds of silence are stalled for a person who waits one, and are no late beat."""
    looks = (Look(clock(10), beat=beating), Look(clock(13), beat=beating))
    limits = StallLimits(beat=1.0, tool=900.0, late=60.0)
    verdict = judge(looks[-1], watched(*looks), promised=True, limits=limits)
    assert verdict.activity is Activity.STALLED
