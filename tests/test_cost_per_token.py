"""The cost of a token in the client and in the gateway, counted in instructions."""

import asyncio
import copy
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import jiter
import pydantic
import pytest

from llmcore import AmazonBedrock, Anthropic, Client, Google, OpenAI, OpenAICompatible, request
from llmcore.generation.partial_objects import PartialValue
from llmcore.schema.model import Model
from llmcore.testing import scripted
from tests.support.opcodes import opcodes
from tests.support.servers.bridge_service import asked, settings_for
from tests.support.wire import bedrock

pytestmark = pytest.mark.slow

Native = dict[str, Any]


def sse(events: Iterable[Native]) -> list[bytes]:
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]


def chat(tokens: int) -> list[bytes]:
    choices = [{"delta": {"content": "word "}, "finish_reason": None}] * tokens
    end: Native = {"delta": {}, "finish_reason": "stop"}
    return sse({"id": "c", "model": "m", "choices": [{"index": 0, **c}]} for c in (*choices, end))


def thinking(tokens: int) -> list[bytes]:
    choices = [{"delta": {"reasoning_content": "word "}, "finish_reason": None}] * tokens
    end: Native = {"delta": {}, "finish_reason": "stop"}
    return sse({"id": "c", "model": "m", "choices": [{"index": 0, **c}]} for c in (*choices, end))


def chat_arguments(tokens: int) -> list[bytes]:
    """Return the arguments of one call."""
    first: Native = {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"text":"'}}
    more: Native = {"index": 0, "function": {"arguments": "word "}}
    last: Native = {"index": 0, "function": {"arguments": '"}'}}
    calls = [first, *([more] * tokens), last]
    choices: list[Native] = [
        {"delta": {"tool_calls": [call]}, "finish_reason": None} for call in calls
    ]
    end: Native = {"delta": {}, "finish_reason": "tool_calls"}
    return sse({"id": "c", "model": "m", "choices": [{"index": 0, **c}]} for c in (*choices, end))


def responses(tokens: int) -> list[bytes]:
    item = {"type": "message", "id": "m", "role": "assistant", "content": []}
    part = {"type": "output_text", "text": "", "annotations": []}
    inside = {"item_id": "m", "output_index": 0, "content_index": 0}
    delta = {"type": "response.output_text.delta", **inside, "delta": "word "}
    whole = {"id": "r", "status": "completed", "model": "m", "output": []}
    return sse(
        (
            {"type": "response.created", "response": {**whole, "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.content_part.added", **inside, "part": part},
            *([delta] * tokens),
            {"type": "response.completed", "response": whole},
        )
    )


def messages(tokens: int) -> list[bytes]:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
    block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "word "}
    return sse(
        (
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            *([{"type": "content_block_delta", "index": 0, "delta": delta}] * tokens),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
            {"type": "message_stop"},
        )
    )


def gemini(tokens: int) -> list[bytes]:
    content = {"role": "model", "parts": [{"text": "word "}]}
    chunk = {"candidates": [{"content": content, "index": 0}], "usageMetadata": {}}
    return sse((*([chunk] * tokens), {"candidates": [{"finishReason": "STOP"}]}))


def converse(tokens: int) -> list[bytes]:
    delta = {"contentBlockIndex": 0, "delta": {"text": "word "}}
    events: list[tuple[str, dict[str, Any]]] = [
        ("messageStart", {"role": "assistant"}),
        *([("contentBlockDelta", delta)] * tokens),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": "end_turn"}),
        ("metadata", {"usage": {}}),
    ]
    return [bedrock.frame(event) for event in events]


CHAT = OpenAICompatible(name="any", base_url="http://h/v1", api_key="k").model("m")
ANSWERS: dict[str, tuple[Model, Callable[[int], Sequence[bytes]], int]] = {
    "chat": (CHAT, chat, 290),
    "chat, thinking": (CHAT, thinking, 290),
    "chat, arguments": (CHAT, chat_arguments, 340),
    "responses": (OpenAI(api_key="k").responses("gpt-5.2"), responses, 270),
    "messages": (Anthropic(api_key="k").model("claude-sonnet-4-5"), messages, 270),
    "gemini": (Google(api_key="k").model("gemini-2.5-flash"), gemini, 305),
    "converse": (AmazonBedrock(region="us-east-1", api_key="k").model("m"), converse, 650),
}
"""A model, its response, and how many instructions a token of it may cost."""

PROMPT = {"role": "user", "content": "hi"}
FRONTS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [PROMPT]},
    "/v1/responses": {"input": "hi"},
    "/v1/messages": {"messages": [PROMPT], "max_tokens": 9999},
    "/v1beta/models/m-1:streamGenerateContent?alt=sse": {"contents": [{"parts": [{"text": "hi"}]}]},
}

