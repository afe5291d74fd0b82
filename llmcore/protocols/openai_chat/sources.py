"""OpenAI Chat Completions: reading citations, and the pages that a server found.

    {"delta": {"annotations": [{"type": "url_citation",
               "url_citation": {"url": "https://a.example", "title": "A", "start_index": 0}}]}}
    {"choices": [...], "search_results": [{"url": "https://a.example", "title": "A"}]}

Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat/object and
https://console.groq.com/docs/api-reference (`annotations`); those of the lists of pages are named
beside them (`names`).
"""

from typing import Any

from msgspec.structs import replace

from llmcore.protocols.openai_chat.names import PAGES_BESIDE_CHOICES, PAGES_IN_MESSAGES, PageLists
from llmcore.protocols.openai_chat.state import ChatState
from llmcore.protocols.persistent import PersistentList
from llmcore.protocols.response_parts import announce
from llmcore.schema.content import Citation
from llmcore.schema.events import LLMEvent, ProviderEvent
from llmcore.schema.json import NativeObject, int_or_none, object_or_empty, objects, str_or_none


def on_annotations(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: list[LLMEvent]
) -> ChatState:
    """Keep the citations of the text for its `TextEnd`, and announce their sources."""
    for annotation in objects(delta.get("annotations")):
        cited = _cited(annotation)
        url, document_id = str_or_none(cited.get("url")), str_or_none(cited.get("document_id"))
        if url is None and document_id is None:
            events.append(ProviderEvent(state.context.provider, {"annotation": annotation}))
            continue
        citation = Citation(
            url=url,
            title=str_or_none(cited.get("title")),
            cited_text=str_or_none(cited.get("content")),
            document_id=document_id,
            start_index=int_or_none(cited.get("start_index")),
            end_index=int_or_none(cited.get("end_index")),
        )
        state = replace(state, citations=PersistentList(citation, state.citations))
        state = announce_page(state, url, cited.get("title"), events)
    return state


def _cited(annotation: NativeObject) -> NativeObject:
    """Return the fields of a citation, which may stand without an object around them."""
    for name in ("url_citation", "document_citation"):
        if name in annotation:
            return object_or_empty(annotation[name])
    return annotation


def on_sources(state: ChatState, chunk: NativeObject, events: list[LLMEvent]) -> ChatState:
    """Announce the pages listed beside the choices."""
    return announce_pages(state, chunk, PAGES_BESIDE_CHOICES, events)


def on_pages(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: list[LLMEvent]
) -> ChatState:
    """Announce the pages listed in a message, whose other fields have no neutral form."""
    given = {name: delta[name] for name in PAGES_IN_MESSAGES if delta.get(name)}
    events.append(ProviderEvent(state.context.provider, {"delta": given}))
    return announce_pages(state, given, PAGES_IN_MESSAGES, events)


def announce_pages(
    state: ChatState, holder: NativeObject, lists: PageLists, events: list[LLMEvent]
) -> ChatState:
    """Emit the `Source` of each page in the *lists* of *holder*: an object or a URL."""
    for name, (path, url_field) in lists.items():
        found: Any = holder.get(name)
        for step in path:
            found = object_or_empty(found).get(step)
        for page in found if isinstance(found, list) else ():
            fields = page if isinstance(page, dict) else {url_field: page}
            state = announce_page(state, fields.get(url_field), fields.get("title"), events)
    return state


def announce_page(state: ChatState, url: Any, title: Any, events: list[LLMEvent]) -> ChatState:
    """Emit the `Source` of a page, once."""
    sources = announce(state.info.sources, url, events, url=url, title=title)
    if sources is state.info.sources:
        return state
    return replace(state, info=replace(state.info, sources=sources))
