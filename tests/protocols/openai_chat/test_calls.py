"""Which fragment belongs to which tool call."""

import json
from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols.openai_chat import OPENAI
from llmcore.schema.content import TextPart, ToolCallPart
from llmcore.schema.errors import StreamError
from llmcore.schema.events import ProviderEvent, ToolCall, ToolInputDelta
from llmcore.schema.tools import CustomTool, ToolChoice, ToolDefinition
from tests.support.wire.chat import ASKED, call, calls_chunks, chunk, completion, streamed, whole
from tests.support.wire.protocol import error, response

A = '{"city":"A"}'
B = '{"city":"B"}'

TWO_CALLS: dict[str, list[Any]] = {
    "as documented": [
        call(0, id="a", type="function", name="one", arguments=""),
        call(0, arguments=A[:4]),
        call(0, arguments=A[4:]),
        call(1, id="b", type="function", name="two", arguments=""),
        call(1, arguments=B[:4]),
        call(1, arguments=B[4:]),
    ],
    "both of index 0, each in one chunk": [
        call(0, id="a", name="one", arguments=A),
        call(0, id="b", name="two", arguments=B),
    ],
    "both of index 0, without ids": [
        call(0, name="one", arguments=A),
        call(0, name="two", arguments=B),
    ],
    "no index, the id on the first fragment only": [
        call(id="a", name="one", arguments=A[:3]),
        call(arguments=A[3:]),
        call(id="b", name="two", arguments=B[:3]),
        call(arguments=B[3:]),
    ],
    "the id on every fragment": [
        call(0, id="a", name="one", arguments=""),
        call(0, id="a", arguments=A),
        call(1, id="b", name="two", arguments=""),
        call(1, id="b", arguments=B),
    ],
    "id and name on every fragment": [
        call(0, id="a", name="one", arguments=A[:5]),
        call(0, id="a", name="one", arguments=A[5:]),
        call(1, id="b", name="two", arguments=B[:5]),
        call(1, id="b", name="two", arguments=B[5:]),
    ],
    "fragments of both in turn": [
        call(0, id="a", name="one", arguments=""),
        call(1, id="b", name="two", arguments=""),
        call(0, arguments=A[:6]),
        call(1, arguments=B[:6]),
        call(0, arguments=A[6:]),
        call(1, arguments=B[6:]),
    ],
    "the index rises on continuations": [
        call(0, id="a", name="one", arguments=""),
        call(1, arguments=A),
        call(2, id="b", name="two", arguments=""),
        call(3, arguments=B),
    ],
    "the index is null": [
        call(index=None, id="a", name="one", arguments=A) | {"index": None},
        call(index=None, id="b", name="two", arguments=B) | {"index": None},
    ],
    "two calls in one chunk": [
        [call(0, id="a", name="one", arguments=A), call(1, id="b", name="two", arguments=B)]
    ],
    "two calls in one chunk, without index": [
        [call(id="a", name="one", arguments=A), call(id="b", name="two", arguments=B)]
    ],
    "no ids, good indexes": [
        call(0, name="one", arguments=""),
        call(0, arguments=A),
        call(1, name="two", arguments=""),
        call(1, arguments=B),
    ],
    "some with index, some without": [
        call(0, id="a", name="one", arguments=""),
        call(arguments=A),
        call(id="b", name="two", arguments=""),
        call(1, arguments=B[:2]),
        call(arguments=B[2:]),
    ],
    "the name on every fragment, no ids": [
        call(0, name="one", arguments=A[:5]),
        call(0, name="one", arguments=A[5:]),
        call(1, name="two", arguments=B[:5]),
        call(1, name="two", arguments=B[5:]),
    ],
    "one id for both": [
        call(0, id="x", name="one", arguments=A),
        call(1, id="x", name="two", arguments=B),
    ],
    "ids that change on every fragment": [
        call(0, id="a1", name="one", arguments=""),
        call(0, id="a2", arguments=A),
        call(1, id="b1", name="two", arguments=""),
        call(1, id="b2", arguments=B),
    ],
    "ids that change and the name on every fragment": [
        call(0, id="a1", name="one", arguments=A[:3]),
        call(0, id="a2", name="one", arguments=A[3:]),
        call(1, id="b1", name="two", arguments=B[:3]),
        call(1, id="b2", name="two", arguments=B[3:]),
    ],
    "the id before the name": [
        call(0, id="a"),
        call(0, name="one", arguments=A),
        call(1, id="b"),
        call(1, name="two", arguments=B),
    ],
    "an empty object first, then the arguments": [
        call(0, id="a", name="one", arguments="{}"),
        call(0, arguments=A),
        call(1, id="b", name="two", arguments="{}"),
        call(1, arguments=B),
    ],
    "each whole call said twice": [
        call(0, id="a", name="one", arguments=A),
        call(0, id="a", name="one", arguments=A),
        call(1, id="b", name="two", arguments=B),
        call(1, id="b", name="two", arguments=B),
    ],
    "arguments as objects": [
        call(0, id="a", name="one", arguments={"city": "A"}),
        call(1, id="b", name="two", arguments={"city": "B"}),
    ],
    "ids that say null": [
        call(0, id="null", name="one", arguments=A),
        call(1, id="null", name="two", arguments=B),
    ],
    "indexes as text": [
        [call("0", id="a", name="one"), call("1", id="b", name="two")],
        [call("0", arguments=A[:3]), call("1", arguments=B[:3])],
        [call("0", arguments=A[3:]), call("1", arguments=B[3:])],
    ],
    "indexes as floats": [
        [call(0.0, id="a", name="one"), call(1.0, id="b", name="two")],
        [call(0.0, arguments=A[:3]), call(1.0, arguments=B[:3])],
        [call(0.0, arguments=A[3:]), call(1.0, arguments=B[3:])],
    ],
    "the other form of a tool beside it, empty": [
        call(0, id="a", name="one", arguments=A, custom={"name": "", "input": ""}),
        call(1, id="b", name="two", arguments=B, custom={"name": "", "input": ""}),
    ],
    "the other form of a tool beside it, with a field that is not known": [
        call(0, id="a", name="one", arguments=A, custom={"name": "", "input": "", "new": 1}),
        call(1, id="b", name="two", arguments=B, custom={"name": "", "input": "", "new": 1}),
    ],
}


