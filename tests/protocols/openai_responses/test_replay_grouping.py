"""The model's output goes back unchanged, or not at all."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.openai_responses import COMPATIBLE, OPENAI
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import (
    AudioPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import request
from tests.support.wire.protocol import response
from tests.support.wire.responses import (
    ANSWERS,
    CLIENT_RUN,
    HOSTED,
    ORIGIN,
    PIXEL,
    Native,
    body,
    codes,
    custom_call,
    document,
    events_of,
    function_call,
    items,
    message,
    reasoning,
    said,
    streamed,
    text_part,
    url_citation,
    whole,
)

STORED: Any = {"openai": {"store": True}}


def replayable(item: Native) -> Native:
    """Return *item* as it is expected to go back: without what only outputs have."""
    match item["type"]:
        case "message":
            content = [{k: v for k, v in p.items() if k != "logprobs"} for p in item["content"]]
            return {**item, "content": content}
        case "function_call" | "custom_tool_call":
            return {k: v for k, v in item.items() if k != "status"}
        case _:
            return item


def answered(*messages: Message) -> list[Message]:
    """Return *messages* with a screenshot for each call that waits for a result."""
    shot = [ImagePart(file_id="f")]
    found: list[Message] = []
    for one in messages:
        found += [one, *(Message.tool(c.id, shot, name=c.name) for c in one.tool_calls)]
    return found


RESULTS = ("call_output", "approval_response")


def _models(lowered: list[Native]) -> list[Native]:
    """Return the items of *lowered* that are the model's and not our results."""
    hosted = [item for group in HOSTED.values() for item in group]
    return [
        item
        for item in lowered
        if item in hosted
        or not (item["type"].endswith(RESULTS) or item["type"] == "tool_search_output")
    ]


@pytest.mark.parametrize("form", ["whole", "stream"])
@pytest.mark.parametrize("name", ANSWERS)
def test_a_response_goes_back_as_it_came(name: str, form: str) -> None:
    """Items come back in order, with their ids and all they brought, also over JSON."""
    output = ANSWERS[name]
    answer = said(*output) if form == "whole" else response(streamed(events_of(output))).message
    answer = from_json(Message, to_json(answer))

    lowered = _models(items(*answered(answer)))

    assert lowered == [replayable(item) for item in output]


def test_citations_go_back_as_they_came() -> None:
    """With annotations of every kind, those that we do not know included."""
    annotations = [
        url_citation("https://a.example"),
        {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 3},
        {"type": "file_path", "file_id": "file-2", "index": 0},
        {"type": "dream_citation", "sheep": 1},
    ]
    (lowered,) = items(said(message(text_part("Hi.", *annotations))))

    assert lowered["content"][0]["annotations"] == annotations


def test_unknown_parts_go_back_into_their_message() -> None:
    """A part of a message that is new here stands where it came."""
    native = message("A", {"type": "output_smell", "of": "roses"}, "B")

    assert items(said(native)) == [replayable(native)]


def test_an_unknown_part_of_a_message_without_an_id_is_left_out_and_reported() -> None:
    """Such a message is sent as plain text."""
    smell = ProviderPart(
        "openai",
        {"type": "output_smell", "of": "roses"},
        provider_metadata={"openai": {"part": "content"}},
    )
    made = Message.assistant("A", smell)

    assert items(made) == [{"type": "message", "role": "assistant", "content": "A"}]
    asked = request(model=Model("gpt-5.2", "openai"), messages=[made])
    assert [code for code, _ in codes(asked)] == ["unsupported-content"]


def test_refusal_is_sent_back_in_its_own_form_with_an_id() -> None:
    """A refusal goes back in its own form with an id, as text without."""
    hand_made = Message.assistant(RefusalPart("No."))

    assert items(hand_made) == [{"type": "message", "role": "assistant", "content": "No."}]


def test_a_hand_made_response_is_plain() -> None:
    """Without ids, texts of one phase are one message."""
    commentary: Any = {"openai": {"phase": "commentary"}}
    made = Message.assistant(
        TextPart("A", provider_metadata=commentary),
        TextPart("B", provider_metadata=commentary),
        "C",
        ToolCallPart("call_1", "f"),
    )
    plain = {"type": "message", "role": "assistant"}

    assert items(made)[:3] == [
        {**plain, "content": "AB", "phase": "commentary"},
        {**plain, "content": "C"},
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
    ]


