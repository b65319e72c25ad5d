"""The fleet on PostgreSQL: needs the extra `fleet`. Nothing here is imported by a local verb."""
