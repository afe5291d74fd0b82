"""Run every benchmark, or those named on the command line."""

import argparse
from importlib import import_module

NAMES = ("imports", "framing", "own_cost", "client", "memory", "bridge", "sessions")


def main() -> None:
    """Print a section for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    names = parser.parse_args().names
    if unknown := set(names) - set(NAMES):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}: use --help")
    for name in names or NAMES:
        print(f"\n== {name}")
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
