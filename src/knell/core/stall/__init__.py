"""How knell judges whether an agent still works: signs, memory, turns, screens, verdict."""
