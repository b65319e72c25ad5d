"""The kinds that knell brings, for the tests of what their records say."""

from knell import kinds
from knell.core.hooks.entries import Hooks
from knell.core.kind import Kind

ALL: tuple[Kind, ...] = tuple(kinds.kind(name) for name in kinds.built_in())
HOOKS: dict[str, Hooks] = {kind.name: kind.hooks for kind in ALL if kind.hooks}
CLAUDE, CODEX, GEMINI = (HOOKS[name] for name in ("claude", "codex", "gemini"))
TURNS = {kind.name: kind.turn for kind in ALL if kind.turn}