@pytest.mark.parametrize("fragments", TWO_CALLS.values(), ids=TWO_CALLS.keys())
def test_two_calls_stay_two(fragments: list[Any]) -> None:
    """However a server numbers its fragments, two calls come out, each whole."""
    calls = response(streamed(calls_chunks(*fragments))).tool_calls

    assert [(c.name, c.arguments) for c in calls] == [
        ("one", {"city": "A"}),
        ("two", {"city": "B"}),
    ]
    assert len({c.id for c in calls}) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_without_a_list_around_it_is_one(stream: bool) -> None:
    """As servers write whose serializer has no lists of one item."""
    one = {"tool_calls": call(0, id="a", name="one", arguments=A)}
    events = (
        streamed([chunk(one), chunk({}, "tool_calls")])
        if stream
        else whole(completion(one, "tool_calls"))
    )

    (made,) = response(events).tool_calls
    assert (made.id, made.name, made.arguments) == ("a", "one", {"city": "A"})


SPLIT_NAMES: dict[str, list[Any]] = {
    "in pieces, without an id": [
        call(0, name="get_"),
        call(0, name="weather"),
        call(0, arguments=A),
    ],
    "in pieces, each with the id": [
        call(0, id="a", name="get_", arguments=""),
        call(0, id="a", name="wea", arguments=""),
        call(0, id="a", name="ther", arguments=A[:3]),
        call(0, id="a", arguments=A[3:]),
    ],
    "in pieces, with empty objects": [
        call(0, id="a", name="get_", arguments="{}"),
        call(0, name="weather", arguments="{}"),
        call(0, arguments=A),
    ],
    "in pieces, without an index": [
        call(id="a", name="get_"),
        call(name="weather", arguments=A),
    ],
    "in pieces after the id": [
        call(0, id="a"),
        call(0, name="get_"),
        call(0, name="weather", arguments=A),
    ],
    "from its beginning in each piece": [
        call(0, id="a", name="get_"),
        call(0, id="a", name="get_weather", arguments=A),
    ],
    "whole in each fragment": [
        call(0, name="get_weather"),
        call(0, name="get_weather", arguments=A[:3]),
        call(0, name="get_weather", arguments=A[3:]),
    ],
}


