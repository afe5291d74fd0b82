"""OpenAI Chat Completions: calls that the provider ran itself, citations, pages it found, media.

Groq lists them, each once when it starts and again with its output:

    {"delta": {"executed_tools": [{"index": 0, "type": "search", "arguments": "{}", "output": ""}]}}

Mistral's response is then several messages, of which `index` is the number. A body that was not
streamed has all of them in the choice's `messages`. A call without a result is the caller's to run:

    {"delta": {"index": 0, "role": "assistant", "tool_calls": [{"id": "a1", "function": {...}}]}}
    {"delta": {"index": 1, "role": "tool", "tool_call_id": "a1", "content": "Found."}}
    {"delta": {"index": 2, "role": "assistant", "content": "Done."}}

Sources, read November 2026: https://console.groq.com/docs/agentic-tooling, the `mistralai` package,
3.7.0 (`client/models/deltamessage` and `chatcompletionchoice`), and
https://docs.mistral.ai/cookbooks/mistral-connectors-05-connectors-in-completions.

Citations, and lists of pages:

    {"delta": {"annotations": [{"type": "url_citation",
               "url_citation": {"url": "https://a.example", "title": "A", "start_index": 0}}]}}
    {"choices": [...], "search_results": [{"url": "https://a.example", "title": "A"}]}

Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat/object and
https://console.groq.com/docs/api-reference (`annotations`); those of the lists of pages are named
beside them (`names`).

Media (`images`: https://openrouter.ai/docs/features/multimodal/image-generation):

    {"delta": {"audio": {"id": "audio_1", "data": "UklGRg=="}}}
    {"delta": {"images": [{"type": "image_url", "image_url": {"url": "data:image/png;..."}}]}}
"""

from typing import Any, Final

from msgspec.structs import replace

from llmcore.protocols.media import decode_pieces
from llmcore.protocols.openai_chat.calls import on_tool_calls
from llmcore.protocols.openai_chat.names import (
    METADATA_KEY,
    PAGES_IN_MESSAGES,
    PAGES_OF_TOOLS,
    PageLists,
)
from llmcore.protocols.openai_chat.state import ChatState, SeveralMessages, close_segment
from llmcore.protocols.response_parts import Events, announce
from llmcore.schema.content import Citation
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import File, ProviderEvent, ToolCall, ToolResult
from llmcore.schema.json import (
    JsonObject,
    JsonValue,
    NativeObject,
    json_or_text,
    present,
    text_or_json_or_empty,
)
from llmcore.schema.native_json import (
    int_or_none,
    object_or_empty,
    objects,
    objects_or_one,
    str_or_empty,
    str_or_none,
)
from llmcore.schema.persistent import PersistentList, to_list, with_entry, without_entry

# -- Groq


def on_executed_tools(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: Events
) -> ChatState:
    """Emit the tools in *delta* that the provider ran, and the pages they found.

    A tool may come twice: when it starts, and again with its output.
    """
    for number, tool in enumerate(objects(delta.get("executed_tools"))):
        state = close_segment(state, events)
        index = int_or_none(tool.get("index"))
        id_ = f"executed_{number if index is None else index}"
        name = str_or_none(tool.get("name")) or str_or_none(tool.get("type")) or "tool"
        if id_ not in state.calls.executed:
            given: JsonValue = tool.get("arguments") or {}
            arguments = json_or_text(given) if isinstance(given, str) else given
            events.append(ToolCall(id_, name, arguments, provider_executed=True))
            executed = with_entry(state.calls.executed, id_, None)
            state = replace(state, calls=replace(state.calls, executed=executed))
        if tool.get("output") is not None:
            events.append(
                ToolResult(
                    id_,
                    tool["output"],
                    name=name,
                    provider_executed=True,
                    provider_metadata={METADATA_KEY: {"executed_tool": tool}},
                )
            )
        elif any(_holds_results(tool.get(name)) for name in _RESULTS):
            events.append(ProviderEvent(state.context.provider, {"executed_tool": tool}))
        state = announce_pages(state, tool, PAGES_OF_TOOLS, events)
    return state


_RESULTS: Final = ("search_results", "browser_results", "code_results")
"""Fields with what a tool found or made, which may come without its `output`."""


def _holds_results(results: object) -> bool:
    """Return whether *results*, a list or an object of lists, has more than empty lists."""
    return any(results.values()) if isinstance(results, dict) else bool(results)


# -- Mistral


def is_of_several(delta: NativeObject) -> bool:
    """Return whether *delta* belongs to one of several messages."""
    return type(delta.get("index")) is int or delta.get("role") == "tool"


