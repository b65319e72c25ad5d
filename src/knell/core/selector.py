"""What a person may write to name agents, and which agents that means."""

from collections.abc import Sequence
from typing import NamedTuple

from knell.core.errors import Ambiguous, BadRequest, NoSuchAgent, NoSuchGroup, Refused

LONGEST_PATTERN = 1000  # characters
PID_DIGITS = 9


class Candidate(NamedTuple):
    """What a target can mean: a live run, the last run of an ended agent, or an orphan."""

    agent: str
    run: str
    live: bool = True
    orphan: bool = False
    tag: str = ""
    team: str = ""
    session: str = ""
    pane: str = ""
    pids: tuple[int, ...] = ()

    @property
    def current(self) -> bool:
        return self.live or self.orphan


class Chosen(NamedTuple):
    target: str
    label: str  # how the summary names the group: "tag:dev", "all"; empty for a single agent
    candidates: tuple[Candidate, ...]
    ended: tuple[Candidate, ...] = ()  # of a group: who belongs to it and is over


def choose(target: str, candidates: Sequence[Candidate]) -> Chosen:
    """All that `target` means; none, or several where one is meant, is an error."""
    word, colon, value = target.partition(":")
    if colon and not value and word in (*_GROUPS, *_SINGLES):
        raise BadRequest(f"'{target}' names no {word}", f"write what to look for after '{word}:'")
    if colon and word in _GROUPS:
        found = [c for c in candidates if getattr(c, word) == value]
        if not found:
            raise NoSuchGroup(word, value)
    elif target == "all":
        found = candidates
    elif any(mark in target for mark in "*?["):
        found = _by_pattern(target, candidates)
    else:
        return Chosen(target, "", _one(target, word if colon else "", value, candidates))
    now, over = (tuple(c for c in found if c.current is current) for current in (True, False))
    return Chosen(target, target, now, over)


_GROUPS = ("tag", "team")
_SINGLES = ("pid", "id", "name", "session", "pane")


def _by_pattern(target: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    if len(target) > LONGEST_PATTERN:  # each bracket is looked for to the end: minutes
        why = f"a pattern of {len(target)} characters is longer than any name"
        raise BadRequest(why, "knell list shows the names")
    import fnmatch

    found = [c for c in candidates if fnmatch.fnmatchcase(c.agent, target)]
    if not found:
        raise NoSuchAgent(target)
    return found


def _one(
    target: str, word: str, value: str, candidates: Sequence[Candidate]
) -> tuple[Candidate, ...]:
    if word and word not in _SINGLES:
        raise BadRequest(
            f"'{target}' is no target: '{word}:' is unknown",
            "use NAME, PID, pid:N, id:RUN, session:X, tag:X, team:X, %pane, a glob, or all",
        )
    if word == "pid" or (not word and is_number(target)):
        return _by_pid(target, value if word else target, candidates)
    if word == "pane" or (not word and target.startswith("%")):
        return _only(target, [c for c in candidates if c.current and c.pane == (value or target)])
    if word == "session":
        return _only(target, [c for c in candidates if c.current and c.session == value])
    if word == "id":
        return _only(target, [c for c in candidates if c.run.startswith(value)])
    name = value if word else target
    exact = [c for c in candidates if c.agent == name]
    if not exact and not word:
        exact = [c for c in candidates if c.live and c.session and c.session == name]
    return _only(target, exact, names=tuple(sorted({c.agent for c in candidates})))


def _by_pid(target: str, number: str, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    if not is_number(number):
        raise BadRequest(f"'{target}' is no PID", "write pid:N with a whole number")
    pid = int(number)
    if pid <= 1:
        raise Refused(f"PID {pid} is never a target", "name an agent: knell list")
    return _only(target, [c for c in candidates if c.current and pid in c.pids])


def is_number(text: str) -> bool:
    """What can be a PID: `isdigit` alone takes a superscript, and the kernel only 32 bits."""
    return text.isascii() and text.isdigit() and len(text) <= PID_DIGITS


def _only(
    target: str, found: list[Candidate], names: tuple[str, ...] = ()
) -> tuple[Candidate, ...]:
    """All candidates of the one agent that was meant: its run and its orphans."""
    agents = {c.agent for c in found}
    if not found:
        import difflib

        raise NoSuchAgent(target, tuple(difflib.get_close_matches(target, names, 3, 0.6)))
    if len(agents) > 1:
        raise Ambiguous(target, tuple(sorted(agents)))
    current = tuple(c for c in found if c.current)
    return current or (found[-1],)
