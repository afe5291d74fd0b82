"""Shared by all commands: standard streams, running a command and ending.

Text from a model or a server is written by `say()` and `note()`, which remove control characters:
in a terminal these could move the cursor, set the clipboard or hide text. They are removed for
pipes too, since many pipes end in a terminal. JSON keeps all characters, control characters as
escapes.
"""

import argparse
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from shutil import get_terminal_size
from typing import Any, Final, NoReturn, TextIO, TypeVar

from llmcore.cli import ExitOnInterrupt
from llmcore.version import VERSION

INTERRUPTED: Final = 130
"""The exit code that shells report for a program ended by Ctrl-C."""

# -- running


class Parser(argparse.ArgumentParser):
    """A parser whose errors repeat what was typed without its control characters.

    Options cannot be shortened, or a new option could change what a script means.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": HelpFormatter, "allow_abbrev": False, **settings})
        self._unknown: str | None = None

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        """Parse *args*, and keep the first option that does not exist."""
        known = self.options()
        words = (word.partition("=")[0] for word in args or () if word.startswith("--"))
        self._unknown = next((word for word in words if word not in {*known, "--"}), None)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print *message* and usage, or help if a required argument is missing; exit with 2."""
        if message.startswith("the following arguments are required"):
            if self._unknown is None:
                self.print_help(sys.stderr)
                self.exit(2, f"\n{self.prog}: error: {printable(message)}\n")
            message = f"{_UNRECOGNIZED}{self._unknown}"  # such as a misspelt one that is required
        hint = ""
        if message.startswith(_UNRECOGNIZED):
            words = message.removeprefix(_UNRECOGNIZED).split(" ")
            typed = next((word for word in words if word.startswith("-")), words[0]).partition("=")[
                0
            ]
            if typed in _KEYS:  # what follows is a secret
                message = f"{_UNRECOGNIZED}{typed}"
            hint = _hint(typed, self.options())
        elif choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            hint = nearest_hint(choice[1], re.findall(r"[\w-]+", choice[2]), otherwise="")
        super().error(printable(message + hint))

    def options(self) -> "set[str]":
        """Return all options, those of commands included."""
        return {name for action in self.arguments() for name in action.option_strings}

    def arguments(self) -> Iterator[argparse.Action]:
        """Yield all arguments and options, those of commands included."""
        for action in self._actions:
            if isinstance(action.choices, dict):
                for command in action.choices.values():
                    yield from command.arguments()
            else:
                yield action

    def command_with(self, option: str) -> str | None:
        """Return the first command that has *option*; None if there is none."""
        commands = (item.choices for item in self._actions if isinstance(item.choices, dict))
        every = ((name, one) for choices in commands for name, one in choices.items())
        return next((name for name, one in every if option in one.options()), None)


