"""Results in the shape in which `make bench` writes them; every number is made up."""

from typing import Any

GONE = "cannot install hcom: no index"


def spread(median: float, floors: float = 4.2) -> dict[str, float]:
    found = {"min": median / 2, "median": median, "max": median * 2, "n": 6, "floors": floors}
    return {name: round(value, 2) for name, value in found.items()}


def habit(trials: int = 5, left: int = 0, lies: int = 0, not_started: int = 0) -> dict[str, Any]:
    return {
        "trials": trials, "not_started": not_started, "survivors": left * 2,
        "trials_with_survivors": left, "false_success": lies, "said": "done",
    }  # fmt: skip


def survivors() -> dict[str, Any]:
    clean = {"plain": habit(), "root_dead": habit(), "hopper_tight": habit()}
    unborn = habit(0, not_started=5)
    ways = {
        "kill PID, as the seed does": {
            "plain": habit(left=5, lies=5),
            "root_dead": habit(left=1),
            "hopper_tight": unborn,
        },
        "hcom kill": clean | {"plain": habit(left=4, lies=3)},
        "knell, keeper only": clean.copy(),
        "knell, adopted": clean.copy(),
    }
    found = {way: {"unavailable": "", "version": "", "habits": one} for way, one in ways.items()}
    found["hcom stop"] = {"unavailable": GONE, "version": "", "habits": {}}
    found["hcom kill"]["version"] = "0.7.31"
    told = {"plain": "one child", "root_dead": "the agent itself has exited"}
    return {"ways": found, "told": told, "grace_s": 0.3, "settle_s": 3.0}


def innocents() -> dict[str, Any]:
    return {
        "kill PID, as the seed does": {"pid reuse": {"trials": 7, "hit": 6, "said": "killed"}},
        "hcom kill": {
            "pid reuse": {"trials": 7, "hit": 0, "said": ""},
            "prefix-named tmux session": {"trials": 0, "hit": 0, "said": "no tmux"},
        },
        "knell, keeper only": {
            "pid reuse": {"trials": 7, "hit": 0, "said": "already ended"},
            "prefix-named tmux session": {"trials": 7, "hit": 0, "said": "ended"},
        },
    }


def ended(returned: float, died: float | None, never: int = 0, trials: int = 6) -> dict[str, Any]:
    return {
        "n": trials, "return_ms": spread(returned), "death_ms": spread(died) if died else None,
        "never": never, "claims": trials, "false_claims": never, "said": "",
    }  # fmt: skip


def times() -> dict[str, Any]:
    return {
        "ceiling_s": 6.0,
        "grace_s": {"obedient": 2},
        "floor": spread(15.5, 1),
        "versions": {"hcom kill": "0.7.31"},
        "unavailable": {"hcom stop": GONE},
        "ways": {
            "kill PID, as the seed does": {
                "obedient": ended(11, 14), "ignores TERM": ended(12, None, never=6),
            },
            "hcom kill": {"obedient": ended(444, 448, never=2)},
            "knell, keeper only": {
                "obedient": ended(121, 117), "ignores TERM": ended(1130, 1122),
            },
        },
    }  # fmt: skip


def many() -> dict[str, Any]:
    return {
        "grace_s": 1.0,
        "ceiling_s": 8.0,
        "floor": spread(15, 1),
        "unavailable": {"hcom stop": GONE},
        "skipped": {"circus": "50 obedient: too slow"},
        "list": {"1": spread(88), "1000": spread(170, 11.5)},
        "ways": {
            "knell kill all": {
                "obedient": {
                    "1": ended(150, 145), "10": ended(180, 171), "50": ended(390, 381),
                    "1000": ended(4300, 4200),
                },
                "deaf": {"50": ended(1400, 1390)},
            },
            "tmux kill-session": {
                "obedient": {"1": ended(9, 10), "10": ended(30, 33)},
                "deaf": {"50": ended(100, None, never=6)},
            },
        },
    }  # fmt: skip


