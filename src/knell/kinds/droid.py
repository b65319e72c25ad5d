"""Factory's droid, read from 0.225.2: its help and its first screen.

Beyond that it wants an account. Neither its prompt nor its questions were seen, nor what a person
types to leave it.
"""

from knell.core.arguments import Flags
from knell.core.kind import Kind, npm, words_of
from knell.core.mcp_client import McpClient, started_document

KIND = Kind(
    "droid",
    **npm("droid", "@factory/cli"),
    seen=("0.225.2",),
    resume=("--resume", "{id}"),
    picks=("--resume", "-r", "--last", "--fork"),
    subcommands=words_of("resume exec daemon search find update mcp plugin computer doctor help"),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("-v --version --last --use-spec --disable-builtin-skills -h --help"),
        once=("-w", "--worktree", "--fork"),
    ),
    asks=(r"(?m)^Please login with your Factory account[^\n]*\n+> Login\n {2}Exit\s*\Z",),
    # As `droid mcp add` writes it.
    mcp=McpClient("~/.factory/mcp.json", started_document("droid", type="stdio", disabled=False)),
    other_names=("factory",),
)
