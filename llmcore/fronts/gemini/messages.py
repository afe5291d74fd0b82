"""Reads contents as messages.

Sources, read November 2026: https://ai.google.dev/api/caching#Content (a content without a role is
the user's), https://ai.google.dev/gemini-api/docs/function-calling (responses belong to calls by
id, or by name and order), https://ai.google.dev/gemini-api/docs/thought-signatures.

    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}},
                                 "thoughtSignature": "c2ln"}]}
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]}

Contents of the model in a row are one turn: a client that was streamed to sends back a content for
each chunk (`turns`).
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from llmcore.fronts.errors import invalid
from llmcore.fronts.field_types import OF_GEMINI_CALLS, OF_GEMINI_PARTS, check_types
from llmcore.fronts.front import Upstream
from llmcore.fronts.gemini.content import (
    camel_keys,
    client_media,
    kind_of_file,
    object_in,
    read_part,
    sets_detail,
)
from llmcore.fronts.gemini.turns import read_turn
from llmcore.fronts.places import Places
from llmcore.fronts.reading import AnsweredCalls, read_field, read_objects, report_unknown
from llmcore.protocols.gemini.names import MEANINGFUL, METADATA_KEY, PIECE_FIELDS, PROTOCOL_ID
from llmcore.protocols.gemini.parts import MediaPart
from llmcore.protocols.tools import synthetic_call_id
from llmcore.schema.content import (
    ContentPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonValue, NativeObject, ProviderMetadata, text_or_json
from llmcore.schema.messages import Message, Role
from llmcore.schema.native_json import object_or_empty, str_or_none

# -- contents and their parts


def read_contents(
    body: NativeObject, upstream: Upstream, diagnostics: Diagnostics
) -> tuple[Message, ...]:
    """Return `contents` as messages. Raises FrontError for invalid content."""
    contents = body.get("contents")
    listed = contents if isinstance(contents, list) else [] if contents is None else [contents]
    if len(listed) > upstream.policy.max_items:
        raise invalid(
            f"contents has {len(listed)} items; at most {upstream.policy.max_items} are taken.",
            "contents",
        )
    reader = _ContentsReader(upstream, diagnostics)
    for index, content in enumerate(listed):
        reader.add(content, f"contents[{index}]")
    return reader.finish()


def read_system(value: object, diagnostics: Diagnostics) -> tuple[TextPart, ...]:
    """Return `systemInstruction`, a content or a text: its role does not count."""
    if value is None:
        return ()
    texts: list[TextPart] = []
    place = diagnostics.at("systemInstruction")
    given = object_or_empty(value)
    read_field(given, "role", str, f"{place.path}.")
    report_unknown(given, _OF_CONTENT, place)
    for part, path in _parts(value, place.path):
        text = read_field(part, "text", str, f"{path}.")
        if text is not None:
            texts.append(TextPart(text))
            report_unknown(part, _OF_INSTRUCTION, diagnostics, path)
        else:
            diagnostics.at(path).dropped("unsupported-content", "instructions are text")
    return tuple(texts)


def _parts(content: object, path: str) -> list[tuple[NativeObject, str]]:
    """Return the parts of *content*, each with its path; a bare text is a content of one part."""
    if isinstance(content, str):
        return [({"text": content}, path)]
    if not isinstance(content, dict):
        raise invalid(f"{path} must be an object with parts.", path)
    given = content.get("parts")
    listed = given if isinstance(given, list) else [] if given is None else [given]
    parts: list[tuple[NativeObject, str]] = []
    for index, part in enumerate(listed):
        where = f"{path}.parts[{index}]"
        if not isinstance(part, dict | str):
            raise invalid(f"{where} must be an object.", where)
        parts.append(({"text": part} if isinstance(part, str) else camel_keys(part), where))
    return parts


_ROLES: Final[Mapping[object, Role]] = {
    None: "user",
    "": "user",
    "user": "user",
    "function": "user",
    "tool": "user",  # of results, in the examples of `google-genai`
    "model": "assistant",
    "assistant": "assistant",
    "system": "system",
}

_OF_GEMINI: Final = ("scheduling", "willContinue")
"""The fields of a `functionResponse` for functions that answer later or several times. Source:
https://ai.google.dev/api/caching#FunctionResponse."""
_OF_RESULTS: Final = frozenset({"fileData", "inlineData"})
_OF_CONTENT: Final = frozenset({"parts", "role"})
_OF_INSTRUCTION: Final = frozenset({"text"})
_OF_PART: Final = frozenset(
    {"codeExecutionResult", "executableCode", "fileData", "functionCall", "functionResponse"}
    | {"inlineData", "mediaResolution", "text", "thought", "thoughtSignature"}
)
_OF_THOUGHTS: Final = frozenset({"thought", "thoughtSignature"})
"""Fields of parts of the model alone."""
_OF_GEMINIS_PART: Final = frozenset({"partMetadata", "toolCall", "toolResponse", "videoMetadata"})
"""Fields of parts, and those that only a Gemini upstream accepts."""