RELAYED = "/v1/chat/completions relayed"
SHORT = {
    "chat": 10_900,
    "responses": 17_300,
    "messages": 15_700,
    "gemini": 14_600,
    "converse": 16_400,
}
"""How many instructions a stream of one token may cost the client, its request included."""
SHORT_OF_GATEWAY = {
    "/v1/chat/completions": 43_000,
    "/v1/responses": 52_200,
    "/v1/messages": 42_900,
    "/v1beta/models/m-1:streamGenerateContent?alt=sse": 45_900,
    RELAYED: 39_000,
}
"""How many it may cost the gateway, with what the test's own client and server cost."""
IN_BURST, ALONE = True, False
MOST = 1.02
"""The cost of a late token, as a multiple of an early one."""
ARRIVAL = 2200
"""The most that an arrival costs in addition, in all layers from the network to the caller."""
NEWER = 1.05 if sys.version_info >= (3, 14) else 1
"""The instructions of newer Pythons, as a multiple of those of older ones."""


def read(model: Model, chunks: Sequence[bytes]) -> str:
    """Return the text or the arguments of a response that comes in *chunks*, each one arrival."""

    async def run() -> str:
        async with (
            Client(transport=scripted(chunks)) as client,
            client.stream(request(model=model, prompt="hi")) as stream,
        ):
            async for _ in stream:
                pass
            response = (await stream.result()).unwrap()
        calls = [call.raw_arguments or "" for call in response.tool_calls]
        return response.text + (response.reasoning or "") + "".join(calls)

    return asyncio.run(run())


def relay(path: str, chunks: Sequence[bytes]) -> bytes:
    """Return what the gateway makes of *chunks* for a client of the API at *path*."""

    async def run() -> bytes:
        settings = settings_for("http://h", check_stream=False, relay=path == RELAYED)
        url = path.removesuffix(" relayed")
        async with asked(settings, scripted(chunks)) as client:
            body = {"model": "m-1", "stream": True, **FRONTS[url]}
            answer = await client.post(url, json=body)
            assert answer.status_code == 200
            return answer.content

    return asyncio.run(run())


def costs(run: Callable[[int], object]) -> tuple[float, float]:
    """Return the instructions of a token in a short response, and in one three times as long."""
    for _ in range(2):  # what the first response does alone, and the second with what it left
        opcodes(partial(run, 100))
    for _ in range(3):
        some, more, most = (opcodes(partial(run, count)) for count in (100, 200, 400))
        early, late = (more - some) / 100, (most - more) / 200
        if late < MOST * early:
            break  # otherwise code that other tests left may have run in between: count again
    return early, late


def arrivals(chunks: Sequence[bytes], *, in_burst: bool) -> list[bytes]:
    return [b"".join(chunks)] if in_burst else [*chunks]