def on_several(
    state: ChatState, delta: NativeObject, events: Events
) -> tuple[ChatState, NativeObject]:
    """Return the state after *delta*, and those of its fields that are read like any others.

    Calls are held back until their results come, or the response ends.
    """
    messages = state.messages or SeveralMessages()
    if _begins(messages, delta):
        state = end_message(state, events)
        messages = replace(
            state.messages or messages,
            index=int_or_none(delta.get("index")),
            role=str_or_none(delta.get("role")) or "assistant",
            call_id=str_or_none(delta.get("tool_call_id")),
        )
    rest = {name: value for name, value in delta.items() if name not in _OF_SEVERAL}
    if messages.role == "tool":
        state = close_segment(state, events)
        result = PersistentList(rest.pop("content", None), messages.result)
        return replace(state, messages=replace(messages, result=result)), rest
    for native in objects_or_one(rest.pop("tool_calls", None)):
        messages = _hold(messages, native)
    return replace(state, messages=messages), rest


def _hold(messages: SeveralMessages, native: NativeObject) -> SeveralMessages:
    """Return *messages* with one more fragment of a call."""
    number, numbers = messages.fragments, messages.numbers
    call_id = str_or_none(native.get("id"))
    if call_id is not None:
        numbers = with_entry(numbers, call_id, PersistentList(number, numbers.get(call_id)))
    held = with_entry(messages.held, number, native)
    return replace(messages, held=held, numbers=numbers, fragments=number + 1)


def _begins(messages: SeveralMessages, delta: NativeObject) -> bool:
    """Return whether *delta* begins another message than the open one."""
    role, call_id = delta.get("role"), delta.get("tool_call_id")
    same_role = role is None or role == messages.role
    same_call = call_id is None or call_id == messages.call_id
    return not (same_role and same_call and delta.get("index") == messages.index)


_OF_SEVERAL = frozenset({"index", "role", "tool_call_id"})


def end_message(state: ChatState, events: Events) -> ChatState:
    """Emit the call and its result, if the open message is a result."""
    messages = state.messages
    if messages is None or messages.result is None:
        return state
    content = _content(to_list(messages.result))
    messages, own = _released(replace(messages, result=None))
    state = replace(close_segment(state, events), messages=messages)
    calls = state.calls
    known = messages.call_id in calls.calls or messages.call_id in calls.executed
    if messages.call_id is None or known or not own:
        message = {"role": "tool", "tool_call_id": messages.call_id, "content": content}
        events.append(ProviderEvent(state.context.provider, {"message": message}))
        return state
    functions = [object_or_empty(native.get("function")) for native in own]
    name = next(filter(None, (str_or_none(function.get("name")) for function in functions)), "tool")
    arguments = "".join(text_or_json_or_empty(function.get("arguments")) for function in functions)
    call = ToolCall(messages.call_id, name, json_or_text(arguments or "{}"), provider_executed=True)
    events += [call, ToolResult(call.id, content, name=name, provider_executed=True)]
    return replace(state, calls=replace(calls, executed=with_entry(calls.executed, call.id, None)))


def _released(messages: SeveralMessages) -> tuple[SeveralMessages, list[NativeObject]]:
    """Return *messages* without the fragments of the call that its result answers, and these."""
    call_id = messages.call_id
    if call_id is None or call_id not in messages.numbers:
        return messages, []
    fragments, released = messages.held, []
    for number in to_list(messages.numbers[call_id]):
        released.append(fragments[number])
        fragments = without_entry(fragments, number)
    numbers = without_entry(messages.numbers, call_id)
    return replace(messages, held=fragments, numbers=numbers), released


def _content(pieces: list[JsonValue]) -> JsonValue:
    """Return the content of a message from its pieces: text, or a list of parts."""
    if all(piece is None or isinstance(piece, str) for piece in pieces):
        return "".join(piece for piece in pieces if isinstance(piece, str))
    parts: list[JsonValue] = []
    for piece in pieces:
        text = [{"type": "text", "text": piece}] if isinstance(piece, str) else []
        parts += piece if isinstance(piece, list) else text
    return parts


def end_several(state: ChatState, events: Events) -> ChatState:
    """Emit the last result, and begin the calls that have none: they are the caller's to run."""
    if state.messages is None:
        return state
    state = end_message(state, events)
    held = list(state.messages.held.values()) if state.messages is not None else []
    state = replace(state, messages=None)
    return on_tool_calls(state, {"tool_calls": held}, {}, events) if held else state


# -- citations, and the pages that a server found


def on_annotations(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: Events
) -> ChatState:
    """Keep the citations of the text for its `TextEnd`, and announce their sources."""
    for annotation in objects(delta.get("annotations")):
        cited = _cited(annotation)
        url = str_or_none(cited.get("url"))
        document_id = str_or_none(cited.get("document_id")) or str_or_none(cited.get("file_id"))
        if url is None and document_id is None:
            events.append(ProviderEvent(state.context.provider, {"annotation": annotation}))
            continue
        citation = Citation(
            url=url,
            title=str_or_none(cited.get("title")),
            cited_text=str_or_none(cited.get("content")) or str_or_none(cited.get("quote")),
            document_id=document_id,
            start_index=int_or_none(cited.get("start_index")),
            end_index=int_or_none(cited.get("end_index")),
        )
        state = replace(state, citations=PersistentList(citation, state.citations))
        state = announce_page(state, url, cited.get("title"), events)
    return state


