"""Responses of several agents: what each made goes back as its own, to requests for several."""

from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols.response_parts import is_commentary
from llmcore.schema.content import ProviderPart
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.protocol import response
from tests.support.wire.responses import (
    HOSTED,
    ORIGIN,
    Native,
    body,
    built,
    codes,
    custom_call,
    document,
    events_of,
    function_call,
    message,
    reasoning,
    said,
    streamed,
    whole,
)

SEVERAL: Any = {"openai": {"multi_agent": {"enabled": True}}}
ROOT: Native = {"agent": {"agent_name": "/root"}}
OTHER: Native = {"agent": {"agent_name": "/root/alpha"}}

OUTPUT: list[Native] = [
    {**reasoning(id="rs_1"), **ROOT},
    {
        "type": "multi_agent_call",
        "id": "mac_1",
        "call_id": "call_m1",
        **ROOT,
        "action": "spawn_agent",
        "arguments": '{"task":"a"}',
    },
    {
        "type": "multi_agent_call_output",
        "id": "maco_1",
        "call_id": "call_m1",
        **ROOT,
        "action": "spawn_agent",
        "output": [{"type": "output_text", "text": "alpha"}],
    },
    {**reasoning(id="rs_2"), **OTHER},
    message("Alpha is cheap.", id="msg_1", phase="final_answer", **OTHER),
    {
        "type": "agent_message",
        "id": "am_1",
        **OTHER,
        "author": "/root/alpha",
        "recipient": "/root",
        "content": [{"type": "encrypted_content", "encrypted_content": "enc=="}],
    },
    {**reasoning(id="rs_3"), **ROOT},
    message("Take alpha.", id="msg_2", phase="final_answer", **ROOT),
    {**HOSTED["web_search"][0], **OTHER},
    function_call(**OTHER),
    {**custom_call(), **ROOT},
]


def _continued(options: Any) -> LLMRequest:
    answer = evolve(said(*OUTPUT), origin=ORIGIN)
    results = [Message.tool(call.id, "ok") for call in answer.tool_calls]
    return request(
        model=Model("gpt-5.2", "openai"),
        messages=[Message.user("Hi"), answer, *results],
        provider_options=options,
    )


def _comparable(item: Native) -> Native:
    kept = {name: value for name, value in item.items() if name != "status"}
    if item["type"] == "message":
        kept["content"] = [{k: v for k, v in p.items() if k != "logprobs"} for p in item["content"]]
    return kept


def test_items_of_several_agents_go_back_with_their_agents() -> None:
    """The server attributes reasoning, messages and calls by them."""
    sent = body(_continued(SEVERAL))["input"][1 : 1 + len(OUTPUT)]

    assert list(map(_comparable, sent)) == list(map(_comparable, OUTPUT))


def test_a_request_for_one_agent_is_sent_nothing_of_several() -> None:
    """The parameters, the fields and the items need the feature; what is left out is reported."""
    asked = _continued({})
    sent = body(asked)["input"]

    assert not [item for item in sent if "agent" in item or "agent" in str(item["type"])]
    assert [code for code, _ in codes(asked)].count("hosted-tool-dropped") == 3
    assert built(asked).headers == {}


def test_what_the_client_wrote_for_agents_of_its_own_goes_as_it_is() -> None:
    """Codex has agents without the feature."""
    native = {**OUTPUT[5], "author": "/root/mine"}
    asked = request(
        model=Model("gpt-5.2", "openai"),
        messages=[Message("assistant", [ProviderPart("openai", native)], origin=ORIGIN)],
    )

    assert body(asked)["input"] == [native]
    assert codes(asked) == []


@pytest.mark.parametrize(
    ("options", "headers"),
    [
        (SEVERAL, {"openai-beta": "responses_multi_agent=v1"}),
        ({"openai": {"multi_agent": {"enabled": False}}}, {}),
        ({"openai": {"multi_agent": None}}, {}),
    ],
)
def test_a_request_for_several_agents_has_the_header_that_it_needs(
    options: Any, headers: dict[str, str]
) -> None:
    """Without it, the server does not know the parameter."""
    asked = request(model=Model("gpt-5.2", "openai"), prompt="Hi", provider_options=options)

    assert built(asked).headers == headers


def test_texts_of_other_agents_are_commentary() -> None:
    """A wanted format is for the answer of the root agent alone."""
    answers = [response(whole(document(OUTPUT))), response(streamed(events_of(OUTPUT)))]

    for answer in answers:
        texts = [part for part in answer.message.content if hasattr(part, "citations")]
        assert [is_commentary(part) for part in texts] == [True, False]


def test_a_part_of_an_unknown_type_stays_in_its_message() -> None:
    """Also in one with a phase."""
    unknown = {"type": "output_dream", "of": "sheep"}
    native = message("Hi.", unknown, phase="final_answer")
    asked = request(
        model=Model("gpt-5.2", "openai"), messages=[evolve(said(native), origin=ORIGIN)]
    )

    assert [len(item["content"]) for item in body(asked)["input"]] == [2]