def test_the_callers_program_is_named_again() -> None:
    """The output of a function that a program called says which one."""
    caller = {"type": "program", "caller_id": "call_p1"}
    answer = said(function_call(caller=caller))

    assert items(*answered(answer))[1]["caller"] == caller


# -- reasoning and what follows it


def test_bare_reasoning_cannot_go_back() -> None:
    """The provider reads only its own reasoning."""
    asked = request(
        model=Model("gpt-5.2", "openai"),
        messages=[Message.assistant(ReasoningPart("Hm."), "Hi."), Message.user("So?")],
    )

    assert body(asked)["input"][0] == {"type": "message", "role": "assistant", "content": "Hi."}
    assert codes(asked) == [("reasoning-dropped", "messages[0].content[0]")]


def test_reasoning_without_data_goes_back_only_to_a_store() -> None:
    """An id is enough for a provider that stores, and an error for one that does not."""
    answer = said(reasoning(encrypted=None), message("Hi."))

    assert [item["type"] for item in items(answer)] == ["message"]
    assert "id" not in items(answer)[0]
    stored = items(answer, provider_options=STORED)
    assert [item.get("id") for item in stored] == ["rs_1", "msg_1"]


ALTERED: dict[str, tuple[Origin, list[str]]] = {
    "same": (ORIGIN, ["reasoning", "message"]),
    "another snapshot": (evolve(ORIGIN, model="gpt-5.2-2026-01-01"), ["reasoning", "message"]),
    "another model": (evolve(ORIGIN, model="gpt-4.1"), ["message"]),
    "another provider": (evolve(ORIGIN, provider="azure"), ["message"]),
    "another API": (evolve(ORIGIN, protocol="openai-chat"), ["message"]),
}


@pytest.mark.parametrize("name", ALTERED)
def test_reasoning_goes_back_only_where_it_came_from(name: str) -> None:
    """Another model's encrypted reasoning is left out, with all ids; the visible text stays."""
    origin, kinds = ALTERED[name]
    answer = evolve(said(reasoning("Hm."), message("Hi.")), origin=origin)

    lowered = items(answer)

    assert [item["type"] for item in lowered] == kinds
    assert ("id" in lowered[-1]) is (len(kinds) == 2)
    text = lowered[-1]["content"]
    assert text == "Hi." if isinstance(text, str) else text[0]["text"] == "Hi."


@pytest.mark.parametrize(
    ("rest", "sent"),
    [
        (["So it is."], ["message"]),
        ([ToolCallPart("call_9", "look", {})], ["function_call"]),
        (["So it is.", ToolCallPart("call_9", "look", {})], ["message", "function_call"]),
    ],
    ids=["text", "call", "text and call"],
)
def test_items_that_lost_their_ids_go_back_with_encrypted_reasoning_without_its_id(
    rest: list[Any], sent: list[str]
) -> None:
    """Such as those of a client whose API has no place for an id, or an edited text."""
    answer = said(reasoning("Hm."), message("Hi."))
    edited = Message.assistant(answer.content[0], *rest, origin=ORIGIN)
    lowered = items(*answered(edited))

    assert [item["type"] for item in lowered[: len(sent) + 1]] == ["reasoning", *sent]
    assert lowered[0]["encrypted_content"] == "enc=="
    assert not any("id" in item for item in lowered)
    assert [item["type"] for item in items(*answered(edited), dialect=COMPATIBLE)][
        : len(sent)
    ] == sent


@pytest.mark.parametrize(
    "answer",
    [
        said(reasoning("Hm.", encrypted=None), message("Hi.")),
        said(reasoning("Hm."), message("Hi.")),
    ],
    ids=["no data", "nothing after it"],
)
def test_reasoning_without_data_or_without_an_item_after_it_does_not_go_back(
    answer: Message,
) -> None:
    """The provider looks it up by its id, with just the item that came after it."""
    thought = answer.content[0]
    rest = ["So it is."] if getattr(thought, "encrypted", None) is None else []
    edited = Message.assistant(thought, *rest, origin=ORIGIN)

    assert [item["type"] for item in items(edited)] == ["message"] * len(rest)


