"""Messages of a request: what they are read as, and the state that comes back with them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from attrs import evolve

from llmcore.fronts.opaque_state import KeptState, call_key
from llmcore.fronts.openai_chat.kept_state import with_kept_state
from llmcore.fronts.policy import TranslationPolicy
from llmcore.schema.content import (
    AudioPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import ProviderEvent
from llmcore.schema.messages import Message
from tests.fronts.openai_chat.chat_kit import (
    PROMPT,
    SEALER,
    Written,
    codes,
    echoed,
    messages_of,
    read,
    refused,
    sdk_streamed,
    upstream_of,
)
from tests.support.events import call, stream, text, thought

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{"path": "a"}'},
}


def said(text: str) -> dict[str, Any]:
    """Return a part of text."""
    return {"type": "text", "text": text}


PNG = "data:image/png;base64,iVBORw0KGgo="


PDF = "data:application/pdf;base64,JVBERg=="


# -- roles


def test_the_first_system_message_is_the_instructions_and_later_ones_stay_in_place() -> None:
    """Hoisting a message would change the beginning of every prompt."""
    body = {
        "messages": [
            {"role": "system", "content": [said("a"), said("b")]},
            PROMPT,
            {"role": "system", "content": "later"},
            {"role": "developer", "content": "and this"},
        ]
    }
    made = read(body).request

    assert [part.text for part in made.system] == ["a", "b"]
    assert [(one.role, one.text) for one in made.messages] == [
        ("user", "Hello"),
        ("system", "later"),
        ("developer", "and this"),
    ]


@pytest.mark.parametrize("content", [None, "", []])
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_a_message_without_content_has_no_parts(role: str, content: Any) -> None:
    """Strict upstreams refuse empty texts; the protocols decide what stands for them."""
    made = read({"messages": [PROMPT, {"role": role, "content": content}]}).request

    assert made.messages[1].content == ()


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("no object", "messages[0]"),
        ({"role": "narrator", "content": "x"}, "messages[0].role"),
        ({"role": "user", "content": 7}, "messages[0].content"),
        ({"role": "user", "content": [{"type": "smell"}]}, "messages[0].content[0].type"),
        ({"role": "user", "content": [{"type": "text"}]}, "messages[0].content[0].text"),
        ({"role": "tool", "content": "x"}, "messages[0].tool_call_id"),
        (
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": PNG, "detail": "x"}}],
            },
            "messages[0].content[0].image_url.detail",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {}}]},
            "messages[0].tool_calls[0].function.name",
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": "/etc/passwd"}]},
            "messages[0].content[0].image_url.url",
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_data": "file:///etc/x"}}]},
            "messages[0].content[0].file.file_data",
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "file_1"}}]},
            "messages[0].content[0]",
        ),
    ],
)
def test_an_invalid_message_is_refused_at_its_place(message: Any, param: str) -> None:
    """400, with the field that is at fault; paths of this machine are never read."""
    error = refused({"messages": [message]})

    assert (error.status, error.param) == (400, param)


@pytest.mark.parametrize("messages", [None, [], "Hello"])
def test_a_request_without_messages_is_refused(messages: Any) -> None:
    """Before anything is sent."""
    assert refused({"messages": messages}).param == "messages"


def test_more_messages_than_the_policy_allows_are_refused() -> None:
    """With both numbers."""
    policy = TranslationPolicy(max_items=2)
    error = refused({"messages": [PROMPT] * 3}, policy=policy)

    assert "3 entries; at most 2" in error.message
    assert read({"messages": [PROMPT] * 2}, policy=policy).request.messages


# -- content


def test_what_a_response_held_besides_text_is_read() -> None:
    """Refusals as parts or as a field, and Mistral's thinking in both of its forms."""
    words = {"type": "thinking", "thinking": [{"type": "text", "text": "H"}, {"text": "m."}]}
    content = [words, {"type": "thinking", "thinking": "Oh."}, {"type": "refusal", "refusal": "No"}]
    parts, field = messages_of(
        {"role": "assistant", "content": content},
        {"role": "assistant", "content": None, "refusal": "Never"},
    )

    assert parts.content == (ReasoningPart("Hm."), ReasoningPart("Oh."), RefusalPart("No"))
    assert field.content == (RefusalPart("Never"),)