def with_tools(*names: str) -> Any:
    """Return a request that offers functions of these names."""
    return evolve(ASKED, tools=tuple(ToolDefinition(name) for name in names))


@pytest.mark.parametrize("fragments", SPLIT_NAMES.values(), ids=SPLIT_NAMES.keys())
@pytest.mark.parametrize("others", [(), ("get_weather_of_day",)], ids=["alone", "a longer one"])
def test_a_name_in_pieces_is_that_of_a_tool_of_the_request(
    fragments: list[Any], others: tuple[str, ...]
) -> None:
    """The request's tools tell whether a name goes on, or another call begins."""
    asked = with_tools("get_weather", *others)

    calls = response(streamed(calls_chunks(*fragments), asked=asked)).tool_calls

    assert [(one.name, one.arguments) for one in calls] == [("get_weather", {"city": "A"})]


def test_a_name_that_is_the_beginning_of_another_is_whole_if_nothing_follows() -> None:
    """Calls keep their order, whatever comes next, and a whole message needs no more."""
    asked = with_tools("get", "get_all", "look")
    first, second = call(0, id="a", name="get"), call(1, id="b", name="look", arguments=A)

    for events in (
        streamed(calls_chunks(first, second), asked=asked),
        streamed(calls_chunks([first, second]), asked=asked),
        whole(completion({"tool_calls": [first, second]}, "tool_calls"), asked=asked),
    ):
        assert [one.name for one in response(events).tool_calls] == ["get", "look"]
    alone = response(streamed(calls_chunks(first), asked=asked)).tool_calls
    assert [(one.id, one.name, one.arguments) for one in alone] == [("a", "get", {})]


def test_text_after_a_name_that_may_go_on_keeps_its_place() -> None:
    """The call has begun before it."""
    chunks = [chunk({"tool_calls": [call(0, id="a", name="get")]}), chunk({"content": "Well."})]

    events = streamed([*chunks, chunk({}, "tool_calls")], asked=with_tools("get", "get_all"))

    kinds = [type(part) for part in response(events).message.content]
    assert kinds == [ToolCallPart, TextPart]


def test_names_without_ids_that_do_not_join_are_two_calls() -> None:
    """As before, where they are not pieces of a tool's name."""
    asked = with_tools("get", "get_all", "look")
    fragments = [call(0, name="get"), call(0, name="look", arguments=B)]

    calls = response(streamed(calls_chunks(*fragments), asked=asked)).tool_calls

    assert [(one.name, one.arguments) for one in calls] == [("get", {}), ("look", {"city": "B"})]


@pytest.mark.parametrize("wrong", ["get_", "unknown"])
def test_a_name_that_no_tool_has_is_read_as_it_came(wrong: str) -> None:
    """The model may invent one."""
    asked = with_tools("get_weather")
    fragments = [call(0, id="a", name=wrong), call(0, arguments=A)]

    calls = response(streamed(calls_chunks(*fragments), asked=asked)).tool_calls

    assert [(one.name, one.arguments) for one in calls] == [(wrong, {"city": "A"})]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("get_weather<|channel|>commentary", "get_weather"),
        ("get_weather<|constrain|>json", "get_weather"),
        ("functions.get_weather", "get_weather"),
        ("functions.get_weather:0", "get_weather"),
        ("functions.a", "functions.a"),
        ("time<|channel|>commentary", "time<|channel|>commentary"),
        ("<|channel|>get_weather", "<|channel|>get_weather"),
    ],
)
def test_marks_of_a_template_around_a_tools_name_are_left_out(
    sent: str, name: str, stream: bool
) -> None:
    """Servers have leaked those of gpt-oss and of Kimi."""
    asked = with_tools("get_weather", "functions.a")
    native = call(0, id="a", name=sent, arguments=A)
    events = (
        streamed(calls_chunks(native, call(0, arguments="")), asked=asked)
        if stream
        else whole(completion({"tool_calls": [native]}, "tool_calls"), asked=asked)
    )

    answer = response(events)

    assert [(one.name, one.arguments) for one in answer.tool_calls] == [(name, {"city": "A"})]
    assert [(note.code, note.path) for note in answer.diagnostics] == (
        [] if name == sent else [("tool-name-cleaned", name)]
    )


