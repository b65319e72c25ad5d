"""What can go wrong, sorted by who can act on it.

QuellError
├── AskerError      fix your request
│   ├── BadRequest          (exit 2)
│   ├── NoTarget, NoSuchAgent, Ambiguous, StillRunning, TaskTaken, NotResumable, Refused
│   └── BadConfig
├── WorldError      the machine refused
│   ├── LaunchFailed, PlaceFailed, StoreFailed, RegistryFailed
IllegalTransition   our bug; never caught
"""


class QuellError(Exception):
    """Carries a sentence for people and, where there is one, what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class AskerError(QuellError):
    pass


class WorldError(QuellError):
    pass


class BadRequest(AskerError):
    pass


class BadConfig(AskerError):
    pass


class NoTarget(AskerError):
    def __init__(self, verb: str, hint: str = "") -> None:
        usual = f"name at least one: quell {verb} NAME, PID, tag:X, team:X, a glob, or all"
        super().__init__("no targets specified", hint or usual)


class NoSuchAgent(AskerError):
    def __init__(self, target: str, close: tuple[str, ...] = ()) -> None:
        hint = f"did you mean {' or '.join(close)}?" if close else "quell list shows who is there"
        super().__init__(f"Agent '{target}' not found", hint)
        self.target = target
        self.close = close


class NoSuchGroup(AskerError):
    def __init__(self, what: str, value: str) -> None:
        super().__init__(f"No agents with {what} '{value}'", "quell list --all shows every agent")


class Ambiguous(AskerError):
    def __init__(self, target: str, candidates: tuple[str, ...]) -> None:
        super().__init__(
            f"'{target}' is ambiguous: {', '.join(candidates)}", "name one of them exactly"
        )
        self.candidates = candidates


class StillRunning(AskerError):
    def __init__(self, name: str, verb: str) -> None:
        super().__init__(f"'{name}' is still running", f"run quell kill {name} first, then {verb}")


class TaskTaken(AskerError):
    def __init__(self, task: str) -> None:
        super().__init__(f"somebody else has just taken task {task}", "choose another task")


class NotResumable(AskerError):
    pass


class Refused(AskerError):
    """Asked for something that quell never does, or not without being told twice."""


class LaunchFailed(WorldError):
    pass


class PlaceFailed(WorldError):
    pass


class StoreFailed(WorldError):
    pass


class RegistryFailed(WorldError):
    """The registry file cannot be read or written; it was left as it was."""


class IllegalTransition(Exception):
    def __init__(self, state: str, happening: str) -> None:
        super().__init__(f"a run that is {state} cannot take '{happening}'")
