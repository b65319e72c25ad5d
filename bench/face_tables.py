"""The tables of `top` and `web`."""

from typing import Any

from tables import table
from time_tables import commands_table

HEAD = """
## `top` and `web`

{agents} headless agents, and {clients} browsers where there are several. The first picture stands
beside the import of what it is made with, in the same rounds.
"""


def faces_part(results: dict[str, Any]) -> str:
    found = results.get("faces")
    if not found:
        return ""
    parts = [HEAD.format(agents=found["agents"], clients=found["clients"])]
    parts += [commands_table(one) for one in (found.get("first") or {}).values()]
    rows: list[list[str]] = []
    if left := found.get("left_a_run"):
        beside = f"{left['bytes_on_disk']:,} bytes beside it"
        rows.append(
            ["an ended run, in the store", f"{left['bytes_in_store']:,} bytes", f"and {beside}"]
        )
    for name, key, unit in (
        ("`top` with all agents, of a core", "top_cpu_percent", "%"),
        ("`web` with all agents and one browser, of a core", "web_idle_percent", "%"),
        ("`web` with all agents and all browsers, resident", "web_memory_mb", "MB"),
    ):
        if key in found:
            rows.append([name, f"{found[key]:g} {unit}", ""])
    scrolled = "a key in a list of 5,000 rows, until it is drawn, more than in a list of one"
    spreads = {
        scrolled: found.get("scroll_ms"),
        "an event, from its commit to its line on the page": found.get("news_ms"),
    }
    for name, one in ((found.get("receipts") or {}).get("found_ms") or {}).items():
        spreads[f"a search in 10,000 receipts that finds {name}"] = one
    for name, one in spreads.items():
        if one:
            rows.append([name, f"{one['median']:g} ms", f"{one['min']:g} to {one['max']:g} ms"])
    return "\n".join([*parts, table(["what", "median", "spread"], rows)])
