"""Which programs agents are: one a file, facts and argv, no I/O."""
