"""Events as a Responses stream, case by case; the laws are in `test_round_trip`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from llmcore.fronts.policy import RegisteredTool, TranslationPolicy
from llmcore.schema.content import (
    Citation,
    ImagePart,
    ReasoningPart,
    TextPart,
    TokenLogprob,
    ToolCallPart,
)
from llmcore.schema.errors import (
    ContextLengthError,
    LLMError,
    NetworkError,
    QuotaExceededError,
    RateLimitError,
)
from llmcore.schema.events import (
    ErrorEvent,
    File,
    LLMEvent,
    ProviderEvent,
    Source,
    StepStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.usage import Usage
from llmcore.testing import recorded_events
from tests.fronts.openai_responses.responses_kit import (
    ASK,
    ENCRYPTED,
    continued,
    folded,
    opaque,
    translated,
)
from tests.support.events import call, stream, text, thought

PATCH_TOOL = {"type": "custom", "name": "apply_patch"}
SUMMARY = {"reasoning": {"summary": "auto"}}


def asking(*tools: dict[str, Any], **fields: Any) -> Any:
    """Return a request with these tools."""
    return translated({**ASK, "tools": list(tools), **fields})


# -- text


def test_text_is_one_message_in_the_order_of_the_documents() -> None:
    """Every event that the official stream has, in its place."""
    made = folded(stream(text("Hel", "lo")))

    assert made.types == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert made.output[0]["content"][0]["text"] == "Hello"
    assert made.response["usage"] is None
    assert made.response["model"] == "client-model"


def test_texts_in_a_row_are_parts_of_one_message() -> None:
    """Upstreams that cite cut their text into blocks."""
    made = folded(stream(text("A", id="1"), text("B", id="2")))

    assert [part["text"] for part in made.output[0]["content"]] == ["A", "B"]


def test_an_empty_response_is_complete() -> None:
    """Nothing was said: no item, no exception."""
    made = folded(stream())

    assert (made.output, made.response["status"]) == ([], "completed")


def test_citations_of_pages_and_files_become_annotations() -> None:
    """Pages and files; an upstream that names no stretch means the whole part."""
    cited = (Citation(url="https://a.example", title="A"), Citation(document_id="file_1"))
    made = folded(stream(text("Fact.", citations=cited)))

    assert made.output[0]["content"][0]["annotations"] == [
        {
            "type": "url_citation",
            "url": "https://a.example",
            "title": "A",
            "start_index": 0,
            "end_index": 5,
        },
        {"type": "file_citation", "file_id": "file_1", "filename": "file_1", "index": 0},
    ]
    assert len(made.of("output_text.annotation.added")) == 2


def test_sources_without_a_place_are_named() -> None:
    """Nothing is dropped silently."""
    made = folded(stream(text("x"), Source(id="s", url="https://b.example")))

    assert "source-dropped" in [one.code for one in made.fold.diagnostics]


def test_log_probabilities_only_if_asked_for() -> None:
    """With their bytes in the item, without in the deltas, as the documents have it."""
    token = TokenLogprob(token="é", logprob=-0.5, top=(TokenLogprob(token="e", logprob=-1.0),))
    events = stream(
        TextStart("t"), TextDelta("t", "é", (token,)), TextEnd("t", "é", logprobs=(token,))
    )
    plain, wanted = folded(events), folded(events, translated({**ASK, "top_logprobs": 1}))

    assert plain.of("output_text.delta")[0]["logprobs"] == []
    assert wanted.of("output_text.delta")[0]["logprobs"][0]["token"] == "é"
    assert wanted.output[0]["content"][0]["logprobs"][0]["bytes"] == [195, 169]


def test_a_refusal_is_a_part_of_its_own() -> None:
    """The response is complete if the model refused, and not if a filter stopped it."""
    made = folded(stream(text("No.", refusal=True)))
    stopped = folded(
        stream(text("No.", refusal=True), reason="content_filter", raw="content_filter")
    )
    refused = folded(stream(text("No.", refusal=True), raw="completed"))

    assert made.output[0]["content"] == [{"type": "refusal", "refusal": "No."}]
    assert made.response["status"] == refused.response["status"] == "completed"
    assert stopped.output[0]["content"] == made.output[0]["content"]
    assert stopped.response["incomplete_details"] == {"reason": "content_filter"}


# -- reasoning


def test_thinking_is_summary_if_one_is_asked_for_else_content() -> None:
    """Clients show the one, and those that ask for none read the other."""
    shown = folded(stream(thought("hm")), translated({**ASK, **SUMMARY}))
    raw = folded(stream(thought("hm")))

    assert shown.output[0]["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert "content" not in shown.output[0]
    assert raw.output[0]["content"] == [{"type": "reasoning_text", "text": "hm"}]


@pytest.mark.parametrize(("asked", "shown"), [({}, "summary"), (SUMMARY, "content")])
def test_a_policy_decides_where_thinking_is_shown_whatever_is_asked_for(
    asked: Any, shown: Any
) -> None:
    policy = TranslationPolicy(reasoning_text=shown)
    made = folded(stream(thought("hm")), translated({**ASK, **asked}), policy=policy)

    assert [part["text"] for part in made.output[0][shown]] == ["hm"]


def test_thinking_in_content_is_framed_as_parts() -> None:
    """Clients that add up deltas refuse a text of which they were told no part."""
    made = folded(stream(thought("h", "m")))

    assert made.types[3:8] == [
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
    ]
    assert made.of("content_part.added")[0]["part"] == {"type": "reasoning_text", "text": ""}


def test_state_is_sealed_only_where_it_is_asked_for() -> None:
    """The store keeps it in any case."""
    events = stream(thought("hm", signature="sig"))
    bare, sealed = folded(events), folded(events, translated({**ASK, **ENCRYPTED}))

    assert "encrypted_content" not in bare.output[0]
    assert next(iter(bare.fold.record("owner").items.values()))["encrypted_content"]
    assert sealed.output[0]["encrypted_content"]


def test_interleaved_thinking_comes_back_in_order() -> None:
    """Signatures, redacted data and an omitted text, each in its place."""
    translation = translated({**ASK, **ENCRYPTED})
    made = folded(
        stream(
            thought("one", signature="s1", id="1"),
            thought(encrypted="secret", id="2"),
            call("f", '{"a":1}', id="c1"),
            thought(signature="s3", id="3"),
            text("said", id="4"),
            call("f", "{}", id="c2", provider_metadata={"google": {"thoughtSignature": "x"}}),
        ),
        translation,
    )
    again = continued(made, "codex", translation=translation)

    assert again.messages[1:] == made.conversation.messages[1:]
    assert [part.signature for part in opaque(again.messages[1])] == ["s1", None, "s3"]


def test_call_signatures_survive_a_client_that_echoes_name_and_arguments_only() -> None:
    """Only the first of parallel calls carries one, and only it has it again."""
    translation = translated({**ASK, **ENCRYPTED})
    signed = {"google": {"thoughtSignature": "x"}}
    made = folded(
        stream(call("f", "{}", id="a", provider_metadata=signed), call("f", "{}", id="b")),
        translation,
    )
    again = continued(made, "ai-sdk", translation=translation)
    parts = again.messages[1].content

    assert made.output[-1]["type"] == "reasoning"
    assert [part.provider_metadata for part in parts] == [signed, {}]


def test_no_state_no_extra_item() -> None:
    """A plain upstream makes plain responses."""
    made = folded(stream(text("hi"), call("f", "{}")), translated({**ASK, **ENCRYPTED}))

    assert [item["type"] for item in made.output] == ["message", "function_call"]


# -- calls


def test_parallel_calls_that_interleave_are_shown_one_after_another() -> None:
    """The second waits, and its pieces come as one."""
    made = folded(
        stream(
            ToolInputStart("a", "f"),
            ToolInputStart("b", "g"),
            ToolInputDelta("b", '{"x"'),
            ToolInputDelta("a", '{"y"'),
            ToolInputDelta("b", ":1}"),
            ToolInputDelta("a", ":2}"),
            ToolInputEnd("a"),
            ToolInputEnd("b"),
        )
    )

    assert [(one["name"], one["arguments"]) for one in made.output] == [
        ("f", '{"y":2}'),
        ("g", '{"x":1}'),
    ]
    assert len(made.of("function_call_arguments.delta")) == 3


@pytest.mark.parametrize("written", ["", " "])
def test_no_arguments_are_an_empty_object(written: str) -> None:
    """Clients parse them as JSON."""
    made = folded(stream(call("f", written) if written else call("f")))

    assert made.output[0]["arguments"].strip() == "{}"


def test_a_call_that_was_cut_is_incomplete() -> None:
    """Half an object must not be run."""
    made = folded(stream(call("f", '{"a":'), reason="length"))

    assert made.output[0]["status"] == "incomplete"
    assert made.types[-1] == "incomplete"


@pytest.mark.parametrize(
    ("arguments", "input_", "status"),
    [
        ('{"input":"ls -l"}', "ls -l", "completed"),
        ('{"input":"ls -l"', "ls -l", "completed"),
        ('{"input":"ls -', "ls -", "incomplete"),
        ("ls -l", "ls -l", "completed"),
        ('{"patch":"ls -l"}', "ls -l", "completed"),
        ('"ls -l"', "ls -l", "completed"),
    ],
)
def test_a_freeform_call_is_incomplete_if_its_text_has_no_end(
    arguments: str, input_: str, status: str
) -> None:
    """The text itself is not JSON; the AI SDK refuses an item without a status."""
    made = folded(stream(call("apply_patch", arguments)), asking(PATCH_TOOL))

    begun = made.of("output_item.added")[0]["item"]
    assert (begun["type"], begun["status"]) == ("custom_tool_call", "in_progress")
    assert (made.output[0]["input"], made.output[0]["status"]) == (input_, status)


def test_long_call_ids_are_made_to_fit_and_stay() -> None:
    """The conversation knows the call by the id that the client has."""
    made = folded(stream(call("f", "{}", id="x" * 500)))

    assert len(made.output[0]["call_id"]) <= 64
    assert made.conversation.messages[-1].tool_calls[0].id == made.output[0]["call_id"]


def test_a_freeform_call_is_unwrapped_as_it_comes() -> None:
    """One-byte pieces, escapes included; the output's response finds its call."""
    pieces = list('{"input":"*** Begin\\n+\\u00e9"}')
    translation = asking(PATCH_TOOL, **ENCRYPTED)
    made = folded(stream(call("apply_patch", *pieces)), translation)
    output = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done"}
    again = continued(made, "codex", output, translation=translation, tools=[PATCH_TOOL])

    assert made.output[0]["type"] == "custom_tool_call"
    assert made.output[0]["input"] == "*** Begin\n+é"
    assert len(made.of("custom_tool_call_input.delta")) == len("*** Begin\n+é")
    assert again.messages[1].content == made.conversation.messages[1].content
    assert again.messages[2].content[0].tool_call_id == "call_1"  # type: ignore[union-attr]


