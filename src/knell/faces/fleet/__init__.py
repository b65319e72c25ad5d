"""How orders of other hosts reach knell: the link's host, and what it does when it is told to."""