_OF_MEDIA: Final = frozenset({"displayName", "mimeType"})
_INSIDE: Final[Mapping[str, frozenset[str]]] = {
    "codeExecutionResult": frozenset({"id", "outcome", "output"}),
    "executableCode": frozenset({"code", "id", "language"}),
    "fileData": _OF_MEDIA | {"fileUri"},
    "functionCall": frozenset({"args", "id", "name", *PIECE_FIELDS}),
    "inlineData": _OF_MEDIA | {"data"},
    "mediaResolution": frozenset({"level"}),
}
"""Fields of the objects in parts; a Gemini upstream gets all others, too."""
_OF_RESPONSE: Final = frozenset({"id", "name", "parts", "response", *_OF_GEMINI})


class _ContentsReader:
    """Reads the contents of one request."""

    def __init__(self, upstream: Upstream, diagnostics: Diagnostics) -> None:
        self._native = upstream.protocol_id == PROTOCOL_ID
        self._upstream = upstream
        self._diagnostics = diagnostics
        self._messages: list[Message] = []
        self._turn: list[tuple[NativeObject, str]] = []
        self._open = _OpenCalls(())
        """Calls of the last turn that have no result yet."""
        self._answered = AnsweredCalls()
        self._places = Places()

    def add(self, content: object, path: str) -> None:
        """Read the next content."""
        role = content.get("role") if isinstance(content, dict) else None
        known = _ROLES.get(role) if isinstance(role, str | None) else None
        if known is None:
            raise invalid(f"{path}: use a valid role: user, model.", f"{path}.role")
        parts = _parts(content, path)
        self._check_fields(content, parts, path)
        if known == "assistant":
            self._turn += parts
            return
        self._end_turn()
        if known == "system":
            texts = [TextPart(str(part["text"])) for part, _ in parts if "text" in part]
            self._messages.append(Message("system", tuple(texts)))
        else:
            self._add_user(parts)

    def _check_fields(
        self, content: object, parts: list[tuple[NativeObject, str]], path: str
    ) -> None:
        """Report the fields that are not read; a part of an unknown kind is reported whole."""
        report_unknown(object_or_empty(content), _OF_CONTENT, self._diagnostics, path)
        known = _OF_PART | _OF_GEMINIS_PART if self._native else _OF_PART
        if _ROLES[object_or_empty(content).get("role")] != "assistant":
            known -= _OF_THOUGHTS
        for part, where in parts:
            if len(part) > 1 or type(part.get("text")) is not str:
                check_types(part, OF_GEMINI_PARTS, where)
            if not known.isdisjoint(part):
                report_unknown(part, known, self._diagnostics, where)
                if len(part) > 1 or "text" not in part:
                    self._check_inside(part, where)

    def _check_inside(self, part: NativeObject, path: str) -> None:
        """Report the unknown fields inside a part's fields."""
        resolution = part.get("mediaResolution")
        if resolution is not None and not self._native and not sets_detail(part):
            self._diagnostics.at(f"{path}.mediaResolution").unsupported(
                "the upstream has no such detail"
            )
        if not self._native:
            self._report_name(part, path)
        elif "functionResponse" in part and part.get("partMetadata") is not None:
            self._diagnostics.at(f"{path}.partMetadata").unsupported("a result is sent without it")
        for kind in _INSIDE.keys() & part.keys() if not self._native else ():
            held = camel_keys(part[kind])
            report_unknown(held, _INSIDE[kind], self._diagnostics, f"{path}.{kind}")
        call = object_in(part, "functionCall", path)
        check_types(call, OF_GEMINI_CALLS, f"{path}.functionCall")
        for name in PIECE_FIELDS:
            if call.get(name):
                why = "the upstream gets whole calls: their arguments are those in args"
                self._diagnostics.at(f"{path}.functionCall.{name}").dropped(
                    "unsupported-content", why
                )

    def finish(self) -> tuple[Message, ...]:
        """Return all messages."""
        self._end_turn()
        return tuple(self._messages)

    # -- the user's

    def _add_user(self, parts: list[tuple[NativeObject, str]]) -> None:
        results: list[ContentPart] = []
        others: list[ContentPart] = []
        self._open.reserve(_ids_of_results(parts))
        for part, path in parts:
            if "functionResponse" in part:
                results.append(self._result(object_in(part, "functionResponse", path), path))
            else:
                others += read_part(part, self._diagnostics.at(path), native=self._native)
        if results:
            self._messages.append(Message("tool", tuple(results)))
        if others:
            self._messages.append(Message.user(tuple(others)))

    def _result(self, response: NativeObject, path: str) -> ToolResultPart:
        """Return a function's result, for the call that it names or else for the next open call."""
        report_unknown(response, _OF_RESPONSE, self._diagnostics, f"{path}.functionResponse")
        where = f"{path}.functionResponse."
        name = read_field(response, "name", str, where) or None
        call = self._called(read_field(response, "id", str, where) or None, name)
        given = response.get("response")
        content, failed = result_content(given, name=name, native=self._native)
        files = self._files(response, path)
        part = ToolResultPart(
            call.id,
            with_files(content, files) if files else content,
            name=name or call.name or None,
            is_error=failed,
            provider_metadata=self._own(response, path, files),
        )
        self._answered.add_result(part, f"{path}.functionResponse")
        return part

    def _files(self, response: NativeObject, path: str) -> list[MediaPart]:
        """Return the files in a function's response beside its object."""
        files = []
        for index, item in enumerate(read_objects(response, "parts", f"{path}.functionResponse.")):
            file, where = camel_keys(item), f"{path}.functionResponse.parts[{index}]"
            files.append(client_media(file, where, native=self._native))
            if not self._native:
                report_unknown(file, _OF_RESULTS, self._diagnostics, where)
                for kind in _OF_RESULTS & file.keys():
                    held, place = camel_keys(file[kind]), f"{where}.{kind}"
                    report_unknown(held, _INSIDE[kind], self._diagnostics, place)
                self._report_name(file, where)
        return files

    def _report_name(self, file: NativeObject, path: str) -> None:
        """Report the name of an image or of audio, which is sent for documents alone."""
        kind = "inlineData" if "inlineData" in file else "fileData"
        held = camel_keys(file.get(kind))
        has_no_name = kind_of_file(held) in ("image", "audio")
        if has_no_name and held.get("displayName") is not None:
            why = "only documents are sent with a name"
            self._diagnostics.at(f"{path}.{kind}.displayName").unsupported(why)

    def _own(
        self, response: NativeObject, path: str, files: Sequence[MediaPart]
    ) -> ProviderMetadata:
        """Return the fields of a response that only Gemini reads; report them for others.

        Those of its files replace each file, under the kind of the file.
        """
        native: NativeObject = {name: response[name] for name in _OF_GEMINI if name in response}
        if self._native:
            native |= {"response": response.get("response")} if files or _is_mixed(response) else {}
            native |= {"parts": list(map(_fields_of_file, files))} if files else {}
            return {METADATA_KEY: {"functionResponse": native}} if native else {}
        for name in native:
            why = f"the upstream takes no {name} of a response"
            self._diagnostics.at(f"{path}.{name}").unsupported(why)
        return {}

    def _called(self, id_: str | None, name: str | None) -> ToolCallPart:
        """Return the call that a response is for; an unknown one if no call is open.

        An id that no call has counts as none where a call of the name is open: clients whose calls
        came without ids make them up, such as from the function's name.
        """
        made_up = id_ is not None and not self._answered.has_call(id_)
        call = self._open.take_named(name) if made_up else self._open.take(id_, name)
        if call is not None:
            return call
        unknown = synthetic_call_id(None, len(self._messages), len(self._open))
        return ToolCallPart(id_ or unknown, name or "tool")

    # -- the model's

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, []
        if not turn:
            return
        calls: list[ToolCallPart] = []
        for message in read_turn(
            turn, self._upstream, self._messages, self._places, self._diagnostics
        ):
            self._messages.append(message)
            calls += message.tool_calls
        self._open = _OpenCalls(calls)
        for call in calls:
            self._answered.add_call(call.id)