@pytest.mark.parametrize("in_burst", [IN_BURST, ALONE], ids=["in a burst", "alone"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_token_costs_the_client_the_same_few_instructions_at_any_place(
    answer: str, *, in_burst: bool
) -> None:
    """The cost of a response grows with its tokens and not with their square."""
    model, chunks, budget = ANSWERS[answer]
    early, late = costs(lambda count: read(model, arrivals(chunks(count), in_burst=in_burst)))

    assert read(model, chunks(50)).count("word") == 50
    assert late < MOST * early
    assert late < NEWER * (budget + (0 if in_burst else ARRIVAL))


def of_one_response(run: Callable[[int], object]) -> float:
    """Return the instructions of one more response over what is in use already."""
    run(3)
    return (opcodes(partial(run, 30)) - opcodes(partial(run, 10))) / 20


@pytest.mark.parametrize("answer", SHORT)
def test_short_response_costs_the_client_few_instructions(answer: str) -> None:
    """The request, the stream and its first token together, which most calls consist of."""
    model, chunks, _ = ANSWERS[answer]
    arrived = arrivals(chunks(1), in_burst=True)

    def run(count: int) -> None:
        async def respond() -> None:
            async with Client(transport=scripted(*[arrived] * count)) as client:
                for _ in range(count):
                    async with client.stream(request(model=model, prompt="hi")) as stream:
                        async for _ in stream:
                            pass
                        (await stream.result()).unwrap()

        asyncio.run(respond())

    assert of_one_response(run) < NEWER * SHORT[answer]


@pytest.mark.parametrize("path", SHORT_OF_GATEWAY)
def test_short_response_costs_the_gateway_few_instructions(path: str) -> None:
    arrived = arrivals(chat(1), in_burst=True)
    settings = settings_for("http://h", check_stream=False, relay=path == RELAYED)
    url = path.removesuffix(" relayed")
    body = {"model": "m-1", "stream": True, **FRONTS[url]}

    def run(count: int) -> None:
        async def respond() -> None:
            async with asked(settings, scripted(*[arrived] * count)) as client:
                for _ in range(count):
                    assert (await client.post(url, json=body)).status_code == 200

        asyncio.run(respond())

    assert of_one_response(run) < NEWER * SHORT_OF_GATEWAY[path]


class _Left:
    """A cycle, such as another test may leave, whose finaliser runs instructions of Python."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        for _ in range(1000):
            pass


def test_count_of_instructions_is_the_same_where_others_left_garbage() -> None:
    def makes_objects() -> None:
        _kept = [[] for _ in range(5000)]  # type: ignore[var-annotated]

    opcodes(makes_objects)  # Python 3.14 traces the instructions of a function from its second call
    alone = opcodes(makes_objects)
    for _ in range(50):
        _Left()

    assert opcodes(makes_objects) == alone


@pytest.mark.parametrize("in_burst", [IN_BURST, ALONE], ids=["in a burst", "alone"])
@pytest.mark.parametrize("path", [*FRONTS, RELAYED])
def test_token_costs_the_gateway_the_same_few_instructions_at_any_place(
    path: str, *, in_burst: bool
) -> None:
    """A response of a Chat server in the form of each API, and relayed as it came."""
    early, late = costs(lambda count: relay(path, arrivals(chat(count), in_burst=in_burst)))

    assert relay(path, chat(50)).count(b"word") >= 50
    assert late < MOST * early
    assert late < 740 + (0 if in_burst else ARRIVAL + 700)


def test_nothing_is_copied_deeply_for_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by the client nor by the gateway."""

    def refuse(value: object, *_args: object) -> object:
        raise AssertionError(value)

    monkeypatch.setattr(copy, "deepcopy", refuse)
    monkeypatch.setattr(pydantic.BaseModel, "model_dump", refuse)

    for model, chunks, _ in ANSWERS.values():
        assert "word" in read(model, chunks(5))
    for path in FRONTS:
        assert b"word" in relay(path, chat(5))


def test_partial_views_of_a_megabyte_parse_in_proportion_to_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twice the text is parsed about twice, counted in characters."""
    parsed = 0
    real = jiter.from_json

    def counting(data: bytes, **options: Any) -> Any:
        nonlocal parsed
        parsed += len(data)
        return real(data, **options)

    monkeypatch.setattr(jiter, "from_json", counting)
    counts: list[int] = []
    for length in (500_000, 1_000_000):
        parsed, value = 0, PartialValue()
        value.feed('{"text": "')
        for _ in range(length // 10):
            value.feed("ten chars ")
        counts.append(parsed)

    assert counts[0] < 20 * 500_000
    assert counts[1] < 2.2 * counts[0]
