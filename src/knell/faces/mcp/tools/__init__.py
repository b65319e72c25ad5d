"""The MCP tools, by subject."""
