"""Run every benchmark, or those named on the command line."""

import sys
from importlib import import_module

NAMES = ("imports", "framing", "own_cost", "client", "memory", "bridge", "sessions")


def main() -> None:
    """Print a section for each."""
    for name in sys.argv[1:] or NAMES:
        print(f"\n== {name}")
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
