"""The commands of `llmcore`, the parser of a program with commands, and completion of shells."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final, NamedTuple, TypeAlias

from llmcore.cli.program import Parser, ShowVersion, add_command, nearest_hint

Commands: TypeAlias = Mapping[str, tuple[str, str]]
"""For each command the module in `llmcore.cli` whose `add_options`, or the function named after a
colon, adds its options, and what `--help` prints of it."""


class Program(NamedTuple):
    """A program with commands."""

    name: str
    about: str
    """The first text of its `--help`."""
    commands: Commands
    instead: Mapping[str, str] = {}
    """Commands that people look for, and those that do it."""


COMMANDS: Final[Commands] = {
    "ask": ("options:add_ask", "ask a model and print its response as it arrives"),
    "chat": ("options:add_chat", "talk to a model"),
    "batch": ("options:add_batch", "run files of requests here, or as batches of a provider"),
    "image": ("options:add_image", "make or edit an image"),
    "speak": ("options:add_speech", "turn text into speech"),
    "transcribe": ("options:add_transcription", "turn a recording into text"),
    "prepare": ("options:add_prepare", "print the native request without sending it"),
    "providers": ("options:add_providers", "list providers and whether they are configured"),
    "models": ("options:add_models", "list known models with their capabilities and prices"),
    "config": ("config", "show and set defaults, aliases and templates"),
    "keys": ("options:add_keys", "store, list and remove API keys"),
    "login": ("options:add_login", "log in to GitHub Copilot, by a code in a browser"),
    "logout": ("options:add_logout", "remove a stored login"),
    "local": ("local", "install, check or remove the embedded model"),
    "logs": ("options:add_logs", "print and search prompts and responses"),
    "sessions": ("options:add_sessions", "list, show, export and import stored conversations"),
    "inspect": ("options:add_inspect", "show a cassette, session or recorded stream as a page"),
    "doctor": ("options:add_doctor", "check keys, network, packages and files"),
    "completion": ("options:add_completion", "print the completion script of a shell"),
}

_INSTEAD: Final = {
    **dict.fromkeys(("template", "templates", "alias", "aliases", "settings"), "llmcore config"),
    **dict.fromkeys(("serve", "server", "gateway", "proxy"), "openbridge serve"),
    **dict.fromkeys(("run", "generate", "complete", "prompt"), "llmcore ask"),
    "history": "llmcore logs",
    "install": "llmcore local install",
    "version": "llmcore --version",
}
_PROGRAM: Final = Program("llmcore", "Call any LLM provider from the shell.", COMMANDS, _INSTEAD)


def parser(argv: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the argument parser of `llmcore` for the command line *argv*."""
    return parser_of(_PROGRAM, argv)


_FILES: Final = ("file", "responses")
"""Arguments that are files without a placeholder `FILE`."""


def print_completion(args: argparse.Namespace) -> int:
    """Print the completion script of `llmcore` for a shell."""
    return print_script(_PROGRAM, args.shell)


def print_script(program: Program, shell: str) -> int:
    """Print the completion script of *program*. Raises ConfigurationError without shtab."""
    try:
        import shtab
    except ImportError as error:
        from llmcore.schema.errors import missing_extra  # loads the library

        raise missing_extra("completion", "cli", error) from error
    complete = parser_with_options(program)
    for argument in complete.arguments():
        if "FILE" in str(argument.metavar) or argument.dest in _FILES:
            argument.complete = shtab.FILE  # type: ignore[attr-defined]  # read by shtab
    print(shtab.complete(complete, shell))
    return 0


def parser_of(program: Program, argv: Sequence[str] | None) -> argparse.ArgumentParser:
    """Return the argument parser of *program* for the command line *argv*.

    Only the module of the command in *argv* is imported.
    """
    words = sys.argv[1:] if argv is None else argv
    chosen = next((word for word in words if not word.startswith("-")), None)
    parser = parser_with_options(program, {chosen} if chosen is not None else set())
    if not words:
        parser.print_help(sys.stderr)
        parser.exit(2)
    if chosen == "help":  # which `--help` is the option for
        named = [word for word in words[words.index("help") + 1 :] if not word.startswith("-")]
        if named and named[0] not in program.commands:
            parser.error(_no_command(named[0], program))
        parser_with_options(program, set(named[:1])).parse_args([*named, "--help"])
    if words[0].startswith("-"):
        _check_first_option(parser, words[0], program)
    if chosen is not None and chosen not in program.commands:
        parser.error(_no_command(chosen, program))
    return parser


def _check_first_option(parser: Parser, word: str, program: Program) -> None:
    """Exit with an error unless *word*, before any command, is an option of the program itself."""
    option = word.partition("=")[0]
    if option in parser_with_options(program, set()).options():
        return
    owner = parser_with_options(program).command_with(option)
    hint = f": write `{program.name} {owner} {option} ...`" if owner else ""
    parser.error(f"unrecognized arguments: {option}{hint}")


def _no_command(name: str, program: Program) -> str:
    meant = program.instead.get(name)
    if "ask" in program.commands and " " in name.strip():
        meant = 'llmcore ask "PROMPT"'
    hint = f": write `{meant}`" if meant else nearest_hint(name, program.commands)
    return f"there is no command {name!r}{hint}"


def parser_with_options(program: Program, chosen: "set[str] | None" = None) -> Parser:
    """Return the parser with the options of the commands *chosen*; None for those of all."""
    parser = Parser(prog=program.name, description=program.about)
    parser.add_argument("--version", action=ShowVersion)
    added = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (home, meaning) in program.commands.items():
        command = add_command(added, name, meaning)
        if chosen is None or name in chosen:
            module, _, function = home.partition(":")
            home_module = import_module(f"llmcore.cli.{module}")
            getattr(home_module, function or "add_options")(command)
    return parser