def test_extra_content_of_a_message_goes_to_servers_of_the_same_api_alone() -> None:
    """It is the provider's own; elsewhere its loss is reported."""
    native = {"role": "assistant", "content": "x", "extra_content": {"google": {"a": 1}}}
    (same,) = read({"messages": [native]}, protocol_id="openai-chat").request.messages
    made = read({"messages": [native]})

    assert [part.data for part in same.content if isinstance(part, ProviderPart)] == [
        {"extra_content": {"google": {"a": 1}}}
    ]
    assert made.request.messages[0].content == (TextPart("x"),)
    assert codes(made) == [("opaque-data-dropped", "messages[0].extra_content")]


def test_media_of_users_are_read_as_parts() -> None:
    """By URL, as data, with what the client says of them."""
    content = [
        {"type": "text", "text": "What?"},
        {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
        {"type": "image_url", "image_url": "https://a.example/x.png"},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
        {"type": "file", "file": {"filename": "b.pdf", "file_data": "JVBERg=="}},
        {"type": "video_url", "video_url": {"url": "https://a.example/x"}},
    ]
    (message,) = messages_of({"role": "user", "content": content})
    parts: Any = message.content

    assert parts[1] == ImagePart(url=PNG, detail="low")
    assert parts[2] == ImagePart(url="https://a.example/x.png")
    assert (parts[3].data, parts[3].media_type) == (b"RIFF", "audio/wav")
    assert (parts[4].name, parts[5].data) == ("a.pdf", b"%PDF")
    assert parts[6] == DocumentPart(url="https://a.example/x", media_type="video/mp4")


@pytest.mark.parametrize(
    ("native", "elsewhere"),
    [
        (
            {"type": "document_url", "document_url": "https://a.example/x.pdf"},
            DocumentPart(url="https://a.example/x.pdf"),
        ),
        (
            {"type": "file", "file": {"file_data": "https://a.example/x.pdf", "filename": "x"}},
            DocumentPart(url="https://a.example/x.pdf", name="x"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "data:;base64,aGk=", "format": "mp3"}},
            AudioPart(url="data:;base64,aGk=", media_type="audio/mpeg"),
        ),
        ({"type": "input_video", "input_video": {"data": "aGk="}}, None),
    ],
    ids=["document_url", "a file by address", "audio as a data URL", "of the future"],
)
def test_parts_of_imitators_go_up_unread_to_servers_of_the_same_api(
    native: dict[str, Any], elsewhere: Any
) -> None:
    """Fields that OpenAI's API lacks are between the client and its vendor."""
    asked = {"role": "user", "content": [native]}

    (same,) = messages_of(asked, protocol_id="openai-chat")
    assert same.content == (ProviderPart("openai", native),)
    if elsewhere is None:
        assert refused({"messages": [asked]}).param == "messages[0].content[0].type"
    else:
        (other,) = messages_of(asked)
        assert other.content == (elsewhere,)


def test_sounds_and_files_in_the_form_of_mistral_are_read() -> None:
    content = [
        {"type": "input_audio", "input_audio": "UklGRg=="},
        {"type": "input_audio", "input_audio": "https://a.example/x.mp3"},
        {"type": "file", "file_id": "f-1"},
    ]
    (message,) = messages_of({"role": "user", "content": content}, protocol_id="openai-chat")
    parts: Any = message.content

    assert [part.data for part in parts[:1]] == [b"RIFF"]
    assert [part.url for part in parts[1:2]] == ["https://a.example/x.mp3"]
    assert parts[2].file_id == "f-1"