@pytest.mark.parametrize(("one", "two"), [(17, 18), (None, None), (0, 0), ("", "")])
def test_ids_that_are_no_text_are_replaced_by_texts(one: object, two: object) -> None:
    """Streamed and whole alike, and two calls never share one."""
    both = [call(0, id=one, name="one", arguments=A), call(1, id=two, name="two", arguments=B)]

    calls = response(streamed(calls_chunks(*both))).tool_calls
    at_once = response(whole(completion({"tool_calls": both}, "tool_calls"))).tool_calls

    assert calls == at_once
    assert [(c.name, c.arguments) for c in calls] == [
        ("one", {"city": "A"}),
        ("two", {"city": "B"}),
    ]
    assert all(isinstance(c.id, str) and c.id for c in calls)
    assert len({c.id for c in calls}) == 2


def test_two_calls_of_one_tool_without_ids_stay_two() -> None:
    """A whole object with the name again is the next call, not more of the last."""
    fragments = [call(0, name="one", arguments=A), call(0, name="one", arguments=B)]

    calls = response(streamed(calls_chunks(*fragments))).tool_calls

    assert [c.arguments for c in calls] == [{"city": "A"}, {"city": "B"}]


AMBIGUOUS: dict[str, list[Any]] = {
    "more for a whole call, of nobody": [
        call(0, id="a", name="one", arguments=A),
        call(arguments=B),
    ],
    "more for a whole call, by its index": [call(0, name="one", arguments=A), call(0, arguments=B)],
    "more for a whole call, by its id": [
        call(0, id="a", name="one", arguments=A),
        call(0, id="a", name="one", arguments=B),
    ],
    "arguments before any name": [call(0, arguments=A)],
    "a call that never gets a name": [call(0, id="a")],
}


