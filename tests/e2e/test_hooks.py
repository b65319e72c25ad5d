"""knell's heartbeat hooks in the settings of the real programs: in, heard, and out again."""

from e2e.cells import HOOKS, Cells
from e2e.home import IN_TMUX, Home
from house import eventually, pause
from knell import kinds

# Each with a layout of its own; gemini takes comments as well.
SETTINGS = {
    "claude": (".claude/settings.json", '{\n\t"cleanupPeriodDays" :  99}'),
    "codex": (".codex/hooks.json", '{ "hooks":\n\n{}}\n'),
    "gemini": (".gemini/settings.json", ""),  # it must have settings to start
}
TRUST = "Trust all and continue"  # codex asks once, in a terminal


def test_hooks_in_and_out(any_home: Home, cells: Cells) -> None:
    """Hooks are installed, heard in a turn, and taken out; the settings are the same bytes."""
    home, name = any_home, any_home.program.name
    if name not in SETTINGS:
        cells.empty(HOOKS, f"{name} has plugins instead of hooks, and `knell hooks` knows none")
        return
    where, text = SETTINGS[name]
    path = home.house.home / where
    path.parent.mkdir(exist_ok=True)
    path.write_text(text or "// mine\n" + path.read_text().replace("{", "{  ", 1))
    before = path.read_bytes()
    with cells(HOOKS):
        home.knell("hooks", "install", name)
        assert path.read_bytes() != before
        home.knell("spawn", *IN_TMUX, "--name", "luna", name)
        home.pane = home.pane_of("luna")
        hooks = kinds.kind(name).hooks
        if hooks and hooks.asks_for_trust:  # after its prompt has been drawn for a moment
            home.shows(TRUST)
            eventually(lambda: home.press("2", "Enter") or pause(1.0) or is_trusted(home))
        home.await_ready()
        home.ask("amber")
        eventually(lambda: list(home.house.state.glob("runs/*/heartbeat")))
        home.end("stop", "luna")
        home.knell("hooks", "uninstall", name)
        assert path.read_bytes() == before


def is_trusted(home: Home) -> bool:
    """Keys that come before the question takes any are lost, and are pressed again."""
    return TRUST not in home.screen()
