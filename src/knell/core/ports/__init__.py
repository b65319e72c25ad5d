"""What the verbs need of the world: one file a port, with its records beside it."""