class _OpenCalls:
    """Calls without a result, in their order; each is found without a search through all."""

    def __init__(self, calls: Sequence[ToolCallPart]) -> None:
        self._waiting = dict(enumerate(calls))
        self._order = deque(self._waiting)
        self._by_id: dict[str, deque[int]] = {}
        self._by_name: dict[str, deque[int]] = {}
        self._reserved: frozenset[str] = frozenset()
        for number, call in self._waiting.items():
            self._by_id.setdefault(call.id, deque()).append(number)
            self._by_name.setdefault(call.name, deque()).append(number)

    def __len__(self) -> int:
        return len(self._waiting)

    def reserve(self, ids: Iterable[str]) -> None:
        """Keep the calls with *ids* for the next results, which name them."""
        self._reserved = frozenset(ids).intersection(self._by_id)

    def take(self, id_: str | None, name: str | None) -> ToolCallPart | None:
        """Remove and return the first call of an id; without one that of a name, or else of all."""
        if id_ is not None:
            return self._first(self._by_id.get(id_))
        return self.take_named(name) or self._first_free(self._order)

    def take_named(self, name: str | None) -> ToolCallPart | None:
        """Remove and return the first call of a function's name."""
        return self._first_free(self._by_name.get(name or ""))

    def _first_free(self, numbers: deque[int] | None) -> ToolCallPart | None:
        """Remove and return the first call that no result names by its id."""
        while numbers:
            call = self._waiting.get(numbers[0])
            if call is None or call.id in self._reserved:
                numbers.popleft()
            else:
                return self._first(numbers)
        return None

    def _first(self, numbers: deque[int] | None) -> ToolCallPart | None:
        while numbers:
            if call := self._waiting.pop(numbers.popleft(), None):
                return call
        return None


