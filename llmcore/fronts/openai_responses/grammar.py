"""The grammar of a Responses stream, executable: what every stream must obey.

    response.created  response.in_progress
    ( output_item.added
        message:    ( content_part.added  deltas  annotations  done  content_part.done )*
        reasoning:  ( reasoning_summary_part.added  deltas  done  reasoning_summary_part.done
                    | content_part.added  deltas  done  content_part.done )*
        calls:      deltas  done
      output_item.done )*
    response.completed | response.incomplete | error  response.failed

Sequence numbers count events from 0. Items are numbered in the order they begin, and do not
overlap. A `done` repeats its deltas, an item its parts, and the last
response its items. A failed response may leave an item open.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.fronts.front import Event
from llmcore.fronts.grammar import GrammarChecker
from llmcore.fronts.openai_responses.items import WHOLE_TYPES
from llmcore.schema.native_json import object_or_empty

_TERMINAL: Final = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
_ITEM_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "message": frozenset({"role", "status", "content"}),
    "reasoning": frozenset({"summary"}),
    "function_call": frozenset({"call_id", "name", "arguments", "status"}),
    "custom_tool_call": frozenset({"call_id", "name", "input", "status"}),
}
_PART_INDEX: Final = {
    "response.output_text": "content_index",
    "response.refusal": "content_index",
    "response.reasoning_text": "content_index",
    "response.reasoning_summary_text": "summary_index",
}
"""For each text in parts, the field that has the part's index."""
_DONE_FIELD: Final = {
    "response.output_text": "text",
    "response.refusal": "refusal",
    "response.reasoning_text": "text",
    "response.reasoning_summary_text": "text",
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
}
_WHERE: Final = {
    "response.output_text": "message",
    "response.refusal": "message",
    "response.reasoning_text": "reasoning",
    "response.reasoning_summary_text": "reasoning",
    "response.function_call_arguments": "function_call",
    "response.custom_tool_call_input": "custom_tool_call",
}
"""The type of item that contains a text."""
_PART_WHERE: Final = {
    "output_text": ("message", False),
    "refusal": ("message", False),
    "reasoning_text": ("reasoning", False),
    "summary_text": ("reasoning", True),
}
"""The type of item that contains a part, and whether the part is in its summary."""


