"""Linux: how many bytes each TCP connection of the machine has carried so far, asked by netlink.

Any user may ask (`ss -i` does the same). The kernel answers for the network namespace of the asker.
"""

import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

_SOCK_DIAG, _BY_FAMILY, _DUMP = 4, 20, 0x301  # protocol, message type, REQUEST | DUMP
_ERROR, _DONE = 2, 3  # message types
_CONNECTED = 1 << 1 | 1 << 8  # states: ESTABLISHED, CLOSE_WAIT
_INFO = 2  # the attribute that holds `struct tcp_info`
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")  # length and type
_PORTS = struct.Struct("!HH")  # ours and the other's, in network order
_PORTS_AT = 4
_INODE_AT, _ATTRIBUTES_AT = 68, 72  # in `struct inet_diag_msg`
_BYTES = struct.Struct("=QQ")  # bytes_acked, bytes_received in `struct tcp_info`
_BYTES_AT = 120
_WAIT = 1.0  # seconds; the kernel answers at once or not at all
_ROOM = 1 << 17


class TcpConnection(NamedTuple):
    inode: str
    ports: tuple[int, int]  # ours and the other's
    received: int
    sent: int


def tcp_connections() -> list[TcpConnection] | None:
    """Every open connection; None if the kernel does not tell."""
    try:
        return [one for family in (socket.AF_INET, socket.AF_INET6) for one in _dump(family)]
    except (OSError, struct.error):
        return None


def _dump(family: int) -> Iterator[TcpConnection]:
    request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), _CONNECTED)
    header = _HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as link:
        link.settimeout(_WAIT)
        link.send(header + request)
        for what, body in _messages(link):
            if what == _ERROR:
                raise OSError("the kernel does not list its connections")
            if found := _connection(body):
                yield found


def _messages(link: socket.socket) -> Iterator[tuple[int, bytes]]:
    """Type and content of each message, up to the one that says that it was the last."""
    while True:
        packet, at = link.recv(_ROOM), 0
        while at + _HEADER.size <= len(packet):
            length, what, *_ = _HEADER.unpack_from(packet, at)
            if what == _DONE or length < _HEADER.size:
                return
            yield what, packet[at + _HEADER.size : at + length]
            at += _rounded(length)


def _connection(body: bytes) -> TcpConnection | None:
    """None for one that nobody holds any more, or of which the kernel does not count the bytes."""
    ours, theirs = _PORTS.unpack_from(body, _PORTS_AT)
    (inode,) = struct.unpack_from("=I", body, _INODE_AT)
    at = _ATTRIBUTES_AT
    while inode and at + _ATTRIBUTE.size <= len(body):
        length, what = _ATTRIBUTE.unpack_from(body, at)
        value = body[at + _ATTRIBUTE.size : at + length]
        if what == _INFO and len(value) >= _BYTES_AT + _BYTES.size:
            sent, received = _BYTES.unpack_from(value, _BYTES_AT)
            return TcpConnection(str(inode), (ours, theirs), received, sent)
        at += max(_rounded(length), _ATTRIBUTE.size)
    return None


def _rounded(length: int) -> int:
    return (length + 3) & ~3