def test_a_group_with_a_gap_goes_back_without_its_reasoning() -> None:
    """An item between reasoning and a call belongs to the group."""
    answer = said(reasoning("Hm."), message("So:"), function_call())
    (call,) = answer.tool_calls
    gap = Message.assistant(answer.content[0], call, origin=ORIGIN)

    assert items(*answered(gap))[0] == {
        "type": "function_call",
        "call_id": "call_1",
        "name": "weather",
        "arguments": '{"city":"A"}',
    }


def test_a_text_that_the_client_adds_behind_a_call_leaves_the_group_before_it_as_it_came() -> None:
    """Clients put a text into messages that have calls alone: it belongs to no reasoning."""
    answer = said(reasoning("Hm."), function_call())
    added = Message.assistant(*answer.content, "[no text]", origin=ORIGIN)

    lowered = items(*answered(added))

    assert lowered[:2] == items(*answered(answer))[:2]
    assert [item["type"] for item in lowered[:2]] == ["reasoning", "function_call"]
    assert lowered[2] == {"type": "message", "role": "assistant", "content": "[no text]"}


def test_items_go_back_in_the_order_of_the_response() -> None:
    """Also where a later one began before the reasoning showed itself."""
    events = events_of([reasoning(), message("Hi.")])
    thought = [e for e in events if e.get("output_index") == 0]
    rest = [e for e in events if e not in thought]
    answer = response(streamed([*rest[:4], *thought, *rest[4:]])).message

    assert [type(part).__name__ for part in answer.content] == ["TextPart", "ReasoningPart"]
    assert [item["type"] for item in items(answer)] == ["reasoning", "message"]


def test_reasoning_that_ends_a_response_is_left_out() -> None:
    """A response that was cut while the model thought leaves an orphan."""
    cut = response(streamed(events_of([reasoning("Hm.")], "incomplete"))).message

    assert items(Message.user("A"), cut, Message.user("B")) == [
        {"type": "message", "role": "user", "content": "A"},
        {"type": "message", "role": "user", "content": "B"},
    ]


def test_the_id_is_the_one_the_data_is_bound_to() -> None:
    """Where each event has another id, reasoning goes back under that of its end."""
    events = events_of([reasoning("A.", "B."), message("Hi.")])
    for number, event in enumerate(events):
        if "item" in event:
            event["item"] = {**event["item"], "id": f"id_{number}_{event['type'][-4:]}"}

    lowered = items(response(streamed(events)).message)

    assert lowered[0]["id"].endswith("done")
    assert lowered[0]["encrypted_content"] == "enc=="
    assert len(lowered[0]["summary"]) == 2


def test_servers_whose_ids_do_not_last_get_only_those_of_reasoning() -> None:
    """Encrypted content is bound to its id; other ids are left out."""
    fleeting = evolve(OPENAI, item_ids="reasoning")
    answer = said(reasoning("Hm."), message("Hi."), function_call())

    lowered = items(*answered(answer), dialect=fleeting)

    assert [item.get("id") for item in lowered] == ["rs_1", None, None, None]


@pytest.mark.parametrize(
    ("encrypted", "sent"),
    [
        (None, [("reasoning", "rs_1"), ("message", "msg_1"), ("function_call", None)]),
        ("", [("reasoning", "rs_1"), ("message", "msg_1"), ("function_call", None)]),
        ("enc==", [("message", None), ("function_call", None)]),
    ],
)
def test_reasoning_in_plain_text_needs_no_ids_beside_it(
    encrypted: str | None, sent: list[tuple[str, str | None]]
) -> None:
    """Calls of llama.cpp and vLLM have no id; encrypted reasoning goes back only beside ids."""
    thought = reasoning(content=["Hm."], encrypted=encrypted)
    call = {name: value for name, value in function_call().items() if name != "id"}

    lowered = items(*answered(said(thought, message("Hi."), call)), dialect=COMPATIBLE)

    assert [(item["type"], item.get("id")) for item in lowered[:-1]] == sent


