"""Thinking, under every name and in every form."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.openai_chat import OPENAI, stream
from llmcore.protocols.openai_chat.names import merge_details
from llmcore.schema.content import ProviderPart, ReasoningPart, TextPart, ToolCallPart
from llmcore.schema.errors import StreamError
from llmcore.schema.events import ProviderEvent, ReasoningDelta, ToolInputDelta
from tests.support.wire.chat import ASKED, call, chunk, completion, streamed, whole
from tests.support.wire.protocol import error, response

SAYS = "First this, then that."


def _details(text: str) -> list[dict[str, Any]]:
    return [{"type": "reasoning.text", "text": text, "index": 0, "format": "unknown"}]


NAMES: dict[str, Any] = {
    "reasoning_content": lambda text: {"reasoning_content": text},
    "reasoning": lambda text: {"reasoning": text},
    "thinking": lambda text: {"thinking": text},
    "reasoning, an object": lambda text: {"reasoning": {"content": text}},
    "thinking, an object": lambda text: {"thinking": {"content": text, "signature": None}},
    "reasoning, a list": lambda text: {"reasoning": [{"type": "text", "text": text}]},
    "reasoning_details": lambda text: {"reasoning_details": _details(text)},
    "a summary": lambda text: {
        "reasoning_details": [{"type": "reasoning.summary", "summary": text, "index": 0}]
    },
    "two names at once": lambda text: {"reasoning": text, "reasoning_content": text},
    "a name and details": lambda text: {"reasoning": text, "reasoning_details": _details(text)},
    "Mistral's parts": lambda text: {
        "content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]
    },
    "Mistral's parts as a string": lambda text: {
        "content": [{"type": "thinking", "thinking": text}]
    },
    "Databricks' parts": lambda text: {
        "content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}]
    },
    "empty content beside it": lambda text: {"content": "", "reasoning_content": text},
}


@pytest.mark.parametrize("named", NAMES.values(), ids=NAMES.keys())
def test_thinking_is_found_under_every_name(named: Any) -> None:
    """The same thinking comes out, once, however the server calls it."""
    chunks = [
        chunk({"role": "assistant", "content": ""}),
        *(chunk(named(piece)) for piece in (SAYS[:6], SAYS[6:])),
        chunk({"content": "Done."}),
        chunk({}, "stop"),
    ]

    answer = response(streamed(chunks))

    assert (answer.reasoning, answer.text) == (SAYS, "Done.")
    assert [type(part) for part in answer.message.content] == [ReasoningPart, TextPart]


@pytest.mark.parametrize("named", NAMES.values(), ids=NAMES.keys())
def test_thinking_is_found_in_whole_bodies(named: Any) -> None:
    """A body that was not streamed hides it nowhere else."""
    message = named(SAYS)
    parts = message.get("content") or []
    content = [*parts, {"type": "text", "text": "Done."}] if parts else "Done."

    answer = response(whole(completion({**message, "content": content})))

    assert (answer.reasoning, answer.text) == (SAYS, "Done.")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_plain_thinking_leaves_the_state_alone(name: str) -> None:
    """Thinking takes the per-token path as text does."""
    state = stream.initial(ASKED, OPENAI)
    state, _ = stream.step(state, chunk({name: "a", "content": None}))

    after, events = stream.step(state, chunk({name: "b", "content": None}))

    assert after is state
    assert list(events) == [ReasoningDelta("reasoning_0", "b")]


def test_thinking_that_another_field_has_is_passed_on() -> None:
    """One is read; the other is not lost where it differs."""
    delta = {"reasoning_content": "Hm.", "reasoning": "Other words.", "thinking": "Hm."}
    passed = ProviderEvent("openai", {"delta": {"reasoning": "Other words."}})

    for events in (
        streamed([chunk(delta), chunk({"content": "Done."}), chunk({}, "stop")]),
        whole(completion({**delta, "content": "Done."})),
    ):
        assert response(events).reasoning == "Hm."
        assert [event for event in events if isinstance(event, ProviderEvent)] == [passed]


def test_thinking_alone_is_a_response() -> None:
    """A turn of nothing but thinking is not empty."""
    answer = response(streamed([chunk({"reasoning": "Hm."}), chunk({}, "length")]))

    assert answer.message.content == (ReasoningPart("Hm."),)
    assert answer.finish_reason.reason == "length"


def test_details_that_are_no_list_are_left_out_of_the_thinking() -> None:
    chunks = [chunk({"reasoning": "Hm.", "reasoning_details": {"type": "x"}}), chunk({}, "stop")]

    assert response(streamed(chunks)).reasoning == "Hm."


def test_encrypted_thinking_is_kept_and_not_shown() -> None:
    """Data that only the provider can read is not text, and is kept for replay."""
    detail = {"type": "reasoning.encrypted", "data": "xyz", "id": "r1", "index": 0}

    answer = response(streamed([chunk({"reasoning_details": [detail]}), chunk({}, "stop")]))

    assert answer.reasoning == ""
    (part,) = answer.message.content
    assert part.provider_metadata == {"openai": {"reasoning_details": [detail]}}


@pytest.mark.parametrize("id_", [{}, ["r"], 1])
def test_details_with_ids_that_are_no_text_are_kept(id_: object) -> None:
    """As they came."""
    pieces = [{"type": "reasoning.text", "text": t, "index": 0, "id": id_} for t in "ab"]

    chunks = [chunk({"reasoning_details": [piece]}) for piece in pieces]

    assert response(streamed([*chunks, chunk({}, "stop")])).reasoning == "ab"


@pytest.mark.parametrize(
    "signed",
    [
        lambda piece: {"signature": piece},
        lambda piece: {"content": [{"type": "thinking", "thinking": [], "signature": piece}]},
        lambda piece: {"content": [{"type": "reasoning", "summary": [{"signature": piece}]}]},
    ],
    ids=["beside the thinking", "Mistral's parts", "Databricks' parts"],
)
def test_a_signature_ends_up_on_its_part(signed: Any) -> None:
    """A signature that comes in pieces, after the text it signs, is one."""
    chunks = [
        chunk({"reasoning": "Hm."}),
        chunk(signed("ab")),
        chunk(signed("cd")),
        chunk({"content": "Done."}, "stop"),
    ]

    part = response(streamed(chunks)).message.content[0]

    assert part == ReasoningPart("Hm.", signature="abcd")


def test_signature_without_reasoning_is_ignored() -> None:
    """Outside of thinking there is nothing it could sign."""
    answer = response(streamed([chunk({"content": "a"}), chunk({"signature": "s"}, "stop")]))

    assert answer.message.content == (TextPart("a"),)


def test_thinking_between_text_keeps_its_place() -> None:
    """Interleaved thinking stays where it came."""
    chunks = [
        chunk({"reasoning": "a"}),
        chunk({"content": "b"}),
        chunk({"reasoning": "c"}),
        chunk({"tool_calls": [call(0, id="x", name="one", arguments="{}")]}),
        chunk({}, "tool_calls"),
    ]

    content = response(streamed(chunks)).message.content

    assert content == (
        ReasoningPart("a"),
        TextPart("b"),
        ReasoningPart("c"),
        ToolCallPart("x", "one", {}),
    )


# -- reasoning details


def test_pieces_of_one_block_are_joined() -> None:
    """Streamed pieces go back as the blocks that a whole body would have."""
    pieces = [
        {"type": "reasoning.text", "text": "a", "index": 0, "format": "f"},
        {"type": "reasoning.text", "text": "b", "index": 0, "format": "f"},
        {"type": "reasoning.text", "text": None, "signature": "s", "index": 0},
        {"type": "reasoning.encrypted", "data": "x", "id": "1", "index": 1},
        {"type": "reasoning.summary", "summary": "c", "index": 2, "id": None},
        {"type": "reasoning.summary", "summary": "d", "index": 2, "id": "2"},
    ]

    assert merge_details(pieces) == [
        {"type": "reasoning.text", "text": "ab", "index": 0, "format": "f", "signature": "s"},
        {"type": "reasoning.encrypted", "data": "x", "id": "1", "index": 1},
        {"type": "reasoning.summary", "summary": "cd", "index": 2, "id": "2"},
    ]


@pytest.mark.parametrize(("signed", "text"), [({}, "haha"), ({"text": "haha"}, "haha")])
def test_equal_pieces_before_a_signature_are_joined(signed: dict[str, str], text: str) -> None:
    """Only the signed piece itself may repeat all of the text."""
    texts = [{"type": "reasoning.text", "text": "ha", "index": 0}] * 2
    proof = {"type": "reasoning.text", "signature": "s", "index": 0, **signed}

    assert merge_details([*texts, proof]) == [{**texts[0], "text": text, "signature": "s"}]


def test_reasoning_with_another_type_index_or_id_is_another_block() -> None:
    """Another type, index or id is another block, and so is what follows a signature."""
    pieces = [
        {"type": "reasoning.text", "text": "a", "index": 0},
        {"type": "reasoning.text", "text": "b", "index": 1},
        {"type": "reasoning.summary", "summary": "c", "index": 1},
        {"type": "reasoning.encrypted", "data": "d", "id": "1"},
        {"type": "reasoning.encrypted", "data": "e", "id": "2"},
        {"type": "reasoning.text", "text": "f", "signature": "s"},
        {"type": "reasoning.text", "text": "g"},
        {"type": "reasoning.server_tool_call", "tool_name": "h", "arguments": "1", "result": "2"},
        {"type": "reasoning.server_tool_call", "tool_name": "i", "arguments": "3", "result": "4"},
    ]

    assert merge_details(pieces) == pieces


@pytest.mark.parametrize("kind", [["x"], {"a": 1}, 3, None], ids=repr)
@pytest.mark.parametrize("field", ["reasoning_details", "thinking_blocks"])
def test_a_block_whose_type_is_not_text_is_kept(field: str, kind: object) -> None:
    block = {"type": kind, "text": SAYS}

    read = response(whole(completion({"content": "Hi", field: [block]})))

    (kept,) = [part for part in read.message.content if isinstance(part, ReasoningPart)]
    assert read.text == "Hi"
    assert kept.provider_metadata["openai"] == {"reasoning_details": [block]}


def test_a_whole_list_of_blocks_is_left_as_it_is() -> None:
    """Nothing is a piece in a body that was not streamed; noise in it is left out."""
    blocks = [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}]

    assert merge_details([*blocks, None, 3], whole=True) == blocks


def test_streamed_and_whole_details_are_the_same() -> None:
    """The blocks that go back do not depend on how the response came."""
    pieces = [_details("a")[0], _details("b")[0]]
    chunks = [*(chunk({"reasoning_details": [piece]}) for piece in pieces), chunk({}, "stop")]
    document = completion({"content": None, "reasoning_details": _details("ab")})

    assert response(streamed(chunks)).message == response(whole(document)).message


# -- think tags

TAGGED = evolve(OPENAI, think_tags=((".*", "think"),))

TAGS: dict[str, tuple[str, str, str]] = {
    "as trained": ("<think>\nHm.\n</think>\n\nDone.", "\nHm.\n", "Done."),
    "white space before": ("\n <think>Hm.</think>Done.", "Hm.", "Done."),
    "no thinking": ("Done.", "", "Done."),
    "a tag inside the text is text": ("Use <think> here.", "", "Use <think> here."),
    "a lone angle bracket": ("<b>Done.</b>", "", "<b>Done.</b>"),
    "an angle bracket while thinking": ("<think>a < b</th</think>Done.", "a < b</th", "Done."),
    "twice": ("<think>a</think> <think>b</think>Done.", "ab", "Done."),
    "never closed": ("<think>Hm.", "Hm.", ""),
    "cut in the closing tag": ("<think>Hm.</thi", "Hm.</thi", ""),
    "cut in the opening tag": ("<thi", "", "<thi"),
    "empty": ("<think></think>Done.", "", "Done."),
    "only white space": (" \n ", "", ""),
}


@pytest.mark.parametrize(("text", "reasoning", "said"), TAGS.values(), ids=TAGS.keys())
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_tags_split_thinking_from_text(text: str, reasoning: str, said: str, size: int) -> None:
    """Where the tags are cut between chunks never shows."""
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    chunks = [*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop")]

    answer = response(streamed(chunks, dialect=TAGGED))

    assert (answer.reasoning or "", answer.text) == (reasoning, said)
    document = completion({"content": text})
    assert response(whole(document, dialect=TAGGED)).message == answer.message


def test_tags_are_text_unless_asked_for() -> None:
    """A server that does not think in tags may talk about them."""
    answer = response(streamed([chunk({"content": "<think>a</think>"}, "stop")]))

    assert (answer.text, answer.reasoning) == ("<think>a</think>", None)


def test_many_tags_in_one_chunk_are_no_problem() -> None:
    """However often the text changes sides, it is read in a loop."""
    text = "<think>a</think>" * 5_000 + "Done."

    answer = response(streamed([chunk({"content": text}, "stop")], dialect=TAGGED))

    assert (len(answer.reasoning or ""), answer.text) == (5_000, "Done.")


def test_thinking_in_several_tags_is_one_part() -> None:
    """Bedrock's server puts tags around each piece; a call ends the thinking, tag or not."""
    dialect = evolve(OPENAI, think_tags=((".*gpt-4.*", "reasoning"), (".*", "other")))
    pieces = ["<reasoning>The", "</reasoning>", "<reasoning> user</reasoning>", "Done."]
    cut = [chunk({"content": "<reasoning>Hm"}), chunk({"tool_calls": [call(0, id="a", name="f")]})]

    answer = response(streamed([*map(_said, pieces), chunk({}, "stop")], dialect=dialect))
    called = response(streamed([*cut, _said("Now."), chunk({}, "stop")], dialect=dialect))

    assert answer.message.content == (ReasoningPart("The user"), TextPart("Done."))
    assert [type(part) for part in called.message.content] == [
        ReasoningPart,
        ToolCallPart,
        TextPart,
    ]
    assert called.text == "Now."


