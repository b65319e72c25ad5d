"""`python FILE PROGRAM WORDS…`: a program that the kernel gives no pidfds, as containers may."""

import ctypes
import errno
import os
import struct
import sys

NUMBERS = (424, 434)  # pidfd_send_signal, pidfd_open: the same on every processor
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # of the kernel's packet filter
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, BY_FILTER = 38, 22, 2


def main() -> None:
    steps = [(LOAD, 0, 0, 0)]  # the number of the call
    steps += [(IF_EQUAL, len(NUMBERS) - at, 0, number) for at, number in enumerate(NUMBERS)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, BY_FILTER, program, 0, 0)):
        if libc.prctl(*words):
            sys.exit(os.strerror(ctypes.get_errno()))
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
