"""The tables of the fleet: a thousand hosts on one PostgreSQL, and kills at home without it."""

from typing import Any

from charts import duration
from tables import NONE, table, wrapped

HEAD = """
## The fleet

{hosts:,} simulated hosts with {agents} agents each on one PostgreSQL, on this one machine: the real
link of each host over a stand-in for its local store, in four processes beside the database, which
syncs to the disk. On real hosts the ending itself comes on top; it is measured above.
"""
LOCAL = """
### A kill at home, whatever the database does

`knell kill NAME` of one obedient agent, on a host whose watch runs. Each kill is compared with one
on a twin without a fleet, run right before or after it: the ratio is the median of these, the range
is where 95 of 100 medians of the same ratios lie; processor time is compared in the same way. The
first line compares two twins: what it strays from 1, the method strays.
"""


def fleet_part(results: dict[str, Any]) -> str:
    found = results.get("fleet") or {}
    parts: list[str] = []
    if scale := found.get("scale"):
        parts += [wrapped(HEAD.format(**scale)), scale_table(scale)]
    if local := found.get("local"):
        parts += [wrapped(LOCAL), local_table(local)]
    if found.get("nice"):
        load = ((results.get("taken") or {}).get("fleet") or {}).get("load", "unknown")
        parts.append(
            wrapped(f"Other work ran beside it (load {load}); this part had nice {found['nice']}.")
        )
    return "\n".join(parts)


def scale_table(scale: dict[str, Any]) -> str:
    one, every, cost, idle = (scale[name] for name in ("kill_one_ms", "kill_all", "cost", "idle"))
    rows = [
        ["all hosts linked and mirrored, from nothing", f"{scale['joined_s']:g} s"],
        [f"the database while {scale['hosts']:,} hosts are idle",
         f"{idle['cores']:.2f} of a core, {idle['transactions_a_s']} transactions/s"],
        ["kill of one agent anywhere, order to receipt", spread_told(one)],
        *([f"`knell {name}`, the whole command", spread_told(figures)]
          for name, figures in scale["command_ms"].items()),
        [f"`kill all@*` of {every['receipts']:,} agents on {every['orders']:,} hosts: last answer",
         f"{every['last_answer_s']:g} s"],
        ["the same: last receipt in the database", f"{every['last_receipt_s']:g} s"],
        ["the same: processor time of the database", f"{every['database_cpu_s']:g} s"],
        [f"{scale['cut']['hosts']} hosts cut off, ordered to, and back: all done",
         f"{scale['cut']['all_done_s']:g} s after they came back"],
        ["a host costs: rows", f"{cost['rows_a_host']:g}"],
        ["a host costs: bytes on the database's disk", f"{cost['bytes_a_host']:,}"],
        ["a host costs: connections", f"{cost['connections_a_host']:g}"],
        ["a host costs: memory of the server", f"{cost['server_mb_a_host']:g} MB"],
    ]  # fmt: skip
    return table(["what", "figure"], rows)


def spread_told(figures: dict[str, Any]) -> str:
    return (
        f"{duration(figures['median'])} ({duration(figures['min'])} to {duration(figures['max'])})"
    )


def local_table(local: dict[str, Any]) -> str:
    rows = [
        [state, spread_told(one), f"{one['ratio']:.3f}", range_told(one), cpu_told(one)]
        for state, one in local.items()
    ]
    heads = ["the database is", "returns", "ratio", "range", "ratio of processor time"]
    return table(heads, rows)


def range_told(one: dict[str, Any]) -> str:
    return f"{one['ratio_low']:.3f} to {one['ratio_high']:.3f}" if "ratio_low" in one else NONE


def cpu_told(one: dict[str, Any]) -> str:
    return f"{one['cpu_ratio']:.3f}" if "cpu_ratio" in one else NONE
