"""The bench is a folder of scripts beside each other: its tests import them as they do."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "bench"))