def test_ids_that_are_too_long_are_left_out() -> None:
    """The API takes 64 characters; the item goes back without its id."""
    (lowered,) = items(said(message("Hi.", id="m" * 65)))

    assert lowered == {"type": "message", "role": "assistant", "content": "Hi."}


# -- trimming histories


def _conversation(names: list[str]) -> tuple[list[Message], list[list[Native]]]:
    """Return a conversation, and the native items of each response, all ids unique."""
    messages: list[Message] = []
    outputs = []
    for turn, name in enumerate(names):
        output = [_renamed(item, turn) for item in ANSWERS[name]]
        outputs.append(output)
        answer = evolve(said(*output), origin=ORIGIN)
        messages += [Message.user(f"Turn {turn}"), *answered(answer)]
    return messages, outputs


def _renamed(item: Native, turn: int) -> Native:
    """Return *item* with ids of its own turn."""
    names = [name for name in ("id", "call_id") if item.get(name)]
    return {**item, **{name: f"{item[name]}_{turn}" for name in names}}


@given(st.lists(st.sampled_from(sorted(ANSWERS)), min_size=1, max_size=4), st.data())
def test_no_trimming_leaves_an_orphan(names: list[str], data: st.DataObject) -> None:
    """Whatever is cut: reasoning goes with the next item, and ids go with their reasoning."""
    messages, outputs = _conversation(names)
    kept = []
    for one in messages:
        parts = [p for p in one.content if data.draw(st.integers(0, 9)) or one.role == "tool"]
        if data.draw(st.integers(0, 9)):
            kept.append(evolve(one, content=tuple(parts)))
    start = data.draw(st.integers(0, len(kept)))
    lowered = items(Message.user("First"), *kept[start:])

    _assert_groups_are_whole(lowered, outputs)


ALONE = ("computer_call", "local_shell_call", "mcp_approval_request", "compaction", "dream")
"""Items that have no form without their id, or none that we know."""


def _assert_groups_are_whole(lowered: list[Native], outputs: list[list[Native]]) -> None:
    sent = [item.get("id") for item in lowered]
    for output in outputs:
        thought: list[str] = []
        for at, item in enumerate(output):
            if item["type"] == "reasoning":
                fresh = at == 0 or output[at - 1]["type"] != "reasoning"
                thought = [item["id"]] if fresh else [*thought, item["id"]]
                if item["id"] in sent:
                    after = output[at + 1]["id"]
                    assert sent[sent.index(item["id"]) + 1] == after
            elif item["id"] in sent and item["type"] not in ALONE:
                assert set(thought) <= set(sent)


# -- hosted tools


@pytest.mark.parametrize("name", HOSTED)
def test_hosted_calls_go_with_their_reasoning(name: str) -> None:
    """A call that the provider ran goes back with the reasoning before it, or not at all."""
    answer = said(reasoning("Hm."), *HOSTED[name], message("Hi."))
    trimmed = evolve(answer, content=answer.content[1:])
    asked = request(model=Model("gpt-5.2", "openai"), messages=[trimmed, Message.user("So?")])

    assert [item["type"] for item in items(answer)] == [
        "reasoning",
        *(item["type"] for item in HOSTED[name]),
        "message",
    ]
    assert [item["type"] for item in body(asked)["input"]] == ["message", "message"]
    assert {code for code, _ in codes(asked)} == {"hosted-tool-dropped"}


def test_a_picture_is_put_back_into_its_call() -> None:
    """The picture is a part of its own; without it the call cannot go back."""
    answer = said(*HOSTED["image_generation"])
    without = Message.assistant(
        *(part for part in answer.content if not isinstance(part, ImagePart)), origin=ORIGIN
    )
    asked = request(model=Model("gpt-5.2", "openai"), messages=[without, Message.user("So?")])

    assert items(answer)[0]["result"] == PIXEL
    assert [item["type"] for item in body(asked)["input"]] == ["message"]
    assert [code for code, _ in codes(asked)] == ["hosted-tool-dropped"]


