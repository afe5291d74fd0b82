"""`Conversation`: a stored conversation that `generate` and `stream` continue."""

import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final, NoReturn, Self, Unpack

import anyio.to_thread
from attrs import evolve

from llmcore.client.call_hints import with_awaited_hints
from llmcore.client.environment import provider_over
from llmcore.client.loop_task import uncancelled
from llmcore.client.media_files import load_files
from llmcore.generation.execution import unanswered
from llmcore.generation.generate import completed
from llmcore.generation.loop import Run, StepKeeper
from llmcore.generation.results import GenerateResult
from llmcore.generation.settings import RunPlan, Settings, plan_of
from llmcore.generation.signatures import with_settings_listed
from llmcore.generation.stream import StreamResult
from llmcore.schema.content import TextPart, ToolCallPart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.hints import shown_kind, with_call_hints, with_hints
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.notebooks import as_markdown
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.conversion import response_entries, to_entries, to_messages
from llmcore.sessions.memory_store import MemoryStore
from llmcore.sessions.sqlite_store import SQLiteStore
from llmcore.sessions.store import (
    SeqConflictError,
    SessionStore,
    SessionStoreError,
    check_run_id,
    utc_now,
)

_PROMPT_SETTINGS: Final = frozenset({"messages", "request"})
"""Settings that take the place of a prompt."""

with_conversation_hints: Final = with_hints(
    """
    send send_message ask chat run respond complete -> write chat.generate(model, prompt)
    clear reset -> begin another: Conversation()
    save load -> open it with a file: Conversation.open(path, run_id) keeps each run
    history turns -> write `.messages`
    generate_object -> call generate_object(model, messages=[*chat.messages, ...], schema=...)
    id name -> write `.run_id`
    cost usage total_usage -> add up `.cost` or `.total_usage` of the results
    add append add_message add_user_message
        -> give messages to a run: chat.generate(model, messages=[...])
    """,
    say="write chat.generate(model, prompt)",
)
with_conversation_call_hints: Final = with_call_hints(
    model="give it to each run: chat.generate(model, prompt)",
    **dict.fromkeys(
        ("system", "instructions"),
        "give it to the first run: chat.generate(model, prompt, system=...)",
    ),
    messages="give them to the first run: chat.generate(model, messages=...)",
)


