"""A file system whose server takes each request and answers none; stdlib only, for it runs alone.

`python hung_fuse.py DIR` in a mount namespace of its own: mounts itself on DIR, says `up`, reads
whatever is asked and never answers. Whoever asked stays in state D, and not even KILL ends it,
until this process ends: with the last handle of /dev/fuse the kernel breaks the connection off.
"""

import ctypes
import os
import signal
import struct
import sys

INIT_OUT = struct.Struct("<IiQ IIII HHI IHH I 7I")  # header, then what the kernel wants to hear
DIRECTORY = 0o40000


def main() -> None:
    signal.alarm(1200)
    device = os.open("/dev/fuse", os.O_RDWR)
    told = f"fd={device},rootmode={DIRECTORY:o},user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hung", os.fsencode(sys.argv[1]), b"fuse", 0, told.encode()):
        sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    unique = struct.unpack_from("<IIQ", os.read(device, 70_000))[2]
    answer = (unique, 7, 31, 4096, 0, 12, 9, 4096, 1, 1, 0, 0, *[0] * 7)
    os.write(device, INIT_OUT.pack(INIT_OUT.size, 0, *answer))
    os.write(1, b"up\n")
    while True:
        os.read(device, 70_000)


if __name__ == "__main__":
    main()
