"""Auggie, read from 0.36.0: its help and its first screen. Beyond that it wants an account.

Neither its prompt nor its questions were seen, nor what a person types to leave it.
"""

from knell.core.kind import Kind, npm, words_of
from knell.core.mcp_client import McpClient, started_document

KIND = Kind(
    "auggie",
    **npm("auggie", "@augmentcode/auggie"),
    seen=("0.36.0",),
    # From the help: an id or the beginning of one.
    resume=("--resume", "{id}"),
    picks=("--resume", "-r", "--continue", "-c"),
    subcommands=words_of("""
        login logout token session sessions model account context upgrade command mcp tools"""),
    asks=(r"(?m)^ → Login to continue\n\s*Press return to open your browser\s*\Z",),
    # As `auggie mcp add` writes it.
    mcp=McpClient("~/.augment/settings.json", started_document("auggie", type="stdio")),
)