@pytest.mark.parametrize("fragments", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_what_belongs_to_no_call_is_an_error(fragments: list[Any]) -> None:
    """Two calls are never run as one: what cannot be told apart fails, with a type."""
    failed = error(streamed(calls_chunks(*fragments)))

    assert isinstance(failed, StreamError)


@pytest.mark.parametrize(
    "pieces", [[], [""], [None], [" "], ["{}"], ["null"], ["{", "}"], ["", " ", ""]]
)
def test_no_arguments_are_an_empty_object(pieces: list[str | None]) -> None:
    """Nothing, null, white space and `{}` all mean that there are no arguments."""
    fragments = [
        call(0, id="a", name="now"),
        *(call(0, arguments=piece) for piece in pieces),
    ]

    (part,) = response(streamed(calls_chunks(*fragments))).tool_calls

    assert part == ToolCallPart("a", "now", {})


@pytest.mark.parametrize("arguments", ["", None, "{}", "null", {}])
def test_no_arguments_are_an_empty_object_when_whole(arguments: object) -> None:
    """A body that was not streamed spells no arguments in as many ways."""
    message = {"content": None, "tool_calls": [call(id="a", name="now", arguments=arguments)]}

    (part,) = response(whole(completion(message, "tool_calls"))).tool_calls

    assert part.arguments == {}


def test_an_empty_object_is_kept_as_it_was_written_whole_as_in_a_stream() -> None:
    """A server that streams may begin with one; one that does not has no more to say."""
    named = call(0, id="a", name="now")
    parts = call(0, id="a", name="now", arguments=""), call(0, arguments="{}")
    message = {"tool_calls": [{**named, "function": {"name": "now", "arguments": "{}"}}]}

    (at_once,) = response(whole(completion(message, "tool_calls"))).tool_calls
    (streaming,) = response(streamed(calls_chunks(*parts))).tool_calls

    assert at_once.raw_arguments == streaming.raw_arguments == "{}"


def test_broken_arguments_are_kept_and_reported() -> None:
    """Half an object is never taken for a whole one, nor lost."""
    fragments = [call(0, id="a", name="one", arguments=""), call(0, arguments='{"city":"Ber')]
    chunks = [*calls_chunks(*fragments)[:-1], chunk({}, "length")]

    answer = response(streamed(chunks))

    assert answer.tool_calls[0].arguments == '{"city":"Ber'
    assert not answer.tool_calls[0].is_valid
    assert answer.finish_reason.reason == "length"
    assert [note.code for note in answer.diagnostics] == ["invalid-tool-arguments"]


def test_synthetic_ids_are_the_same_every_time() -> None:
    """The same response gives the same ids, so histories and caches stay stable."""
    chunks = calls_chunks(call(0, name="one", arguments=A), call(1, name="two", arguments=B))
    message = {"tool_calls": [call(name="one", arguments=A), call(name="two", arguments=B)]}

    first, again = response(streamed(chunks)), response(streamed(chunks))
    at_once = response(whole(completion(message, "tool_calls")))

    assert first.tool_calls == again.tool_calls == at_once.tool_calls


def test_the_whole_call_in_the_finish_chunk_arrives() -> None:
    """A backend that sends name, arguments and finish in one chunk loses nothing."""
    last = chunk({"tool_calls": [call(0, id="a", name="one", arguments=A)]}, "tool_calls")

    (part,) = response(streamed([last])).tool_calls

    assert part == ToolCallPart("a", "one", {"city": "A"})


def test_empty_call_without_a_name_is_ignored() -> None:
    """LiteLLM's proxy has sent one after thinking."""
    nothing = call(-1, id=None, name=None, arguments="{}")

    (made,) = response(streamed(calls_chunks(nothing, call(0, id="a", name="one")))).tool_calls

    assert made.name == "one"


def test_empty_fragment_of_a_call_is_ignored() -> None:
    """Some servers announce calls with an empty list entry."""
    chunks = calls_chunks({}, call(0), call(0, id="a", name="one", arguments="{}"), {})

    assert [c.name for c in response(streamed(chunks)).tool_calls] == ["one"]


def test_an_id_of_an_earlier_call_finds_it() -> None:
    """An id that was seen is that call's, whatever came between."""
    fragments = [
        call(id="a", name="one", arguments=""),
        call(id="b", name="two", arguments=""),
        call(id="a", arguments=A),
        call(id="b", arguments=B),
    ]

    calls = response(streamed(calls_chunks(*fragments))).tool_calls

    assert [c.arguments for c in calls] == [{"city": "A"}, {"city": "B"}]


def test_plain_fragments_pass_as_deltas() -> None:
    """Arguments are streamed as they come, and the call follows its last fragment."""
    fragments = [
        call(0, id="a", type="function", name="one", arguments=""),
        *(call(0, arguments=char) for char in A),
    ]

    events = streamed(calls_chunks(*fragments))

    assert [e.text for e in events if isinstance(e, ToolInputDelta)] == list(A)
    kinds = [event.type for event in events]
    assert kinds.index("tool-input-end") + 1 == kinds.index("tool-call")


def test_the_api_before_tools_still_reads() -> None:
    """`function_call` is a call without an id."""
    chunks = [
        chunk({"function_call": {"name": "one", "arguments": ""}}),
        chunk({"function_call": {"arguments": A}}),
        chunk({}, "function_call"),
    ]

    answer = response(streamed(chunks))

    assert [(c.name, c.arguments) for c in answer.tool_calls] == [("one", {"city": "A"})]
    assert answer.finish_reason.reason == "tool_calls"


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_in_both_forms_is_one(stream: bool) -> None:
    """Some servers repeat a call of `tool_calls` as `function_call`, for older clients."""
    both = {
        "tool_calls": [call(0, id="a", name="one", arguments=A)],
        "function_call": {"name": "one", "arguments": A},
    }
    events = (
        streamed([chunk(both), chunk({}, "tool_calls")])
        if stream
        else whole(completion(both, "tool_calls"))
    )

    assert [(c.id, c.name) for c in response(events).tool_calls] == [("a", "one")]


def test_text_between_calls_keeps_its_place() -> None:
    """Order is meaning: text, call, text come back as they came."""
    chunks = [
        chunk({"content": "First."}),
        chunk({"tool_calls": [call(0, id="a", name="one", arguments=A)]}),
        chunk({"content": "Then."}),
        chunk({}, "tool_calls"),
    ]

    parts = response(streamed(chunks)).message.content

    assert [type(part).__name__ for part in parts] == ["TextPart", "ToolCallPart", "TextPart"]


# -- custom tools


def test_a_freeform_call_is_raw_text() -> None:
    """The input of a custom tool is text, JSON or not."""
    chunks = [
        chunk(
            {"tool_calls": [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh"}}]}
        ),
        chunk({"tool_calls": [{"index": 0, "custom": {"input": '{"not": '}}]}),
        chunk({"tool_calls": [{"index": 0, "custom": {"input": "parsed"}}]}),
        chunk({}, "tool_calls"),
    ]
    message = {
        "tool_calls": [
            {"id": "a", "type": "custom", "custom": {"name": "sh", "input": '{"not": parsed'}}
        ]
    }

    (part,) = response(streamed(chunks)).tool_calls

    assert part == ToolCallPart("a", "sh", '{"not": parsed', kind="custom")
    assert response(whole(completion(message, "tool_calls"))).tool_calls == (part,)


PATCH = '*** Begin Patch\n+"ü" \\ 👍\n'


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"input": PATCH}, PATCH),
        ({"patch": PATCH}, PATCH),
        ({"input": "a", "other": 1}, "a"),
        ({"a": 1, "b": 2}, '{"a":1,"b":2}'),
    ],
)
def test_a_freeform_tool_offered_as_a_function_is_unwrapped(
    written: dict[str, object], read: str
) -> None:
    """A server without custom tools wraps the text in JSON; the caller gets the text."""
    asked = evolve(ASKED, tools=(CustomTool("apply_patch"),))
    dialect = evolve(OPENAI, custom_tools=False)
    chunks = calls_chunks(
        call(0, id="a", name="apply_patch", arguments=""),
        *(call(0, arguments=char) for char in json.dumps(written)),
    )

    events = streamed(chunks, dialect=dialect, asked=asked)

    (called,) = [event for event in events if isinstance(event, ToolCall)]
    assert (called.kind, called.arguments) == ("custom", read)


