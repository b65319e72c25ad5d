"""Ends runs, rung by rung: through their keepers, or from outside."""
