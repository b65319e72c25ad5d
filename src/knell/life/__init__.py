"""What is done to agents: one verb a file, over the ports."""
