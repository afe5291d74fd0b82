"""`llmcore completion`: prints the completion script of a shell, made by shtab."""

import argparse
from typing import Final

from llmcore.schema.errors import missing_extra

SHELLS = ("bash", "zsh", "tcsh", "fish")

_FILES: Final = ("file", "requests", "handle", "images", "mask")
"""Arguments whose placeholder does not name a file, though they are one."""

_WHERE: Final = """\
Where the script belongs:
  bash  llmcore completion bash > ~/.local/share/bash-completion/completions/llmcore
  zsh   llmcore completion zsh > _llmcore, in a folder of $fpath
  fish  llmcore completion fish > ~/.config/fish/completions/llmcore.fish"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("shell", choices=SHELLS)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _WHERE
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script. Raises ConfigurationError without the package."""
    try:
        import shtab
    except ImportError as error:
        raise missing_extra("completion", "cli", error) from error
    from llmcore.cli.commands import complete_parser

    parser = complete_parser()
    for argument in parser.arguments():
        if "FILE" in str(argument.metavar) or argument.dest in _FILES:
            argument.complete = shtab.FILE  # type: ignore[attr-defined]  # read by shtab
    print(shtab.complete(parser, args.shell))
    return 0
