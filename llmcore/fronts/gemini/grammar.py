"""The grammar of a stream of `generateContent`, executable: what every stream must obey.

    chunk*  last chunk      a candidate with `finishReason`, or `promptFeedback` without one
    chunk*  error           a `google.rpc.Status`, and nothing after it

Each chunk has one candidate with at least one part, whose only field besides its flags states what
it is. Calls are whole, a signature is padded base64 of the standard alphabet. Each chunk has the
usage so far, and the counts of the last one add up. A chunk without a candidate has only the usage.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

from llmcore.fronts.front import Event
from llmcore.fronts.grammar import GrammarChecker
from llmcore.schema.native_json import (
    int_or_none,
    object_or_empty,
    objects,
    str_or_empty,
    str_or_none,
)

_FLAGS: Final = frozenset(
    {"audioMetadata", "documentMetadata", "mediaProcessing", "mediaResolution", "partMetadata"}
    | {"speechMetadata", "spreadsheetMetadata", "thought", "thoughtSignature", "videoMetadata"}
)
_TRANSCRIPTION: Final = frozenset({"audioTranscription"})
"""The transcription: beside the audio, or a part by itself if the audio is elsewhere."""
_COUNTED: Final = (
    "promptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "toolUsePromptTokenCount",
)
_FRAME: Final = ("modelVersion", "responseId")


class GeminiChecker(GrammarChecker):
    """Checks one stream of Gemini."""

    _unfinished = "no finishReason, and no error"

    def __init__(self) -> None:
        super().__init__()
        self._frame: dict[str, object] = {}
        self._ids: set[str] = set()

    def _check(self, event: Event) -> None:
        if "error" in event:
            self._error(event)
        else:
            self._chunk(event)

    def _error(self, event: Mapping[str, Any]) -> None:
        status = object_or_empty(event["error"])
        self._expect(event.keys() == {"error"}, "an error has no fields beside it")
        self._expect(int_or_none(status.get("code")) is not None, "the error has no code")
        self._expect(str_or_none(status.get("status")), "the error has no status")
        self._expect(isinstance(status.get("message"), str), "the error has no message")
        self.ended = True

    def _chunk(self, event: Mapping[str, Any]) -> None:
        for name in _FRAME:
            known = self._frame.setdefault(name, event.get(name))
            self._expect(str_or_none(known), f"{name} is missing")
            self._expect(event.get(name) == known, f"{name} changed")
        candidates = objects(event.get("candidates"))
        self._expect(len(candidates) <= 1, "has several candidates")
        for candidate in candidates:
            self._candidate(candidate)
        self._expect(isinstance(event.get("usageMetadata"), dict), "usageMetadata is missing")
        self._usage(object_or_empty(event.get("usageMetadata")))
        if object_or_empty(event.get("promptFeedback")).get("blockReason"):
            self.ended = True
        self._expect(
            candidates or event.get("usageMetadata") or "promptFeedback" in event, "is empty"
        )

    def _candidate(self, candidate: Mapping[str, Any]) -> None:
        content = object_or_empty(candidate.get("content"))
        parts = objects(content.get("parts"))
        self._expect(candidate.get("index") == 0, "index is not 0")
        self._expect(content.get("role") == "model", "the role is not model")
        self._expect(parts, "the content has no parts")
        for part in parts:
            self._part(part)
        if "finishReason" in candidate:
            self._expect(str_or_none(candidate["finishReason"]), "finishReason is not a string")
            self.ended = True

    def _part(self, part: Mapping[str, Any]) -> None:
        kinds = part.keys() - _FLAGS
        is_one_kind = kinds == _TRANSCRIPTION or len(kinds - _TRANSCRIPTION) == 1
        self._expect(is_one_kind, f"a part is {sorted(kinds)}")
        self._expect(None not in part.values(), "a field of a part is null")
        if "text" in part:
            self._expect(isinstance(part["text"], str), "text is not a string")
        if "functionCall" in part:
            self._call(object_or_empty(part["functionCall"]))
        if "thoughtSignature" in part:
            self._expect(_is_base64(part["thoughtSignature"]), "thoughtSignature is not base64")

    def _call(self, call: Mapping[str, Any]) -> None:
        id_ = str_or_empty(call.get("id"))
        self._expect(str_or_none(call.get("name")), "a call has no name")
        self._expect(isinstance(call.get("args"), dict), "args is not an object")
        self._expect(id_ and id_ not in self._ids, "the id of a call is missing or not its own")
        self._ids.add(id_)

    def _usage(self, usage: Mapping[str, Any]) -> None:
        counts = {name: usage.get(name, 0) for name in (*_COUNTED, "totalTokenCount")}
        numbers = all(int_or_none(count) is not None and count >= 0 for count in counts.values())
        self._expect(numbers, "a count is not a whole number from 0")


violations = GeminiChecker.violations


def _is_base64(value: object) -> bool:
    """Return whether *value* is base64 of the standard alphabet, padded."""
    if not isinstance(value, str) or not value:
        return False
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return False
    return True
