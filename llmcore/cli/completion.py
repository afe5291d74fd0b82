"""`llmcore completion`: prints the completion script of a shell, made by shtab."""

import argparse

from llmcore.schema.errors import missing_extra

SHELLS = ("bash", "zsh", "tcsh", "fish")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("shell", choices=SHELLS)
    parser.epilog = (
        "bash: llmcore completion bash > ~/.local/share/bash-completion/completions/llmcore; "
        "zsh: llmcore completion zsh > a folder of $fpath, as _llmcore"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script. Raises ConfigurationError without the package."""
    try:
        import shtab
    except ImportError as error:
        raise missing_extra("completion", "cli", error) from error
    from llmcore.cli.commands import complete_parser

    print(shtab.complete(complete_parser(), args.shell))
    return 0
