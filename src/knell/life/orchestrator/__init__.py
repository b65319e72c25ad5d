"""The decisions of the orchestrator's six JSON commands."""