def test_searches_of_x_stay_out_while_their_reasoning_goes_back() -> None:
    """xAI answers 422 to its own freeform calls in the input."""
    search = {**custom_call('{"query":"otters"}'), "call_id": "xs_call-1"}
    answer = said(reasoning("Hm."), search, message("Hi."))
    asked = request(model=Model("gpt-5.2", "openai"), messages=[answer, Message.user("So?")])

    sent = ["reasoning", "message", "message"]
    assert [item["type"] for item in body(asked)["input"]] == sent
    assert codes(asked) == [("hosted-tool-dropped", "messages[0].content[1]")]


def test_hosted_calls_of_others_are_dropped() -> None:
    """A tool that another API ran has no item here."""
    made = Message.assistant(ToolCallPart("srv_1", "web_search", provider_executed=True), "Hi.")
    asked = request(model=Model("gpt-5.2", "openai"), messages=[made, Message.user("So?")])

    assert [item["type"] for item in body(asked)["input"]] == ["message", "message"]
    assert codes(asked) == [("hosted-tool-dropped", "messages[0].content[0]")]


@pytest.mark.parametrize("name", CLIENT_RUN)
def test_own_calls_keep_their_result(name: str) -> None:
    """A built-in call whose id another call has gets a new one, and its output too."""
    native = CLIENT_RUN[name]
    twice = [said(native), Message.user("Again"), said(native)]

    lowered = items(*answered(*twice))
    calls = [item for item in lowered if item["type"] == native["type"]]
    ids = [item.get("call_id") for item in calls]

    assert len(calls) == 2
    assert len(set(ids)) == (2 if "call_id" in native else 1)
    outputs = [item["call_id"] for item in lowered if item["type"].endswith("output")]
    assert outputs == [call_id for call_id in ids if call_id is not None]


def test_what_a_response_cannot_hold_is_reported() -> None:
    """Pictures and sound that no item of ours made have no place in the model's message."""
    made = Message.assistant("Hi.", AudioPart(file_id="a"), ImagePart(file_id="f"))
    asked = request(model=Model("gpt-5.2", "openai"), messages=[made, Message.user("So?")])

    assert codes(asked) == [
        ("unsupported-content", "messages[0].content[1]"),
        ("unsupported-content", "messages[0].content[2]"),
    ]


def test_the_transcript_of_a_spoken_response_goes_back() -> None:
    """The item of the audio itself has no form in requests."""
    spoken = Message.assistant(AudioPart(data=b"RIFF", transcript="Hello"))

    assert items(spoken) == items(Message.assistant("Hello"))


def test_native_items_may_stand_in_a_response() -> None:
    """A part that is an item goes in as it is."""
    item = {"type": "compaction", "encrypted_content": "x"}

    assert items(Message.assistant(ProviderPart("openai", item)))[0] == item


@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("encrypted", ["enc==", None])
@pytest.mark.parametrize("content", [["Hm, ", "so."], ["Hm."], []])
def test_signed_reasoning_goes_back_as_it_came(
    content: list[str], encrypted: str | None, form: str
) -> None:
    """OpenRouter's reasoning of Claude has a signature and the name of its form."""
    proof = {"signature": "c2ln", "format": "anthropic-claude-v1"}
    thought = {**reasoning(content=content, encrypted=encrypted), **proof}
    output = [thought, message("Hi.")]
    events = streamed(events_of(output)) if form == "stream" else whole(document(output))
    answer = evolve(response(events).message, origin=ORIGIN)

    assert items(answer)[:-1] == ([thought] if content or encrypted else [])
    assert items(evolve(answer, origin=evolve(ORIGIN, model="gpt-4.1")))[:-1] == []


@pytest.mark.parametrize(("model", "known"), [("gpt-5.2", True), ("gpt-4.1", False)])
@pytest.mark.parametrize(
    "fields",
    [
        {"thought_signature": "c2ln"},
        {"subagent_id": "call_s1", "subagent_items": [{"type": "message", "content": "Hm."}]},
    ],
    ids=["Perplexity", "OpenRouter"],
)
def test_opaque_fields_of_a_call_go_back_to_its_model(
    fields: Native, model: str, known: bool
) -> None:
    """No other server takes them."""
    answer = evolve(said({**function_call(), **fields}), origin=evolve(ORIGIN, model=model))

    (lowered, _) = items(*answered(answer))

    assert {name: lowered[name] for name in fields if name in lowered} == (fields if known else {})