def test_another_field_than_the_freeform_one_goes_back_as_the_model_wrote_it() -> None:
    """The client sees the text, the upstream its own words."""
    translation = asking(PATCH_TOOL, **ENCRYPTED)
    made = folded(stream(call("apply_patch", '{"patch":"*** Begin"}')), translation)
    again = continued(made, "codex", translation=translation, tools=[PATCH_TOOL])

    assert made.output[0]["input"] == "*** Begin"
    assert again.messages[1].tool_calls[0].arguments == {"patch": "*** Begin"}


def test_native_freeform_calls_pass_bare() -> None:
    """Where the upstream has such tools itself."""
    policy = TranslationPolicy(custom_tools="native")
    translation = translated({**ASK, "tools": [PATCH_TOOL]}, policy=policy)
    made = folded(stream(call("apply_patch", "*** ", "Begin", kind="custom")), translation)

    assert made.output[0]["input"] == "*** Begin"


@pytest.mark.parametrize(
    ("type_", "arguments", "field", "expected"),
    [
        (
            "apply_patch",
            '{"operation":{"type":"delete_file","path":"a"}}',
            "operation",
            {"type": "delete_file", "path": "a"},
        ),
        (
            "apply_patch",
            '{"type":"update_file","path":"a","diff":"@@"}',
            "operation",
            {"type": "update_file", "path": "a", "diff": "@@"},
        ),
        (
            "shell",
            '{"commands":["ls"],"timeout_ms":5}',
            "action",
            {"commands": ["ls"], "timeout_ms": 5},
        ),
        ("shell", '{"command":"ls"}', "action", {"commands": ["ls"]}),
        (
            "local_shell",
            '{"command":["ls"]}',
            "action",
            {"type": "exec", "command": ["ls"], "env": {}},
        ),
    ],
)
def test_built_in_tools_have_items_of_their_own(
    type_: str, arguments: str, field: str, expected: Any
) -> None:
    """The function's arguments become the item's fields, and the item the same call again."""
    translation = asking({"type": type_}, **ENCRYPTED)
    made = folded(stream(call(type_, arguments)), translation)
    again = continued(made, "codex", translation=translation, tools=[{"type": type_}])

    assert made.output[0]["type"] == f"{type_}_call"
    assert made.output[0][field] == expected
    assert again.messages[1].content == made.conversation.messages[1].content


