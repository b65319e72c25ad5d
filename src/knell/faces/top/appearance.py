"""How `top` looks: its style sheet, the line of keys, and the page that explains them."""

KEYS = (
    "? help  q leave  ↑↓ move  X kill  s stop  r resume  e explain  p receipt  l log  t tree"
    "  ⏎ attach  space mark  / filter"
)
HELP = """\
↑ ↓ j k        move            space   mark an agent
/              filter          Escape  no filter, no marks
Enter          go to its pane  l       what it printed
e              why it counts as working, stalled …
t              its processes   p       the proof of its ending
s              stop politely   X       kill
r              resume          R       restart
a              ask it to leave c       clean up after it
w              watch on/off    !       read-only on or off
g              by host or not  ?       this page
q              leave; no agent ends with top

Keys that end an agent ask first, and show what they would do.
A click moves to an agent, and the wheel scrolls.
With --fleet: an order that another host has not answered is pending,
and never called done. Enter, l and a are for agents of this host.\
"""
CSS = """
#head { height: 1; text-style: bold; }
#trouble, #fleet { height: auto; color: $error; display: none; }
#filter { height: 1; border: none; display: none; }
#events { height: 4; border-top: solid $primary; border-title-color: $text; padding: 0 1; }
#head, #events, #keys { text-wrap: nowrap; text-overflow: ellipsis; }
#keys { height: 1; color: $text-muted; }
.short AgentDetail, .tiny #events { display: none; }
"""
