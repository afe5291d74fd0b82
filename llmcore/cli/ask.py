"""`llmcore ask`: send a prompt and print the response while it is streamed."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TypeAlias

import anyio
from attrs import evolve

from llmcore.cli.approval import ask_for_approval, calls_to_approve
from llmcore.cli.attachments import schema_of
from llmcore.cli.conversation import open_conversation
from llmcore.cli.failures import exit_code
from llmcore.cli.printing import JsonPrinter, TextPrinter
from llmcore.cli.program import json_output, note, print_json
from llmcore.cli.request_options import Options, make_client
from llmcore.client.client import Client
from llmcore.client.media_files import load_files
from llmcore.generation.execution import AnyTool
from llmcore.generation.objects import generate_object
from llmcore.generation.plain_values import to_plain
from llmcore.generation.results import StepResult
from llmcore.generation.settings import Settings
from llmcore.generation.stream import stream
from llmcore.schema.errors import LLMError
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result, Success
from llmcore.sessions.store import SessionStoreError

MAX_TOOL_ROUNDS = 10
"""How often the functions of `--tool` are run and their results sent back."""


def run(args: argparse.Namespace) -> int:
    """Send the prompt, print the response, and return the exit code.

    In a terminal, without anything to ask, it is a chat, unless an option sets the output's form.
    """
    options = Options.of(args)
    if not (options.has_input or args.schema or args.json) and sys.stdin.isatty():
        from llmcore.cli.chat import chat

        return chat(options)
    return anyio.run(_ask, options)


async def _ask(options: Options) -> int:
    """Ask within a conversation; only a complete response is stored, with its question."""
    args, client = options.args, make_client()
    log = args.log and options.config.log
    async with (
        client,
        open_conversation(os.environ, args.session, last=args.last, log=log) as conversation,
    ):
        model = options.model(client, conversation.model)
        question = load_files(options.question(model, new=not conversation.entries))
        request = conversation.asking(question)
        outcome = await (_object if args.schema else _generate)(client, request, options)
        if isinstance(outcome, Failure):
            return exit_code(outcome.error)
        new, responses = outcome.value
        try:
            await conversation.keep(question, (*question.messages, *new), responses)
        except SessionStoreError as error:
            if args.session is not None or args.last:
                raise
            note(f"note: {error}")
    return 0


_Outcome: TypeAlias = Result[tuple[tuple[Message, ...], tuple[LLMResponse, ...]], LLMError]
"""The messages that follow the question, and the responses that some of them came with."""


async def _object(client: Client, request: LLMRequest, options: Options) -> _Outcome:
    """Print the validated object of the response. Raises LLMError."""
    result = await generate_object(
        request=request,
        schema=schema_of(options.args.schema),
        tools=options.tools,
        max_tool_rounds=MAX_TOOL_ROUNDS,
        client=client,
    )
    print_json(to_plain(result.output), indent=2)
    return _of_run(request, result.messages, result.steps)


async def _generate(client: Client, request: LLMRequest, options: Options) -> _Outcome:
    """Print the response as it arrives."""
    args = options.args
    printer = (
        JsonPrinter(json_output())
        if args.json
        else TextPrinter(sys.stdout, quiet=args.quiet, streamed=args.stream)
    )
    if options.tools:
        return await _generate_with_tools(client, request, options.tools, printer)
    events = client.stream(request) if args.stream else client.events(request)
    async with events as stream_:
        async for event in stream_:
            printer.show(event)
        result = await stream_.result()
    printer.finish(result)
    return result.map(lambda response: ((response.message,), (response,)))


async def _generate_with_tools(
    client: Client,
    request: LLMRequest,
    tools: Sequence[AnyTool],
    printer: JsonPrinter | TextPrinter,
) -> _Outcome:
    """Run the functions that are called; of those that need approval, the ones that get it."""
    steps: tuple[StepResult, ...] = ()
    settings: Settings = {
        "request": request,
        "tools": tools,
        "max_tool_rounds": MAX_TOOL_ROUNDS,
        "client": client,
    }
    while True:
        run_ = stream(**settings)
        try:
            async with run_:
                async for event in run_:
                    printer.show(event)
                result = await run_.result()
        except LLMError as error:
            printer.finish(Failure(error))
            return Failure(error)
        printer.finish(Success(evolve(result.response, usage=result.total_usage, cost=result.cost)))
        steps += result.steps
        calls = calls_to_approve(result, tools)
        if not calls or isinstance(printer, JsonPrinter):
            return _of_run(request, result.messages, steps)
        settings["request"] = evolve(request, messages=result.messages)
        settings["approvals"] = ask_for_approval(calls)


def _of_run(
    request: LLMRequest, messages: Sequence[Message], steps: Sequence[StepResult]
) -> _Outcome:
    new = tuple(messages[len(request.messages) :])
    return Success((new, tuple(step.response for step in steps)))