class HelpFormatter(argparse.HelpFormatter):
    """Help whose lines end neither within an option nor within a command in backticks."""

    def add_argument(self, action: argparse.Action) -> None:
        """Add an argument; texts of commands begin behind the longest name."""
        super().add_argument(action)
        if isinstance(action.choices, dict):
            longest = max(map(len, action.choices))
            indent = self._current_indent + self._indent_increment
            self._action_max_length = max(self._action_max_length, longest + indent)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Return *text* with its own line ends; the rest of a row of a table is indented."""
        lines = (_wrapped(line, width, _column(line)) or [""] for line in text.split("\n"))
        return "\n".join(indent + part for line in lines for part in line)


_LAST_GAP: Final = re.compile(r"^.*?\S {2,}|^ *")


def _column(line: str) -> int:
    """Return where the last cell of a row of a table begins, which two spaces precede."""
    found = _LAST_GAP.match(line)
    return found.end() if found else 0


def _wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    import textwrap  # for help only

    kept = re.sub("`[^`]+`", lambda found: found[0].replace(" ", "\xa0"), text)
    lines = textwrap.wrap(
        kept,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\xa0", " ") for line in lines]


_P = TypeVar("_P", bound=argparse.ArgumentParser)


def add_command(commands: "argparse._SubParsersAction[_P]", name: str, about: str) -> _P:
    """Add a command, whose `--help` begins with the text *about* of the list of commands."""
    return commands.add_parser(name, help=about, description=about)


_UNRECOGNIZED: Final = "unrecognized arguments: "
_FILES_OF: Final = ("-f", "--file", "--files", "--pdf", "--audio", "--document", "--attachments")
_KEYS: Final = ("--api-key", "--key", "--token")
_OTHER_OPTIONS: Final = {
    **dict.fromkeys(_FILES_OF, "--attach"),
    **dict.fromkeys(("-V", "-v"), "--version"),
    **dict.fromkeys(_KEYS, "store it with `llmcore keys set PROVIDER`, or set its variable"),
    **dict.fromkeys(("--verbose", "--debug"), "set the variable LLMCORE_LOG=debug"),
    **dict.fromkeys(("--effort", "--think", "--thinking"), "--reasoning-effort"),
    **dict.fromkeys(("--conversation", "--chat"), "--session"),
    "--prompt": "write the prompt without an option",
    "--stream": "it is the default: leave it out",
    "--provider": "write it before the model's id: --model PROVIDER:ID",
    "--format": "--json",
    "--functions": "--tool",
}
"""Options of other programs, with the option that is meant or with what to do."""


def _hint(typed: str, options: Collection[str]) -> str:
    """Return the end of a message about the argument *typed* that a program does not have.

    Of an option it has those that are meant, or what to do instead.
    """
    if typed.endswith(".toml") and "--config" in options:
        return f": write `--config {typed}`"
    if not typed.startswith("-"):
        return ""
    from difflib import get_close_matches  # not needed otherwise

    meant = _OTHER_OPTIONS.get(typed, "")
    if meant in options:
        return f": did you mean {meant}?"
    if " " in meant:
        return f": {meant}"
    begun = sorted(option for option in options if option.startswith(typed))
    names = {option.removeprefix("--"): option for option in options}
    close = get_close_matches(typed.removeprefix("--"), names, 1)
    meant = " or ".join(begun or (names[name] for name in close))
    return f": did you mean {meant}?" if meant else ""


def nearest_hint(name: str, known: Collection[str], otherwise: str | None = None) -> str:
    """Return the end of a message about *name*: the nearest name in *known*.

    If none is near, it is *otherwise*, or all of them.
    """
    from difflib import get_close_matches  # not needed otherwise

    near = get_close_matches(name, known, 1)
    if near:
        return f": did you mean {near[0]!r}?"
    return f"; there are: {', '.join(known)}" if otherwise is None else otherwise


def run(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Run the command that *argv* names and return the exit code."""
    _open_streams()
    try:
        code = _dispatch(parser, argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        note("")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has left
        _discard_output()
        return 0
    except OSError as error:
        if error.filename is not None:  # a file that the command opened
            note(f"{parser.prog}: {error.filename}: {error.strerror}")
            return 1
        _discard_output()  # such as a full disk behind it
        if sys.platform == "win32" and error.errno == errno.EINVAL:
            return 0  # a broken pipe: https://github.com/python/cpython/issues/79935
        note(f"{parser.prog}: {error.strerror or error}")
        return 1
    return code


def _dispatch(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    args = parser.parse_args(argv)
    try:
        code: int = args.run(args)
    except Exception as error:
        from llmcore.cli.failures import exit_code, explain  # loads half the library
        from llmcore.schema.errors import LLMError

        if not isinstance(error, LLMError):
            raise
        note(f"{parser.prog}: {explain(error)}")
        return exit_code(error)
    return code


def _open_streams() -> None:
    """Replace closed standard streams, and escape characters that a terminal lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the shell or a supervisor
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # prints \\x.. for such a character
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Redirect stdout to the null device, so that buffered output is not written at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class ShowVersion(argparse.Action):
    """The option `--version`: print the program's version and its HTTP engine, and exit."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        text = "show the program's version and its HTTP engine, and exit"
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=text)

    def __call__(self, parser: argparse.ArgumentParser, *_parsed: object) -> None:
        """Print, and exit."""
        from importlib.metadata import version  # neither it nor the library is needed elsewhere
        from importlib.util import find_spec

        engine = "httpx" if find_spec("aiohttp") is None else "aiohttp"
        say(f"{parser.prog} {VERSION} (HTTP by {engine} {version(engine)})")
        parser.exit()


def whole_number(text: str) -> int:
    """Return the value of an option that is a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, such as 10") from None


def model_name(text: str) -> str:
    """Return the value of an option that names a model; an unset variable of a shell is empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty: write PROVIDER:ID, such as openai:gpt-5.2")
    return text


def not_empty(text: str) -> str:
    """Return the value of an option that is a name or a file; an unset variable is empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty: write a value, or leave the option out")
    return text


def decimal_number(text: str) -> float:
    """Return the value of an option that is a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, such as 0.5") from None


def command(home: str) -> Callable[[argparse.Namespace], int]:
    """Return the handler `module:function` of `llmcore.cli`, imported when it is called.

    A coroutine function is run to its end.
    """

    def handle(args: argparse.Namespace) -> int:
        module, _, name = home.partition(":")
        with ExitOnInterrupt():
            function = getattr(import_module(f"llmcore.cli.{module}"), name)
        from inspect import iscoroutinefunction  # the function's module has loaded it

        if iscoroutinefunction(function):
            import anyio  # so has the module of a coroutine function

            code: int = anyio.run(function, args)
        else:
            code = function(args)
        return code

    return handle


# -- text

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BEYOND_ASCII_CONTROLS = re.compile("[\x7f-\x9f]")  # json.dumps escapes the others


def printable(text: str) -> str:
    """Return *text* without control characters, except line ends and tabs."""
    return _CONTROLS.sub("", text)


def say(text: str) -> None:
    """Print *text* to standard output, without control characters."""
    print(printable(text))


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is; None for a file or a pipe."""
    return get_terminal_size().columns if sys.stdout.isatty() else None


def shown_as(mark: str, plain: str) -> str:
    """Return *mark* if the encoding of standard output has it, else *plain*."""
    try:
        mark.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return plain
    return mark


def note(text: str) -> None:
    """Print *text* to standard error, without control characters."""
    with suppress(OSError):  # stderr is closed: this cannot be reported
        print(printable(text), file=sys.stderr)


# -- JSON


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return *value* as JSON with all control characters escaped."""
    return escaped(json.dumps(value, ensure_ascii=False, indent=indent))


def print_json(value: object, *, indent: int | None = None) -> None:
    """Print *value* to standard output as JSON in UTF-8, on one line without *indent*."""
    print(json_text(value, indent=indent), file=json_output(), flush=True)


def escaped(text: str) -> str:
    """Return the JSON document *text* with its remaining control characters escaped."""
    return _BEYOND_ASCII_CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def json_output() -> TextIO:
    """Return stdout set to UTF-8. A lone surrogate is written as a JSON escape."""
    return _as_utf8(sys.stdout, errors="backslashreplace")


def json_input() -> TextIO:
    """Return stdin set to UTF-8. Reading other encodings raises UnicodeDecodeError."""
    return _as_utf8(sys.stdin, errors="strict")


def _as_utf8(stream: TextIO, *, errors: str) -> TextIO:
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors=errors)
    return stream
