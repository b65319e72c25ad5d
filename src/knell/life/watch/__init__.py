"""The watch: one process a host that keeps the records true and notices who has stalled."""
