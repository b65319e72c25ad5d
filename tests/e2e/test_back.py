"""Resume means back: what knell says of each real program after a resume."""

import json

from complaints import FAILED, complaint
from e2e.home import Home

WORDS = "marigold lantern seventeen"  # enough to be recognised on a screen


def test_R3_resumed_is_said_of_what_was_seen(any_home: Home) -> None:
    """`resume` says "resumed" once the program has named or shown its conversation, and exits 1
    with the program's own last words where it has ended."""
    home = any_home
    home.spawn()
    home.say(f"say {WORDS}", f"answer 1: {WORDS}")
    home.receipt("stop", "luna")
    told = json.loads(home.knell("resume", "luna", "--json").stdout)
    assert (told["verdict"], told["warnings"]) == ("resumed", [])
    home.receipt("kill", "luna")
    done = home.house.run("resume", "luna", "--", "--no-such-option", cwd=home.project)
    assert "'luna' did not come back: it ended, exit code " in complaint(done, FAILED).what
    home.assert_nothing_left()
