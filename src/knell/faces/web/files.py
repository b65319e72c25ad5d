"""The files of the page: what is not among them cannot be asked for."""

from importlib import resources

KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


def page_files() -> dict[str, tuple[bytes, str]]:
    """Every file of the page by its path, with its kind."""
    found: dict[str, tuple[bytes, str]] = {}
    folders = [("", resources.files("knell.faces.web") / "page")]
    for prefix, folder in folders:
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append((f"{prefix}{entry.name}/", entry))
                continue
            kind = KINDS.get("." + entry.name.rpartition(".")[2])
            if kind:
                found[prefix + entry.name] = (entry.read_bytes(), kind)
    return found
