"""The tables of what knell costs while it waits: the keeper, and a store that grows old."""

from typing import Any

from charts import duration
from summary import Results
from tables import NONE, agents, spread_text, table, wrapped

GROWTH = """
## Growth

One store that remembers up to {runs:,} ended runs ({how}). A run adds {run_bytes:,} bytes to the
store{beside}.
"""


def cost_told(results: Results) -> str:
    """In a sentence what knell takes for itself; "" if that was not measured."""
    found = results.get("keeper") or {}
    weights = [one["proportional_kb"] / 1024 for one in (found.get("agents") or {}).values()]
    told = [f"a keeper of {max(weights):.1f} MB for each agent"] if weights else []
    birth, bare = found.get("birth_ms"), found.get("bare_start_ms")
    if birth and bare:
        told.append(f"{duration(birth['median'] - bare['median'])} more at its start")
    watchers = (results.get("watch") or {}).get("watcher") or {}
    told += [
        f"for `knell watch`, where it is used, {one['percent_of_a_core']} % of a core with {name}"
        for name, one in list(watchers.items())[:1]
    ]
    return f"What knell costs: {'; '.join(told)}." if told else ""


def cost_part(results: Results) -> str:
    keeper, mcp = results.get("keeper") or {}, results.get("mcp") or {}
    parts: list[str] = []
    if keeper.get("agents"):
        parts += ["## Cost", keeper_table(keeper)]
    if mcp.get("agents"):
        parts += ["## The MCP server", mcp_table(mcp)]
    return "\n\n".join(parts)


def mcp_table(found: dict[str, Any]) -> str:
    """One server for each agent over stdio, or one over HTTP for all."""
    rows = [
        ["one over stdio for each agent, each", f"{found['stdio_each_mb']} MB"],
        [f"the same for {agents(found['agents'])}", f"{found['stdio_all_mb']} MB"],
        ["one over HTTP for all of them", f"{found['http_all_mb']} MB"],
        ["the same before anybody asks", f"{found['http_idle_mb']} MB"],
    ]
    return table(["MCP server", "memory (PSS)"], rows)


def keeper_table(found: dict[str, Any]) -> str:
    """One column for each number of agents that were alive at once."""
    weighed = found["agents"]
    megabytes = {"resident memory": "resident_kb", "its own share of it (PSS)": "proportional_kb"}
    rows = [
        [name, *(f"{one[key] / 1024:.1f} MB" if key in one else NONE for one in weighed.values())]
        for name, key in megabytes.items()
    ]
    ticks = [[f"{one[key]}" for key in one if "ticks" in key] or [NONE] for one in weighed.values()]
    rows.append(["CPU ticks of all together in 2 s", *(cell[0] for cell in ticks)])
    lines = [table(["of one keeper, among", *map(agents, weighed)], rows)]
    birth, bare = found.get("birth_ms"), found.get("bare_start_ms")
    if birth and bare:
        told = f"From the start of the keeper until the agent is executed: {spread_text(birth)};"
        lines.append(wrapped(f"{told} for comparison, `python -S -c pass`: {spread_text(bare)}."))
    return "\n".join(lines)


def growth_part(results: Results) -> str:
    found = results.get("growth") or {}
    if not found.get("verbs"):
        return ""
    rundir = found.get("rundir_a_run") or {}
    beside = ""
    if rundir:
        beside = f", and {rundir['bytes_on_disk']:,} bytes to the disk beside it"
    head = GROWTH.format(
        runs=found.get("runs", 0),
        how=found.get("how", ""),
        run_bytes=found.get("bytes_a_run", 0),
        beside=beside,
    )
    return f"{wrapped(head)}\n{growth_table(found)}"


def growth_table(growth: dict[str, Any]) -> str:
    """Verbs by the number of ended runs in the store."""
    verbs = growth["verbs"]
    sizes = list(dict.fromkeys(size for found in verbs.values() for size in found))
    rows = [
        [verb if verb.startswith("floor") else f"`knell {verb}`"]
        + [growth_cell(found.get(size)) for size in sizes]
        for verb, found in verbs.items()
    ]
    store = growth.get("store_mb") or {}
    if store:
        rows.append(["the store", *(f"{store[n]} MB" if n in store else NONE for n in sizes)])
    return table(["ended runs", *(f"{int(size):,}" for size in sizes)], rows)


def growth_cell(found: dict[str, Any] | None) -> str:
    if not found or found.get("median") is None:
        return NONE
    times = f", {found['floors']:.1f} x" if "floors" in found else ""
    return f"{duration(found['median'])}{times}"