NO_PLACES: Final = Diagnostic(
    "citation-place-dropped",
    "choices[0].message.annotations",
    action="changed",
    message="a call or thinking is between the texts, and positions are those in all of them",
)
"""The report of citations whose texts are not the first one."""


def _cited(annotation: NativeObject) -> NativeObject:
    """Return the fields of a citation, which may be without an object around them."""
    for name in ("url_citation", "document_citation", "file_annotation"):
        if name in annotation:
            return object_or_empty(annotation[name])
    return annotation


def on_pages(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: Events
) -> ChatState:
    """Announce the pages listed in a message, whose other fields have no neutral form."""
    given = {name: delta[name] for name in PAGES_IN_MESSAGES if delta.get(name)}
    events.append(ProviderEvent(state.context.provider, {"delta": given}))
    return announce_pages(state, given, PAGES_IN_MESSAGES, events)


def announce_pages(
    state: ChatState, holder: NativeObject, lists: PageLists, events: Events
) -> ChatState:
    """Emit the `Source` of each page in the *lists* of *holder*: an object or a URL."""
    if holder.keys().isdisjoint(lists):
        return state
    for name, (path, url_field) in lists.items():
        pages: Any = holder.get(name)
        for step in path:
            pages = object_or_empty(pages).get(step)
        for page in pages if isinstance(pages, list) else objects_or_one(pages):
            fields = page if isinstance(page, dict) else {url_field: page}
            state = announce_page(state, fields.get(url_field), fields.get("title"), events)
    return state


def announce_page(state: ChatState, url: Any, title: Any, events: Events) -> ChatState:
    """Emit the `Source` of a page, once."""
    sources = announce(state.info.sources, url, events, url=url, title=title)
    if sources is state.info.sources:
        return state
    return replace(state, info=replace(state.info, sources=sources))


# -- media

_AUDIO_TYPES: Final = {"mp3": "audio/mpeg", "pcm16": "audio/pcm"}


def audio_type(options: JsonObject) -> str:
    """Return the MIME type of the audio that the provider *options* of a request ask for."""
    form = str_or_none(object_or_empty(options.get("audio")).get("format")) or "wav"
    return _AUDIO_TYPES.get(form, f"audio/{form}")


def on_media(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: Events
) -> ChatState:
    """Keep pieces of audio, and emit whole images."""
    audio = delta.get("audio")
    if isinstance(audio, dict) and any(audio.values()):  # Snowflake's is always there
        state = replace(state, buffered=PersistentList(audio, state.buffered))
    for image in objects(delta.get("images")):
        state = on_image(state, image, events)
    return state


def on_image(state: ChatState, image: NativeObject, events: Events) -> ChatState:
    """Emit an image, whose `image_url` is an object or, with Mistral, a URL."""
    given = image.get("image_url")
    url = str_or_none(given) or str_or_none(object_or_empty(given).get("url"))
    if url is None:
        events.append(ProviderEvent(state.context.provider, {"image": image}))
        return state
    media_type = url[5:].partition(";")[0] if url.startswith("data:") else "image/png"
    events.append(File(id=f"file_{state.segments}", url=url, media_type=media_type))
    return replace(state, segments=state.segments + 1)


def audio_is_complete(state: ChatState) -> bool:
    """Return whether audio came to its end, for streams without a finish reason.

    Source: OpenAI's JavaScript SDK 7.57.0, `ChatCompletionStream`: such a stream may end with
    `{"audio": {"expires_at": ...}}` and without a finish reason.
    """
    last = None if state.buffered is None else state.buffered.value
    if state.mode or not isinstance(last, dict) or last.keys() != {"expires_at"}:
        return False
    pieces = [piece for piece in to_list(state.buffered) if isinstance(piece, dict)]
    return all(any(piece.get(name) for piece in pieces) for name in ("id", "data", "transcript"))


def flush_audio(state: ChatState, events: Events) -> None:
    """Emit the whole audio that came in pieces."""
    if state.buffered is None:
        return
    pieces = [piece for piece in to_list(state.buffered) if isinstance(piece, dict)]
    if not pieces:
        return
    id_ = next((audio_id for piece in pieces if (audio_id := str_or_none(piece.get("id")))), None)
    expires = next((p["expires_at"] for p in pieces if p.get("expires_at") is not None), None)
    data = decode_pieces(str_or_empty(piece.get("data")) for piece in pieces)
    words = "".join(str_or_empty(piece.get("transcript")) for piece in pieces)
    known = {"audio_id": id_, "expires_at": expires}
    metadata = present(known)
    events.append(
        File(
            id=id_ or f"file_{state.segments}",
            media_type=state.context.audio_type,
            data=data or None,
            file_id=None if data else id_,
            transcript=words or None,
            provider_metadata={METADATA_KEY: metadata} if metadata else {},
        )
    )
