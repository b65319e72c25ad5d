"""Starts runs: spawn, adopt, resume, restart."""