@pytest.mark.parametrize(
    ("type_", "arguments"),
    [
        ("shell", '{"cmd":1}'),
        ("shell", '{"commands":[]}'),
        ("local_shell", '{"command":[1]}'),
        ("apply_patch", '{"operation":{"type":"rename_file","path":"a"}}'),
        ("apply_patch", '{"operation":{"type":"delete_file"}}'),
    ],
)
def test_arguments_that_fit_no_item_are_a_plain_call(type_: str, arguments: str) -> None:
    """The client answers that it does not know the call, and the model tries again."""
    made = folded(stream(call(type_, arguments)), asking({"type": type_}))

    assert made.output[0]["type"] == "function_call"
    assert "invalid-tool-arguments" in [one.code for one in made.fold.diagnostics]


def test_tool_search_and_registered_tools() -> None:
    """Client-run search, and a type of the application's own."""
    policy = TranslationPolicy(registered_tools=(RegisteredTool(type="wiki", description="W"),))
    search = {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}}
    translation = translated({**ASK, "tools": [search, {"type": "wiki"}]}, policy=policy)
    events = stream(call("tool_search", '{"query":"x"}', id="a"), call("wiki", "{}", id="b"))
    made = folded(events, translation, strict=False, policy=policy)

    assert made.output[0]["arguments"] == {"query": "x"}
    assert made.output[1]["type"] == "wiki_call"