def test_a_file_in_the_form_of_responses_is_a_file() -> None:
    """As texts and images in that form are."""
    (message,) = messages_of(
        {"role": "user", "content": [{"type": "input_file", "file_data": PDF, "filename": "a.pdf"}]}
    )

    assert message.content == (DocumentPart(url=PDF, name="a.pdf"),)


@pytest.mark.parametrize(
    ("mark", "ttl", "mode"),
    [
        ({"cache_control": {"type": "ephemeral"}}, "5m", "manual"),
        ({"cache_control": {"type": "ephemeral", "ttl": "1h"}}, "1h", "manual"),
        ({"prompt_cache_breakpoint": {"mode": "explicit"}}, "5m", "auto"),
    ],
)
def test_marks_of_cached_prefixes_are_kept_on_their_part(
    mark: dict[str, Any], ttl: str, mode: str
) -> None:
    """Clients send Anthropic's form inside Chat's parts, which is all that is to be cached.

    OpenAI's marks stand beside the one that its API places itself.
    """
    part = {"type": "text", "text": "long", **mark}
    made = read({"messages": [{"role": "user", "content": [part]}]}).request

    assert cache_ttl(made.messages[0].content[0]) == ttl
    assert made.cache.mode == mode
    assert read({}).request.cache.mode == "auto"


# -- calls and results


def test_a_call_and_its_result_are_tied_and_named() -> None:
    """Some upstreams want the tool's name with the result."""
    result = {"role": "tool", "tool_call_id": "call_1", "content": "import os"}
    answer, tool = messages_of({"role": "assistant", "content": None, "tool_calls": [CALL]}, result)

    assert answer.content == (ToolCallPart("call_1", "read_file", {"path": "a"}),)
    assert tool.content == (ToolResultPart("call_1", "import os", name="read_file"),)


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [
        ("", {}),
        ("{}", {}),
        (None, {}),
        ({"a": 1}, {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": ', '{"a": '),
    ],
)
def test_arguments_of_earlier_calls_are_read_however_they_were_written(
    arguments: Any, read_as: Any
) -> None:
    """Empty, as an object, encoded twice, cut off."""
    call_ = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    (message,) = messages_of({"role": "assistant", "tool_calls": [call_]})

    assert message.tool_calls[0].arguments == read_as


@pytest.mark.parametrize("call_id", [17, None, ""])
def test_ids_that_are_not_texts_are_read_as_ids(call_id: Any) -> None:
    """Some servers number their calls, and their clients repeat that."""
    call_ = {"id": call_id, "function": {"name": "f", "arguments": "{}"}}
    (message,) = messages_of({"role": "assistant", "tool_calls": [call_]})

    assert message.tool_calls[0].id in ("17", "call_0_0")


def test_pictures_in_results_are_taken_though_openai_has_none_there() -> None:
    """Each upstream gets them in its own way."""
    result = {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": [said("see"), {"type": "image_url", "image_url": {"url": PNG}}],
    }
    _, tool = messages_of({"role": "assistant", "tool_calls": [CALL]}, result)
    (part,) = tool.content

    assert isinstance(part, ToolResultPart)
    assert part.content == (TextPart("see"), ImagePart(url=PNG))


def test_functions_of_the_api_before_tools_are_read_as_calls_and_results() -> None:
    """They have no ids: a result responses the last call of its name."""
    answer, tool = messages_of(
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    )

    assert tool.content == (ToolResultPart(answer.tool_calls[0].id, "1", name="f"),)


# -- thinking of others


@pytest.mark.parametrize(
    "carrier",
    [
        {"reasoning_content": "Hm."},
        {"reasoning": "Hm."},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "Hm.", "index": 0}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]},
        {"reasoning_content": "Hm.", "reasoning": "Hm."},
    ],
)
def test_thinking_in_every_spelling_is_read_once(carrier: dict[str, Any]) -> None:
    """Some servers refuse turns with calls whose thinking is not sent back."""
    (message,) = messages_of({"role": "assistant", "content": "x", **carrier})

    assert message.content == (ReasoningPart("Hm."), TextPart("x"))


