"""What cleaning up after a run came to, for its receipt."""

from typing import Any, NamedTuple


class Cleaning(NamedTuple):
    """What cleaning up after one run did; with `would`, what it would do."""

    session_dir: str = ""  # removed, or "kept: why"; empty: there was none
    worktree: str = ""
    state: str = "none"  # none, removed, kept, gone
    why: str = ""
    rescue: str = ""  # the ref that now holds its uncommitted work
    branch: str = ""  # never deleted here
    lock_removed: str = ""
    failed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unseen: int = 0  # processes, mostly of other users, that might be inside for all we can see
    would: bool = False

    def to_json(self) -> dict[str, Any]:
        plain = self._asdict()
        return plain | {"failed": list(self.failed), "warnings": list(self.warnings)}
