"""Function calls, whole and in pieces, and the tools that the service ran."""

from typing import Any

import pytest
from attrs import evolve

from llmcore.schema.content import ToolCallPart, ToolResultPart
from llmcore.schema.events import (
    ProviderEvent,
    TextStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from llmcore.schema.tools import CustomTool
from tests.support.wire.gemini import ASKED, call, chunk, piece, pieces, streamed, whole
from tests.support.wire.protocol import error, response


def calls(events: Any) -> list[tuple[str, Any]]:
    """Return name and arguments of each call of a response."""
    return [(one.name, one.arguments) for one in response(events).tool_calls]


# -- whole calls


def test_parallel_calls_have_ids_of_their_own() -> None:
    """Two calls of one function with the same arguments are two calls."""
    document = chunk(call(), call(), finish="STOP")
    ids = [one.id for one in response(whole(document)).tool_calls]

    assert len(set(ids)) == 2
    assert ids == [one.id for one in response(whole(document)).tool_calls]
    assert all(id_.isidentifier() and len(id_) <= 32 for id_ in ids)


def test_ids_of_one_conversation_differ() -> None:
    """Calls without ids and response ids are numbered by the turn."""
    document = {"candidates": [{"content": {"parts": [call()]}, "finishReason": "STOP"}]}
    later = evolve(ASKED, messages=ASKED.messages * 3)

    first = response(whole(document)).tool_calls[0].id
    second = response(whole(document, asked=later)).tool_calls[0].id
    assert first != second


def test_the_services_ids_are_kept() -> None:
    """Unless two calls have the same."""
    answer = response(whole(chunk(call(id="a"), call(id="a"), call(id="b"), finish="STOP")))
    first, second, third = (one.id for one in answer.tool_calls)

    assert (first, third) == ("a", "b")
    assert second not in ("a", "b")


@pytest.mark.parametrize("args", [{}, {"args": None}, {"args": {}}])
def test_no_arguments_are_an_empty_object(args: dict[str, Any]) -> None:
    """However the service says that there are none."""
    part = {"functionCall": {"name": "now", **args}}

    assert calls(whole(chunk(part, finish="STOP"))) == [("now", {})]


@pytest.mark.parametrize(("args", "read"), [('{"a": 1}', {"a": 1}), ("?", {}), ("[1]", {})])
def test_arguments_as_text_are_read(args: str, read: dict[str, Any]) -> None:
    """As proxies pass on those of another API."""
    part = {"functionCall": {"name": "now", "args": args}}

    assert calls(whole(chunk(part, finish="STOP"))) == [("now", read)]


def test_a_freeform_tool_gets_its_text() -> None:
    """It was offered as a function of one string."""
    asked = evolve(ASKED, tools=(CustomTool("sql"),))
    part = {"functionCall": {"name": "sql", "args": {"input": "select 1"}}}
    (made,) = response(whole(chunk(part, finish="STOP"), asked=asked)).tool_calls

    assert (made.kind, made.arguments) == ("custom", "select 1")


def test_a_call_without_a_name_is_kept_as_it_came() -> None:
    """It does not become a call, but is not lost."""
    answer = response(whole(chunk({"functionCall": {"args": {"a": 1}}}, finish="STOP")))

    assert answer.tool_calls == ()
    assert len(answer.message.content) == 1
    assert answer.finish_reason.reason == "stop"


# -- calls in pieces


@pytest.mark.parametrize(
    ("partial", "expected"),
    [
        ([], {}),
        ([piece("$.a", stringValue="x")], {"a": "x"}),
        (
            [
                piece("$.a", more=True, stringValue="New "),
                piece("$.a", more=True, stringValue="York"),
                piece("$.a", stringValue=""),
            ],
            {"a": "New York"},
        ),
        (
            [piece("$.a", more=True, stringValue="x"), piece("$.a", more=True), piece("$.a")],
            {"a": "x"},
        ),
        ([piece("$.a[]"), piece("$.b"), piece("$.c", more=True)], {"a": [], "b": {}}),
        ([piece("$.a.b[0].c[]")], {"a": {"b": [{"c": []}]}}),
        ([piece("$.a[0]", numberValue=1), piece("$.a[]")], {"a": [1]}),
        ([piece("$.a.b", numberValue=1), piece("$.a")], {"a": {"b": 1}}),
        ([piece("$.a", stringValue="x"), piece("$.a", stringValue="y")], {"a": "y"}),
        ([piece("$.a", stringValue="x"), piece("$['a']", stringValue="y")], {"a": "y"}),
        (
            [
                piece("$.a", more=True, stringValue="Par"),
                piece("$.a", stringValue="is"),
                piece("$.a", more=True, stringValue="Ro"),
                piece("$.a", stringValue="me"),
            ],
            {"a": "Rome"},
        ),
        ([piece("$.a", numberValue=3), piece("$.b", numberValue=2.5)], {"a": 3, "b": 2.5}),
        ([piece("$.a", numberValue=3.0)], {"a": 3}),
        (
            [piece("$.a", boolValue=False), piece("$.b", nullValue="NULL_VALUE")],
            {"a": False, "b": None},
        ),
        ([piece("$.a.b.c", stringValue="x")], {"a": {"b": {"c": "x"}}}),
        (
            [piece("$.a[0].n", stringValue="x"), piece("$.a[1].n", stringValue="y")],
            {"a": [{"n": "x"}, {"n": "y"}]},
        ),
        (
            [
                piece("$.a[0].n", stringValue="x"),
                piece("$.a[0].m", numberValue=1),
                piece("$.a[1].n", stringValue="y"),
            ],
            {"a": [{"n": "x", "m": 1}, {"n": "y"}]},
        ),
        ([piece("$.a[0]", stringValue="x"), piece("$.a[1]", numberValue=2)], {"a": ["x", 2]}),
        (
            [piece("$.a[0]", numberValue=1), piece("$.a[0]", numberValue=2)],
            {"a": [2]},
        ),
        ([piece("$.a[9]", stringValue="x")], {"a": ["x"]}),
        ([piece("$['a b']['c.d']", stringValue="x")], {"a b": {"c.d": "x"}}),
        ([piece('$["it\'s"]', stringValue="x")], {"it's": "x"}),
        ([piece("$.a", stringValue="x"), piece("$.a.b", stringValue="y")], {"a": {"b": "y"}}),
        ([piece("$.a[0][1]", numberValue=1)], {"a": [[1]]}),
    ],
)
def test_streamed_arguments_are_assembled_by_json_path(
    partial: list[dict[str, Any]], expected: Any
) -> None:
    """JSON paths say where each piece belongs."""
    chunks = pieces(*partial)

    assert calls(streamed([*chunks, chunk(finish="STOP")])) == [("f", expected)]


def test_the_last_piece_may_end_the_call() -> None:
    """A piece without `willContinue` is the last; an empty one says only that."""
    chunks = pieces(partialArgs=[piece("$.a", stringValue="x")])

    assert calls(streamed([*chunks, chunk(finish="STOP")])) == [("f", {"a": "x"})]


def test_a_string_goes_on_within_the_last_piece() -> None:
    """A piece of a string ends by its own word, not by that of the call."""
    more = [piece("$.a", more=True, stringValue="Par"), piece("$.a", stringValue="is")]
    chunks = pieces(partialArgs=more)

    assert calls(streamed([*chunks, chunk(finish="STOP")])) == [("f", {"a": "Paris"})]


@pytest.mark.parametrize("last", [{}, {"willContinue": False}, {"willContinue": None}])
@pytest.mark.parametrize("partial", [{}, {"partialArgs": [piece("$.b", numberValue=1)]}])
def test_the_last_piece_ends_the_call_before_what_follows(
    last: dict[str, Any], partial: dict[str, Any]
) -> None:
    """With or without arguments of its own; a second last piece adds nothing."""
    chunks = pieces(piece("$.a", stringValue="x"), **partial, **last)
    again = chunk({"functionCall": last})
    after = [again, chunk({"text": "Done."}), chunk(call("g")), chunk(finish="STOP")]
    events = streamed([*chunks, *after])
    kinds = [type(event) for event in events]

    assert calls(events)[0] == ("f", {"a": "x", **({"b": 1} if partial else {})})
    assert kinds.index(ToolInputEnd) < kinds.index(TextStart)
    assert ProviderEvent not in kinds


def test_a_new_name_ends_the_call_before() -> None:
    """So does the end of the response."""
    opened = pieces(piece("$.a", stringValue="x"))[:-1]
    events = streamed([*opened, *opened, chunk(call("g")), chunk(finish="STOP")])

    assert calls(events) == [("f", {"a": "x"}), ("f", {"a": "x"}), ("g", {"city": "Rome"})]


def test_a_call_in_pieces_is_announced_when_it_begins() -> None:
    """And its signature goes home with it."""
    events = streamed([*pieces(piece("$.a", stringValue="x")), chunk(finish="STOP")])
    kinds = [type(event) for event in events]
    (made,) = response(events).tool_calls

    assert kinds.index(ToolInputStart) < kinds.index(ToolInputDelta) < kinds.index(ToolInputEnd)
    assert made.provider_metadata == {"google": {"thoughtSignature": "c2ln"}}


def test_a_call_that_is_cut_off_is_not_taken_for_whole() -> None:
    """Its arguments stay text that does not parse."""
    opened = pieces(piece("$.a", stringValue="x"))[:-1]
    answer = response(streamed([*opened, chunk(finish="MAX_TOKENS")]))
    (made,) = answer.tool_calls

    assert made.arguments == '{"a":"x"'
    assert not made.is_valid
    assert answer.finish_reason.reason == "length"
    assert [note.code for note in answer.diagnostics] == ["invalid-tool-arguments"]


def test_a_call_is_whole_where_the_response_stops_by_itself() -> None:
    """Vertex AI may leave out the piece that ends it."""
    opened = pieces(piece("$.a", stringValue="x"))[:-1]
    answer = response(streamed([*opened, chunk(finish="STOP")]))

    assert [made.arguments for made in answer.tool_calls] == [{"a": "x"}]
    assert answer.finish_reason.reason == "tool_calls"
    assert answer.diagnostics == ()


def test_a_freeform_tool_in_pieces() -> None:
    """Its text is unwrapped here too."""
    asked = evolve(ASKED, tools=(CustomTool("sql"),))
    chunks = pieces(
        piece("$.input", more=True, stringValue="select"),
        piece("$.input", stringValue=" 1"),
        name="sql",
    )
    (made,) = response(streamed([*chunks, chunk(finish="STOP")], asked=asked)).tool_calls

    assert (made.kind, made.arguments) == ("custom", "select 1")


@pytest.mark.parametrize("path", ["$", "$[0]", "", "$" + ".a" * 500])
def test_a_piece_that_belongs_nowhere_is_an_error(path: str) -> None:
    """Half of the arguments are not taken for all of them."""
    chunks = pieces(piece(path, stringValue="x"))

    assert "leads to no argument" in str(error(streamed([*chunks, chunk(finish="STOP")])))


# -- tools that the service ran

CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
DONE = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}