@pytest.mark.parametrize(
    "carrier",
    [
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "signature": "sig"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}]},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "xyz"}]},
    ],
)
def test_a_proof_that_is_not_ours_is_dropped_for_another_api(carrier: dict[str, Any]) -> None:
    """Never an unsigned or a foreign block to a vendor; the loss is reported."""
    made = read({"messages": [PROMPT, {"role": "assistant", "content": "x", **carrier}]})
    parts = made.request.messages[1].content

    assert all(getattr(part, "signature", None) is None for part in parts)
    assert codes(made) == [("opaque-data-dropped", "messages[1].reasoning_details")]


def test_a_proof_that_is_not_ours_is_kept_for_a_server_of_the_same_api() -> None:
    """The conversation began there."""
    details: Any = [{"type": "reasoning.text", "text": "Hm.", "signature": "sig", "index": 0}]
    native = {"role": "assistant", "content": "x", "reasoning_details": details}
    (message,) = messages_of(native, protocol_id="openai-chat")

    assert message.content[0] == ReasoningPart(
        "Hm.", signature="sig", provider_metadata={"openai": {"reasoning_details": details}}
    )


def test_googles_signature_of_a_call_is_kept_for_the_same_api_and_else_dropped() -> None:
    """Its layer for OpenAI clients keeps it beside the call."""
    extra = {"google": {"thought_signature": "c2ln"}}
    native = {"role": "assistant", "tool_calls": [{**CALL, "extra_content": extra}]}

    (same,) = messages_of(native, protocol_id="openai-chat")
    assert same.tool_calls[0].provider_metadata == {"openai": {"extra_content": extra}}
    made = read({"messages": [native]})
    assert made.request.messages[0].tool_calls[0].provider_metadata == {}
    assert codes(made) == [("opaque-data-dropped", "messages[0].tool_calls[0].extra_content")]


# -- our own state


def answer() -> Written:
    """Return a response with all that a client cannot see, in an order that Chat cannot say."""
    hosted = ProviderEvent("anthropic", {"type": "server_tool_use", "id": "s"}, replay=True)
    return Written(
        stream(
            thought("Need two files.", signature="SIG", id="r1"),
            text("Reading.", id="t1"),
            call("read_file", '{"path":"a"}', id="c1"),
            thought("", encrypted="ENC", id="r2"),
            hosted,
            text(" More.", id="t2"),
            call("read_file", '{"path":"b"}', id="c2", provider_metadata={"google": {"sig": "T"}}),
            reason="tool_calls",
            protocol="anthropic-messages",
        )
    )


KINDS = [
    "ReasoningPart", "TextPart", "ToolCallPart", "ReasoningPart", "ProviderPart", "TextPart",
    "ToolCallPart",
]  # fmt: skip


def kinds(message: Message) -> list[str]:
    """Return the kinds of a message's parts, in order."""
    return [type(part).__name__ for part in message.content]


def test_a_response_comes_back_with_its_state_at_each_place() -> None:
    """Signatures, encrypted thinking, native parts, and the texts that Chat joins."""
    message = echoed(answer())
    parts: Any = message.content

    assert kinds(message) == KINDS
    assert parts[0].signature == "SIG"
    assert parts[3].encrypted == "ENC"
    assert [part.text for part in parts if isinstance(part, TextPart)] == ["Reading.", " More."]
    assert parts[6].provider_metadata == {"google": {"sig": "T"}}
    assert message.origin is not None
    assert message.origin.protocol == "anthropic-messages"