def _said(text: str, **more: Any) -> dict[str, Any]:
    return chunk({"content": text, **more})


# -- thinking that Gemini's endpoints mark

MARK: dict[str, Any] = {"extra_content": {"google": {"thought": True}}}
SIGNED: dict[str, Any] = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
MARKED: dict[str, list[dict[str, Any]]] = {
    "in tags": [
        _said("<thought>Hm, ", **MARK),
        _said("so", **MARK),
        _said("</thought>Do"),
        _said("ne."),
    ],
    "in another tag": [_said("<think>Hm, so", **MARK), _said("</think>Done.")],
    "without tags": [_said("Hm, ", **MARK), _said("so", **MARK), _said("Do"), _said("ne.")],
    "closed in the last marked piece": [_said("<thought>Hm, so</thought>", **MARK), _said("Done.")],
    "with the signature of the response": [
        _said("<thought>Hm, so", **MARK),
        _said("</thought>Done."),
        chunk(SIGNED),
    ],
}


@pytest.mark.parametrize("chunks", MARKED.values(), ids=MARKED.keys())
def test_marked_text_is_thinking(chunks: list[dict[str, Any]]) -> None:
    """The mark is not sent back with the message, a signature is."""
    answer = response(streamed([*chunks, chunk({}, "stop")]))

    assert (answer.reasoning, answer.text) == ("Hm, so", "Done.")
    native = [part.data for part in answer.message.content if isinstance(part, ProviderPart)]
    assert native == ([SIGNED] if chunk(SIGNED) in chunks else [])


