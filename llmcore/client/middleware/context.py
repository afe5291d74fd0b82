"""Shortens long conversations before they are sent.

`trimmed` and `without_old_results` are functions of messages, for `prepare_step` or for your own
code; `EditContext` applies such functions to every call, and `SummarizeContext` replaces the
oldest messages by a summary that the model writes. Calls of tools are kept or dropped together
with their results.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from attrs import evolve

from llmcore.catalog.lookup import get_model_info
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next, noted
from llmcore.client.middleware.outcome import input_tokens_of
from llmcore.client.middleware.target import target_of
from llmcore.protocols.media import noun_of
from llmcore.schema.content import ContentPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.events import ErrorEvent
from llmcore.schema.hints import with_call_hints
from llmcore.schema.json import text_or_json
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Success

Edit: TypeAlias = Callable[[Sequence[Message]], Sequence[Message]]
"""Returns the messages that are sent in place of those given."""

CLEARED: Final = "[This result was removed to save space.]"
"""The result of a tool in place of one that was cleared."""


# -- functions of messages


def tokens_of(messages: Sequence[Message]) -> int:
    """Return the approximate tokens of *messages*, at four characters each."""
    return input_tokens_of(LLMRequest(model="", messages=tuple(messages)))


@with_call_hints()
def trimmed(messages: Sequence[Message], *, max_tokens: int) -> tuple[Message, ...]:
    """Return the newest of *messages* that have at most *max_tokens*, approximately.

    The last user message and what follows the last call of tools are always kept. Messages with
    calls are dropped with their results, and the rest begins with a user message.
    """
    groups = _groups(messages)
    if not groups:
        return ()
    question = max((n for n, group in enumerate(groups) if group[0].role == "user"), default=0)
    tokens_left = max_tokens - sum(tokens_of(groups[n]) for n in {question, len(groups) - 1})
    first = len(groups) - 1
    for number in reversed(range(first)):
        if number != question:
            tokens_left -= tokens_of(groups[number])
        if tokens_left < 0:
            break
        first = number
    while first < question and groups[first][0].role != "user":
        first += 1
    kept = groups[first:] if first <= question else [groups[question], *groups[first:]]
    return tuple(message for group in kept for message in group)


@with_call_hints()
def without_old_results(messages: Sequence[Message], *, keep: int = 3) -> tuple[Message, ...]:
    """Return *messages* with all but the last *keep* results of tools replaced by a short text."""
    count = sum(
        isinstance(part, ToolResultPart) for message in messages for part in message.content
    )
    old = max(0, count - keep)

    def cleared(part: ContentPart) -> ContentPart:
        nonlocal old
        if not isinstance(part, ToolResultPart):
            return part
        old -= 1
        return part if old < 0 else evolve(part, content=CLEARED)

    changed = (
        evolve(message, content=tuple(map(cleared, message.content))) for message in messages
    )
    return tuple(
        new if new.content != message.content else message
        for message, new in zip(messages, changed, strict=True)
    )


def _groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Return *messages* in groups that stay together: a message with the results of its calls."""
    groups: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


def _transcript(messages: Sequence[Message]) -> str:
    return "\n\n".join(
        f"{message.role}: {' '.join(filter(None, map(_in_words, message.content)))}"
        for message in messages
    )


def _in_words(part: ContentPart) -> str:
    match part:
        case TextPart(text=text):
            return text
        case ToolCallPart(name=name, arguments=arguments):
            return f"[calls {name} with {text_or_json(arguments)}]"
        case ToolResultPart():
            return " ".join(filter(None, map(_in_words, part.parts))) or f"[{part.content}]"
        case _:
            return f"[{noun_of(part)}]"


# -- middleware


