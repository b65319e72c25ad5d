"""The benchmark of the fleet: a small crowd of real links, and what is said of its figures."""

import random
from typing import Any

from budgets import budgets_table
from fleet_local import state_figures, sure_range
from fleet_scale import FleetScale, scale_figures
from fleet_tables import fleet_part
from scale_page import scale_page

from house import House

SCALE: dict[str, Any] = {
    "hosts": 1000, "agents": 20, "joined_s": 42.0,
    "idle": {"cores": 0.21, "seconds": 60.0, "transactions_a_s": 326},
    "cost": {"rows_a_host": 41.0, "bytes_a_host": 21217, "connections_a_host": 1.0,
             "server_mb_a_host": 3.2},
    "kill_one_ms": {"min": 60.0, "median": 160.0, "max": 390.0, "n": 40},
    "command_ms": {"list --fleet": {"min": 1.0, "median": 2.0, "max": 3.0, "n": 5}},
    "kill_all": {"orders": 1000, "done": 1000, "receipts": 20000, "last_answer_s": 20.0,
                 "last_receipt_s": 21.0, "database_cpu_s": 15.0},
    "cut": {"hosts": 100, "pending": 100, "all_done_s": 12.0},
}  # fmt: skip
LOCAL = {
    state: {
        "min": 90.0,
        "median": 100.0,
        "max": 130.0,
        "n": 40,
        "ratio": ratio,
        "ratio_low": 1.01,
        "ratio_high": 1.1,
        "cpu_ms": 80.0,
        "cpu_ratio": 1.02,
    }
    for state, ratio in (("without a fleet", 1.0), ("hanging", 1.08))
}
RESULTS = {"fleet": {"scale": SCALE, "local": LOCAL}}


def test_a_small_crowd_is_linked_ordered_about_cut_and_back(house: House) -> None:
    """The stand-in for a host's store is one that the real link works with."""
    found = scale_figures(house, FleetScale(hosts=8, agents=3, kills=2, idle_s=0.2))
    assert found["kill_all"] == found["kill_all"] | {"orders": 8, "done": 8, "receipts": 24}
    assert found["cost"]["connections_a_host"] == 1.0
    assert found["kill_one_ms"]["n"] == 2
    house.at_end.close()


def test_a_ratio_of_five_percent_is_told_from_noise() -> None:
    """Of kills that stray by a third, and share the machine's slow moments with their twins."""
    chance = random.Random(7)
    for truth, found in ((1.0, False), (1.1, True)):
        slow = [chance.uniform(1.0, 3.0) for _ in range(40)]
        ratios = [
            truth * moment * chance.gauss(1.0, 0.05) / (moment * chance.gauss(1.0, 0.05))
            for moment in slow
        ]
        low, high = sure_range(ratios)
        assert low < truth < high
        assert (low > 1.05) is found


def test_a_kill_at_home_is_compared_with_its_twins(house: House) -> None:
    figures = state_figures(house, "refused", 2)
    assert 2 <= figures["n"] <= 10
    assert figures["ratio_low"] <= figures["ratio"] <= figures["ratio_high"]
    assert figures["cpu_ms"] > 0
    house.at_end.close()


def test_the_page_has_the_figures() -> None:
    text = fleet_part(RESULTS)
    assert "1,000 simulated hosts with 20 agents each" in text
    assert "160 ms (60 ms to 390 ms)" in text
    assert "| hanging | 100 ms (90 ms to 130 ms) | 1.080 | 1.010 to 1.100 | 1.020 |" in text
    assert fleet_part({}) == ""


def test_a_missed_budget_is_said() -> None:
    lines = [line for line in budgets_table(RESULTS).splitlines() if "fleet" in line or "@" in line]
    assert [("missed" in line) for line in lines if "met" in line or "missed" in line].count(
        True
    ) == 1
    assert any("1.080 at most" in line and "missed" in line for line in lines)


def test_the_next_factor_of_ten_is_computed() -> None:
    text = scale_page(SCALE)
    for words in ("10,000 backends and 31", "0.21 | 2.10", "160 ms to 493 ms",
                  "about 210 s", "1,000 a second"):  # fmt: skip
        assert words in " ".join(text.split()), words
