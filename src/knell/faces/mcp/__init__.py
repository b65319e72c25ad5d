"""The MCP server: tools by which agents manage agents. Only this package knows the SDK."""