def test_a_message_that_a_client_adds_up_from_the_stream_comes_back_alike() -> None:
    """The message that the SDK's accumulator makes of the deltas."""
    made = answer()
    message = sdk_streamed(made)["choices"][0]["message"]

    assert messages_of(json.loads(json.dumps(message))) == (echoed(made),)


def test_the_state_alone_brings_thinking_back() -> None:
    """Clients that keep `reasoning_details` and not the text of the thinking."""
    message = echoed(answer(), lambda m: {k: v for k, v in m.items() if k != "reasoning_content"})

    assert message == echoed(answer())


@pytest.mark.parametrize(
    ("annotations", "urls"),
    [
        ([], []),
        (
            [{"type": "url_citation", "url": "https://a.example", "title": "A"}],
            ["https://a.example"],
        ),
        (
            [{"type": "url_citation", "url_citation": {"url": "https://b.example"}}],
            ["https://b.example"],
        ),
    ],
)
def test_annotations_of_a_part_are_its_citations(annotations: Any, urls: list[str]) -> None:
    """OpenAI's Agents SDK sends parts in the form of the Responses API, where texts have them."""
    part = {"type": "text", "text": "Hello", "annotations": annotations}
    made = read(
        {"messages": [{"role": "assistant", "content": [part]}, {"role": "user", "content": "?"}]}
    )
    said: Any = made.request.messages[0].content[0]

    assert [cited.url for cited in said.citations] == urls
    assert codes(made) == []


def test_state_that_a_client_gathered_with_other_unknown_fields_is_read() -> None:
    """LiteLLM sends back fields that OpenAI does not have in `provider_specific_fields`."""

    def gathered(message: dict[str, Any]) -> dict[str, Any]:
        extra = {name: message.pop(name) for name in ("reasoning_details", "refusal")}
        return {**message, "provider_specific_fields": extra}

    assert echoed(answer(), gathered) == echoed(answer())
    assert codes(read({"messages": [gathered(answer().message)]})) == []


def test_seals_that_a_client_joined_into_one_string_are_read() -> None:
    """Some accumulate entries of one kind without looking at their index."""

    def joined(message: dict[str, Any]) -> dict[str, Any]:
        entries = message["reasoning_details"]
        seals = "".join(one.get("signature") or one.get("data") for one in entries)
        return {**message, "reasoning_details": [{"type": "reasoning.text", "signature": seals}]}

    assert echoed(answer(), joined) == echoed(answer())


def test_a_text_that_the_client_changed_is_the_clients() -> None:
    """The words are taken as they come; state without them stays."""
    message = echoed(answer(), lambda m: {**m, "content": "Edited."})

    assert message.text == "Edited."
    assert "ReasoningPart" in kinds(message)


def test_a_call_that_the_client_dropped_is_gone() -> None:
    """The others keep their order and their state."""
    message = echoed(answer(), lambda m: {**m, "tool_calls": m["tool_calls"][1:]})

    assert [one.id for one in message.tool_calls] == ["c2"]


@pytest.mark.parametrize("damage", ["ob1.AAAA", "ob1." + "A" * 40])
def test_forged_state_is_dropped_with_a_report_and_the_text_stays(damage: str) -> None:
    """Never sent to a vendor."""
    entry = {"type": "reasoning.text", "text": "Hm.", "signature": damage, "index": 0}
    native = {"role": "assistant", "content": "x", "reasoning_details": [entry]}
    made = read({"messages": [native]})

    assert kinds(made.request.messages[0]) == ["ReasoningPart", "TextPart"]
    assert damage not in str(made.request)
    assert [one.code for one in made.diagnostics] == ["opaque-data-dropped"]


# -- clients that drop what they do not know

BARE = ("role", "content", "tool_calls")


def bare(made: Written) -> Message:
    """Return the response as a client sends it back that keeps OpenAI's fields alone."""
    return echoed(made, lambda message: {name: message[name] for name in BARE})


