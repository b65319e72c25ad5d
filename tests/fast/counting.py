"""What a command costs, in counts that no busy machine can blur: modules, files, programs."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from house import House

# Runs `knell ARGS` in this interpreter and writes down what the interpreter was asked for.
RUNNER = """
import sys
path, sys.argv = sys.argv[1], ["knell", *sys.argv[2:]]
bare = set(sys.modules)
opened, started = [], []

def hear(event, args):
    if event == "open" and isinstance(args[0], str):
        opened.append(args[0])
    elif event in ("os.posix_spawn", "os.exec", "os.fork", "subprocess.Popen"):
        started.append(event)

sys.addaudithook(hear)
from knell.faces.cli import main
try:
    main()
except SystemExit as end:
    code = end.code
modules = sorted(set(sys.modules) - bare)
seen, ran = list(opened), list(started)
import json
with open(path, "w") as file:
    json.dump({"code": code, "modules": modules, "opened": seen, "started": ran}, file)
"""


class Cost(NamedTuple):
    modules: set[str]
    opened: list[str]
    started: list[str]

    def below(self, folder: str) -> int:
        """How many files there were opened, each as often as it was."""
        return sum(path.startswith(folder) for path in self.opened)

    def proc(self) -> Counter[str]:
        """Which files of /proc/PID were read, by their last name."""
        read = [Path(path) for path in self.opened if path.startswith("/proc/")]
        return Counter(path.name for path in read if path.parent.name.isdigit())


def cost(house: House, *args: str) -> Cost:
    """Of `knell ARGS`, which must succeed."""
    told = house.root / "cost.json"
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(told), *args],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    document = json.loads(told.read_text())
    assert not document["code"], (document["code"], done.stderr)
    return Cost(set(document["modules"]), document["opened"], document["started"])
