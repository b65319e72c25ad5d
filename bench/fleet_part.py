"""The part `fleet` of the benchmark: a thousand hosts, and a local kill without its database."""

import os
import tempfile
from pathlib import Path
from typing import Any

from fleet_local import STATES, local_figures
from fleet_scale import FleetScale, scale_figures

from house import open_house


def fleet_figures(scale: FleetScale, trials: int) -> dict[str, Any]:
    """`{"scale": …, "local": …}`, each as its own module says, and `nice`: with which priority."""
    if os.geteuid():
        STATES.pop("full", None)  # to fill a disk takes a mount
    found: dict[str, Any] = {"nice": os.getpriority(os.PRIO_PROCESS, 0)}
    with (
        tempfile.TemporaryDirectory(prefix="knell-fleet-", ignore_cleanup_errors=True) as root,
        open_house(Path(root)) as house,
    ):
        found["local"] = local_figures(house, trials)
    with (
        tempfile.TemporaryDirectory(prefix="knell-fleet-", ignore_cleanup_errors=True) as root,
        open_house(Path(root)) as house,
    ):
        found["scale"] = scale_figures(house, scale)
    return found