# -- tools that the provider ran


def hosted(name: str, arguments: str, result: Any, **end: Any) -> list[LLMEvent]:
    """Return a call that the provider ran, with its result."""
    ran = ToolResult("h1", result, provider_executed=True)
    return [*call(name, arguments, id="h1", hosted=True, **end), ran]


def test_a_search_of_any_provider_is_a_web_search_call() -> None:
    """With its query and its pages; both parts come back from the client's echo."""
    translation = translated({**ASK, **ENCRYPTED})
    found = [{"url": "https://a.example", "title": "A"}]
    made = folded(stream(hosted("web_search", '{"query":"q"}', found), text("x")), translation)
    again = continued(made, "codex", translation=translation)

    sources = [{"type": "url", "url": "https://a.example"}]
    assert made.output[0]["action"] == {"type": "search", "query": "q", "sources": sources}
    assert made.of("web_search_call.completed")
    assert again.messages[1:] == made.conversation.messages[1:]


def test_the_search_that_gemini_states_at_its_end_is_a_web_search_call() -> None:
    """With all queries and sources; the state of what is before it comes after it."""
    translation = translated({**ASK, **ENCRYPTED})
    grounding = {"groundingMetadata": {"webSearchQueries": ["q", "r"]}}
    pages = [Source(id=name, url=f"https://{name}.example") for name in "aba"]
    made = folded(stream(pages, text("x"), provider_metadata={"google": grounding}), translation)
    again = continued(made, "openai-python", translation=translation)

    assert [item["type"] for item in made.output] == ["message", "web_search_call", "reasoning"]
    assert made.output[1]["action"] == {
        "type": "search",
        "query": "q",
        "queries": ["q", "r"],
        "sources": [{"type": "url", "url": f"https://{name}.example"} for name in "ab"],
    }
    assert made.fold.diagnostics == ()
    assert again.messages[1:] == made.conversation.messages[1:]
    assert again.diagnostics == ()


