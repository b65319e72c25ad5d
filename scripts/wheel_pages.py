"""Puts manual pages and shell completion into the wheel; hatchling runs it when it builds one."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Where each shell looks below a prefix, without a line in anybody's start-up file.
COMPLETION = {
    "bash": "share/bash-completion/completions/knell",
    "zsh": "share/zsh/site-functions/_knell",
    "fish": "share/fish/vendor_completions.d/knell.fish",
}


class PagesHook(BuildHookInterface):
    folder = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # who works on knell has `knell man` and `knell completion`
            return
        self.folder = tempfile.mkdtemp(prefix="knell-pages-")
        sys.path.insert(0, str(Path(self.root) / "src"))
        for place, text in pages().items():
            file = Path(self.folder) / place.replace("/", "-")
            file.write_text(text, "utf-8")
            build_data["shared_data"][str(file)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def pages() -> dict[str, str]:
    """Where below a prefix → the text: the same that `knell man` and `knell completion` print."""
    from knell.faces.cli.verbs.help import script
    from knell.faces.text.manual import all_pages

    manual = {f"share/man/man1/{name}.1": text for name, text in all_pages().items()}
    return manual | {place: script(shell) for shell, place in COMPLETION.items()}
