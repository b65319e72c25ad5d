"""Makes a host of a test's fleet silent, without waiting for minutes."""

from fleets import Fleet


def fall_silent(fleet: Fleet, name: str, minutes: float = 4) -> None:
    """As if this host, whose link does not run, was heard last so many minutes ago, while others
    were heard all the time. PostgreSQL judges nobody in its first forty seconds."""
    sql = fleet.database.sql
    sql(f"UPDATE knell.hosts SET seen_at = now() - interval '{minutes} min' WHERE name = %s", name)
    sql("UPDATE knell.pulse SET at = now() + interval '1 h', since = now() - interval '1 h'")
