"""What an agent, a run and an ending are, and what follows from what: no I/O, no clock."""
