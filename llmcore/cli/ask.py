"""`llmcore ask`: one question, the answer as it comes."""

import argparse
import json
import os
import sys
import time
from typing import TextIO

import anyio
from attrs import define

from llmcore.cli.conversation import Conversation, self_contained
from llmcore.cli.exit_codes import exit_code, explain
from llmcore.cli.json_streams import json_output
from llmcore.cli.request_options import add_request_options, make_client, read_request
from llmcore.cli.session_file import open_store
from llmcore.client.client import Client
from llmcore.client.event_stream import EventStream
from llmcore.schema.codec import to_json
from llmcore.schema.errors import LLMError
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    Source,
    TextDelta,
    TextEnd,
    ToolCall,
)
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result, Success
from llmcore.schema.usage import Usage

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser("ask", help="ask a model and show the answer as it comes")
    add_request_options(parser)
    parser.add_argument("--json", action="store_true", help="print events as JSON lines")
    parser.add_argument(
        "--session", metavar="NAME", help="go on with this conversation, and keep the answer"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print the answer only")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, and return the exit code."""
    client = make_client()
    request = read_request(args, client)
    if args.session is None:
        return anyio.run(_ask, client, request, args)
    return anyio.run(_ask_on, client, self_contained(request), args)


async def _ask(client: Client, request: LLMRequest, args: argparse.Namespace) -> int:
    code, _ = await _answer(client, request, args)
    return code


async def _ask_on(client: Client, question: LLMRequest, args: argparse.Namespace) -> int:
    """Ask within a stored conversation; only a whole answer is kept, with its question."""
    async with open_store(os.environ) as store:
        conversation = await Conversation.read(store, args.session)
        code, result = await _answer(client, conversation.asking(question), args)
        if isinstance(result, Success):
            await conversation.keep(question, result.unwrap())
    return code


async def _answer(
    client: Client, request: LLMRequest, args: argparse.Namespace
) -> tuple[int, Result[LLMResponse, LLMError]]:
    """Print the answer as it comes, and return the exit code and the whole of it."""
    printer = _JsonPrinter(json_output()) if args.json else _Printer(sys.stdout, quiet=args.quiet)
    async with client, _events(client, request, streaming=args.stream) as stream:
        async for event in stream:
            printer.show(event)
        return printer.exit_code, await stream.result()


def _events(client: Client, request: LLMRequest, *, streaming: bool) -> EventStream:
    return client.stream(request) if streaming else client.events(request)


class _JsonPrinter:
    """Prints each event as a line of JSON."""

    def __init__(self, out: TextIO) -> None:
        self.exit_code = 0
        self._out = out

    def show(self, event: LLMEvent) -> None:
        line = {"type": str(event.type), **_mapping(to_json(event))}
        print(json.dumps(line, ensure_ascii=False), file=self._out, flush=True)
        if isinstance(event, ErrorEvent):
            self.exit_code = exit_code(event.error)


def _mapping(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, dict) else {}


@define
class _Clock:
    """When the answer began, for the speed."""

    started: float
    first: float | None = None

    def mark(self) -> None:
        if self.first is None:
            self.first = time.monotonic()


class _Printer:
    """Prints the answer's text; reasoning dimmed, and the cost of it all at the end."""

    def __init__(self, out: TextIO, *, quiet: bool) -> None:
        self.exit_code = 0
        self._out = out
        self._quiet = quiet
        self._colour = out.isatty() and not os.environ.get("NO_COLOR")
        self._clock = _Clock(time.monotonic())

    def show(self, event: LLMEvent) -> None:
        match event:
            case TextDelta(text=text):
                self._clock.mark()
                self._write(text)
            case ReasoningDelta(text=text):
                self._clock.mark()
                if not self._quiet:
                    self._write(f"{_DIM}{text}{_PLAIN}" if self._colour else text, aside=True)
            case ReasoningEnd():
                if not self._quiet:
                    self._write("\n\n", aside=True)
            case TextEnd():
                self._write("\n")
            case ToolCall(name=name, arguments=arguments):
                self._note(f"→ {name}({json.dumps(arguments, ensure_ascii=False)})")
            case Source(url=url) if url:
                self._note(f"source: {url}")
            case Finish(usage=usage):
                self._finish(event, usage)
            case ErrorEvent(error=error):
                self._write("\n" if self._clock.first else "")
                print(f"llmcore: {explain(error)}", file=sys.stderr)
                self.exit_code = exit_code(error)
            case _:
                pass

    def _write(self, text: str, *, aside: bool = False) -> None:
        """Write to the terminal; what is not the answer itself goes to stderr if piped."""
        out = self._out if self._colour or not aside else sys.stderr
        out.write(text)
        out.flush()

    def _note(self, text: str) -> None:
        if not self._quiet:
            print(text, file=sys.stderr)

    def _finish(self, event: Finish, usage: Usage | None) -> None:
        for diagnostic in event.diagnostics:
            self._note(f"note: {diagnostic}")
        if event.finish_reason.reason not in ("stop", "tool_calls"):
            self._note(f"ended by: {event.finish_reason.raw or event.finish_reason.reason}")
        if usage is not None:
            self._note(f"[{describe(usage, self._clock.started, self._clock.first)}]")


def describe(usage: Usage, started: float, first: float | None) -> str:
    """Return tokens, speed and time of an answer that began at *first* and ends now."""
    now = time.monotonic()
    facts = [f"{usage.input_tokens or 0} tokens in", f"{usage.output_tokens or 0} out"]
    if usage.reasoning_tokens:
        facts.append(f"{usage.reasoning_tokens} of them reasoning")
    if usage.cache_read_tokens:
        facts.append(f"{usage.cache_read_tokens} from the cache")
    if usage.cost_usd is not None:
        facts.append(f"${usage.cost_usd:.6f}")
    if first is not None and usage.output_tokens and now > first:
        facts.append(f"{usage.output_tokens / (now - first):.0f} tokens/s")
        facts.append(f"first after {first - started:.1f} s")
    facts.append(f"{now - started:.1f} s in all")
    return ", ".join(facts)