def test_a_search_that_gemini_calls_is_not_shown_again_for_its_queries() -> None:
    grounding = {"groundingMetadata": {"webSearchQueries": ["q"]}}
    searched = hosted("google_search_web", '{"queries":["q"]}', [])
    made = folded(stream(searched, text("x"), provider_metadata={"google": grounding}))

    assert [item["type"] for item in made.output] == ["web_search_call", "message"]


def test_code_and_other_hosted_tools() -> None:
    """Code becomes a code_interpreter_call, all else the call of an MCP server."""
    code = folded(stream(hosted("code_execution", '{"code":"1+1"}', "2")))
    other = folded(stream(hosted("web_fetch", '{"url":"u"}', "page")))

    assert code.output[0]["outputs"] == [{"type": "logs", "logs": "2"}]
    assert (other.output[0]["type"], other.output[0]["output"]) == ("mcp_call", "page")


@pytest.mark.parametrize(
    ("name", "end"), [("web_fetch", "mcp_call.failed"), ("web_search", "web_search_call.completed")]
)
def test_a_hosted_call_that_failed_ends_with_the_event_of_its_type(name: str, end: str) -> None:
    """Only calls of MCP servers have one for failures; the status of the item says it of all."""
    failed = ToolResult("h1", "no such page", provider_executed=True, is_error=True)
    made = folded(stream([*call(name, "{}", id="h1", hosted=True), failed]))
    ends = [one["type"] for one in made.events if one["type"].startswith("response.mcp_call.")]

    assert made.output[0]["status"] == "failed"
    assert made.of(end)
    assert "response.mcp_call.completed" not in ends


def test_native_items_pass_as_they_came() -> None:
    """An upstream that speaks the Responses API loses nothing."""
    native = {"type": "file_search_call", "id": "fs_1", "queries": ["q"], "status": "completed"}
    own = {"openai": {"item": native, "index": 0}}
    made = folded(stream(hosted("file_search", "{}", {}, provider_metadata=own)))

    assert made.output[0] == native


def test_native_calls_that_look_like_the_clients_own_come_back_once() -> None:
    """The state says who ran them."""
    translation = translated({**ASK, **ENCRYPTED})
    action = {"commands": ["ls"]}
    native = {"type": "shell_call", "id": "sh_1", "call_id": "h1", "action": action}
    own = {"openai": {"item": {**native, "status": "completed"}, "index": 0}}
    made = folded(stream(hosted("shell", "{}", {}, provider_metadata=own)), translation)
    again = continued(made, "codex", translation=translation)

    assert again.messages[1:] == made.conversation.messages[1:]


def test_text_after_a_hosted_call_does_not_wait_for_its_result() -> None:
    """A result that comes late is kept for the conversation."""
    late = ToolResult("h1", "late", provider_executed=True)
    events = stream(call("web_fetch", "{}", id="h1", hosted=True), text("now"), late)
    made = folded(events)

    assert [item["type"] for item in made.output][:2] == ["mcp_call", "message"]
    assert made.conversation.messages[-1].content[-1].content == "late"  # type: ignore[union-attr]


def test_a_text_that_only_holds_state_stays_after_a_call_without_a_result() -> None:
    """The conversation keeps the order in which the upstream said it."""
    state = {"acme": {"x": 1}}
    made = folded(
        stream(
            call("web_fetch", "{}", id="h1", hosted=True), text("", id="t", provider_metadata=state)
        )
    )

    kept = made.conversation.messages[-1].content
    assert [type(part) for part in kept] == [ToolCallPart, TextPart]


