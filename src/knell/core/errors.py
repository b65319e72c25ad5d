"""What can go wrong, sorted by who can act on it.

KnellError
├── AskerError      fix your request
│   ├── BadRequest (exit 2), BadParameter
│   ├── NoTarget, NoSuchAgent, Ambiguous, StillRunning, TaskTaken, Refused
│   ├── NotResumable, UnsureConversation
│   └── BadConfig
├── WorldError      the machine refused
│   ├── LaunchFailed, PlaceFailed, StoreFailed, RegistryFailed, FileFailed, FleetFailed
IllegalTransition   our bug; never caught
"""

from typing import TYPE_CHECKING

from knell.core.codes import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knell.core.conversation import ConversationCandidate


class KnellError(Exception):
    """Carries a sentence for people, a code for programs and, if there is one, a hint."""

    code = Code.OTHER  # each class has its own; an instance may know better
    details: tuple[str, ...] = ()  # further lines for people

    def __init__(self, message: str, hint: str = "", *, code: Code | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if code is not None:
            self.code = code


class AskerError(KnellError):
    pass


class WorldError(KnellError):
    pass


class BadRequest(AskerError):
    code = Code.BAD_REQUEST


class BadParameter(BadRequest):
    """An argument of a tool, a JSON command or the API that it does not have, or cannot take."""

    code = Code.BAD_PARAMETER

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def missing_extra(what: str, packages: "Sequence[str]", extra: str) -> BadRequest:
    """The error for packages that the plain install does not bring."""
    noun = "package" if len(packages) == 1 else "packages"
    return BadRequest(f"{what} needs the {noun} {' and '.join(packages)}", how_to_get(extra))


def how_to_get(extra: str) -> str:
    """The hint for an extra. knell is not on PyPI, so its name must not be given to pip."""
    return f"in a clone of knell: pip install '.[{extra}]' (or uv tool install, pipx install)"


class BadConfig(AskerError):
    code = Code.BAD_SETTINGS


class NoTarget(AskerError):
    code = Code.NO_TARGET

    def __init__(self, verb: str, hint: str = "") -> None:
        usual = f"name at least one: knell {verb} NAME, PID, tag:X, team:X, a glob, or all"
        super().__init__("no targets specified", hint or usual)


class NoSuchAgent(AskerError):
    code = Code.AGENT_NOT_FOUND

    def __init__(self, target: str, close: tuple[str, ...] = (), hint: str = "") -> None:
        usual = hint or "knell list --all shows every agent"
        hint = f"did you mean {' or '.join(close)}?" if close else usual
        super().__init__(f"Agent '{target}' not found", hint)
        self.target = target
        self.close = close


class NoSuchGroup(AskerError):
    code = Code.GROUP_NOT_FOUND

    def __init__(self, what: str, value: str) -> None:
        super().__init__(f"No agents with {what} '{value}'", "knell list --all shows every agent")


class Ambiguous(AskerError):
    code = Code.AMBIGUOUS

    def __init__(self, target: str, candidates: tuple[str, ...]) -> None:
        why = f"'{target}' is ambiguous: {', '.join(candidates)}"
        super().__init__(why, "name one of them exactly")
        self.candidates = candidates


class StillRunning(AskerError):
    code = Code.STILL_RUNNING

    def __init__(self, name: str, verb: str) -> None:
        super().__init__(f"'{name}' is still running", f"run knell kill {name} first, then {verb}")


class TaskTaken(AskerError):
    code = Code.TASK_TAKEN

    def __init__(self, task: str) -> None:
        super().__init__(f"another process has just taken task {task}", "choose another task")


class NotResumable(AskerError):
    code = Code.NOT_RESUMABLE


class UnsureConversation(NotResumable):
    """It is not surely known which conversation is the agent's; a person may choose one."""

    code = Code.CONVERSATION_UNSURE

    def __init__(self, agent: str, why: str, candidates: "Sequence[ConversationCandidate]") -> None:
        again = f"knell resume {agent} --conversation ID"
        hint = f"choose one: {again}" if candidates else f"if you know its id: {again}"
        super().__init__(f"the conversation of '{agent}' is not known surely ({why})", hint)
        self.choices = tuple(candidates)
        self.details = tuple(map(str, self.choices))


class Refused(AskerError):
    """Something that knell never does, or does only after --yes. The code says which."""

    code = Code.NOT_ALLOWED


class LaunchFailed(WorldError):
    code = Code.LAUNCH_FAILED


class PlaceFailed(WorldError):
    code = Code.PLACE_FAILED


class StoreFailed(WorldError):
    code = Code.STORE_FAILED


class RegistryFailed(WorldError):
    """The registry file cannot be read or written; it was left as it was."""

    code = Code.REGISTRY_FAILED


class FileFailed(WorldError):
    """A file of another program cannot be read or replaced; it was left as it was."""

    code = Code.FILE_FAILED


class FleetFailed(WorldError):
    """The fleet's database cannot be used. Nothing on this host waits for it."""

    code = Code.FLEET_FAILED

    @property
    def whole(self) -> str:
        """With what to do about it, on one line."""
        return f"{self}; {self.hint}" if self.hint else str(self)


class IllegalTransition(Exception):
    def __init__(self, state: str, happening: str) -> None:
        super().__init__(f"a run that is {state} cannot take '{happening}'")