def test_bare_text_for_a_freeform_function_stays() -> None:
    """A model that forgets the JSON around the text is understood all the same."""
    asked = evolve(ASKED, tools=(CustomTool("apply_patch"),))
    dialect = evolve(OPENAI, custom_tools=False)
    chunks = calls_chunks(call(0, id="a", name="apply_patch", arguments=PATCH))

    (part,) = response(streamed(chunks, dialect=dialect, asked=asked)).tool_calls

    assert part.arguments == PATCH


# -- constrained calls

CONSTRAINED = evolve(OPENAI, constrained_tools=True)
FORCED = evolve(ASKED, tools=(ToolDefinition("weather"),), tool_choice=ToolChoice.named("weather"))


def test_constrained_text_becomes_the_call() -> None:
    """Where the server answers with JSON in place of a call, it comes out as the call."""
    text = '{"name": "weather", "arguments": {"city": "A"}}'
    chunks = [*(chunk({"content": char}) for char in text), chunk({}, "stop")]

    answer = response(streamed(chunks, dialect=CONSTRAINED, asked=FORCED))

    assert answer.text == ""
    assert [(c.name, c.arguments) for c in answer.tool_calls] == [("weather", {"city": "A"})]
    assert answer.finish_reason.reason == "tool_calls"
    document = completion({"content": text})
    assert response(whole(document, dialect=CONSTRAINED, asked=FORCED)).message == answer.message


def test_constrained_text_that_is_not_a_call_stays_text() -> None:
    """A response that was cut off is not made into a call, and its finish reason shows it."""
    chunks = [chunk({"content": '{"name": "wea'}), chunk({}, "length")]

    answer = response(streamed(chunks, dialect=CONSTRAINED, asked=FORCED))

    assert (answer.text, answer.tool_calls) == ('{"name": "wea', ())
    assert [note.code for note in answer.diagnostics] == ["tool-call-missing"]


def test_a_constrained_freeform_call_is_text() -> None:
    """A custom tool behind a schema still takes text."""
    asked = evolve(FORCED, tools=(CustomTool("sh"),), tool_choice=ToolChoice.required())
    chunks = [chunk({"content": '{"name":"sh","arguments":{"input":"ls"}}'}), chunk({}, "stop")]

    (part,) = response(streamed(chunks, dialect=CONSTRAINED, asked=asked)).tool_calls

    assert (part.kind, part.arguments) == ("custom", "ls")


