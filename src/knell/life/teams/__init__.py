"""Teams: members, tasks, messages, and how an agent is asked to leave."""
