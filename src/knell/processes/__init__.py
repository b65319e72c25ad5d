"""The kernel: who a process is, what belongs to a run, and how it is ended."""
