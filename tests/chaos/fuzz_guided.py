"""python fuzz_guided.py TARGET CORPUS [libFuzzer's options]: bytes that reach new lines.

Needs tests/ on PYTHONPATH, and atheris: Linux, x86-64, CPython 3.11 to 3.13.
"""

import os
import sys

import atheris  # pyright: ignore[reportMissingImports]

instrumented = atheris.instrument_imports  # pyright: ignore[reportAttributeAccessIssue]
with instrumented(include=["knell", "ruamel"]):
    from chaos.fuzz_targets import SEEDS, TARGETS


def main() -> None:
    name, corpus, *options = sys.argv[1:]
    os.makedirs(corpus, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        with open(os.path.join(corpus, f"seed-{number}"), "wb") as file:
            file.write(seed)
    atheris.Setup([sys.argv[0], *options, corpus], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
