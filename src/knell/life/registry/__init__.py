"""Keeps the registry file .hermes/agent-sessions.yaml in step with the store."""
