"""Shows agents and runs; changes nothing."""
