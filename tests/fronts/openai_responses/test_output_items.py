"""Every kind of item that the API has passes a gateway before an upstream of the same API.

The items are values of the `openai` package's own types: each variant, with every field set.
"""

import base64
import json
from typing import Any

import pytest
from openai.types.responses import ResponseOutputItem

from llmcore.protocols import openai_responses
from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.content import ToolResultPart
from llmcore.schema.events import LLMEvent
from llmcore.schema.request import request
from llmcore.schema.result import Success
from tests.fronts.openai_responses.responses_kit import MODEL, Folded, folded, translated
from tests.support.sdk_values import documents

RESPONSES = "openai-responses"
ASKED: dict[str, Any] = {
    "store": False,
    "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
    "tools": [{"type": "computer_use_preview", "environment": "linux"}],
}
OWN_ID = {"message", "reasoning", "function_call", "custom_tool_call"}
"""Items to which the front gives an id of its own; the upstream's comes back in the state."""
OWN_STATE = {"message", "reasoning"}
"""Items of which a client that asked for no state has less than the upstream sent."""
OUTPUT_ONLY = {"created_by"}
"""Fields that responses have and requests do not."""
OWN_FIELDS = {"id", "status"}
"""Of an item that goes back, what is not needed in every form of it."""


def _real(item: dict[str, Any]) -> dict[str, Any]:
    """Return *item* with values that an upstream could have sent."""
    real = dict(item)
    if real.get("status") in ("in_progress", "searching", "incomplete"):
        real["status"] = "completed"  # a response that ended well
    if real["type"] == "custom_tool_call":
        real["status"] = "completed"  # as the server writes, though the type has no such field
    if isinstance(real.get("arguments"), str):
        real["arguments"] = '{"key":"value"}'
    if real["type"] == "image_generation_call":
        real["result"] = base64.b64encode(b"a picture").decode()
    if real["type"] == "message":
        real["content"] = [_part(part) for part in real["content"]]
    if isinstance(real.get("output"), list):
        real["output"] = [*map(_one_source, real["output"])]
    return real


def _one_source(part: Any) -> Any:
    """Return a part of a tool's output, whose picture or file comes from one place."""
    other = ("file_id", "file_data") if isinstance(part, dict) and len(part) > 2 else ()
    return {k: v for k, v in part.items() if k not in other} if other else part


def _part(part: dict[str, Any]) -> dict[str, Any]:
    def spelled(token: dict[str, Any]) -> dict[str, Any]:
        top = [spelled(one) for one in token.get("top_logprobs", ())]
        told = {"bytes": list(token["token"].encode()), **({"top_logprobs": top} if top else {})}
        return {**token, **told}

    return {**part, "logprobs": [*map(spelled, part["logprobs"])]} if "logprobs" in part else part


ITEMS = [_real(item) for item in documents(ResponseOutputItem)]
items = pytest.mark.parametrize(
    "item", ITEMS, ids=[f"{item['type']}-{number}" for number, item in enumerate(ITEMS)]
)
streaming = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


END: dict[str, Any] = {
    "id": "msg_end",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Done.", "annotations": [], "logprobs": []}],
}
"""A message after the item: reasoning is sent back with the item that follows it."""


def _frame(type_: str, **fields: Any) -> bytes:
    return f"event: {type_}\ndata: {json.dumps({'type': type_, **fields})}\n\n".encode()


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "status": "in_progress"} if "status" in item else item


def read(item: dict[str, Any], *, stream: bool) -> list[LLMEvent]:
    """Return the events of an upstream's response that is *item*."""
    frame = {"id": "resp_up", "object": "response", "status": "completed", "model": "m"}
    answer: dict[str, Any] = {**frame, "output": [item, END], "usage": None}
    frames = [
        _frame("response.created", response={**answer, "status": "in_progress", "output": []}),
        _frame("response.output_item.added", output_index=0, item=_begun(item)),
        _frame("response.output_item.done", output_index=0, item=item),
        _frame("response.output_item.added", output_index=1, item={**_begun(END), "content": []}),
        _frame("response.output_item.done", output_index=1, item=END),
        _frame("response.completed", response=answer),
    ]
    events = decode_response(
        openai_responses.protocol,
        Framing.sse(),
        request(model=MODEL, prompt="Hello"),
        status=200,
        headers={"content-type": "text/event-stream" if stream else "application/json"},
        chunks=frames if stream else [json.dumps(answer).encode()],
        streaming=stream,
    )
    return list(events)


def answered(item: dict[str, Any], *, stream: bool = False, **asked: Any) -> Folded:
    """Return what the client gets of *item*."""
    body = {"input": "Hello", **ASKED, **asked}
    return folded(read(item, stream=stream), translated(body, protocol_id=RESPONSES), strict=False)


def again(*items: dict[str, Any], **asked: Any) -> list[dict[str, Any]]:
    """Return what the upstream gets of *items* that a client sends, and of what it says then."""
    body = {"input": [*items, {"role": "user", "content": "Go on."}], **ASKED, **asked}
    built = protocol_by_id(RESPONSES).body.build(
        translated(body, protocol_id=RESPONSES).request, False
    )
    assert isinstance(built, Success), built
    return list(built.unwrap().body["input"])


def sent_again(made: Folded, **asked: Any) -> list[dict[str, Any]]:
    """Return the items that the upstream gets when the client goes on after *made*."""
    return again({"role": "user", "content": "Hello"}, *made.output, **asked)


