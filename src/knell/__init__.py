"""knell ends AI coding agents surely, and loses nothing."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knell.api import Knell
    from knell.api.orchestrator import invoke_command

__version__ = "0.1.0"
__all__ = ["Knell", "__version__", "invoke_command"]


def __getattr__(name: str) -> Any:
    """Loads the API when it is first asked for, so that the keeper's folder stays cheap."""
    if name == "Knell":
        from knell.api import Knell
        from knell.api.argument_types import check_arguments

        for part in Knell.__mro__[:-1]:
            check_arguments(part)
        globals()["Knell"] = Knell  # from here on this is not asked again
        return Knell
    if name == "invoke_command":
        from knell.api.orchestrator import invoke_command

        return invoke_command
    raise AttributeError(f"module 'knell' has no attribute {name!r}")
