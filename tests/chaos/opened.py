"""`python opened.py LOG WORDS…` is `quell WORDS…`; LOG gets each path in /proc that it opened."""

import os
import sys


def main() -> None:
    _, log, *words = sys.argv
    told = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(event: str, args: tuple[object, ...]) -> None:
        if event in ("open", "os.listdir") and str(args[0]).startswith("/proc/"):
            os.write(told, f"{args[0]}\n".encode())

    sys.argv = ["quell", *words]
    from quell.faces.cli import main as quell

    sys.addaudithook(note)
    quell()


if __name__ == "__main__":
    main()
