"""Crush, from its source text of August 2026 (0.90). Nothing here was tried: its npm package
downloads the program from GitHub, which was out of reach.

Its conversations are rows of .crush/crush.db in the project's own directory, so that knell looks
none of them up. `exit` and `quit` open a question before it leaves, so that there is no polite way.
"""

from knell.core.arguments import Flags
from knell.core.kind import Kind, npm, words_of

KIND = Kind(
    "crush",
    **npm("crush", "@charmland/crush"),
    # An id, or the beginning of its hash.
    resume=("--session", "{id}"),
    picks=("--session", "-s", "--continue", "-C"),
    subcommands=words_of("""
        run dirs projects update-providers logs logout schema login stats session completion
        help"""),
    flags=Flags(
        switches=("-d", "--debug", "-h", "--help", "-y", "--yolo", "-C", "--continue"),
        repeated=("--channels",),
    ),
    # Set for its tools, with AGENT and AI_AGENT.
    strip_env=("CRUSH",),
    lost=("session not found:",),
)