def test_fragments_of_interleaved_calls_without_the_index_0_stay_apart() -> None:
    """Servers in Go leave out a number that is 0."""
    chunks = calls_chunks(
        [call(id="a", name="one", arguments=""), call(1, id="b", name="two", arguments="")],
        [call(arguments=A[:3])],
        [call(1, arguments=B[:3])],
        [call(arguments=A[3:])],
        [call(1, arguments=B[3:])],
    )

    assert [part.arguments_text for part in response(streamed(chunks)).tool_calls] == [A, B]


# -- what must go back with a call


def test_thought_signatures_stay_with_their_call() -> None:
    """Gemini behind this API signs its calls; the signature comes on the part."""
    extra = {"google": {"thought_signature": "sig"}}
    chunks = calls_chunks(
        [
            call(0, id="a", name="one", arguments=A) | {"extra_content": extra},
            call(1, id="b", name="two", arguments=B),
        ]
    )

    first, second = response(streamed(chunks)).tool_calls

    assert first.provider_metadata == {"openai": {"extra_content": extra}}
    assert second.provider_metadata == {}


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_fields_of_litellm_stay_with_their_call(inside: bool, stream: bool) -> None:
    """Its server has signatures of Gemini's in them, beside the function or in it."""
    fields = {"provider_specific_fields": {"thought_signature": "sig"}}
    made = call(0, id="a", name="one", arguments=A)
    holder = made["function"] if inside else made
    holder |= fields

    events = (
        streamed(calls_chunks([made, call(1, id="b", name="two", arguments=B)]))
        if stream
        else whole(completion({"tool_calls": [made]}, "tool_calls"))
    )

    assert response(events).tool_calls[0].provider_metadata == {"openai": fields}


# -- other forms of calls

FLAT: list[dict[str, Any]] = [
    {"name": "look", "arguments": {"at": 1}},
    {"name": "look", "arguments": '{"at": 1}', "id": "c1", "type": "FUNCTION"},
]


@pytest.mark.parametrize("native", FLAT)
@pytest.mark.parametrize("stream", [True, False])
def test_a_call_without_an_object_around_its_name_is_one(
    native: dict[str, Any], stream: bool
) -> None:
    """As some servers pass on what their models write."""
    body = completion({"content": None, "tool_calls": [native]})
    events = streamed([chunk({"tool_calls": [native]}), chunk({}, "stop")])
    made = response(events if stream else whole(body))

    (part,) = made.tool_calls
    assert (part.name, part.arguments) == ("look", {"at": 1})
    assert made.finish_reason.reason == "tool_calls"


OTHER = {"id": "c1", "index": 0, "type": "web_browser", "web_browser": {"outputs": [{"n": 1}]}}


def test_a_call_of_a_tool_of_another_kind_is_passed_on() -> None:
    """GLM's, which the server runs; what a whole message repeats comes once."""
    deltas = [chunk({"content": "a"}), chunk({"tool_calls": [OTHER]})]
    message = {"role": "assistant", "content": "a", "tool_calls": [OTHER]}
    last = chunk({}, "stop")
    repeated = {**last, "choices": [{**last["choices"][0], "message": message}]}
    event = ProviderEvent("openai", {"tool_call": OTHER})

    for events in (
        streamed([*deltas, last]),
        streamed([*deltas, repeated]),
        whole(completion({"content": "a", "tool_calls": [OTHER]})),
    ):
        assert events.count(event) == 1
        assert response(events).message.content == (TextPart("a"),)
        assert response(events).finish_reason.reason == "stop"


@pytest.mark.parametrize("count", [128, 129])
def test_calls_that_wait_for_their_names_are_limited(count: int) -> None:
    """Each fragment is compared with all of them."""
    fragments = [call(number, id=f"c{number}", arguments="{}") for number in range(count)]
    named = [call(number, id=f"c{number}", name="f") for number in range(count)]
    events = streamed(calls_chunks(fragments, named))

    if count > 128:
        assert "more than 128 tool calls have no name" in error(events).message
    else:
        assert len([event for event in events if isinstance(event, ToolCall)]) == count