def starts() -> dict[str, Any]:
    commands = {"floor: python -c pass": spread(15, 1), "knell list, 1 agent": spread(86, 5.7)}
    return {"commands": commands, "engine_ms": {"headless": spread(4), "tmux": spread(5)}}


def keeper() -> dict[str, Any]:
    weight = {"resident_kb": 8820, "proportional_kb": 5551, "cpu_ticks_in_2_s": 0}
    return {"agents": {"1": weight}, "bare_start_ms": spread(13), "birth_ms": spread(46)}


def growth() -> dict[str, Any]:
    sizes = {"0": spread(80, 5), "100000": spread(93, 6)}
    verbs = {"floor: python -c pass": sizes, "list": sizes, "receipt NAME": {"0": spread(81, 5)}}
    return {
        "runs": 100_000,
        "how": "copied",
        "bytes_a_run": 2345,
        "store_mb": {"0": 0.2, "100000": 234.5},
        "rundir_a_run": {"files": 4, "bytes_on_disk": 16384},
        "verbs": verbs,
    }


def mcp() -> dict[str, Any]:
    found = {"agents": 20, "stdio_each_mb": 41.5, "stdio_all_mb": 830.5, "http_idle_mb": 55.1}
    return found | {"http_all_mb": 61.7, "ratio": 13.5}


def watch() -> dict[str, Any]:
    beat = {"floor: python -c pass": spread(17), "knell beat": spread(100), "touch": spread(1.4)}
    beats: dict[str, Any] = {"by_1_process_a_second": 325236, "by_8_processes_a_second": 530317}
    beats |= {"taken_in_ms_200": spread(9), "taken_in_ms_1000": spread(22)}
    cost = {
        "percent_of_a_core": 0.77, "cpu_ms_a_round": 116, "round_ms": spread(60),
        "resident_kb": 30000, "proportional_kb": 20000, "load": 2.1, "tmux_server_percent": 0.5,
    }  # fmt: skip
    day = {
        "agents": 39, "rounds": 200, "interval_s": 15.0, "healthy": 30, "hung": 9, "missed": [],
        "verdicts_on_the_healthy": 6891, "false_verdicts": 0, "ended_wrongly": [],
        "found": {"vow": {"patience_s": 120, "after_s": 135}},
        "verdicts": {"beats": {"working": 200}}, "parts": {"beats": "It beats."},
    }  # fmt: skip
    return {
        "load_before": 1.5, "beat": beat, "heartbeats": beats, "verdict_s": spread(0.9),
        "day": day, "watcher": {"200 headless agents": cost},
    }  # fmt: skip


def real() -> dict[str, Any]:
    alone = {"trials": 2, "left": 2, "which": ["MCP server", "the server's child"], "agent_s": 0.33}
    kept = {"trials": 2, "left": 0, "which": [], "agent_s": 0.32, "gone_s": 2.33}
    row = {"end": "`kill PID`", "server": "stubborn", "without": {**alone, "gone_s": None}}
    verb = {
        "end": "`knell kill`",
        "server": "docile",
        "without": None,
        "with": kept | {"rungs": "term"},
    }
    rows = [row | {"with": kept | {"rungs": "term → kill"}}, verb]
    return {"version": "2.1.197", "unavailable": "", "rows": rows}


def results() -> dict[str, Any]:
    taken = {"at": "2026-11-15T10:00:00+00:00", "load": 0.41, "took_s": 3.5}
    return {
        "machine": "Linux 6.18, 2 cores, Python 3.11.7",
        "taken": {"times": taken, "many": taken | {"load": 2.25}},
        "trials": 5,
        "survivors": survivors(),
        "innocents": innocents(),
        "times": times(),
        "many": many(),
        "starts": starts(),
        "keeper": keeper(),
        "mcp": mcp(),
        "growth": growth(),
        "watch": watch(),
        "real": real(),
    }