def restored(messages: tuple[Message, ...], kept_state: KeptState) -> tuple[Message, ...]:
    """Return *messages* with the state that a server kept."""
    return with_kept_state(messages, upstream_of(kept_state=kept_state), Diagnostics())


def test_state_that_a_server_kept_by_the_ids_of_calls_is_restored() -> None:
    """Any call of the response is enough to find it."""
    made = answer()
    kept = dict(made.writer.sealed_calls)
    lost = (Message.user("Hello"), bare(made))
    assert kept.keys() == set(map(call_key, made_calls(made)))

    for one, sealed in kept.items():
        found = restored(lost, {one: sealed}.get)
        assert found == (lost[0], echoed(made))


def test_calls_of_two_responses_with_the_same_id_have_each_its_own_state() -> None:
    """Some servers number the calls of each response from the start."""
    cities = ("Paris", "Rome")
    made = [
        Written(
            stream(
                thought(f"Look at {city}."),
                call("weather", json.dumps({"city": city}), id="call_0"),
                reason="tool_calls",
            )
        )
        for city in cities
    ]
    kept = {key: sealed for one in made for key, sealed in one.writer.sealed_calls.items()}
    result = Message.tool("call_0", "7 degrees", name="weather")
    sent = (bare(made[0]), result, bare(made[1]), result)

    found = restored(sent, kept.get)

    assert [message.reasoning for message in found if message.role == "assistant"] == [
        f"Look at {city}." for city in cities
    ]
    assert [message.tool_calls for message in found] == [message.tool_calls for message in sent]


def test_kept_state_is_found_where_a_client_wrote_the_arguments_anew() -> None:
    """JSON of JavaScript has neither spaces nor integral fractions."""
    arguments = '{"days": 2.0, "names": ["v1.0"]}'
    made = Written(stream(thought("Hm."), call("f", arguments, id="c"), reason="tool_calls"))
    rewritten = ToolCallPart("c", "f", {"days": 2, "names": ["v1.0"]})

    (found,) = restored((Message.assistant(rewritten),), made.writer.sealed_calls.get)

    assert found.reasoning == "Hm."


def test_a_response_that_comes_back_in_pieces_becomes_one_message_before_its_results() -> None:
    """Pipecat sends its text and each call as messages of their own, each call with its result."""
    made = answer()
    text_alone, first, second = pieces_of(bare(made))
    results = [Message.tool(call.id, "7 degrees", name=call.name) for call in made_calls(made)]
    sent = (Message.user("Hello"), text_alone, first, results[0], second, results[1])

    found = restored(sent, made.writer.sealed_calls.get)

    assert found == (sent[0], echoed(made), *results)


def test_only_texts_of_the_response_itself_join_its_calls() -> None:
    """Two messages of the assistant may follow each other."""
    made = answer()
    other = Message.assistant("Another text.")

    assert restored((other, bare(made)), made.writer.sealed_calls.get) == (other, echoed(made))


def test_texts_that_a_client_leaves_out_beside_calls_are_restored_with_a_report() -> None:
    """Swarms sends the calls alone; OpenAI takes reasoning with all items after it, or not."""
    made = answer()
    calls_alone = evolve(bare(made), content=made_calls(made))
    diagnostics = Diagnostics()

    upstream = upstream_of(kept_state=made.writer.sealed_calls.get)
    found = with_kept_state((calls_alone,), upstream, diagnostics)

    assert found == (echoed(made),)
    assert [(one.code, one.action) for one in diagnostics.entries] == [
        ("text-restored", "added")
    ] * 2


def test_texts_that_a_client_has_changed_are_not_restored_beside_their_new_words() -> None:
    """The new text takes the place of all of them."""
    made = answer()
    edited = evolve(bare(made), content=(TextPart("Read."), *made_calls(made)))

    (found,) = restored((edited,), made.writer.sealed_calls.get)

    assert [part.text for part in found.content if isinstance(part, TextPart)] == ["Read."]