class ResponsesChecker(GrammarChecker):
    """Checks one stream of Responses."""

    _unfinished = "no terminal event"

    def __init__(self) -> None:
        super().__init__()
        self._response_id: object = None
        self._item: Mapping[str, Any] | None = None
        self._done: list[Mapping[str, Any]] = []
        self._ids: set[object] = set()
        self._parts: list[Mapping[str, Any]] = []
        self._part_open = False
        self._failed = False
        self._annotations: list[object] = []
        self._deltas: list[str] = []
        self._done_text: str | None = None

    # -- the frame

    def _check(self, event: Event) -> None:
        kind, number = str(event.get("type")), event.get("sequence_number")
        self._expect(number == self._count, f"sequence_number is {number}")
        first = ("response.created", "response.in_progress")
        if self._count < len(first):
            self._expect(kind == first[self._count], f"expected {first[self._count]}")
        else:
            self._expect(kind not in first, "comes only at the beginning")
        self._expect(
            (kind == "response.failed") == self._failed, "error and response.failed differ"
        )
        if kind == "error":
            self._failed = True
        elif "response" in event:
            self._response(kind, object_or_empty(event["response"]))
        elif kind == "response.output_item.added":
            self._begin(event)
        elif kind == "response.output_item.done":
            self._end(event)
        else:
            self._inside(kind, event)

    def _response(self, kind: str, response: Mapping[str, Any]) -> None:
        self._response_id = self._response_id or response.get("id")
        self._expect(response.get("id") == self._response_id, "the response's id changed")
        status = _TERMINAL.get(kind, "in_progress")
        self._expect(response.get("status") == status, f"status is {response.get('status')}")
        self._expect(response.get("output") == self._done, "output is not the items that are done")
        failed = status == "failed"
        self._expect((response.get("error") is not None) == failed, "error and status differ")
        has_details = response.get("incomplete_details") is not None
        self._expect(
            has_details == (status == "incomplete"), "incomplete_details and status differ"
        )
        if kind in _TERMINAL:
            self._expect(self._item is None or failed, "an item is still open")
            self.ended = True

    # -- items

    def _begin(self, event: Mapping[str, Any]) -> None:
        item = object_or_empty(event.get("item"))
        self._expect(self._item is None, "another item is open")
        self._expect(event.get("output_index") == len(self._done), "output_index has a gap")
        self._expect(item.get("id") and item.get("id") not in self._ids, "its id is not its own")
        begins = item.get("status") in (None, "in_progress") or item.get("type") in WHOLE_TYPES
        self._expect(begins, "it begins with an end's status")
        missing = _ITEM_FIELDS.get(str(item.get("type")), frozenset()) - item.keys()
        self._expect(not missing, f"the item lacks {', '.join(sorted(missing))}")
        self._ids.add(item.get("id"))
        self._item = item
        self._parts, self._done_text, self._deltas, self._part_open = [], None, [], False

    def _end(self, event: Mapping[str, Any]) -> None:
        item, begun = object_or_empty(event.get("item")), self._item or {}
        self._expect(self._item is not None, "no item is open")
        self._expect(event.get("output_index") == len(self._done), "output_index is another item's")
        for name in ("id", "type", "call_id", "name", "namespace"):
            self._expect(item.get(name) == begun.get(name), f"its {name} changed")
        self._expect(item.get("status") != "in_progress", "it ends without an end's status")
        self._expect(not self._part_open and not self._deltas, "a part of it is still open")
        done = self._done_text
        match item.get("type"):
            case "message":
                self._expect(item.get("content") == self._parts, "its content is not its parts")
            case "reasoning":
                for name, type_ in (("summary", "summary_text"), ("content", "reasoning_text")):
                    parts = [part for part in self._parts if part.get("type") == type_]
                    self._expect((item.get(name) or []) == parts, f"its {name} is not its parts")
            case "function_call":
                same = item.get("arguments") == done
                self._expect(same, "its arguments are not those it was done")
            case "custom_tool_call":
                self._expect(item.get("input") == done, "its input is not the one that was done")
        self._done.append(item)
        self._item = None

    # -- inside an item

    def _inside(self, kind: str, event: Mapping[str, Any]) -> None:
        item = self._item
        if item is None:
            self._expect(False, "no item is open")
            return
        self._expect(event.get("item_id") == item.get("id"), "item_id is not the open item's")
        self._expect(event.get("output_index") == len(self._done), "output_index is another item's")
        name, _, what = kind.rpartition(".")
        if name in _WHERE:
            self._expect(item.get("type") == _WHERE[name], f"stands in a {item.get('type')}")
            self._text(name, what, event)
        elif what in ("added", "done") and name.endswith("_part"):
            self._part(name, what, event)
        elif kind == "response.output_text.annotation.added":
            number = event.get("annotation_index")
            self._expect(number == len(self._annotations), "annotation_index has a gap")
            self._annotations.append(event.get("annotation"))

    def _number(self, field: str, event: Mapping[str, Any]) -> None:
        summary = field == "summary_index"
        of_list = [part for part in self._parts if (part.get("type") == "summary_text") == summary]
        self._expect(event.get(field) == len(of_list), f"{field} has a gap")

    def _text(self, name: str, what: str, event: Mapping[str, Any]) -> None:
        if name in _PART_INDEX:
            self._number(_PART_INDEX[name], event)
            self._expect(self._part_open, "no part is open")
        self._expect(self._done_text is None, "its text was done")
        if what == "delta":
            text = event.get("delta")
            self._expect(isinstance(text, str) and text, "delta is not a text")
            self._deltas.append(str(text))
            return
        complete = event.get(_DONE_FIELD[name])
        self._expect(complete == "".join(self._deltas), "differs from its deltas")
        self._deltas = []
        self._done_text = str(complete)

    def _part(self, name: str, what: str, event: Mapping[str, Any]) -> None:
        summary = name == "response.reasoning_summary_part"
        self._number("summary_index" if summary else "content_index", event)
        part = object_or_empty(event.get("part"))
        text = part.get("refusal" if part.get("type") == "refusal" else "text")
        where = _PART_WHERE.get(str(part.get("type")))
        self._expect(
            where == (object_or_empty(self._item).get("type"), summary), "is another item's part"
        )
        if what == "added":
            self._expect(not self._part_open, "another part is open")
            self._expect(text == "", "it begins with text")
            self._part_open, self._annotations = True, []
            return
        self._expect(self._part_open, "no part is open")
        self._expect(text == self._done_text, "is not the text that was done")
        annotations = part.get("annotations", [])
        self._expect(
            annotations == self._annotations, "its annotations are not those that were added"
        )
        self._parts.append(part)
        self._part_open, self._done_text = False, None


violations = ResponsesChecker.violations
