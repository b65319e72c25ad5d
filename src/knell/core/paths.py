"""Paths as text: nothing here asks the disk."""


def is_below(path: str, top: str) -> bool:
    """Whether `path` is `top` or lies in it; both are absolute and free of links."""
    return path == top or path.startswith(top.rstrip("/") + "/")
