"""Requests whose body takes a while to make are made beside the event loop."""

import threading
from collections import UserDict
from typing import Any

import pytest
from attrs import evolve

from llmcore.client import large_requests
from llmcore.client.client import Client
from llmcore.client.large_requests import (
    LARGE_REQUEST_MESSAGES,
    LARGE_REQUEST_VALUES,
    is_large,
    note_small,
)
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.route import Route
from llmcore.schema.content import (
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.messages import Message
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, Grammar, HostedTool, ToolDefinition
from llmcore.testing import scripted

MUCH = 1024 * 1024 + 1
MEMBERS: dict[str, Any] = {str(number): {} for number in range(LARGE_REQUEST_VALUES + 1)}
OBJECT = {"type": "object", "properties": MEMBERS}
MODEL = OpenAICompatible.configure(name="x", base_url="http://x.invalid/v1").model("m-1")


class Text(str):
    """A text of a class of its own, as a library may return it."""


class Bytes(bytes):
    """Bytes of a class of their own."""


class Items(list[Any]):
    """A list of a class of its own."""


def user(*parts: Any) -> LLMRequest:
    return LLMRequest(model=MODEL, messages=(Message("user", parts),))


def assistant(part: Any) -> LLMRequest:
    return LLMRequest(model=MODEL, messages=(Message.assistant((part,)),))


def tool(content: Any) -> LLMRequest:
    return LLMRequest(model=MODEL, messages=(Message("tool", (ToolResultPart("c", content),)),))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (user(TextPart("x" * MUCH)), True),
        (user(TextPart("x" * MUCH * 2), TextPart("y")), True),
        (user(*[TextPart("x" * 1024)] * 1100), True),
        (user(ImagePart(data=b"x" * MUCH, media_type="image/png")), True),
        (user(DocumentPart(url="data:text/plain," + "x" * MUCH)), True),
        (tool("x" * MUCH), True),
        (tool((TextPart("x" * MUCH),)), True),
        (
            LLMRequest(model=MODEL, messages=(Message.user("x"),) * (LARGE_REQUEST_MESSAGES + 1)),
            True,
        ),
        (LLMRequest(model=MODEL, messages=(Message.user("x"),) * LARGE_REQUEST_MESSAGES), False),
        (user(*[TextPart("x")] * (LARGE_REQUEST_VALUES + 1)), True),
        (tool((TextPart("x"),) * (LARGE_REQUEST_VALUES + 1)), True),
        (tool({"a": [[]] * (LARGE_REQUEST_VALUES + 1)}), True),
        (assistant(ToolCallPart("c", "f", {"a": [1] * (LARGE_REQUEST_VALUES + 1)})), True),
        (user(ProviderPart("p", {"a": MEMBERS})), True),
        (assistant(ReasoningPart("x", encrypted="x" * MUCH)), True),
        (assistant(RefusalPart("x" * MUCH)), True),
        (user(TextPart("\n[" + "1," * LARGE_REQUEST_VALUES + "1]")), True),
        (user(TextPart("f(1, 2)\n" * 2 * LARGE_REQUEST_VALUES)), False),
        (evolve(user(), tools=(ToolDefinition("f", "", OBJECT),)), True),
        (
            evolve(
                user(),
                tools=(CustomTool("f", grammar=Grammar(syntax="regex", definition="x" * MUCH)),),
            ),
            True,
        ),
        (evolve(user(), tools=(HostedTool.raw("p", {"type": "x", "a": MEMBERS}),)), True),
        (evolve(user(), response_format=ResponseFormat.json_schema(MEMBERS)), True),
        (evolve(user(), provider_options={"p": MEMBERS}), True),
        (
            evolve(user(), metadata=dict.fromkeys(map(str, range(LARGE_REQUEST_VALUES + 1)), "x")),
            True,
        ),
        (user(TextPart("x"), ProviderPart("p", {}), ImagePart(file_id="f")), False),
        (tool({"a": 1}), False),
        (LLMRequest(model=MODEL, messages=()), False),
        (tool(Text("x" * MUCH)), True),
        (tool({"a": Text("x")}), False),
        (user(ImagePart(data=Bytes(b"x" * MUCH), media_type="image/png")), True),
        (tool({"a": Items([1] * (LARGE_REQUEST_VALUES + 1))}), True),
        (tool(UserDict({"a": Items(["x" * MUCH])})), True),
    ],
)
def test_requests_with_many_messages_values_or_bytes_are_large(
    request_: LLMRequest, expected: bool
) -> None:
    """Many messages, many values anywhere, or many characters or bytes."""
    assert is_large(request_) is expected


def test_a_request_that_is_known_to_be_small_is_not_counted() -> None:
    """A copy of it is, and it is not remembered beyond its life."""
    long = user(*[TextPart("x")] * (LARGE_REQUEST_VALUES + 1))
    before = len(large_requests._SMALL)

    note_small(long)

    assert (is_large(long), is_large(evolve(long))) == (False, True)
    del long
    assert len(large_requests._SMALL) == before


@pytest.mark.anyio
@pytest.mark.parametrize(("words", "beside"), [("x" * MUCH, True), ("x", False)])
async def test_a_large_request_is_prepared_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, words: str, beside: bool
) -> None:
    """Streams of the same event loop go on meanwhile."""
    threads, prepare = [], Route.prepare

    def noted(*args: Any, **fields: Any) -> Any:
        threads.append(threading.get_ident())
        return prepare(*args, **fields)

    monkeypatch.setattr(Route, "prepare", noted)
    answer = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    async with Client(transport=scripted(answer)) as client:
        made = await client.complete(user(TextPart(words)))

    assert made.text == "Hi"
    assert [one != threading.get_ident() for one in threads] == [beside]