# -- what a function returned


def _ids_of_results(parts: Iterable[tuple[NativeObject, str]]) -> Iterator[str]:
    for part, _ in parts:
        id_ = str_or_none(camel_keys(part.get("functionResponse")).get("id"))
        if id_ is not None:
            yield id_


def _fields_of_file(file: MediaPart) -> NativeObject:
    """Return the fields of a file that only Gemini reads, in an object of the file's kind."""
    kind = "inlineData" if file.data is not None else "fileData"
    return {kind: {}, **object_or_empty(file.provider_metadata.get(METADATA_KEY))}


_RESULT: Final = "output"
_FAILURE: Final = "error"
_BARE: Final = frozenset({"result", "return_value"})
"""The fields in which `google-genai` and pydantic-ai put a function's result."""
_NAMED: Final = "content"
"""The field in which the AI SDK puts it, beside the function's name."""


def _is_mixed(response: NativeObject) -> bool:
    """Return whether the object of a response has an `output` or `error`, and more."""
    given = object_or_empty(response.get("response"))
    return len(given) > 1 and not MEANINGFUL.isdisjoint(given)


def result_content(response: object, *, name: str | None, native: bool) -> tuple[JsonValue, bool]:
    """Return the result of the function *name*, and whether the function failed.

    An object that is not exactly one `output` or `error` is the result itself. What only other
    upstreams need is not read for a *native* one, so that it goes up as it came.
    """
    if not isinstance(response, dict):
        return ("" if response is None else response), False  # type: ignore[return-value]
    if response.keys() == {_RESULT}:
        return response[_RESULT], False
    if response.keys() == {_FAILURE}:
        return response[_FAILURE], True
    if native:
        return response, False
    if len(response) == 1:
        ((field, text),) = response.items()
        if field in _BARE and isinstance(text, str):
            return text, False
    if response.keys() == {"name", _NAMED} and response["name"] == name:
        return response[_NAMED], False
    return response, bool(response.get(_FAILURE)) and _RESULT not in response


_PLACE: Final = "[file {}]"
"""The mark of a file in the text of a result, as `protocols.gemini.parts` writes it."""


def with_files(content: JsonValue, files: Sequence[ToolOutputPart]) -> tuple[ToolOutputPart, ...]:
    """Return a result's text and *files* as parts, each file at its mark in the text."""
    text = text_or_json(content)
    parts: list[ToolOutputPart] = []
    rest: list[str] = []
    remaining = list(files)
    for line in text.split("\n") if text else ():
        if remaining and line == _PLACE.format(len(files) - len(remaining) + 1):
            parts += [*_text(rest), remaining.pop(0)]
            rest = []
        else:
            rest.append(line)
    return (*parts, *_text(rest), *remaining)


def _text(lines: Sequence[str]) -> list[TextPart]:
    return [TextPart("\n".join(lines))] if lines else []
