"""Ends runs: kill, stop, reap, purge, and the one engine below them."""
