"""What `quell list` answers."""

from quell.api import Quell
from quell.faces import say
from quell.faces.exits import Exit


def listed(
    _targets: tuple[str, ...] = (), *, everybody: bool, names: bool, json_wanted: bool
) -> int:
    views = Quell().list(everybody=everybody)
    if json_wanted:
        say.document({"agents": [view.to_json() for view in views]})
    elif names:
        for view in views:
            say.out(view.name)
    elif not views:
        say.err("no agents; start one: quell spawn claude")
    else:
        from quell.faces import render

        say.out(render.table(render.AGENT_COLUMNS, [render.agent_row(view) for view in views]))
    return Exit.DONE
