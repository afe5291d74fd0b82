"""Calls of tools that a provider ran: their kinds, the search queries, the pages found."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from llmcore.schema.content import TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.events import Finish, ToolCall, ToolResult
from llmcore.schema.json import text_or_json
from llmcore.schema.native_json import object_or_empty, objects, str_or_none, texts

HostedCallKind: TypeAlias = Literal["web_search", "code_execution", "other"]

_SEARCHES: Final = frozenset(
    {"web_search", "google_search", "google_search_web", "x_search", "nova_grounding"}
)
_CODE: Final = frozenset({"code_execution", "code_interpreter", "nova_code_interpreter"})


def hosted_call_kind(name: str) -> HostedCallKind:
    """Return the kind of the tool *name*, by the names that providers give their tools."""
    if name in _SEARCHES:
        return "web_search"
    return "code_execution" if name in _CODE else "other"


def search_queries(call: ToolCall | ToolCallPart) -> list[str]:
    """Return the queries of a search; empty if the provider does not show them."""
    arguments = object_or_empty(call.arguments)
    queries = texts(arguments.get("queries"))
    first = str_or_none(arguments.get("query"))
    return [first, *(query for query in queries if query != first)] if first else queries


def grounding_queries(event: Finish) -> list[str]:
    """Return the queries of Gemini's own search, which is in no call; empty for other providers."""
    found = (
        texts(object_or_empty(data.get("groundingMetadata")).get("webSearchQueries"))
        for data in event.provider_metadata.values()
    )
    return next(filter(None, found), [])


def found_pages(result: ToolResult | ToolResultPart | None) -> list[Mapping[str, Any]]:
    """Return the pages that a search found, each an object with its `url`."""
    content = result.content if result is not None else None
    pages = objects(content) or objects(object_or_empty(content).get("sources"))
    return [page for page in pages if str_or_none(page.get("url"))]


def executed_code(call: ToolCall | ToolCallPart) -> str:
    """Return the code that was run."""
    code = str_or_none(object_or_empty(call.arguments).get("code"))
    return code if code is not None else text_or_json(call.arguments)


def result_as_text(result: ToolResult | ToolResultPart | None) -> str:
    """Return a tool's result as text."""
    content = "" if result is None else result.content
    if isinstance(content, tuple):
        return "".join(part.text for part in content if isinstance(part, TextPart))
    return text_or_json(content)
