"""End AI coding agents surely, and lose nothing."""

__version__ = "0.1.0"
