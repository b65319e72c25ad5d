"""Agents of other hosts, for every face: looks at them, orders to their hosts, and the answers."""
