"""How Sphinx builds the site from the pages in this folder: `make site`.

The pages are written for a reader of the repository too, where `<picture>` chooses between a light
and a dark picture, and where a link may lead to a file that is no page. Both are translated here.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

import knell

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

project = "knell"
author = "knell contributors"
project_copyright = author
release = knell.__version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
root_doc = "index"
suppress_warnings = ["toc.not_included"]  # a new page is built before it has its place

myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "colon_fence"]

html_theme = "furo"
html_title = "knell"
html_static_path = ["_static"]
html_css_files = ["knell.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_permalinks_icon = "#"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b63a5", "color-brand-content": "#0b63a5"},
    "dark_css_variables": {"color-brand-primary": "#6cb6ff", "color-brand-content": "#6cb6ff"},
}
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
highlight_language = "text"
smartquotes = False

PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r'<img alt="([^"]*)" src="([^"]+)">\s*</picture>'
)
IMAGE = re.compile(r'^<img alt="([^"]*)" src="([^"]+)"(?: width="(\d+)")?>$', re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s:#]+)(#[^)\s]*)?\)")


def both_pictures(found: re.Match[str]) -> str:
    """One picture for each theme: the reader may switch the theme on the page itself."""
    dark, alt, light = found.groups()
    return "\n".join(
        f":::{{image}} {path}\n:class: only-{theme}\n:alt: {alt}\n:::\n"
        for theme, path in (("light", light), ("dark", dark))
    )


def one_picture(found: re.Match[str]) -> str:
    alt, path, width = found.groups()
    sized = f":width: {width}px\n" if width else ""
    return f":::{{image}} {path}\n:alt: {alt}\n{sized}:::\n"


def is_page(path: Path) -> bool:
    return path.is_relative_to(DOCS) and path.suffix == ".md" and path.is_file()


def readable(markdown: str, folder: Path) -> str:
    """The page as Sphinx understands it; `folder` is where it lies."""

    def linked(found: re.Match[str]) -> str:
        words, target, _ = found.groups()
        path = (folder / target).resolve()
        if is_page(path) or not path.exists() or path.is_relative_to(DOCS):
            return found[0]
        name = path.relative_to(ROOT).as_posix()
        return f"`{name}`" if words.strip("`/") in name else f"{words} (`{name}` in the repository)"

    return LINK.sub(linked, IMAGE.sub(one_picture, PICTURE.sub(both_pictures, markdown)))


def translate(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = readable(source[0], (DOCS / name).parent)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", translate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