def test_a_drawn_picture_is_an_item_and_comes_back() -> None:
    """With the data that only its provider reads."""
    translation = translated({**ASK, **ENCRYPTED})
    drawn = File(
        id="f", media_type="image/png", data=b"png", provider_metadata={"google": {"s": 1}}
    )
    made = folded(stream(text("Look:"), drawn), translation)
    again = continued(made, "codex", translation=translation)

    assert made.output[1]["result"] == "cG5n"
    assert isinstance(again.messages[1].content[1], ImagePart)
    assert again.messages[1:] == made.conversation.messages[1:]


def test_a_picture_without_bytes_is_kept_and_not_shown() -> None:
    """A client could not draw it; the conversation stays what the upstream said."""
    made = folded(stream(text("Look:"), File(id="f", media_type="image/png", data=b"")))

    assert "image_generation_call" not in [item["type"] for item in made.output]
    assert [one.code for one in made.fold.diagnostics] == ["file-dropped"]
    assert made.conversation.messages[-1].content[-1] == ImagePart(data=b"", media_type="image/png")


def test_native_data_without_a_form_is_kept_and_not_shown() -> None:
    """It is sealed, and comes back."""
    translation = translated({**ASK, **ENCRYPTED})
    part = ProviderEvent("acme", {"x": 1}, replay=True)
    made = folded(stream(text("a"), part), translation)
    again = continued(made, "codex", translation=translation)

    assert again.messages[1:] == made.conversation.messages[1:]


# -- the end


@pytest.mark.parametrize(
    ("reason", "status", "why"),
    [
        ("stop", "completed", None),
        ("tool_calls", "completed", None),
        ("other", "completed", None),
        ("length", "incomplete", {"reason": "max_output_tokens"}),
        ("content_filter", "incomplete", {"reason": "content_filter"}),
        ("error", "failed", None),
    ],
)
def test_why_the_model_stopped(reason: str, status: str, why: Any) -> None:
    """Truncation is never taken for an end."""
    made = folded(stream(text("x"), reason=reason))

    assert made.types[-1] == status
    assert made.response["incomplete_details"] == why
    assert made.output[0]["status"] == ("incomplete" if status == "incomplete" else "completed")


def test_usage_includes_cached_and_reasoning_tokens() -> None:
    """With the cached and the reasoning tokens as parts."""
    usage = Usage.make(input_tokens=20, output_tokens=10, cache_read_tokens=8, reasoning_tokens=4)
    made = folded(stream(text("x"), usage=usage))

    assert made.response["usage"] == {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 30,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NetworkError("gone"), "server_error"),
        (RateLimitError("slow down"), "rate_limit_exceeded"),
        (ContextLengthError("too long"), "context_length_exceeded"),
        (QuotaExceededError("empty"), "insufficient_quota"),
    ],
)
def test_an_error_after_the_beginning_is_a_failed_response(error: LLMError, code: str) -> None:
    """An incomplete item is left out."""
    begun: list[LLMEvent] = [StreamStart(provider="acme", model="m"), StepStart(), TextStart("t")]
    made = folded([*begun, TextDelta("t", "half"), ErrorEvent(error)])

    assert made.response["error"]["code"] == code
    assert made.output == []
    assert made.fold.error is error


@pytest.mark.parametrize("is_begun", [True, False])
def test_a_failed_response_follows_an_error_that_sdks_raise(is_begun: bool) -> None:
    """OpenAI's SDKs raise for an event with `error`, and return `response.failed` as any other.

    Clients that wait for the first alone would keep half a text as the whole one.
    """
    begun = [StreamStart(provider="acme", model="m")] if is_begun else []
    made = folded([*begun, ErrorEvent(RateLimitError("slow down"))])
    told = {"code": "rate_limit_exceeded", "message": "slow down", "param": None}

    assert made.types == ["created", "in_progress", "error", "failed"]
    assert made.events[2] == {
        "type": "error",
        "sequence_number": 2,
        **told,
        "error": {"type": "rate_limit_exceeded", **told},
    }


def test_nothing_comes_after_the_end() -> None:
    """A second end is ignored."""
    made = folded(stream(text("x")))

    assert made.fold.close() == []
    assert not made.fold.feed(TextDelta("t", "more"))


