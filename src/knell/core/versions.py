"""Compares the version of a program that is installed with those that its kind was seen with."""

import re

VERSION = re.compile(r"[0-9][0-9A-Za-z.+_-]{0,40}")


def is_newer(version: str, seen: tuple[str, ...]) -> bool:
    """Whether it is later than all of them; False where that cannot be told."""
    return bool(version and seen) and _numbers(version) > max(map(_numbers, seen))


def _numbers(version: str) -> tuple[int, ...]:
    plain = re.split(r"[-+]", version)[0]  # what follows names a build
    return tuple(int(part) for part in re.findall(r"\d{1,9}", plain))
