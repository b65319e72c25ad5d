"""Plain text for people, and the same facts as data."""