def test_a_response_has_the_fields_that_sdks_of_other_servers_require() -> None:
    """The `openai` package has no name for the penalties, which OpenAI's server sends."""
    made = folded(stream(text("x")), translated({**ASK, "presence_penalty": 0.5}))

    stated = ("completed_at", "frequency_penalty", "presence_penalty")
    assert [made.response[name] for name in stated] == [None, 0.0, 0.5]


def test_the_response_keeps_where_it_came_from() -> None:
    """History repair must know whose signatures it reads."""
    made = folded(stream(thought("x", signature="s"), call("f", "{}")))
    message = made.conversation.messages[-1]

    assert message.origin is not None
    assert (message.origin.provider, message.origin.protocol) == ("acme", "openai-chat")
    assert [type(part) for part in message.content] == [ReasoningPart, ToolCallPart]


def test_an_event_costs_the_same_however_long_the_response_is() -> None:
    """Deltas are passed on and not kept: what an event holds does not grow."""
    deltas: list[LLMEvent] = [TextDelta("t", "x")] * 5000
    whole: list[LLMEvent] = [TextStart("t"), *deltas, TextEnd("t")]
    made = folded(stream(whole), strict=False)

    assert len(made.of("output_text.delta")) == 5000
    assert max(len(str(event)) for event in made.of("output_text.delta")) < 200


WRITTEN = {"ttl_12h_tokens": 3, "ttl_30m_tokens": 4}
FLAGGED = {
    "type": "moderation_result",
    "model": "omni-moderation",
    "flagged": False,
    "categories": {"hate": False},
    "category_scores": {"hate": 0.1},
    "category_applied_input_types": {"hate": ["text"]},
}
STATED: dict[str, Any] = {
    "tool_usage": {
        "image_gen": {
            "input_tokens": 0,
            "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
            "output_tokens": 0,
            "total_tokens": 0,
        },
        "web_search": {"num_requests": 2},
    },
    "moderation": {"input": FLAGGED, "output": FLAGGED},
    "prompt_cache_diagnostics": {"type": "cache_hit"},
    "access_programs": {"cyber": "standard"},
    "image": {"context_compression": "enabled"},
}
"""Facts beside a response, of https://developers.openai.com/api/reference/resources/responses."""


def of_responses_api(streaming: bool, **fields: Any) -> Sequence[LLMEvent]:
    """Return the events of an upstream of the Responses API."""
    details = {"cached_tokens": 1, "cache_write_tokens": 7, "cache_write_tokens_details": WRITTEN}
    usage = {
        "input_tokens": 20,
        "input_tokens_details": details,
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 30,
    }
    content = [{"type": "output_text", "text": "Hi", "annotations": []}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": content}
    response: dict[str, Any] = {"id": "r", "status": "completed", "model": "m"}
    response |= {"output": [message], "usage": usage, **fields}
    body: Any = response
    if streaming:
        events = [
            {"type": "response.created", "response": {"id": "r", "model": "m"}},
            {"type": "response.completed", "response": response},
        ]
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    headers = {"content-type": "text/event-stream" if streaming else "application/json"}
    data = (body if streaming else json.dumps(body)).encode()
    return recorded_events(
        "openai-responses", status=200, headers=headers, body=data, streaming=streaming
    )


@pytest.mark.parametrize("streaming", [False, True])
def test_facts_beside_a_response_of_the_same_api_are_kept(streaming: bool) -> None:
    response: Any = folded(of_responses_api(streaming, **STATED)).response

    assert {name: response[name] for name in STATED} == STATED
    written = response["usage"]["input_tokens_details"]
    assert (written["cache_write_tokens"], written["cache_write_tokens_details"]) == (7, WRITTEN)


def test_reasoning_that_the_upstream_removed_is_reported() -> None:
    """Its ids are the upstream's, so that they mean nothing to the client."""
    removal = {"id": "rs_9", "action": "removed", "type": "reasoning", "reason": "turn_boundary"}
    made = folded(of_responses_api(False, input_transformations=[removal, removal]))

    assert "input_transformations" not in made.response
    (note,) = made.fold.diagnostics
    assert (note.code, note.action) == ("opaque-data-dropped", "dropped")
    assert "turn_boundary" in note.message
