"""Collects the signs of life of each run: heartbeat, conversation, screen, kernel."""
