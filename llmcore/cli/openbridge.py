"""The program `openbridge`: its commands are in `gateway`, imported once Ctrl-C is handled."""

import argparse
from collections.abc import Sequence

from llmcore.cli import start


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* of `openbridge` and return its exit code."""

    def parser() -> argparse.ArgumentParser:
        from llmcore.cli import gateway

        return gateway.parser()

    return start(parser, argv)
