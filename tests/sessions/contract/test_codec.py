"""Entries and deltas as JSON: camelCase, versioned, strict."""

import json
from pathlib import Path
from typing import Any, cast

import jsonschema  # type: ignore[import-untyped]
import pytest
from attrs import evolve
from hypothesis import given

from llmcore.schema.errors import InvalidRequestError
from llmcore.sessions.contract import errors
from llmcore.sessions.contract.codec import (
    delta_from_wire,
    entry_from_text,
    entry_from_wire,
    entry_to_text,
    to_wire,
)
from llmcore.sessions.contract.deltas import DeltaText, DeltaToolCallArgs, DeltaUsage, MessageDelta
from llmcore.sessions.contract.entries import (
    EntryText,
    EntryToolCall,
    EntryToolResult,
    MessageEntry,
)
from llmcore.sessions.contract.json_schema import contract_schema
from tests.support.strategies.contract import NOON, entry, single_deltas, single_entries

PUBLISHED = Path(__file__).parents[3] / "docs" / "contract-schema.json"
VALIDATOR = jsonschema.Draft202012Validator(contract_schema())

ENTRY: dict[str, Any] = {
    "contractVersion": 1,
    "runId": "r",
    "role": "assistant",
    "parts": [
        {"kind": "text", "payload": {"text": "Hi"}},
        {
            "kind": "tool_call",
            "payload": {"toolCallId": "c", "toolName": "look", "arguments": {"a_b": 1}},
        },
    ],
    "timestamp": NOON,
    "meta": {"usage": {"inputTokens": 1}},
}
DELTA: dict[str, Any] = {
    "contractVersion": 1,
    "runId": "r",
    "seq": 4,
    "kind": "tool_call_args",
    "payload": {"toolCallId": "c", "argsTextDelta": "{"},
    "timestamp": NOON,
}


def test_the_published_schema_equals_the_generated_one() -> None:
    """`llmcore sessions schema > docs/contract-schema.json` keeps it so."""
    assert json.loads(PUBLISHED.read_text("utf-8")) == contract_schema()


def test_an_entry_is_written_as_documented_json() -> None:
    """Names are camelCase; what callers put into arguments and meta is left alone."""
    call = EntryToolCall("c", "look", {"a_b": 1})
    value = MessageEntry(
        run_id="r",
        role="assistant",
        parts=[EntryText("Hi"), call],
        timestamp=NOON,
        meta={"usage": {"inputTokens": 1}},
    )

    assert to_wire(value) == ENTRY
    assert entry_from_wire(ENTRY) == value


def test_a_delta_is_written_as_documented_json() -> None:
    """A delta without raw data does not mention it."""
    value = MessageDelta(run_id="r", seq=4, payload=DeltaToolCallArgs("c", "{"), timestamp=NOON)

    assert to_wire(value) == DELTA
    assert delta_from_wire(DELTA) == value


def test_usage_counts_that_are_not_known_are_null() -> None:
    """The three counts are always there; the cost only where it is stated."""
    usage = DeltaUsage(input_tokens=1, output_tokens=None, total_tokens=None)
    data = to_wire(MessageDelta(run_id="r", seq=1, payload=usage, timestamp=NOON))

    assert data["payload"] == {"inputTokens": 1, "outputTokens": None, "totalTokens": None}


@given(single_entries())
def test_every_entry_round_trips_and_satisfies_the_schema(value: MessageEntry) -> None:
    """One line of JSON says all of it."""
    text = entry_to_text(value)

    assert "\n" not in text
    assert entry_from_text(text) == value
    VALIDATOR.validate(json.loads(text))


@given(single_deltas())
def test_every_delta_round_trips_and_satisfies_the_schema(value: MessageDelta) -> None:
    """All nine kinds."""
    data = to_wire(value)

    assert delta_from_wire(json.loads(json.dumps(data))) == value
    VALIDATOR.validate(data)


