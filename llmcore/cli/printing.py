"""Printing the events of a response: as text for people, or as JSON lines."""

import json
import os
import sys
import time
from contextlib import suppress
from typing import Final, TextIO

from llmcore.cli.failures import explain
from llmcore.cli.program import json_text, note, printable
from llmcore.schema import events
from llmcore.schema.codec import to_json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.usage import Usage

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class JsonPrinter:
    """Prints each event as a line of JSON."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: events.LLMEvent) -> None:
        """Print *event*."""
        line = {"type": event.type, **object_or_empty(to_json(event))}
        print(json_text(line), file=self._out, flush=True)

    def finish(self, result: Result[LLMResponse, LLMError]) -> None:
        """Do nothing: the last event has the response or the error."""


def _shows_colour(out: TextIO) -> bool:
    """Return whether *out* is a terminal that takes escapes for colour, and the user wants them."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return out.isatty() and not is_plain


class TextPrinter:
    """Prints the response's text, reasoning dimmed; diagnostics, usage and cost go to stderr."""

    def __init__(self, out: TextIO, *, quiet: bool, streamed: bool) -> None:
        self._out = out
        self._quiet = quiet
        self._streamed = streamed
        self._colour = _shows_colour(out)
        self._started = time.monotonic()
        self._first: float | None = None

    def show(self, event: events.LLMEvent) -> None:
        """Print what *event* adds to the response."""
        match event:
            case events.StreamStart(diagnostics=diagnostics):  # of the request
                self._notes(diagnostics)
            case events.TextDelta(text=text):
                self._begin()
                self._write(printable(text))
            case events.ReasoningDelta(text=text):
                self._begin()
                self._aside(printable(text))
            case events.ReasoningEnd():
                self._aside("\n\n")
            case events.TextEnd(text=text):
                self._write("" if text.endswith("\n") else "\n")
            case events.ToolCall(name=name, arguments=arguments):
                self._note(f"→ {name}({json.dumps(arguments, ensure_ascii=False)})")
            case events.ToolError(name=name, message=message):
                self._note(f"{name} failed: {message}")
            case events.Source(url=url) if url:
                self._note(f"source: {url}")
            case events.Finish(diagnostics=diagnostics, finish_reason=reason):
                self._notes(diagnostics)
                if reason.reason not in ("stop", "tool_calls"):
                    self._note(f"ended by: {reason.raw or reason.reason}")
            case _:
                pass

    def finish(self, result: Result[LLMResponse, LLMError]) -> None:
        """Print the error of *result*, or its tokens, cost and speed."""
        match result:
            case Failure(error):
                self._write("\n" if self._first else "")
                note(f"llmcore: {explain(error)}")
            case Success(response) if response.usage != Usage():
                first = self._first if self._streamed else None
                self._remark(f"[{describe(response.usage, response.cost, self._started, first)}]")
            case _:
                pass

    def _begin(self) -> None:
        if self._first is None:
            self._first = time.monotonic()

    def _aside(self, text: str) -> None:
        """Write reasoning: dimmed in a terminal, to stderr if stdout is piped."""
        if self._quiet:
            return
        if self._colour:
            self._write(f"{_DIM}{text}{_PLAIN}")
        else:
            sys.stderr.write(text)
            sys.stderr.flush()

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()

    def _notes(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        for diagnostic in diagnostics:
            self._note(f"note: {diagnostic}")

    def _note(self, text: str) -> None:
        if not self._quiet:
            note(text)

    def _remark(self, text: str) -> None:
        """Print *text* to stderr, dimmed in a terminal."""
        if _shows_colour(sys.stderr) and not self._quiet:
            with suppress(OSError):
                print(f"{_DIM}{printable(text)}{_PLAIN}", file=sys.stderr)
        else:
            self._note(text)


def dollars(cost: float) -> str:
    """Return *cost*, in US dollars, as text."""
    return f"${cost:.6f}" if cost else "$0"


_AT_ONCE: Final = 0.05
"""Seconds from the first text to the end in which nothing is generated but only received."""


def describe(usage: Usage, cost: float | None, started: float, first: float | None) -> str:
    """Return tokens, cost, speed and time of a response that ends now.

    *first* is the time of its first text. The speed is omitted without it, as for a response that
    was not streamed, and if all of the response arrived at once.
    """
    now = time.monotonic()
    counts = ((usage.input_tokens, "in"), (usage.output_tokens, "out"))
    known = [f"{count} {way}" for count, way in counts if count is not None]
    facts = [known[0].replace(" ", " tokens "), *known[1:]] if known else ["tokens unknown"]
    if usage.reasoning_tokens:
        about = "about " if usage.reasoning_estimated else ""
        facts.append(f"{about}{usage.reasoning_tokens} of them reasoning")
    if usage.cache_read_tokens:
        facts.append(f"{usage.cache_read_tokens} from the cache")
    if cost is not None:
        facts.append(dollars(cost))
    if first is not None and usage.output_tokens and now - first > _AT_ONCE:
        facts.append(f"{usage.output_tokens / (now - first):.0f} tokens/s")
        facts.append(f"first after {first - started:.1f} s")
    facts.append(f"{now - started:.1f} s in all")
    return ", ".join(facts)