@with_call_hints()
@with_settings_in_repr
class EditContext:
    """Sends the messages that the functions *edits* return, each given those of the one before.

        Client(middleware=[EditContext(partial(trimmed, max_tokens=100_000))])

    What they changed is a Diagnostic (`context-edited`) of the response.
    """

    def __init__(self, *edits: Edit) -> None:
        if not edits:
            raise ConfigurationError("EditContext needs a function of messages")
        self._edits = edits

    def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Run the call with the edited messages."""
        messages: Sequence[Message] = request.messages
        for edit in self._edits:
            messages = edit(messages)
        if tuple(messages) == request.messages:
            return next(request)
        edited = evolve(request, messages=messages)
        before, after = tokens_of(request.messages), tokens_of(edited.messages)
        message = (
            f"{len(request.messages)} messages of about {before} tokens became "
            f"{len(edited.messages)} of about {after}"
        )
        note = Diagnostic("context-edited", "messages", action="changed", message=message)
        return noted(next(edited), note)


_SUMMARY: Final = "Summary of the conversation so far:\n\n"

_INSTRUCTIONS: Final = (
    "Summarize the conversation below so that it can be continued without it: the task, "
    "decisions, facts, names, numbers and file paths that matter, what was done, and what is open."
)

_PLAIN: Final[dict[str, Any]] = {
    "system": (),
    "tools": (),
    "tool_choice": None,
    "parallel_tool_calls": None,
    "response_format": None,
}
"""The settings of a request for a summary in place of those of the conversation."""

_WINDOW_SHARE: Final = 0.8
_KEPT_SUMMARIES: Final = 64


@with_call_hints()
@with_settings_in_repr
class SummarizeContext:
    """Replaces the oldest messages by a summary when a request comes near the context window.

    A conversation is summarized again only when it has grown to the limit again, so
    that the beginning of its requests stays the same and prompt caches are used. The request for
    the summary is a call of its own: place this before the middleware that counts cost.
    A summary is a Diagnostic (`context-summarized`) of the response; if it fails, so does the call.

    - `max_tokens`: the approximate tokens of a request above which it is summarized; by default
      four fifths of the window that the catalog states, and without limit if it states none.
    - `keep_tokens`: the approximate tokens of the newest messages that stay as they are; by
      default a quarter of `max_tokens`.
    - `model`: the model that writes the summary; by default that of the request.
    """

    def __init__(
        self,
        *,
        max_tokens: int | None = None,
        keep_tokens: int | None = None,
        model: Model | str | None = None,
        instructions: str = _INSTRUCTIONS,
    ) -> None:
        for name, count in (("max_tokens", max_tokens), ("keep_tokens", keep_tokens)):
            if count is not None and count < 1:
                raise ConfigurationError(f"{name} must be at least 1, not {count}")
        self._max_tokens = max_tokens
        self._keep_tokens = keep_tokens
        self._model = model
        self._instructions = instructions
        self._summaries: dict[tuple[Message, ...], Message] = {}  # by the messages they replace

    async def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Run the call, with a summary in place of old messages if they are too many."""
        limit = self._limit(request, next)
        replaced, shortened = self._known(request)
        if limit is None or input_tokens_of(shortened) <= limit:
            return self._noted(next(shortened), replaced)
        kept = trimmed(shortened.messages, max_tokens=self._keep_tokens or limit // 4)
        old = shortened.messages[: len(shortened.messages) - len(kept)]
        if not old or shortened.messages[len(old) :] != kept:
            return self._noted(next(shortened), replaced)  # one long turn: nothing to summarize
        match await next(self._question(request, old)).result():
            case Failure(error):
                return EventStream.of([ErrorEvent(error)])
            case Success(response):
                summary = Message.user(_SUMMARY + response.text)
        replaced = request.messages[: len(request.messages) - len(kept)]
        while len(self._summaries) >= _KEPT_SUMMARIES:
            del self._summaries[min(self._summaries, key=len)]  # the shortest conversation
        self._summaries[replaced] = summary
        return self._noted(next(evolve(request, messages=(summary, *kept))), replaced)

    def _question(self, request: LLMRequest, old: Sequence[Message]) -> LLMRequest:
        """Return the request for a summary of *old*."""
        return evolve(
            request,
            model=request.model if self._model is None else self._model,
            messages=(Message.user(f"{self._instructions}\n\n{_transcript(old)}"),),
            **_PLAIN,
        )

    def _limit(self, request: LLMRequest, next: Next) -> int | None:
        if self._max_tokens is not None:
            return self._max_tokens
        target = target_of(request, next)
        known = get_model_info(target.model, target.provider or None, models=target.models)
        window = None if known is None else known.context_window
        return None if window is None else int(window * _WINDOW_SHARE)

    def _known(self, request: LLMRequest) -> tuple[tuple[Message, ...], LLMRequest]:
        """Return the messages that a summary exists for, and the request with it."""
        for replaced in sorted(self._summaries.copy(), key=len, reverse=True):
            if request.messages[: len(replaced)] == replaced:
                summary = self._summaries[replaced]
                rest = request.messages[len(replaced) :]
                return replaced, evolve(request, messages=(summary, *rest))
        return (), request

    @staticmethod
    def _noted(stream: EventStream, replaced: tuple[Message, ...]) -> EventStream:
        if not replaced:
            return stream
        message = f"the oldest {len(replaced)} messages were replaced by a summary"
        note = Diagnostic("context-summarized", "messages", action="changed", message=message)
        return noted(stream, note)
