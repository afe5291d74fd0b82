"""`llmcore chat`: a conversation in the terminal.

Lines that begin with a slash are commands; all others go to the model. Ctrl-C stops a response and
not the chat; Ctrl-D, `/exit` or `/quit` ends it.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from difflib import get_close_matches
from typing import Final

from attrs import evolve

from llmcore.cli.approval import ask_for_approval, calls_to_approve
from llmcore.cli.ask import MAX_TOOL_ROUNDS
from llmcore.cli.attachments import attachment
from llmcore.cli.chat_input import EndOfChat, LineReader, echo_off, line_reader
from llmcore.cli.conversation import new_name, open_conversation, open_store
from llmcore.cli.failures import explain
from llmcore.cli.markdown_printer import ChatPrinter
from llmcore.cli.printing import dollars
from llmcore.cli.program import note, say
from llmcore.cli.request_options import Options, make_client, model_of
from llmcore.client.environment import provider_over
from llmcore.client.local.model_files import installed
from llmcore.generation.conversation import Conversation
from llmcore.generation.execution import AnyTool
from llmcore.generation.results import GenerateResult
from llmcore.generation.settings import Settings
from llmcore.routes.route import route_of
from llmcore.schema.content import ContentPart
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.result import Success
from llmcore.sessions.memory_store import MemoryStore
from llmcore.sessions.store import SeqConflictError
from llmcore.sync.background import background
from llmcore.sync.streams import StreamResult


def run(args: argparse.Namespace) -> int:
    """Chat until the end of the input, and return the exit code."""
    return chat(Options.of(args))


def chat(options: Options) -> int:
    """Chat with the options of `ask` or `chat`. Raises LLMError if it cannot begin."""
    args = options.args
    log = args.log and options.config.log
    opened = AsyncExitStack()
    begun = open_conversation(os.environ, args.session, last=args.last, log=log)
    conversation = background().run(lambda: opened.enter_async_context(begun))
    try:
        reader = line_reader(os.environ, [f"/{name}" for name in _COMMANDS])
        talk = Chat(options, conversation, reader, opened)
        if options.has_input:
            talk.ask(talk.options.question(talk.model, new=not conversation.entries).messages)
        talk.loop()
    finally:
        background().run(opened.aclose)
    return 0


def _files(text: str) -> list[str]:
    """Return the files that `/attach` names, which may be in quotes."""
    is_posix = os.sep == "/"
    if not is_posix and not text.startswith('"'):  # in quotes, as Explorer copies paths
        return [text]
    try:
        words = shlex.split(text, posix=is_posix)  # without POSIX, backslashes and quotes are kept
    except ValueError as error:
        message = f"a quote of {text} has no end: put it in quotes of the other kind"
        raise InvalidRequestError(message, cause=error) from error
    return words if is_posix else [word.strip('"') for word in words]


def _name_of(model: Model) -> str:
    """Return the name with which `--model` means *model*: `openai-chat:gpt-5.2`."""
    return f"{provider_over(model.provider, route_of(model).protocol.id)}:{model.id}"


class Chat:
    """The state of a chat: model, conversation, tools, attachments of the next question."""

    def __init__(
        self,
        options: Options,
        conversation: Conversation,
        reader: LineReader,
        opened: AsyncExitStack,
    ) -> None:
        """Continue *conversation*. `/save` may open another store, which *opened* closes."""
        self.options = options
        self.client = make_client()
        self.model: Model = options.model(self.client, conversation.model)
        if self.model.provider == "local":  # before a question is typed
            installed(os.environ)
        self._conversation = conversation
        self._system = options.system() if not conversation.entries else None
        self._tools: tuple[AnyTool, ...] = options.tools
        self._attached: list[tuple[str, ContentPart]] = []
        self._cost: list[float | None] = []
        self._tokens = [0, 0]
        self._reader = reader
        self._opened = opened

    # -- the loop

    def loop(self) -> None:
        """Read lines and respond to them until the end."""
        note(f"{_name_of(self.model)} in {self._conversation.run_id!r}; /help")
        while True:
            try:
                line = self._reader.read("> ")
                if line.startswith("/"):
                    self.command(line.rstrip())
                elif text := line.strip():
                    self.ask([Message.user(text, [part for _, part in self._attached])])
            except EndOfChat:
                return
            except KeyboardInterrupt:  # while a line is typed or a command runs
                note("(Ctrl-D or /exit ends the chat)")

    def ask(self, messages: Sequence[Message]) -> None:
        """Send *messages* and print the response; Ctrl-C stops it, and its step is not stored.

        Calls of tools that need approval are run if the user agrees, and answered by the model.
        """
        result = self._run({"messages": messages})
        while result is not None and (calls := calls_to_approve(result, self._tools)):
            result = self._run({"approvals": ask_for_approval(calls)})

    def _run(self, asked: Settings) -> GenerateResult[None] | None:
        """Continue the conversation with *asked*; return None if that is stopped or fails."""
        printer = ChatPrinter(sys.stdout)
        args = self.options.args
        stored = len(self._conversation.entries)
        settings: Settings = {
            **asked,
            "system": self._system,
            "tools": self._tools,
            "max_tool_rounds": MAX_TOOL_ROUNDS,
            "max_tokens": args.max_tokens,
            "temperature": args.temperature,
            "reasoning_effort": args.reasoning_effort,
            "client": self.client,
        }
        try:
            events = self._conversation.stream(self.model, **settings)
            with echo_off(), StreamResult(events) as stream:
                for event in stream:
                    printer.show(event)
                result = stream.result()
        except KeyboardInterrupt:
            printer.close()
            began = len(self._conversation.entries) > stored
            what = "the unfinished step is" if began else "the question and its response are"
            note(f"stopped; {what} not kept")
            return None
        except LLMError as error:
            printer.close()
            note(f"llmcore: {explain(error)}")
            return None
        self._attached = []
        self._cost.append(result.cost)
        usage = result.total_usage
        self._tokens[0] += usage.input_tokens or 0
        self._tokens[1] += usage.output_tokens or 0
        printer.finish(Success(evolve(result.response, usage=usage, cost=result.cost)))
        return result

    # -- commands

    def command(self, line: str) -> None:
        """Run the command *line*; its errors are printed."""
        name, *after = line[1:].split(maxsplit=1) or [""]
        rest = "".join(after)
        handler = _COMMANDS.get("exit" if name == "quit" else name)
        if handler is None:
            near = get_close_matches(name, _COMMANDS, 1)
            hint = f": did you mean /{near[0]}?" if near else "; /help lists them"
            note(f"there is no command /{name}{hint}")
            return
        try:
            handler(self, rest.strip())
        except LLMError as error:
            note(f"llmcore: {explain(error)}")

    def help(self, _rest: str) -> None:
        """List the commands."""
        for name, handler in _COMMANDS.items():
            say(f"/{name:8} {(handler.__doc__ or '').rstrip('.')}")
        say("Alt-Enter begins a new line; Ctrl-C stops a response; Ctrl-D ends the chat")
        say("a line that begins with a space goes to the model, also with a slash after it")

    def set_model(self, name: str) -> None:
        """Show the model, or change it: /model openai:gpt-5.2."""
        if name:
            resolved = self.options.config.model_named(name)
            self.model = model_of(resolved, self.client, local_by="/model local:any")
        say(_name_of(self.model))

    def set_system(self, text: str) -> None:
        """Show the instructions, or begin a new conversation with others: /system Be brief."""
        if text:
            self._begin()
            self._system = text
            note("a new conversation begins with these instructions")
            return
        kept = "".join(part.text for part in self._conversation.system)
        say(kept or self._system or "(none)")

    def save(self, name: str) -> None:
        """Store the conversation under a name, and continue it there: /save trip."""
        if not name:
            raise InvalidRequestError("give a name: /save NAME")
        store, entries = self._conversation.store, self._conversation.entries
        if isinstance(store, MemoryStore):  # of a chat that is not logged
            lasting = open_store(os.environ)
            store = background().run(lambda: self._opened.enter_async_context(lasting))
        elif name == self._conversation.run_id:
            note(f"this conversation is stored as {name!r} already")
            return
        renamed = [evolve(entry, run_id=name) for entry in entries]
        try:
            background().run(lambda: store.append(name, renamed, expected_seq=0))
        except SeqConflictError as error:
            message = f"there is a conversation {name!r} already: choose another name"
            raise InvalidRequestError(message) from error
        self._conversation = Conversation(store, name, renamed)
        note(f"stored as {name!r}: `llmcore chat --session {shlex.quote(name)}` continues it")

    def show_cost(self, _rest: str) -> None:
        """Show the tokens and the cost of this chat."""
        known = [cost for cost in self._cost if cost is not None]
        unknown = len(self._cost) - len(known)
        facts = [f"{self._tokens[0]} tokens in", f"{self._tokens[1]} out"]
        facts += [dollars(sum(known))] if known or not unknown else []
        facts += [f"unknown cost of {unknown} response{'s'[: unknown > 1]}"] if unknown else []
        say(", ".join(facts))

    def show_tools(self, reference: str) -> None:
        """List the tools, or add one: /tools module:function."""
        if reference:
            args = argparse.Namespace(tool=[*self.options.args.tool, reference])
            changed = argparse.Namespace(**{**vars(self.options.args), **vars(args)})
            options = evolve(self.options, args=changed)
            self._tools, self.options = options.tools, options
        for tool in self._tools:
            about = getattr(tool, "description", None) or ""
            say(f"{getattr(tool, 'name', '?')}  {about}".rstrip())
        if not self._tools:
            say("(none)")

    def attach(self, source: str) -> None:
        """Attach a file or a URL to the next question: /attach photo.png."""
        if source:
            self._attached += [(word, attachment(word)) for word in _files(source)]
        for name, part in self._attached:
            say(f"{part.__class__.__name__.removesuffix('Part').lower()} {name} attached")
        if not self._attached:
            say("(nothing is attached)")

    def begin_anew(self, _rest: str) -> None:
        """Begin a new conversation."""
        self._begin()
        note(f"a new conversation, {self._conversation.run_id!r}")

    def _begin(self) -> None:
        system = "".join(part.text for part in self._conversation.system)
        self._system = self._system or system or None
        self._conversation = Conversation(self._conversation.store, new_name())

    def exit(self, _rest: str) -> None:
        """End the chat."""
        raise EndOfChat


_COMMANDS: Final[Mapping[str, Callable[[Chat, str], None]]] = {
    "help": Chat.help,
    "model": Chat.set_model,
    "system": Chat.set_system,
    "save": Chat.save,
    "cost": Chat.show_cost,
    "tools": Chat.show_tools,
    "attach": Chat.attach,
    "new": Chat.begin_anew,
    "exit": Chat.exit,
}