def test_a_call_follows_marked_thinking() -> None:
    """The closing tag stands beside the call."""
    calls = {"tool_calls": [{**call(0, id="a", name="f", arguments="{}"), **SIGNED}]}
    chunks = [_said("<thought>Hm.", **MARK), _said("</thought>", **calls), chunk({}, "stop")]

    answer = response(streamed(chunks))

    assert [type(part) for part in answer.message.content] == [ReasoningPart, ToolCallPart]
    assert (answer.reasoning, answer.text) == ("Hm.", "")


def test_marked_thinking_and_a_whole_message() -> None:
    """Without tags, nothing tells the two apart: all of it is the response."""
    tagged = completion({"content": "<thought>Hm.</thought>Done.", **MARK})
    plain = completion({"content": "Hm. Done.", **MARK})

    assert response(whole(tagged)).message.content == (ReasoningPart("Hm."), TextPart("Done."))
    assert response(whole(plain)).message.content == (TextPart("Hm. Done."),)


def test_marked_thinking_that_is_cut_is_an_error_with_it() -> None:
    """The thinking before the cut is emitted."""
    events = streamed([_said("<thought>Hm.", **MARK)], done=False)

    assert ReasoningDelta("reasoning_0", "Hm.") in events
    assert isinstance(error(events), StreamError)


