"""Heartbeat hooks as text: what knell writes into another program's settings file."""
