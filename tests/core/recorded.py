"""What the real programs showed and wrote, recorded against a stand-in for their models.

claude 2.1.197, codex 0.166.0, gemini 0.61.0, opencode 1.18.33. Paths are changed, and records are
cut to what `core/stall/turns.py` reads and what stands around it.
"""

from pathlib import Path

FOLDER = Path(__file__).with_name("recordings")


def recorded(kind: str, what: str) -> dict[str, str]:
    """By scene: `screens` or `turns` of one kind."""
    text = (FOLDER / f"{kind}.{what}").read_text("utf-8")
    scenes = (scene.partition("\n") for scene in text.split("=== ")[1:])
    return {name: body for name, _, body in scenes}
