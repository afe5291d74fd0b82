"""Tools that a provider ran: the blocks that show their calls and results, both ways.

    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "..."}}
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
        {"type": "web_search_result", "url": "...", "title": "...", "encrypted_content": "...",
         "page_age": null}]}

Anthropic's own blocks are shown as they came. Searches and code that another provider ran have the
same form, with empty `encrypted_content`: Anthropic refuses such blocks, so they never go there.
Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool, read November
2026.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from llmcore.fronts import hosted_calls
from llmcore.protocols.anthropic_messages.names import (
    METADATA_KEY,
    RESULT_SUFFIX,
    TOOL_CALL_TYPES,
    Block,
)
from llmcore.protocols.tools import CallIdRule
from llmcore.schema.content import Citation, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.events import Finish, ToolCall, ToolResult
from llmcore.schema.json import present, text_or_json, without
from llmcore.schema.native_json import object_or_empty, objects, str_or_none

SEARCH_RESULT: Final = "web_search_tool_result"
_CODE_RESULT: Final = "code_execution_tool_result"
_PREFIX: Final = "srvtoolu_"
_ID_RULE: Final = CallIdRule(r"[a-zA-Z0-9_]+", 40)

# -- written


def is_hosted_call(block: Block) -> bool:
    """Return whether *block* is a call of a tool that the provider runs."""
    return block.get("type") in TOOL_CALL_TYPES[1:]


def is_hosted_result(block: Block) -> bool:
    """Return whether *block* is the result of such a tool."""
    return str(block.get("type")).endswith(RESULT_SUFFIX)


def hosted_call(call: ToolCall) -> Block | None:
    """Return the block of a call; None for a tool that the API cannot represent."""
    native = call.provider_metadata.get(METADATA_KEY, {})
    if isinstance(native.get("type"), str):
        arguments = object_or_empty(call.arguments)
        shown = {"id": call.id, "name": call.name, "input": arguments}
        return {"type": native["type"], **shown, **native}
    match hosted_calls.hosted_call_kind(call.name):
        case "web_search":
            queries = hosted_calls.search_queries(call)
            return server_call(call.id, "web_search", {"query": " ".join(queries[:1])})
        case "code_execution":
            code = hosted_calls.executed_code(call)
            return server_call(call.id, "code_execution", {"code": code})
        case _:
            return None


def server_call(call_id: str, name: str, arguments: Mapping[str, Any]) -> Block:
    """Return the block of a call of a tool that another provider ran: its id has a prefix."""
    known = call_id.startswith(_PREFIX)
    id_ = call_id if known else f"{_PREFIX}{_ID_RULE.fit(call_id)}"
    return {"type": "server_tool_use", "id": id_, "name": name, "input": dict(arguments)}


def hosted_result(result: ToolResult, call: Block | None) -> Block | None:
    """Return the block of the result of *call*; None if the API cannot represent it."""
    native = result.provider_metadata.get(METADATA_KEY, {})
    if isinstance(native.get("type"), str):
        shown = {"tool_use_id": result.tool_call_id, "content": result.content}
        return {"type": native["type"], **shown, **native}
    if call is None:
        return None
    if call["name"] == "web_search":
        return search_result(call["id"], hosted_calls.found_pages(result), failed=result.is_error)
    if call["name"] == "code_execution":
        return _code_result(call["id"], result)
    return None


def search_result(
    call_id: str, pages: Iterable[Mapping[str, Any]], *, failed: bool = False
) -> Block:
    """Return the block of a search result: pages, each with its `url`."""
    if failed:
        fault = {"type": f"{SEARCH_RESULT}_error", "error_code": "unavailable"}
        return {"type": SEARCH_RESULT, "tool_use_id": call_id, "content": fault}
    content = [
        {
            "type": "web_search_result",
            "url": page["url"],
            "title": str_or_none(page.get("title")) or page["url"],
            "encrypted_content": "",
            "page_age": None,
        }
        for page in pages
    ]
    return {"type": SEARCH_RESULT, "tool_use_id": call_id, "content": content}


def _code_result(call_id: str, result: ToolResult) -> Block:
    text = hosted_calls.result_as_text(result)
    content = {
        "type": "code_execution_result",
        "stdout": "" if result.is_error else text,
        "stderr": text if result.is_error else "",
        "return_code": int(result.is_error),
        "content": [],
    }
    return {"type": _CODE_RESULT, "tool_use_id": call_id, "content": content}


class FoundPages:
    """The pages that a response is based on, and which of them its blocks have shown."""

    def __init__(self) -> None:
        self.searches = 0
        """How many searches were shown."""
        self._query = ""
        self._pages: dict[str, Mapping[str, Any]] = {}
        self._shown: set[str] = set()
        self._cited: set[str] = set()

    def add(self, url: str, title: str | None) -> None:
        """Add a source of the response."""
        self._pages[url] = {"url": url, "title": title}

    def add_citations(self, citations: Iterable[Citation], written: Iterable[Block]) -> None:
        """Add the pages that a text cites, and the citations that were *written* for them."""
        urls = {str(citation.get("url")) for citation in written}
        self._cited |= urls
        if self.searches:
            self._shown |= urls
        for citation in citations:
            if citation.url is not None and citation.url not in self._pages:
                self.add(citation.url, citation.title)

    def add_search(self, call: ToolCall) -> None:
        """Add a search that was shown."""
        self.searches += 1
        self._query = self._query or next(iter(hosted_calls.search_queries(call)), "")

    def add_result(self, result: ToolResult) -> None:
        """Add the pages of a result that was shown."""
        pages = (*hosted_calls.found_pages(result), object_or_empty(result.content))
        self._shown |= {str(page.get("url")) for page in pages}

    @property
    def _unshown(self) -> list[Mapping[str, Any]]:
        return [page for url, page in self._pages.items() if url not in self._shown]

    @property
    def uncited(self) -> list[str]:
        """The addresses of pages that neither a search nor a citation has shown."""
        urls = (str(page["url"]) for page in self._unshown)
        return [url for url in urls if url not in self._cited]

    def search(self, call_id: str, event: Finish) -> tuple[Block, Block] | None:
        """Return a search and its result, the pages not shown so far; None if there are none."""
        pages = self._unshown
        if not pages:
            return None
        query = self._query or next(iter(hosted_calls.grounding_queries(event)), "")
        call = server_call(call_id, "web_search", {"query": query})
        self.searches = self.searches or 1
        return call, search_result(call["id"], pages)


# -- read


def read_hosted(block: Block, names: Mapping[str, str]) -> ToolCallPart | ToolResultPart:
    """Return a call or a result, with its native form; *names* are the tools of earlier calls."""
    if is_hosted_call(block):
        rest = present(block, but=("id", "name", "input"))
        return ToolCallPart(
            str(block.get("id") or ""),
            str(block.get("name") or ""),
            object_or_empty(block.get("input")),
            provider_executed=True,
            provider_metadata={METADATA_KEY: rest},
        )
    content = block.get("content")
    call_id = str(block.get("tool_use_id") or "")
    rest = without(block, "tool_use_id", "content")
    failed = str(object_or_empty(content).get("type", "")).endswith("_error")
    return ToolResultPart(
        call_id,
        content,
        name=names.get(call_id),
        is_error=block.get("is_error") is True or failed,
        provider_executed=True,
        provider_metadata={METADATA_KEY: rest},
    )


def hosted_as_text(part: ToolResultPart) -> TextPart | None:
    """Return the result of a hosted tool as text, for an upstream that did not run it.

    None for what cannot be expressed as text.
    """
    content = part.content
    pages = hosted_calls.found_pages(part)
    if pages:
        lines = [f"- {page.get('title') or page['url']}: {page['url']}" for page in pages]
        return TextPart("\n".join(["Found on the web:", *lines, "", ""]))
    native = object_or_empty(content)
    printed = [str_or_none(native.get(name)) for name in ("stdout", "stderr")]
    texts = [text for text in printed if text] or [
        str(item["text"]) for item in objects(content) if str_or_none(item.get("text"))
    ]
    fetched = object_or_empty(object_or_empty(native.get("content")).get("source"))
    if not texts and fetched.get("type") == "text":
        texts = [text_or_json(fetched.get("data"))]
    if not texts:
        return None
    return TextPart("\n".join([f"{part.name or 'A tool'} returned:", *texts, "", ""]))
