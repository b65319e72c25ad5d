"""Where agents, runs and receipts are remembered: one database a file."""