# -- thinking that a server repeats from its beginning

REPEATED = {
    "short beginnings": ["The", "The user", "The user asks"],
    "a long beginning": ["The user asks for", "The user asks for x"],
    "the rest is new only": ["The", "The user", "The user asks", " for x"],
}
IN_PIECES = {
    "pieces": ["The", " user", " asks"],
    "a piece that begins like the one before": ["a", "and", " so on"],
    "such a piece at the end": ["a", "and"],
    "the same piece again": ["ha", "ha", "haha"],
    "long pieces": ["-" * 20, "-" * 20, " done"],
}


def _repeating(texts: list[str], beside: str) -> list[dict[str, Any]]:
    named = [{beside: text} if beside else {} for text in texts]
    deltas = [
        {"reasoning_details": _details(text), **one} for text, one in zip(texts, named, strict=True)
    ]
    return [*map(chunk, deltas), chunk({"content": "Done."}), chunk({}, "stop")]


@pytest.mark.parametrize("beside", ["", "reasoning_content"])
@pytest.mark.parametrize("texts", REPEATED.values(), ids=REPEATED.keys())
def test_thinking_that_is_repeated_is_read_once(texts: list[str], beside: str) -> None:
    """By MiniMax's documents each block has all of the thinking so far."""
    made = response(streamed(_repeating(texts, beside)))

    said = texts[-1] if texts[-1].startswith(texts[0]) else "".join(texts[-2:])
    assert (made.reasoning, made.text) == (said, "Done.")
    native = made.message.content[0].provider_metadata["openai"]
    assert native["reasoning_details"] == _details(said)


