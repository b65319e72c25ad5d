"""The verdict over a death, over histories as data: strong evidence convicts, weak only accuses."""

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.death import DeathKind, Facts, certificate, duration, lived, signal_name
from knell.core.ports.keepers import Evidence, Journal
from knell.core.process import ProcessId
from knell.core.receipt import Death, Ended, Left, Survivor, record_from_json
from knell.core.run import Ending, Outcome

KILLED = Ending(Outcome.KILLED, "operator", "killed", "too slow")
BY_ITSELF = Ending(Outcome.FAILED, "agent", "crashed")
LOG = Evidence("oom", "kernel log: Out of memory: Killed process 7 (node)")
LEAF = Evidence("oom_run", "cgroup memory.events: oom_kill 1")
HOST = Evidence("oom_host", "/proc/vmstat: oom_kill rose by 1")
CALM = Evidence("no_oom", "/proc/vmstat: the kernel killed nothing for memory meanwhile")
BLIND = Evidence("blind", "kernel log: could not look: Operation not permitted")
FAULT = Evidence("fault", "kernel log: node[7]: segfault at 0")
KEEPER = ProcessId(6, 1, "boot")


def exited(code: int, *evidence: Evidence) -> Journal:
    return Journal(KEEPER, cause="exit", exit_code=code, evidence=evidence)


def signalled(number: int, *evidence: Evidence) -> Journal:
    return Journal(KEEPER, cause="exit", exit_signal=number, evidence=evidence)


def asked(number: int) -> Journal:
    return Journal(KEEPER, cause="asked", exit_signal=number)


AT_IT = Facts(192.0, climbed=True, rungs=("term",))
OURS = "ended by knell: operator asked (killed: too slow)"

