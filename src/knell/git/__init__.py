"""Git worktrees: looked at, saved, removed and made by the user's own git."""