def executed(*parts: dict[str, Any]) -> list[ToolCallPart | ToolResultPart]:
    """Return the calls and results that *parts* give, streamed and whole alike."""
    document = response(whole(chunk(*parts, finish="STOP"))).message
    pieces_ = response(streamed([*map(chunk, parts), chunk(finish="STOP")])).message
    assert document == pieces_
    return [one for one in document.content if isinstance(one, ToolCallPart | ToolResultPart)]


def test_code_and_its_result() -> None:
    """They are paired by order where they have no ids, and are not calls of the caller's."""
    made, result = executed(CODE, DONE)

    assert isinstance(made, ToolCallPart)
    assert isinstance(result, ToolResultPart)
    assert (made.name, made.arguments) == ("code_execution", CODE["executableCode"])
    assert result.tool_call_id == made.id
    assert result.content == DONE["codeExecutionResult"]
    assert not result.is_error
    assert response(whole(chunk(CODE, DONE, finish="STOP"))).finish_reason.reason == "stop"


def test_failed_code_execution_is_an_error_result() -> None:
    """The outcome shows it."""
    failed = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "NameError"}}
    _, result = executed(CODE, failed)

    assert isinstance(result, ToolResultPart)
    assert result.is_error


def test_results_in_another_order_find_their_calls_by_id() -> None:
    """Results that come in another order find their calls."""
    search = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["a"]}, "id": "1"}}
    fetch = {"toolCall": {"toolType": "URL_CONTEXT", "id": "2"}}
    fetched = {"toolResponse": {"toolType": "URL_CONTEXT", "response": {"x": 1}, "id": "2"}}
    found = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "1"}}
    first, second, third, fourth = executed(search, fetch, fetched, found)

    assert [first.name, second.name] == ["google_search_web", "url_context"]
    assert isinstance(first, ToolCallPart)
    assert first.arguments == {"queries": ["a"]}
    assert isinstance(third, ToolResultPart)
    assert isinstance(fourth, ToolResultPart)
    assert (third.tool_call_id, third.content) == ("2", {"x": 1})
    assert (fourth.tool_call_id, fourth.content) == ("1", {})


def test_a_result_without_a_call() -> None:
    """It is kept, under an id of its own."""
    (result,) = executed(DONE)

    assert isinstance(result, ToolResultPart)
    assert result.tool_call_id