HISTORIES = {
    "it left in order": (exited(0), BY_ITSELF, Facts(), "clean exit"),
    "it failed": (exited(3), BY_ITSELF, Facts(), "crash: exit code 3"),
    "it faulted": (signalled(11, FAULT), BY_ITSELF, Facts(), "crash: SIGSEGV"),
    "it gave up": (signalled(6), BY_ITSELF, Facts(), "crash: SIGABRT"),
    "a shell tells of a fault": (
        exited(139), BY_ITSELF, Facts(), "crash: exit code 139, as after SIGSEGV, not by knell",
    ),
    "it says that it was told to go": (
        exited(143), BY_ITSELF, Facts(), "signal: exit code 143, as after SIGTERM, not by knell",
    ),
    "no signal has that number": (exited(255), BY_ITSELF, Facts(), "crash: exit code 255"),
    "a stranger's KILL": (
        signalled(9, CALM), BY_ITSELF, Facts(), "signal: SIGKILL, not by knell",
    ),
    "a stranger's TERM": (signalled(15), BY_ITSELF, Facts(), "signal: SIGTERM, not by knell"),
    "a signal without a name": (
        signalled(99), BY_ITSELF, Facts(), "signal: signal 99, not by knell",
    ),
    "the kernel log names it": (
        signalled(9, LOG, HOST), BY_ITSELF, Facts(11_520.0),
        f"out of memory: SIGKILL by the kernel ({LOG.finding}), after 3 h 12 min",
    ),
    "its cgroup counted a kill": (
        signalled(9, LEAF, BLIND), BY_ITSELF, Facts(1.0),
        "out of memory: SIGKILL by the kernel (cgroup memory.events: oom_kill 1), after 1.0 s",
    ),
    "a kill elsewhere convicts nobody": (
        signalled(9, HOST), BY_ITSELF, Facts(), "signal: SIGKILL, not by knell",
    ),
    "want of memory does not send TERM": (
        signalled(15, LEAF), BY_ITSELF, Facts(), "signal: SIGTERM, not by knell",
    ),
    "killed": (asked(15), KILLED, AT_IT, f"{OURS}, SIGTERM, after 3 min 12 s"),
    "stopped by its exit keys": (
        exited(0), KILLED, Facts(climbed=True, rungs=("exit_keys",)), f"{OURS}, exit code 0",
    ),
    "it went by itself before we came": (
        exited(0), KILLED, Facts(climbed=True, rungs=("term",)), "clean exit",
    ),
    "ended without a keeper": (
        Journal(), KILLED, Facts(climbed=True, rungs=("term",)), f"{OURS}, exit not seen",
    ),
    "its pane was closed": (
        Journal(KEEPER, cause="hangup", exit_signal=1),
        Ending(Outcome.STOPPED, "terminal", "pane_closed"), Facts(), "pane closed: SIGHUP",
    ),
    "its keeper was signalled": (
        Journal(KEEPER, cause="signal", exit_signal=15),
        Ending(Outcome.TERMINATED, "unknown", "keeper_signalled"), Facts(),
        "signal: SIGTERM to its keeper, not by knell",
    ),
    "it could not be started": (
        Journal(KEEPER, failure="cannot start x: No such file", exit_code=127),
        Ending(Outcome.FAILED, "keeper", "not_started"), Facts(0.1),
        "never started: cannot start x: No such file",
    ),
    "everybody was killed": (
        Journal(KEEPER), Ending(Outcome.LOST, "unknown", "lost"), Facts(),
        "lost: gone while knell was not looking, its keeper with it",
    ),
    "an adopted one went unseen": (
        Journal(), Ending(Outcome.LOST, "unknown", "lost"), Facts(),
        "lost: gone while knell was not looking",
    ),
    "a word of a newer keeper": (
        Journal(KEEPER, cause="boredom", exit_code=1), BY_ITSELF, Facts(),
        "lost: gone while knell was not looking, its keeper with it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("history", HISTORIES)
def test_the_verdict_in_one_line(history: str) -> None:
    journal, ending, scene, sentence = HISTORIES[history]
    death = certificate(ending, journal, scene)
    assert death.sentence == sentence
    assert sentence.startswith(death.how)
    assert death.how in set(DeathKind)


def test_every_way_to_die_has_a_history() -> None:
    told = {certificate(e, journal, scene).how for journal, e, scene, _ in HISTORIES.values()}
    assert told == set(DeathKind)


SENDERS = {
    "killed": "knell, for operator (killed: too slow)",
    "a stranger's KILL": "not by knell",
    "its keeper was signalled": "not by knell",
    "the kernel log names it": "the kernel",
    "it faulted": "the kernel, for a fault",
    "it gave up": "not by knell",
    "its pane was closed": "the terminal",
    "everybody was killed": "unknown",
    "it left in order": "",
    "it failed": "",
}


@pytest.mark.parametrize("history", SENDERS)
def test_who_sent_it(history: str) -> None:
    journal, ending, scene, _ = HISTORIES[history]
    assert certificate(ending, journal, scene).sent_by == SENDERS[history]


ELSEWHERE = "the kernel killed something on this machine for memory meanwhile"
OF_THE_RUN = "the kernel killed a process of this run for memory"
UNCLEAR = "a kill for memory cannot be ruled out: not everything could be looked at"

SUSPICIONS: dict[str, tuple[Journal, Facts, tuple[str, ...]]] = {
    "none": (signalled(9, CALM), Facts(), ()),
    "a kill elsewhere": (signalled(9, HOST), Facts(), (ELSEWHERE,)),
    "a child was killed, so it failed": (exited(1, LEAF), Facts(), (OF_THE_RUN,)),
    "a child was killed, and it lived on": (exited(0, LEAF), Facts(), ()),
    "nobody could look": (signalled(9, BLIND), Facts(), (UNCLEAR,)),
    "the counter rules it out": (signalled(9, BLIND, CALM), Facts(), ()),
    "no matter for TERM": (signalled(15, BLIND), Facts(), ()),
    "convicted: no suspects": (signalled(9, LOG, HOST), Facts(), ()),
    "its terminal": (
        signalled(1), Facts(),
        ("SIGHUP: its terminal, or the session above it, may have been closed",),
    ),
    "a person": (exited(130), Facts(), ("SIGINT: Ctrl-C in its terminal sends that",)),
    "a typing error": (
        exited(127), Facts(), ("exit code 127: a shell says that of a command that it cannot find",)
    ),
    "the vendor": (
        signalled(15), Facts(helpers=("claude daemon*",)),
        ("a supervisor of the vendor is alive: claude daemon*",),
    ),
    "not the vendor, for a crash by code": (exited(1), Facts(helpers=("claude daemon*",)), ()),
}  # fmt: skip


@pytest.mark.parametrize("case", SUSPICIONS)
def test_what_is_only_likely_is_a_suspect(case: str) -> None:
    journal, scene, suspects = SUSPICIONS[case]
    assert certificate(BY_ITSELF, journal, scene).suspects == suspects


def test_a_kill_that_overtook_ours_is_told() -> None:
    early = certificate(KILLED, asked(9), AT_IT)
    assert early.how == DeathKind.ENDED_BY_KNELL
    assert "SIGKILL came before knell had sent one" in early.suspects[0]
    ours = certificate(KILLED, asked(9), AT_IT._replace(rungs=("term", "kill")))
    assert ours.suspects == ()
    assert "it crashed" in certificate(KILLED, asked(11), AT_IT).suspects[0]


def test_the_evidence_is_what_was_seen_and_what_was_not() -> None:
    assert certificate(BY_ITSELF, signalled(9, BLIND, CALM), Facts()).evidence == (
        "its keeper saw SIGKILL",
        BLIND.finding,
        CALM.finding,
    )
    assert certificate(BY_ITSELF, Journal(), Facts()).evidence == ("no process saw it exit",)
    closed = Journal(cause="hangup", exit_code=0)
    assert certificate(BY_ITSELF, closed, Facts()).evidence[0] == (
        "its keeper saw the terminal hang up"
    )


def test_what_it_left_is_told_with_how_each_was_swept() -> None:
    journal = exited(0)._replace(
        left=(11, 12, 13, 14, 15),
        processes=(Ended(7, "x", "agent", "exit 0"), Ended(11, "a", "tree", "term")),
        survivors=(Survivor(12, "b", "D", "still there after SIGKILL"),),
        kept=(Survivor(13, "c", "S", "kept: c*"),),
    )
    journal = journal._replace(processes=(*journal.processes, Ended(15, "e", "tree", "kill")))
    assert certificate(BY_ITSELF, journal, Facts()).left == (
        Left(11, "a", "term"),
        Left(12, "b", "still there"),
        Left(14, "?", "unknown"),
        Left(15, "e", "kill"),
    )


def test_what_it_used_is_taken_over() -> None:
    journal = exited(0)._replace(
        max_rss_kb=1, cpu_seconds=2.0, run_rss_kb=3, run_cpu_seconds=4.0
    )  # fmt: skip
    death = certificate(BY_ITSELF, journal, Facts(5.0))
    assert (death.max_rss_kb, death.cpu_seconds) == (1, 2.0)
    assert (death.run_max_rss_kb, death.run_cpu_seconds, death.seconds) == (3, 4.0, 5.0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"),
        (3600, "1 h 0 min"), (11_520, "3 h 12 min"), (86_400, "1 d 0 h"), (200_000, "2 d 7 h"),
    ],
)  # fmt: skip
def test_a_duration_has_two_units_at_most(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("started", "finished", "seconds"),
    [
        ("2026-01-01T00:00:00.000+00:00", "2026-01-01T00:01:00.250+00:00", 60.25),
        ("2026-01-01T00:01:00.000+00:00", "2026-01-01T00:00:00.000+00:00", 0.0),  # a clock was set
        ("", "2026-01-01T00:00:00.000+00:00", None),
        ("yesterday", "2026-01-01T00:00:00.000+00:00", None),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:00.000+00:00", None),
    ],
)
def test_how_long_it_lived(started: str, finished: str, seconds: float | None) -> None:
    assert lived(started, finished) == seconds


def test_signals_have_names() -> None:
    assert [signal_name(n) for n in (None, int(signal.SIGSEGV), 9, 4711)] == [
        "",
        "SIGSEGV",
        "SIGKILL",
        "signal 4711",
    ]


numbers = st.none() | st.integers(0, 255)
evidence = st.lists(
    st.builds(Evidence, st.sampled_from(["oom", "oom_run", "blind", "x"]), st.text())
)
journals = st.builds(
    Journal,
    keeper=st.none() | st.just(KEEPER),
    failure=st.sampled_from(["", "cannot start"]),
    cause=st.sampled_from(["", "asked", "exit", "hangup", "signal", "boredom"]),
    exit_code=numbers,
    exit_signal=numbers,
    left=st.lists(st.integers(1, 5)).map(tuple),
    evidence=evidence.map(tuple),
)


scenes = st.builds(
    Facts,
    st.just(1.0),
    climbed=st.booleans(),
    rungs=st.lists(st.sampled_from(["exit_keys", "term", "kill"])).map(tuple),
)


@given(journals, scenes)
def test_no_history_is_without_a_verdict(journal: Journal, at_it: Facts) -> None:
    death = certificate(KILLED, journal, at_it)
    assert death.how in set(DeathKind)
    if death.how == DeathKind.OUT_OF_MEMORY:  # never on less
        assert {sight.word for sight in journal.evidence} & {"oom", "oom_run"}
        assert death.signal == "SIGKILL"
    if death.how == DeathKind.ENDED_BY_KNELL:
        assert at_it.climbed or journal.cause == "asked"


def test_a_receipt_from_before_this_has_no_certificate() -> None:
    assert record_from_json(Death, {}) == Death()
    newer = {"how": "clean exit", "mood": "calm"}
    assert record_from_json(Death, newer) == Death("clean exit")