def changed(data: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return *data* with *changes*; None removes a field."""
    return {name: value for name, value in {**data, **changes}.items() if value is not None}


def part(kind: str, **payload: Any) -> dict[str, Any]:
    return {"kind": kind, "payload": payload}


def deep(levels: int) -> Any:
    """Return lists in lists."""
    return [deep(levels - 1)] if levels else []


BAD_ENTRIES: list[tuple[dict[str, Any], type[errors.ContractError], str]] = [
    (changed(ENTRY, contractVersion=2), errors.ContractVersionError, "2"),
    (changed(ENTRY, runId=deep(600)), errors.MalformedError, "cannot be checked"),
    (changed(ENTRY, contractVersion=None), errors.MalformedError, "contractVersion"),
    (changed(ENTRY, contractVersion=True), errors.MalformedError, "contractVersion"),
    (changed(ENTRY, role="developer"), errors.UnknownKindError, "developer"),
    (changed(ENTRY, parts=[part("video", url="x")]), errors.UnknownKindError, "video"),
    (changed(ENTRY, parts=[part("tool_result", text="x")]), errors.MalformedError, "isError"),
    (changed(ENTRY, parts=[part("tool_result", toolCallId="c", isError=False, content="x")]),
     errors.RolePartError, "tool_result"),
    (changed(ENTRY, role="tool", parts=[]), errors.ToolResultCountError, "0"),
    (changed(ENTRY, runId=None), errors.MalformedError, "runId"),
    (changed(ENTRY, runId=7), errors.MalformedError, "runId"),
    (changed(ENTRY, parts=None), errors.MalformedError, "parts"),
    (changed(ENTRY, parts="text"), errors.MalformedError, "parts"),
    (changed(ENTRY, parts=["text"]), errors.MalformedError, "parts"),
    (changed(ENTRY, parts=[{"payload": {}}]), errors.MalformedError, "kind"),
    (changed(ENTRY, parts=[part("text", text="x", more=1)]), errors.MalformedError, "parts"),
    (changed(ENTRY, parts=[part("text")]), errors.MalformedError, "parts"),
    (changed(ENTRY, meta=[]), errors.MalformedError, "meta"),
    (changed(ENTRY, extra=1), errors.MalformedError, "extra"),
    (changed(ENTRY, role="user", parts=[part("image", mimeType="image/png")]),
     errors.MalformedError, "parts"),
    (changed(ENTRY, role="user", parts=[part("image", mimeType="image/png", data="", url="x")]),
     errors.MalformedError, "parts"),
    (changed(ENTRY, role="tool", parts=[part(
        "tool_result", toolCallId="c", isError=False, content=[part("video", url="x")])]),
     errors.UnknownKindError, "video"),
    (changed(ENTRY, role="tool", parts=[part(
        "tool_result", toolCallId="c", isError=False,
        content=[part("tool_call", toolCallId="d", toolName="look", arguments={})])]),
     errors.RolePartError, "tool_call"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "error", "text"), BAD_ENTRIES)
def test_entries_that_break_the_schema_are_refused(
    data: dict[str, Any], error: type[errors.ContractError], text: str
) -> None:
    """Each with the error of its rule; the published schema refuses it as well."""
    with pytest.raises(error) as told:
        entry_from_wire(data)

    assert type(told.value) is error
    assert not VALIDATOR.is_valid(data)
    if text not in {"isError", "parts"}:
        assert text in str(told.value)


BAD_DELTAS: list[tuple[dict[str, Any], type[errors.ContractError]]] = [
    (changed(DELTA, contractVersion=9), errors.ContractVersionError),
    (changed(DELTA, kind="audio"), errors.UnknownKindError),
    (changed(DELTA, kind=None), errors.MalformedError),
    (changed(DELTA, seq="4"), errors.MalformedError),
    (changed(DELTA, seq=None), errors.MalformedError),
    (changed(DELTA, payload={"toolCallId": "c"}), errors.MalformedError),
    (changed(DELTA, payload={**DELTA["payload"], "more": 1}), errors.MalformedError),
    (changed(DELTA, kind="usage", payload={"inputTokens": 1}), errors.MalformedError),
    (changed(DELTA, providerRaw=[]), errors.MalformedError),
    (changed(DELTA, text="x"), errors.MalformedError),
]


@pytest.mark.parametrize(("data", "error"), BAD_DELTAS)
def test_deltas_that_break_the_schema_are_refused(
    data: dict[str, Any], error: type[errors.ContractError]
) -> None:
    """Unknown kinds are an error in this version, and so is everything else unknown."""
    with pytest.raises(error) as told:
        delta_from_wire(data)

    assert type(told.value) is error
    assert not VALIDATOR.is_valid(data)


FILE_WITHOUT_PATH = {"kind": "file_ref", "payload": {"mimeType": "a/b"}}
RESULT_OF_FILES = {"toolCallId": "c", "isError": False, "content": [FILE_WITHOUT_PATH]}


@pytest.mark.parametrize(
    ("role", "part", "where"),
    [
        ("user", {"kind": "text", "payload": {"text": 5}}, "['parts'][0]['payload']['text']: 5 is"),
        ("user", FILE_WITHOUT_PATH, "['parts'][0]['payload']: \"path\" is a required"),
        ("user", {"kind": "text", "payload": {"text": "a"}, "x": 1}, "['parts'][0]: Additional"),
        ("tool", {"kind": "tool_result", "payload": RESULT_OF_FILES},
         "['parts'][0]['payload']['content'][0]['payload']: \"path\" is a required"),
    ],
)  # fmt: skip
def test_the_error_of_a_wrong_part_names_its_place(
    role: str, part: dict[str, Any], where: str
) -> None:
    """The message says what of the part is wrong, and not only that it is none of all kinds."""
    with pytest.raises(errors.MalformedError) as told:
        entry_from_wire({**ENTRY, "role": role, "parts": [part]})

    assert where in str(told.value)


@pytest.mark.parametrize(
    "wrong",
    [
        MessageDelta(run_id="r", seq=cast("int", "4"), payload=DeltaText("a"), timestamp=NOON),
        MessageDelta(run_id="r", seq=cast("int", 1.5), payload=DeltaText("a"), timestamp=NOON),
        MessageDelta(run_id="r", seq=4, payload=DeltaText(cast("str", None)), timestamp=NOON),
        MessageDelta(
            run_id="r",
            seq=4,
            payload=DeltaUsage(input_tokens=1, output_tokens=1, total_tokens=2, cost=float("nan")),
            timestamp=NOON,
        ),
        entry("user", EntryText(cast("str", None))),
    ],
    ids=["seq-text", "seq-fraction", "no-text", "cost-nan", "entry"],
)
def test_writing_a_value_that_the_schema_forbids_is_an_error(
    wrong: MessageEntry | MessageDelta,
) -> None:
    """Whoever builds a value of wrong types hears it here, and not its readers."""
    with pytest.raises(errors.MalformedError):
        to_wire(wrong)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "NaN", '{"a": 1} {"b": 2}', "[" * 5000])
def test_reading_text_that_is_not_an_entry_is_an_error(text: str) -> None:
    """Whatever stands in a file."""
    with pytest.raises(errors.MalformedError):
        entry_from_text(text)


def test_writing_a_value_nested_too_deeply_is_an_error() -> None:
    """Nesting without end fails before anything is kept."""
    deep: Any = "x"
    for _ in range(126):
        deep = [deep]
    with pytest.raises(InvalidRequestError, match="nested"):
        entry_to_text(entry("tool", EntryToolResult("c", {"a": deep})))


def test_numbers_of_any_length_keep_every_digit() -> None:
    """Arguments may hold integers beyond 64 bits."""
    value = entry("assistant", EntryToolCall("c", "add", {"n": 2**70 + 1}))

    assert entry_from_text(entry_to_text(value)) == value


def test_integers_beyond_the_digit_limit_are_refused() -> None:
    """Python writes and reads integers of up to 4300 digits."""
    with pytest.raises(InvalidRequestError, match="4300"):
        entry_to_text(evolve(entry("user", EntryText("x")), meta={"n": 10**5000}))


def test_lone_surrogates_are_kept_in_text_and_refused_in_names() -> None:
    """A pair that a server cut in two does not make a conversation unreadable."""
    value = entry("user", EntryText("\ud800"))

    assert entry_from_text(entry_to_text(value)) == value
    with pytest.raises(errors.MalformedError, match="surrogate"):
        entry_from_wire({**ENTRY, "\ud800": 1})


def test_entries_beyond_the_size_limit_are_neither_written_nor_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limit holds both ways."""
    text = entry_to_text(entry("user", EntryText("x" * 200)))
    monkeypatch.setattr("llmcore.sessions.contract.codec.MAX_ENTRY_BYTES", 200)

    with pytest.raises(InvalidRequestError, match="200"):
        entry_to_text(entry("user", EntryText("x" * 200)))
    with pytest.raises(errors.MalformedError, match="200"):
        entry_from_text(text)