@items
@streaming
def test_an_item_reaches_the_client_with_every_field(item: dict[str, Any], stream: bool) -> None:
    """Its type, and its id where the upstream gave it; sealed state stands in reasoning."""
    shown, *rest = answered(item, stream=stream).output
    owned = {"id", "encrypted_content"} if item["type"] in OWN_ID else set()

    assert {one["type"] for one in rest} <= {"message", "reasoning"}
    assert {k: v for k, v in shown.items() if k not in owned} == {
        k: v for k, v in item.items() if k not in owned
    }


@pytest.mark.parametrize("include", [ASKED["include"], []], ids=["sealed", "bare"])
@items
def test_an_item_that_comes_back_goes_up_as_it_came(
    item: dict[str, Any], include: list[str]
) -> None:
    """Also where the client asked for no state to carry: all but texts and thinking."""
    type_ = item["type"]
    if not include and (type_ in OWN_STATE or type_.endswith("_output")):
        pytest.skip("the client's echo has not all of it, or is a result of the client's own")
    kept = {k: v for k, v in item.items() if k not in OUTPUT_ONLY and k not in OWN_FIELDS}
    if type_ == "message":  # the API takes log probabilities back, and reads none
        kept["content"] = [{k: v for k, v in p.items() if k != "logprobs"} for p in item["content"]]

    sent = sent_again(answered(item, include=include), include=include)
    assert kept in [{k: v for k, v in one.items() if k not in OWN_FIELDS} for one in sent]


def test_messages_in_a_row_stay_two_with_their_phases() -> None:
    """A commentary is not a part of the final response."""
    first = {**END, "id": "msg_1", "phase": "commentary"}
    made = answered(first, stream=True)

    assert [one.get("phase") for one in made.output if one["type"] == "message"] == [
        "commentary",
        None,
    ]
    assert made.of("output_item.added")[0]["item"]["phase"] == "commentary"


def test_a_response_that_the_model_refused_is_complete() -> None:
    """As it was at the upstream; a client would ask again for one that was cut off."""
    refusal = {**END, "id": "msg_1", "content": [{"type": "refusal", "refusal": "No."}]}

    assert answered(refusal).response["status"] == "completed"


def test_an_approval_of_a_call_answers_its_request() -> None:
    """Which is not left without a result, in either turn."""
    asks = {"id": "mcpr_1", "type": "mcp_approval_request", "name": "f", "server_label": "s"}
    made = answered({**asks, "arguments": "{}"})
    says = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    made.output.append(says)

    sent = sent_again(made)
    assert [one for one in sent if one["type"].startswith("mcp_")] == [
        {**asks, "arguments": "{}"},
        says,
    ]


@pytest.mark.parametrize(
    ("type_", "prefix"), [("web_search_call", "ws_"), ("mcp_list_tools", "mcpl_")]
)
def test_an_item_that_came_without_its_id_gets_one_of_its_type(type_: str, prefix: str) -> None:
    """The API requires an id of these, and refuses one with another beginning."""
    (sent, _) = again({"type": type_, "status": "completed"})

    assert sent["id"].startswith(prefix)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "shell_call", "call_id": "c", "environment": {"type": "container_reference"}},
        {"type": "tool_search_call", "execution": "server", "arguments": {}},
    ],
    ids=lambda item: item["type"],
)
def test_an_item_that_needs_no_id_gets_none(item: dict[str, Any]) -> None:
    """An id that the gateway made up means nothing to the upstream."""
    assert again(item)[0] == item


def test_programs_of_one_upstream_are_left_out_at_another() -> None:
    """Its output stays as the result of a call, and the request is not refused."""
    ran = {"type": "program", "id": "cm_1", "call_id": "c", "code": "1+1", "fingerprint": "x"}
    out = {"type": "program_output", "id": "cmo_1", "call_id": "c", "result": "2"}
    made = translated({"input": [{"role": "user", "content": "Hi"}, ran, out]})

    assert [one.code for one in made.diagnostics] == ["hosted-tool-dropped"]
    (result,) = made.messages[-1].content
    assert isinstance(result, ToolResultPart)
    assert result.content == "2"


def test_reasoning_that_comes_back_has_no_null_content() -> None:
    """Codex writes it so, and xAI's server refuses it."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    sent, *_ = again({**thought, "content": None}, END)

    assert sent == thought


X_SEARCH: dict[str, Any] = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "xs_call-1",
    "name": "x_keyword_search",
    "input": '{"query":"otters"}',
    "status": "completed",
}
"""A search that xAI ran, in the form of a call that a client would have to run."""


@streaming
def test_a_search_of_x_is_shown_as_a_search(stream: bool) -> None:
    made = answered(X_SEARCH, stream=stream)

    shown, *rest = made.output
    assert (shown["type"], shown["action"]) == (
        "web_search_call",
        {"type": "search", "query": "otters"},
    )
    assert "custom_tool_call" not in {one["type"] for one in rest}


@pytest.mark.parametrize("protocol_id", [RESPONSES, "anthropic-messages"])
def test_a_search_of_x_that_a_client_sends_back_is_left_out(protocol_id: str) -> None:
    """It has no result, and no server accepts it."""
    says = {"role": "user", "content": "Go on."}
    made = translated({"input": [says, X_SEARCH, END, says]}, protocol_id=protocol_id)

    assert [one.code for one in made.diagnostics] == ["hosted-tool-dropped"]
    assert [message.role for message in made.messages] == ["user", "assistant", "user"]
