"""The program `openbridge`: its commands are in `gateway`, imported once Ctrl-C is handled."""

from collections.abc import Sequence

from llmcore.cli import start


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* of `openbridge` and return its exit code."""
    return start("llmcore.cli.gateway", argv)