@with_conversation_hints
@with_conversation_call_hints
class Conversation:
    """A conversation in a store, which each run continues.

        async with await Conversation.open("chats.db", "trip") as chat:
            print((await chat.generate("openai:gpt-5.2", "Where is Oslo?")).text)
            print((await chat.generate(prompt="And Rome?")).text)

    `Conversation()` is kept in memory. Each step of a run is stored in one transaction when it is
    complete, with the results of its tools; the first one with the question. A run that fails, or
    is left early, keeps the steps before; without any, nothing is stored. Run one call at a time: a
    run raises SeqConflictError if another writer appended meanwhile.
    """

    def __init__(
        self,
        store: SessionStore | None = None,
        run_id: str = "conversation",
        entries: Sequence[MessageEntry] = (),
    ) -> None:
        check_run_id(run_id)
        self.store = MemoryStore() if store is None else _checked(store)
        self.run_id = run_id
        self._entries = tuple(entries)
        self._last_model: Model | str | None = None  # as it was given, with its route
        self._owned: SessionStore | None = None

    @classmethod
    @with_awaited_hints()
    async def open(cls, store: SessionStore | str | os.PathLike[str], run_id: str) -> Self:
        """Read the conversation *run_id*; without stored entries, it is a new one.

        A path is that of a file of `SQLiteStore`, which `aclose()` closes. Raises
        SessionStoreError, and InvalidRequestError for an id that cannot name a run.
        """
        check_run_id(run_id)
        if not isinstance(store, str | os.PathLike):
            entries = [item.entry for item in await _checked(store).read(run_id)]
            return cls(store, run_id, entries)
        async with AsyncExitStack() as on_error:
            owned = await on_error.enter_async_context(SQLiteStore(store))
            opened = await cls.open(owned, run_id)
            opened._owned = owned  # noqa: SLF001  (its own class)
            on_error.pop_all()
        return opened

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the store, if the conversation was opened by its path."""
        if self._owned is not None:
            await self._owned.aclose()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Conversation is not copied or pickled: begin another one with its messages, "
            "generate(model, messages=[*chat.messages, ...]), or open its file again"
        )

    def __repr__(self) -> str:
        return f"Conversation({self.run_id!r}, {len(self._entries)} entries)"

    def _repr_markdown_(self) -> str | None:
        """Return what a notebook renders: the messages that have text."""
        texts = ((message.role, as_markdown(message.text)) for message in self.messages)
        shown = (f"**{role}**: {text}" for role, text in texts if text)
        return "\n\n".join(shown) or None

    @property
    def entries(self) -> tuple[MessageEntry, ...]:
        """The stored entries."""
        return self._entries

    @property
    def system(self) -> tuple[TextPart, ...]:
        """The instructions, which are those of the first run; empty if it had none."""
        first = next(iter(to_messages(self._entries[:1])), None)
        if first is None or first.role != "system":
            return ()
        return tuple(part for part in first.content if isinstance(part, TextPart))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, without the instructions."""
        messages = to_messages(self._entries)
        return messages[1:] if messages and messages[0].role == "system" else messages

    @property
    def pending_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls of tools at the end that have no result, such as those to be approved."""
        return unanswered(self.messages)

    @property
    def model(self) -> str | None:
        """The model of the last response, as `provider:model`; None before the first.

        If the response came over another than the provider's usual API, it is named, too:
        `openai-chat:gpt-5.2`.
        """
        origins = (message.origin for message in reversed(self.messages))
        origin = next(filter(None, origins), None)
        if origin is None:
            return None
        return f"{provider_over(origin.provider, origin.protocol)}:{origin.model}"

    # -- runs

    @with_settings_listed
    async def generate(
        self,
        model: Model | str | None = None,
        prompt: str | None = None,
        **settings: Unpack[Settings],
    ) -> GenerateResult[None]:
        """Send the next question, and store it with what follows. Raises LLMError.

        The arguments are those of `llmcore.generate`; `messages` are the new ones. With `approvals`
        and nothing else to ask, `pending_calls` are run; without anything, a run that stopped after
        its tools continues. Without a model it is that of the run before, or of the last stored
        response. An error of the store has the response as its `partial`.
        """
        plan, question = await anyio.to_thread.run_sync(
            self._plan, "generate", model, prompt, settings
        )
        return await completed(plan, keep=self._step_keeper(question))

    @with_settings_listed
    def stream(
        self,
        model: Model | str | None = None,
        prompt: str | None = None,
        **settings: Unpack[Settings],
    ) -> StreamResult:
        """Return the events of what `generate` would do with the same arguments.

        The last step is stored before `Finish` is yielded. Local files are read by this call.
        """
        plan, question = self._plan("stream", model, prompt, settings)
        return StreamResult(Run(plan, live=True, keep=self._step_keeper(question)))

    def _plan(
        self, function: str, model: Model | str | None, prompt: str | None, settings: Settings
    ) -> tuple[RunPlan, LLMRequest]:
        """Return the plan of a run after the stored messages, and the new request by itself."""
        if model is None and settings.get("request") is None:
            model = self._last_model or self.model
        asks_nothing = prompt is None and not _PROMPT_SETTINGS & settings.keys()
        if asks_nothing and (settings.get("approvals") or self._stopped_after_tools):
            plan = plan_of(function, model, None, {**settings, "messages": self.messages})
            question = evolve(plan.first_request(), messages=())
        else:
            plan = plan_of(function, model, prompt, settings)
            question = load_files(plan.first_request())
        return plan.with_request(self.asking(question)), question

    @property
    def _stopped_after_tools(self) -> bool:
        messages = self.messages
        return bool(messages) and messages[-1].role == "tool" and not unanswered(messages)

    # -- storing

    def asking(self, question: LLMRequest) -> LLMRequest:
        """Return *question* with the conversation's messages before it and its instructions.

        Raises InvalidRequestError if its instructions differ from the conversation's.
        """
        if not self._entries:
            return question
        system = self.system
        if question.system and question.system != system:
            raise InvalidRequestError(
                f"session {self.run_id!r} already has other instructions: omit system, "
                "or choose another session"
            )
        return evolve(question, system=system, messages=(*self.messages, *question.messages))

    async def keep(
        self, question: LLMRequest, new: Sequence[Message], responses: Sequence[LLMResponse]
    ) -> None:
        """Append the messages *new*, which follow from *question*, in one transaction.

        The messages of *responses* are stored with their model and usage. Raises SessionStoreError,
        also if another process has appended to the conversation meanwhile.
        """
        now = utc_now()
        entries = list(self._entries)
        if not entries and question.system:
            entries += to_entries(
                [Message.system(question.system)], run_id=self.run_id, timestamp=now
            )
        for message in new:
            response = next((item for item in responses if item.message is message), None)
            entries += (
                to_entries([message], run_id=self.run_id, timestamp=now, after=entries)
                if response is None
                else response_entries(response, run_id=self.run_id, timestamp=now, after=entries)
            )
        stored = len(self._entries)

        async def append() -> None:
            await self.store.append(self.run_id, entries[stored:], expected_seq=stored)
            self._entries = tuple(entries)

        try:
            await uncancelled(append)  # else what was stored could be missing here
        except SessionStoreError as error:
            error.message = f"the response could not be stored: {error.message}"
            if isinstance(error, SeqConflictError):
                error.message += " with Conversation.open, and ask again"
            error.partial = responses[-1] if responses else None
            raise

    def _step_keeper(self, question: LLMRequest) -> StepKeeper:
        """Return a function that stores each step of a run, and *question* with the first one."""
        asked = list(question.messages)

        async def keep(run: Run, new: Sequence[Message]) -> None:
            await self.keep(question, [*asked, *new], [step.response for step in run.steps])
            asked.clear()
            self._last_model = question.model

        return keep


def _checked(store: SessionStore) -> SessionStore:
    """Return *store*; InvalidRequestError if it is not a store."""
    if not hasattr(store, "append") or not hasattr(store, "read"):
        message = f"store must be a SessionStore, not {shown_kind(store)}"
        raise InvalidRequestError(f"{message}: write Conversation.open(path, run_id) for a file")
    return store
