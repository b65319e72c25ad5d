"""docs/scale.md: what one database carries, and what ten times as many hosts need."""

from typing import Any

from tables import table

FACTOR = 10
LEASE_S, POLL_S = 10, 5  # of a link: a sign of life, and a look for missed notifications
LEASES_MOST = 895  # a second, of 1,000 sessions without a sync each; measured once on two cores
NOTIFY_MS = 37  # one NOTIFY with 1,000 idle listeners, before PostgreSQL 19; measured once
PAGE = """\
<!-- written by `make bench`; change bench/scale_page.py instead -->

# How far one database carries

The figures are those of [the fleet's benchmark](benchmarks.md#the-fleet): {hosts:,} hosts with
{agents} agents each on one PostgreSQL, which shared two cores with all of the simulated hosts.
What follows is arithmetic from them; nothing below was built or measured at {more:,} hosts.

## Measured, and times {factor}

{measured}

## What breaks first

1. **Connections.** A host holds one, so {more:,} hosts need {more:,} backends and {memory:.0f}
   GB of memory. `max_connections` can be set so high; a server that also does other work cannot
   be expected to. pgbouncer in transaction mode lends a few dozen instead: then there are no
   notifications, and an order waits for the next poll, {poll} s at most and half of that on
   average.
2. **Notifications.** Before version 19, PostgreSQL wakes every listener of the database for
   each notification: about {notify} ms with 1,000 listeners, so about {notify_more} ms with
   {more:,}. The median of one kill would go from {kill:.0f} ms to {kill_more:.0f} ms; `kill
   all@*` is one transaction and pays it once.
3. **Signs of life.** {more:,} hosts at one every {lease} s are {leases:,} a second; two cores
   managed {leases_most}. Every 30 s they are {leases_slow}, and a silent host is noticed after
   90 s.
4. **`kill all@*`** of {agents_more:,} agents: the last receipt after about {all_more:.0f} s,
   and {all_cpu:.0f} s of processor time on the database, if it grows no faster than the number
   of hosts. More cores shorten it, because each host's answer is a transaction of its own.

Disk is no limit: {disk:.1f} GB for the mirror of {more:,} hosts.

## The next factor of ten

Hosts need nothing from each other, and an order concerns one host. So {more:,} hosts are
{factor} **regions** of {hosts:,} with a database each, and every figure above stays as
measured. A router for that would need:

* a directory, host → region: {more:,} rows of about 100 bytes, {directory:.0f} MB, that changes
  only when a host joins or leaves, so every operator can hold a copy;
* for `NAME@HOST`: one look into it, then the same order in that region, as fast as today;
* for `all@*`, `tag:X@*` and `list --fleet`: one connection a region, asked side by side; the
  answer is as late as the slowest region, which is the measured {all_one:.0f} s and not
  {factor} times that; a region that cannot be asked is reported as pending for all its hosts;
* nothing across regions in one transaction: an order's id is unique everywhere, and its host
  alone decides that it is carried out once;
* an operator's role in every region, and no new keys: a host obeys keys, not databases.

This is not built. One region is what knell has today.
"""


def scale_page(scale: dict[str, Any]) -> str:
    hosts, factor = scale["hosts"], FACTOR
    more = hosts * factor
    cost, every, kill = scale["cost"], scale["kill_all"], scale["kill_one_ms"]["median"]
    return PAGE.format(
        hosts=hosts, agents=scale["agents"], more=more, factor=factor, measured=measured(scale),
        memory=cost["server_mb_a_host"] * more / 1024, poll=POLL_S, notify=NOTIFY_MS,
        notify_more=NOTIFY_MS * factor, kill=kill, kill_more=kill + NOTIFY_MS * (factor - 1),
        lease=LEASE_S, leases=more // LEASE_S, leases_most=LEASES_MOST, leases_slow=more // 30,
        agents_more=scale["agents"] * more, all_more=every["last_receipt_s"] * factor,
        all_cpu=every["database_cpu_s"] * factor, all_one=every["last_receipt_s"],
        disk=cost["bytes_a_host"] * more / 1e9, directory=more * 100 / 1e6,
    )  # fmt: skip


def measured(scale: dict[str, Any]) -> str:
    cost, idle, every = scale["cost"], scale["idle"], scale["kill_all"]
    hosts = scale["hosts"]
    rows: list[tuple[str, float, str]] = [
        ("connections", cost["connections_a_host"] * hosts, "{:,.0f}"),
        ("memory of the server", cost["server_mb_a_host"] * hosts / 1024, "{:.1f} GB"),
        ("cores while idle", idle["cores"], "{:.2f}"),
        ("transactions a second while idle", idle["transactions_a_s"], "{:,.0f}"),
        ("bytes on disk", cost["bytes_a_host"] * hosts / 1e6, "{:,.0f} MB"),
        ("rows", cost["rows_a_host"] * hosts, "{:,.0f}"),
        ("`kill all@*`: processor time", every["database_cpu_s"], "{:.0f} s"),
        ("`kill all@*`: last receipt", every["last_receipt_s"], "{:.0f} s"),
    ]
    told = [[name, form.format(value), form.format(value * FACTOR)] for name, value, form in rows]
    return table(["", f"{hosts:,} hosts", f"{hosts * FACTOR:,} hosts"], told)
