"""Servers that several agents of a project share."""
