"""quell ends AI coding agents surely, and loses nothing."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quell.api import Quell
    from quell.faces.commands import invoke_command

__version__ = "0.1.0"
__all__ = ["Quell", "__version__", "invoke_command"]


def __getattr__(name: str) -> Any:
    """Loads the API when it is first asked for, so that the keeper's folder stays cheap."""
    if name == "Quell":
        from quell.api import Quell

        return Quell
    if name == "invoke_command":
        from quell.faces.commands import invoke_command

        return invoke_command
    raise AttributeError(f"module 'quell' has no attribute {name!r}")
