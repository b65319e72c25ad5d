"""The command line: the verbs are in verbs/, each file imported only when one of them is called."""

import errno
import gc
import io
import os
import sys

from knell.core.errors import KnellError
from knell.faces import exits
from knell.faces.cli import fastpath, output

# What a full or broken disk behind a redirected stdout answers.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
# New objects after which Python looks for cycles among them. Its own 700 make it look hundreds of
# times while the modules of a verb are read, which takes a twentieth of the whole.
MANY_OBJECTS = 50_000
NAMED = 3  # agents that are named one by one after an interruption; more are counted


def script() -> None:
    """The command `knell`. Where `list` or `kill` has done its work, the process ends at once:
    taking the interpreter apart would be a tenth of the whole. Whatever may have left something to
    do, threads or click, takes the usual way out."""
    gc.disable()  # such a command lives for a moment, in which cycles of objects take no room
    try:
        main()
    except SystemExit as end:
        if end.code == 0 and sys.modules.keys().isdisjoint(("click", "threading")):
            os._exit(0)  # `main` has flushed what was printed
        raise


def main() -> None:
    """Runs the command line; every ending has one of the documented exit codes."""
    json_wanted = "--json" in sys.argv
    if isinstance(sys.__stdout__, io.TextIOWrapper):  # a name may hold half a character
        sys.__stdout__.reconfigure(errors="backslashreplace")
    try:
        code = _run(json_wanted=json_wanted)
        sys.stdout.flush()
    except KnellError as error:
        code = exits.of_error(error)
        print_failure(error, code, json_wanted=json_wanted)
    except KeyboardInterrupt:
        print_interrupted()
        code = exits.Exit.INTERRUPTED
    except BrokenPipeError:  # the reader has left
        output.discard_output()
        code = exits.Exit.DONE
    except OSError as error:
        if error.filename is not None or error.errno not in UNWRITABLE:
            raise
        output.discard_output()
        output.print_error(f"error: the output cannot be written: {error.strerror}")
        output.print_error("hint: what was done is done; knell events --last 5 tells it")
        code = exits.Exit.FAILED
    sys.exit(int(code))


def _run(*, json_wanted: bool) -> int:
    code = fastpath.run(sys.argv[1:])
    if code is not None:
        return code
    gc.set_threshold(MANY_OBJECTS)
    gc.enable()
    if len(sys.argv) == 1 and "_KNELL_COMPLETE" not in os.environ:
        from knell.faces.cli.verbs.screens import show_by_default

        return show_by_default()
    from knell.faces.cli import group

    try:
        return group.run()
    except group.Misuse as error:
        print_failure(error.error, exits.Exit.USAGE, json_wanted=json_wanted)
        return exits.Exit.USAGE


def print_interrupted() -> None:
    """Says that the verb was interrupted, and what becomes of the endings that it had begun."""
    output.print_error("interrupted")
    from knell.api import Knell

    try:
        begun = Knell().begun_endings()
        kept = [name for name, goes_on in begun if goes_on]
        if len(kept) > NAMED:
            output.print_error(f"{len(kept)} keepers go on ending their agents: knell status")
        for name in kept if len(kept) <= NAMED else ():
            output.print_error(f"the keeper of '{name}' goes on ending it: knell receipt {name}")
        for name in [name for name, goes_on in begun if not goes_on]:
            output.print_error(f"'{name}' may live on: knell kill {name} finishes its ending")
    except (KnellError, KeyboardInterrupt):
        return  # the store tells nothing, or the person does not want to wait


def print_failure(error: KnellError, code: int, *, json_wanted: bool) -> None:
    """Prints the error in one line and its hint in another; with --json also as a document."""
    if json_wanted:
        import json

        document: dict[str, object] = {"ok": False, "error": type(error).__name__}
        document |= {"code": error.code, "message": str(error)}
        document |= {"hint": error.hint, "exit": int(code)}
        if candidates := getattr(error, "choices", None):
            document["candidates"] = [one._asdict() for one in candidates]
        output.print_line(json.dumps(document))
    output.print_error(f"error: {error}")
    for line in error.details:
        output.print_error(f"  {line}")
    if error.hint:
        output.print_error(f"hint: {error.hint}")