def test_a_text_that_the_client_has_is_not_in_the_state_that_it_carries() -> None:
    """Only what a server keeps holds the texts too."""
    made = answer()

    assert "Reading." not in unsealed(made.message["reasoning_details"])
    assert "Reading." in unsealed([{"data": state} for state in made.writer.sealed_calls.values()])


def unsealed(details: Sequence[Mapping[str, Any]]) -> str:
    """Return the state in *details* as text."""
    seals = [entry.get("data") or entry["signature"] for entry in details]
    return "".join(SEALER.unpack(seal, 1 << 20).decode() for seal in seals)


def pieces_of(message: Message) -> list[Message]:
    """Return each part as a message of its own."""
    return [Message(message.role, (part,)) for part in message.content]


def made_calls(made: Written) -> Sequence[ToolCallPart]:
    """Return the calls of a response."""
    return echoed(made).tool_calls


def without_signatures(message: dict[str, Any]) -> dict[str, Any]:
    """Return *message* as Copilot CLI sends it back."""
    details = message["reasoning_details"]
    kept = [entry for entry in details if entry["type"] == "reasoning.encrypted"]
    assert 0 < len(kept) < len(details)
    rest = {name: value for name, value in message.items() if name != "reasoning_content"}
    return {**rest, "reasoning_details": kept}


def test_kept_state_takes_the_place_of_state_that_came_back_in_part() -> None:
    """Of the ids of items without their reasoning, OpenAI refuses the request."""
    made = answer()
    part = echoed(made, without_signatures)

    assert part.origin is None
    assert kinds(part) == ["TextPart", "ToolCallPart", "ToolCallPart"]
    kept = restored((part,), made.writer.sealed_calls.get)
    assert kept == (echoed(made),)


def test_state_that_came_back_in_part_is_dropped_with_a_report_if_none_is_kept_of_it() -> None:
    """No state is kept of a response without calls."""
    late = {"openai": {"id": "msg_1", "phase": "commentary"}}
    thinking = thought("Hm.", encrypted="ENC", provider_metadata={"openai": {"id": "rs_1"}})
    made = Written(stream(thinking, text("Yes.", provider_metadata=late)))
    read_back = read({"messages": [without_signatures(made.message), PROMPT]})

    assert read_back.request.messages[0].content == (TextPart("Yes."),)
    assert codes(read_back) == [("opaque-data-dropped", "messages[0]")]


def test_plain_thinking_is_restored_too_for_servers_that_need_it_back() -> None:
    """DeepSeek refuses turns with calls whose `reasoning_content` is missing."""
    made = Written(stream(thought("Hm."), call("f", "{}", id="c"), reason="tool_calls"))
    (message,) = restored((bare(made),), made.writer.sealed_calls.get)

    assert message.reasoning == "Hm."


def test_nothing_is_kept_of_a_response_that_its_echo_gives_back() -> None:
    """A server's memory holds only what it needs; it knows of the call that there is no more."""
    made = Written(stream(text("x"), call("f", "{}"), reason="tool_calls"))
    assert set(made.writer.sealed_calls.values()) == {""}
    assert Written(stream(thought("Hm."), text("x"))).writer.sealed_calls == {}


def test_state_that_is_not_kept_any_more_changes_nothing() -> None:
    """The conversation goes on without signatures."""
    native = {name: answer().message[name] for name in BARE}
    message = bare(answer())
    keys = [call_key(call) for call in message.tool_calls]

    for kept, reported in ((None, []), ("ob1.AAAA", [("opaque-data-dropped", "messages[0]")])):
        made = read({"messages": [native]}, kept_state=dict.fromkeys(keys, kept).get)
        assert made.request.messages == (message,)
        assert codes(made) == reported


def test_a_refusal_comes_back_as_one() -> None:
    """In its own field."""
    made = Written(stream(text("I can't", refusal=True), reason="content_filter"))

    assert echoed(made).content == (RefusalPart("I can't"),)
