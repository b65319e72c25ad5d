"""Agents in teams: their tasks, their letters, and how one is asked to leave."""