@pytest.mark.parametrize("texts", [["The", "The user", "The user asks"], ["a", "and"]])
def test_blocks_with_all_thinking_beside_pieces_of_it_are_kept_once(texts: list[str]) -> None:
    """The field beside the blocks shows which of the two forms they have."""
    starts = ("", *texts)
    pieces = [text.removeprefix(before) for before, text in zip(starts, texts, strict=False)]
    deltas = [
        {"reasoning_content": piece, "reasoning_details": _details(text)}
        for piece, text in zip(pieces, texts, strict=True)
    ]
    made = response(streamed([*map(chunk, deltas), chunk({"content": "Done."}), chunk({}, "stop")]))

    assert made.reasoning == "".join(pieces)
    native = made.message.content[0].provider_metadata["openai"]
    assert native["reasoning_details"] == _details(texts[-1])


@pytest.mark.parametrize("beside", ["", "reasoning_content"])
@pytest.mark.parametrize("texts", IN_PIECES.values(), ids=IN_PIECES.keys())
def test_pieces_of_thinking_are_not_taken_for_repetitions(texts: list[str], beside: str) -> None:
    """As its server sends them."""
    made = response(streamed(_repeating(texts, beside)))

    assert made.reasoning == "".join(texts)
    native = made.message.content[0].provider_metadata["openai"]
    assert native["reasoning_details"] == _details("".join(texts))


@given(st.lists(st.text("ab ", min_size=1, max_size=4), min_size=3, max_size=6))
def test_snapshots_of_any_thinking_are_its_text(pieces: list[str]) -> None:
    """Whatever it is, if three of them are sent."""
    texts = ["".join(pieces[: end + 1]) for end in range(len(pieces))]

    assert response(streamed(_repeating(texts, ""))).reasoning == texts[-1]


# -- what was kept until more came, when nothing does

CUT = {
    "thinking": ([{"reasoning_details": _details(text)} for text in ("The", "These")], "TheThese"),
    "a tag": ([{"content": "<think>Hm, "}, {"content": "so</th"}], "Hm, so</th"),
}


@pytest.mark.parametrize(("deltas", "thought"), CUT.values(), ids=CUT.keys())
def test_a_response_that_is_cut_has_all_that_came(deltas: list[Any], thought: str) -> None:
    """Also what might have been the beginning of something else."""
    cut = error(streamed([*map(chunk, deltas)], dialect=TAGGED, done=False))

    assert isinstance(cut, StreamError)
    assert cut.partial is not None
    assert cut.partial.reasoning == thought


def test_arguments_that_were_held_back_are_emitted_when_the_stream_is_cut() -> None:
    """They might have been repetitions."""
    fragments = ['{"a":', '{"a":{']
    chunks = [chunk({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "f"}}]})]
    chunks += [
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}) for text in fragments
    ]

    events = streamed(chunks, done=False)

    assert [event.text for event in events if isinstance(event, ToolInputDelta)] == fragments


# -- thinking in a field of its own, where it may also come in tags


@pytest.mark.parametrize("stream", [True, False])
def test_text_after_thinking_in_a_field_is_text(stream: bool) -> None:
    """Only what follows an opening tag is thinking."""
    deltas = [{"reasoning_content": "Hm."}, {"content": "Do"}, {"content": "ne."}]
    document = completion({"reasoning_content": "Hm.", "content": "Done."})
    chunks = [*map(chunk, deltas), chunk({}, "stop")]

    answer = response(
        streamed(chunks, dialect=TAGGED) if stream else whole(document, dialect=TAGGED)
    )

    assert (answer.reasoning, answer.text) == ("Hm.", "Done.")
