"""What the standard library has twice: quick to load, and with names for people.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
`signal` brings enum with it, and ctypes its whole zoo of types: half of the keeper's start.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    try:
        import _signal as signal  # the same functions, and plain numbers
    except ImportError:  # only CPython has it
        import signal

__all__ = ["prctl", "signal"]


def prctl(option: int, argument: int | bytes) -> None:
    """Linux's prctl; nothing where there is none."""
    try:
        import _ctypes

        itself = _ctypes.dlopen(None, 0)  # pyright: ignore[reportArgumentType] - as ctypes calls it
        found = _ctypes.dlsym(itself, "prctl")
        _ctypes.call_function(found, (option, argument, 0, 0, 0))
    except (ImportError, OSError, AttributeError):
        prctl_by_ctypes(option, argument)


def prctl_by_ctypes(option: int, argument: int | bytes) -> None:
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # no Linux: then a daemon is found from outside, or not at all
