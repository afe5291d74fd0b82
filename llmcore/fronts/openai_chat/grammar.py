"""The grammar of every stream of Chat Completions, as a checker.

    stream := chunk(role) chunk(delta)* chunk(finish_reason, delta {}) [chunk(choices [], usage)]
            | chunk(role) chunk(delta)* chunk(finish_reason, delta {}, usage)
            | chunk* error

Source: https://developers.openai.com/api/reference/resources/chat (streaming events), read November
2026; what comes once comes once because clients join strings (the `openai` package,
`lib.streaming._deltas`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from llmcore.fronts.front import Event
from llmcore.fronts.grammar import GrammarChecker
from llmcore.schema.native_json import int_or_none, object_or_empty, objects

_REASONS: Final = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
_SAME: Final = ("id", "object", "created", "model")
_TEXTS: Final = ("content", "refusal", "reasoning_content", "reasoning")
_ERROR: Final = frozenset({"message", "type", "param", "code"})


class ChunkChecker(GrammarChecker):
    """Checks one stream of Chat Completions."""

    _unfinished = "no chunk has a finish_reason"

    def __init__(self) -> None:
        super().__init__()
        self._head: Mapping[str, Any] | None = None
        self._counts: bool | None = None
        """Whether chunks have a field for usage."""
        self._finished = False
        self._calls: list[str] = []
        """The kinds of the calls so far."""
        self._details: list[set[str]] = []
        """The fields that each entry of `reasoning_details` has so far."""
        self._annotations = 0
        self._images = 0
        self._once: set[str] = set()
        """Fields of the message that came, and come once."""

    def finish(self) -> Sequence[str]:
        """Return what is missing at the end of the stream; usage is optional."""
        return () if self._finished else super().finish()

    def _check(self, event: Event) -> None:
        if "error" in event:
            self._error(event)
        else:
            self._chunk(event)

    # -- the frame

    def _error(self, event: Event) -> None:
        error = object_or_empty(event["error"])
        if "choices" in event:  # as OpenRouter's SDKs read it
            self._expect(error.keys() == {"code", "message"}, "an error has code and message")
        else:
            self._expect(event.keys() == {"error"}, "an error has other fields beside it")
            self._expect(error.keys() == _ERROR, "an error has message, type, param and code")
        self._expect(isinstance(error.get("message"), str), "its message is not a text")
        self.ended = True

    def _chunk(self, chunk: Event) -> None:
        head = {name: chunk.get(name) for name in _SAME}
        if self._head is None:
            self._head, self._counts = head, "usage" in chunk
            self._expect(
                head["object"] == "chat.completion.chunk", "object is not chat.completion.chunk"
            )
            self._expect(isinstance(head["id"], str) and head["id"], "id is missing")
            self._expect(isinstance(head["created"], int), "created is not a number")
        self._expect(head == self._head, "id, object, created or model changed")
        choices = list(chunk.get("choices", ()))
        if not choices:
            self._usage(chunk)
            return
        self._expect(not self._finished, "a choice comes after its finish_reason")
        self._expect(len(choices) == 1, "there is more than one choice")
        self._choice(choices[0])
        if self._finished and chunk.get("usage") is not None and not self._counts:
            self._check_counts(chunk)  # in the last chunk, as Mistral's SDKs read it
            return
        self._expect(chunk.get("usage") is None, "usage comes before its own chunk")
        self._expect(("usage" in chunk) == self._counts, "only some chunks have the field usage")

    def _usage(self, chunk: Event) -> None:
        self._expect(self._finished, "usage comes before the finish_reason")
        self._expect(self._counts, "usage comes without being asked for")
        self._check_counts(chunk)
        self.ended = True

    def _check_counts(self, chunk: Event) -> None:
        usage = object_or_empty(chunk.get("usage"))
        given, made = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if isinstance(given, int) and isinstance(made, int):
            details = object_or_empty(usage.get("completion_tokens_details"))
            sums = (
                given + made,
                given + made + (int_or_none(details.get("reasoning_tokens")) or 0),
            )
            self._expect(
                usage.get("total_tokens") in sums,  # xAI's clients add thinking to the completion
                "total_tokens is not the sum of the other counts",
            )
        else:
            self._expect(False, "usage has no counts")

    def _choice(self, choice: Event) -> None:
        missing = {"index", "delta", "finish_reason", "logprobs"} - choice.keys()
        self._expect(not missing, f"the choice lacks {', '.join(sorted(missing))}")
        self._expect(choice.get("index") == 0, "its index is not 0")
        delta = object_or_empty(choice.get("delta"))
        first = not self._once
        self._expect(("role" in delta) == first, "role comes first, and once")
        if first:
            self._expect(delta.get("role") == "assistant", "role is not assistant")
            self._once.add("role")
        self._delta(delta, first=first)
        reason = choice.get("finish_reason")
        if reason is not None:
            self._expect(reason in _REASONS, f"finish_reason is {reason!r}")
            self._expect(not delta, "the last delta is not empty")
            self._finished = True

    # -- deltas

    def _delta(self, delta: Event, *, first: bool) -> None:
        for name in _TEXTS:
            if name in delta:
                text = delta[name]
                words = text in ("", None) if first else _is_text(text)
                self._expect(words, f"{name} is not a text")
        if "audio" in delta:
            self._expect("audio" not in self._once, "audio comes twice")
            self._once.add("audio")
        for name, check in self._LISTS.items():
            if name in delta:
                self._expect(delta[name], f"{name} is empty")
                for entry in objects(list(delta[name])):
                    check(self, entry)
        if "annotations" in delta:
            self._once.add("annotations")
        legacy = delta.get("function_call")
        if legacy is not None:
            self._expect(("name" in legacy) == ("call" not in self._once), "name comes once")
            self._once.add("call")

    def _call(self, entry: Event) -> None:
        index = entry.get("index")
        if index == len(self._calls):
            self._begin_call(entry)
            return
        if not isinstance(index, int) or not 0 <= index < len(self._calls):
            self._expect(False, f"index {index} of a call is out of order")
            return
        kind = self._calls[index]
        self._expect(entry.keys() == {"index", kind}, "a call continues with other fields")
        field = "input" if kind == "custom" else "arguments"
        inner = object_or_empty(entry.get(kind))
        self._expect(inner.keys() == {field}, f"a call continues with other fields than {field}")
        self._expect(isinstance(inner.get(field), str), f"{field} is not a text")

    def _begin_call(self, entry: Event) -> None:
        kind = str(entry.get("type"))
        name = object_or_empty(entry.get(kind)).get("name")
        self._expect(kind in ("function", "custom"), f"the type of a call is {kind}")
        self._expect(isinstance(entry.get("id"), str) and entry.get("id"), "a call has no id")
        self._expect(isinstance(name, str) and name, "a call has no name")
        self._calls.append(kind)

    def _detail(self, entry: Event) -> None:
        index = entry.get("index")
        if index == len(self._details):
            self._details.append(set())
        if not isinstance(index, int) or not 0 <= index < len(self._details):
            self._expect(False, f"index {index} of reasoning_details is out of order")
            return
        had = self._details[index]
        again = had & entry.keys() & {"format", "signature", "data", "id"}
        self._expect(not again, f"{', '.join(sorted(again))} of reasoning_details comes twice")
        had.update(entry)

    def _annotation(self, entry: Event) -> None:
        """Check a citation: those of a second list are indexed, after those of the first."""
        if "annotations" in self._once or "index" in entry:
            self._expect(entry.get("index") == self._annotations, "index of annotations has a gap")
        self._annotations += 1

    def _image(self, entry: Event) -> None:
        self._expect(entry.get("index") == self._images, "index of images has a gap")
        self._images += 1

    _LISTS: ClassVar[Mapping[str, Callable[[Any, Event], None]]] = {
        "annotations": _annotation,
        "tool_calls": _call,
        "reasoning_details": _detail,
        "images": _image,
    }


def _is_text(value: object) -> bool:
    """Return whether *value* is a text, or thinking as Mistral's clients read it."""
    parts = objects(value) if isinstance(value, list) else []
    return isinstance(value, str) or any(part.get("type") == "thinking" for part in parts)


violations = ChunkChecker.violations
