"""The secrets of a run: its keeper's seal, the agent's token, and what the store has of them.

Each is the digest of the one before, so the store can tell both, and an agent that knows its token
cannot make the seal.
"""

from binascii import b2a_base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha256 import sha256  # hashlib takes milliseconds to load
    except ImportError:  # Python 3.12 and later have one module for all of its kind
        try:
            from _sha2 import sha256
        except ImportError:
            from hashlib import sha256


def token_of(seal: str) -> str:
    """The token of the run whose keeper has this seal, in letters that a URL can carry."""
    letters = b2a_base64(sha256(seal.encode(errors="surrogateescape")).digest(), newline=False)
    return letters.decode().rstrip("=").replace("+", "-").replace("/", "_")


def fits(seal: str, digest: str) -> bool:
    """Whether the store has that of this seal's token."""
    return digest_of(token_of(seal)) == digest


def digest_of(token: str) -> str:
    """What the store has of a token."""
    return sha256(token.encode(errors="surrogateescape")).hexdigest()
