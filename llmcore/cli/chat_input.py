"""Reading the lines of a chat: with history and several lines where prompt_toolkit is installed."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from llmcore.client.user_folders import data_dir


class EndOfChat(Exception):  # noqa: N818  (a request, not an error)
    """The user ends the chat."""


class LineReader(Protocol):
    """Reads what the user types."""

    def read(self, prompt: str) -> str:
        """Return the next text. Raises EndOfChat at the end, KeyboardInterrupt at Ctrl-C."""
        ...


def line_reader(environ: Mapping[str, str], words: Sequence[str]) -> LineReader:
    """Return a reader of the terminal, which completes *words*.

    It reads plain lines without prompt_toolkit or a terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return PlainReader()
    try:
        import prompt_toolkit as _  # noqa: F401  (is it installed?)
    except ImportError:
        return PlainReader()
    return _EditingReader(environ, words)


@contextmanager
def echo_off() -> Iterator[None]:
    """Keep what is typed, such as `^C`, out of a response that is being drawn in the terminal."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    import termios  # POSIX alone has it

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    silent = [*before]
    silent[3] &= ~termios.ECHO  # the local modes
    termios.tcsetattr(terminal, termios.TCSANOW, silent)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


class PlainReader:
    """Reads lines from stdin; a backslash at the end of a line continues it."""

    def read(self, prompt: str) -> str:
        """Return the next line, with those that continue it."""
        lines: list[str] = []
        while True:
            if sys.stdin.isatty():
                sys.stdout.write(prompt if not lines else "  ")
                sys.stdout.flush()
            line = sys.stdin.readline()
            if not line:
                if lines:
                    return "\n".join(lines)
                raise EndOfChat
            line = line.rstrip("\n")
            if not line.endswith("\\"):
                return "\n".join([*lines, line])
            lines.append(line[:-1])


def _ask_no_positions() -> None:
    """Have prompt_toolkit not ask the terminal where its cursor is.

    Some terminals do not answer, which ends in a warning within the chat, and an answer that comes
    late is read as if it was typed.
    """
    from prompt_toolkit.application import get_app_session

    output: Any = get_app_session().output
    if hasattr(output, "enable_cpr"):  # not that of a console of Windows
        output.enable_cpr = False


class _EditingReader:
    """Reads with editing, history, completion of commands; Alt-Enter begins a new line."""

    def __init__(self, environ: Mapping[str, str], words: Sequence[str]) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import FileHistory
        from prompt_toolkit.key_binding import KeyBindings

        keys = KeyBindings()

        @keys.add("enter")
        def _submit(event: Any) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")  # Ctrl-J sends: it is Enter that was typed before the prompt
        def _new_line(event: Any) -> None:
            event.current_buffer.insert_text("\n")

        folder = data_dir(environ)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        history = folder / "chat_history"
        history.touch(mode=0o600)
        _ask_no_positions()
        self._session: PromptSession[str] = PromptSession(
            multiline=True,
            key_bindings=keys,
            history=FileHistory(str(history)),
            completer=WordCompleter(list(words), sentence=True),
            complete_while_typing=False,
            prompt_continuation="  ",
        )

    def read(self, prompt: str) -> str:
        """Return the next text."""
        try:
            return self._session.prompt(prompt)
        except EOFError:
            raise EndOfChat from None
