"""The files of the page: what is not among them cannot be asked for."""

from pathlib import Path

KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


def page_files() -> dict[str, tuple[bytes, str]]:
    """Every file of the page by its path, with its kind."""
    folder = Path(__file__).with_name("page")
    known = [file for file in folder.rglob("*") if file.suffix in KINDS]
    return {
        file.relative_to(folder).as_posix(): (file.read_bytes(), KINDS[file.suffix])
        for file in known
    }
