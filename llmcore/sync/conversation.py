"""A stored conversation, blocking."""

import os
from typing import Any, Self

from llmcore.generation import conversation as asynchronous
from llmcore.generation.stream import stream as asynchronous_stream
from llmcore.schema.content import TextPart, ToolCallPart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.hints import with_call_hints
from llmcore.schema.messages import Message
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.store import SessionStore
from llmcore.sync.background import background, blocking_method, method_with_parameters_of
from llmcore.sync.streams import StreamResult


@asynchronous.with_conversation_hints
@asynchronous.with_conversation_call_hints
class Conversation:
    """A conversation in a store: `llmcore.Conversation`, blocking.

        with sync.Conversation.open("chats.db", "trip") as chat:
            print(chat.generate("openai:gpt-5.2", "Where is Oslo?").text)
            print(chat.generate(prompt="And Rome?").text)

    `sync.Conversation()` is one in memory. Use it in one thread at a time.
    """

    def __init__(self, conversation: asynchronous.Conversation | None = None) -> None:
        if not isinstance(conversation, asynchronous.Conversation | None):
            raise InvalidRequestError(
                "sync.Conversation takes an llmcore.Conversation: write "
                "sync.Conversation.open(path, run_id) for a file"
            )
        self.asynchronous = conversation or asynchronous.Conversation()
        """The asynchronous conversation behind this one."""

    @classmethod
    @with_call_hints()
    def open(cls, store: SessionStore | str | os.PathLike[str], run_id: str) -> Self:
        """Read the conversation *run_id*; without stored entries, it is a new one.

        Raises SessionStoreError, and InvalidRequestError for an id that cannot name a run.
        """
        return cls(background().run(lambda: asynchronous.Conversation.open(store, run_id)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    close = blocking_method(asynchronous.Conversation.aclose)
    """Close the store, if the conversation was opened by its path."""

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def _repr_markdown_(self) -> str | None:
        return self.asynchronous._repr_markdown_()

    @property
    def run_id(self) -> str:
        """The id of the conversation in its store."""
        return self.asynchronous.run_id

    @property
    def entries(self) -> tuple[MessageEntry, ...]:
        """The stored entries."""
        return self.asynchronous.entries

    @property
    def system(self) -> tuple[TextPart, ...]:
        """The instructions, which are those of the first run; empty if it had none."""
        return self.asynchronous.system

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, without the instructions."""
        return self.asynchronous.messages

    @property
    def pending_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls of tools at the end that have no result, such as those to be approved."""
        return self.asynchronous.pending_calls

    @property
    def model(self) -> str | None:
        """The model of the last response, as `provider:model`; None before the first."""
        return self.asynchronous.model

    generate = blocking_method(asynchronous.Conversation.generate)
    """Ask the next question, and store it with what follows."""

    @method_with_parameters_of(asynchronous_stream)
    def stream(self, *args: Any, **settings: Any) -> StreamResult:
        """Return the events of what `generate` would do with the same arguments.

        The last step is stored before `Finish` is yielded.
        """
        return StreamResult(self.asynchronous.stream(*args, **settings))