def test_pages_that_the_server_found_are_sources_and_stay_out_of_requests() -> None:
    """Perplexity and OpenRouter list them in items; requests to Perplexity do not take these."""
    found = {"type": "search_results", "queries": ["a"], "results": [{"url": "https://a.example"}]}
    fetched = {"type": "fetch_url_results", "contents": [{"url": "https://b.example"}]}
    for answer in (
        response(streamed(events_of([found, fetched, message("Hi.")]))),
        response(whole(document([found, fetched, message("Hi.")]))),
    ):
        assert [source.url for source in answer.sources] == [
            "https://a.example",
            "https://b.example",
        ]
        assert [item["type"] for item in items(answer.message)] == ["message"]


def test_pages_of_tools_of_openrouter_are_sources_and_go_back() -> None:
    """OpenRouter takes the items of its own tools in requests."""
    action = {"type": "search", "query": "a", "sources": [{"url": "https://a.example"}]}
    found = {"type": "openrouter:web_search", "id": "ws_1", "status": "completed", "action": action}
    fetched = {"type": "openrouter:web_fetch", "url": "https://b.example", "title": "B"}

    answer = response(streamed(events_of([found, fetched, message("Hi.")])))

    assert [(source.url, source.title) for source in answer.sources] == [
        ("https://a.example", None),
        ("https://b.example", "B"),
    ]
    assert items(answer.message)[:2] == [found, fetched]


COMPACTED: dict[str, tuple[str, list[str]]] = {
    "same model": ("gpt-5.2", ["message", "compaction"]),
    "another model": ("gpt-4.1", ["message"]),
}


@pytest.mark.parametrize("name", COMPACTED)
def test_a_compacted_conversation_is_good_only_at_its_model(name: str) -> None:
    """Nobody else can read it."""
    model, kinds = COMPACTED[name]
    answer = evolve(said(*ANSWERS["compaction"]), origin=evolve(ORIGIN, model=model))
    asked = request(model=Model("gpt-5.2", "openai"), messages=[answer])

    assert [item["type"] for item in body(asked)["input"]] == kinds
    assert ("opaque-data-dropped" in {code for code, _ in codes(asked)}) is (len(kinds) == 1)


def test_output_only_fields_stay_behind() -> None:
    """The API returns the maker of an item, but does not accept it."""
    native = {**HOSTED["web_search"][0], "created_by": "a"}

    assert items(said(native)) == HOSTED["web_search"]


def test_a_response_that_stands_twice_in_a_history_is_sent_with_its_ids_once() -> None:
    """The server refuses an id that comes again ("Duplicate item found with id")."""
    answer = evolve(said(reasoning("Hm."), message("Hi.")), origin=ORIGIN)
    lowered = items(Message.user("a"), answer, Message.user("b"), answer, Message.user("c"))
    sent = [item for item in lowered if item.get("role") != "user"]

    assert [item.get("id") for item in sent] == ["rs_1", "msg_1", None, None]
    assert [item.get("encrypted_content") for item in sent] == ["enc==", None] * 2


def test_reasoning_in_the_middle_goes_without_ids_if_the_text_after_it_has_lost_its_place() -> None:
    """As it comes back from a client of another API, which has no place for the text's id."""
    native = [
        reasoning("A."),
        message("One.", id="msg_1", phase="commentary"),
        reasoning("B.", encrypted="enc2==", id="rs_2"),
        message("Two.", id="msg_2"),
    ]
    answer = evolve(said(*native), origin=ORIGIN)
    bare = evolve(answer, content=(*answer.content[:-1], TextPart("Two.")))
    sent = items(Message.user("a"), bare, Message.user("b"))[1:-1]

    assert [item.get("id") for item in sent] == ["rs_1", "msg_1", None, None]
    assert [item.get("encrypted_content") for item in sent] == ["enc==", None, "enc2==", None]
