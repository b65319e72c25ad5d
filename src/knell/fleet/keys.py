"""Ed25519 keys: made, kept in files of mode 0600, and used to sign and to prove."""

import base64
import binascii
import os

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from knell.core.errors import BadRequest
from knell.core.fleet.order import signed_bytes
from knell.fleet.private_files import read_private, write_private

MARK = "ed25519:"
BYTES = 32


def make_key(path: str) -> str:
    """Makes a key, unless the file has one already; the public one, as it is shown."""
    if not os.path.exists(path):
        key = Ed25519PrivateKey.generate()
        write_private(path, base64.b64encode(key.private_bytes_raw()).decode() + "\n")
    return public_of(path)


def _private(path: str) -> Ed25519PrivateKey:
    try:
        raw = base64.b64decode(read_private(path).strip(), validate=True)
        return Ed25519PrivateKey.from_private_bytes(raw)
    except ValueError:
        why = f"{path} holds no key of knell"
        raise BadRequest(why, "move it aside, then: knell fleet key new") from None


def public_of(path: str) -> str:
    return MARK + base64.b64encode(_private(path).public_key().public_bytes_raw()).decode()


def sign(path: str, text: str, what: str = "order") -> str:
    return base64.b64encode(_private(path).sign(signed_bytes(text, what))).decode()


def is_signed(text: str, signature: str, key: str, what: str = "order") -> bool:
    """Whether the holder of that key signed exactly this text, as that."""
    try:
        public = Ed25519PublicKey.from_public_bytes(key_bytes(key))
        public.verify(base64.b64decode(signature, validate=True), signed_bytes(text, what))
    except (InvalidSignature, ValueError, BadRequest):
        return False
    return True


def key_bytes(key: str) -> bytes:
    """The bytes of a public key as `fleet key list` shows it; BadRequest for anything else."""
    try:
        raw = base64.b64decode(key.removeprefix(MARK), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not key.startswith(MARK) or len(raw) != BYTES:
        shown = key[:20] if key.isprintable() else "it"
        why = f"{shown}… is no public key of knell: it begins with {MARK} and has {BYTES} bytes"
        raise BadRequest(why, "knell fleet key list shows the keys of a machine")
    return raw
