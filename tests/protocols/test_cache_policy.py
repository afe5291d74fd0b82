"""Cache policies in APIs that cache without being asked."""

from typing import Any

import pytest

from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.content import TextPart, ToolCallPart, ToolResultPart, cached
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy
from llmcore.schema.request import LLMRequest, request
from llmcore.testing import read_as_front

OPENAI = ("openai-chat", "openai-responses")
MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}


@pytest.mark.parametrize("protocol_id", ["openai-chat", "openai-responses", "gemini"])
def test_how_long_a_breakpoint_lasts_needs_breakpoints(protocol_id: str) -> None:
    """Servers that cache by themselves take no `ttl`; asking for one is a Diagnostic."""
    asked = request(model=Model("m", "p"), prompt="Hello", cache=CachePolicy(ttl="1h"))

    built = protocol_by_id(protocol_id).body.build(asked, False).unwrap()

    assert [note.path for note in built.diagnostics] == ["cache.ttl"]


# -- OpenAI's breakpoints


def conversation(model: str, cache: CachePolicy, *, system: str = "Be kind.") -> LLMRequest:
    """Return a conversation with a marked text and a marked result of a tool."""
    return request(
        model=Model(model, "openai"),
        system=system,
        messages=[
            Message.user(cached(TextPart("(a long book)")), "Who is the gardener?"),
            Message("assistant", (ToolCallPart("c1", "look", {}),)),
            Message("tool", (cached(ToolResultPart("c1", "Ann")),)),
        ],
        cache=cache,
    )


def body_of(asked: LLMRequest, protocol_id: str) -> dict[str, Any]:
    body: dict[str, Any] = protocol_by_id(protocol_id).body.build(asked, False).unwrap().body
    return body


def marked(body: dict[str, Any]) -> list[str]:
    """Return the texts that end a cached prefix."""
    items = body.get("messages") or body["input"]
    contents = [item.get("content") or item.get("output") for item in items]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part["text"] for part in parts if part.items() >= MARK.items()]


@pytest.mark.parametrize("protocol_id", OPENAI)
@pytest.mark.parametrize(
    ("model", "texts"),
    [
        ("gpt-5.6", ["(a long book)", "Ann"]),
        ("gpt-5.6-mini", ["(a long book)", "Ann"]),
        ("gpt-5.10", ["(a long book)", "Ann"]),
        ("gpt-6", ["(a long book)", "Ann"]),
        ("gpt-5.5", []),
        ("gpt-5", []),
        ("gpt-4.1", []),
        ("o3", []),
    ],
)
def test_marks_are_sent_to_models_that_take_breakpoints(
    protocol_id: str, model: str, texts: list[str]
) -> None:
    """From GPT-5.6 on; earlier models cache by themselves and reject the field."""
    assert marked(body_of(conversation(model, CachePolicy()), protocol_id)) == texts


@pytest.mark.parametrize("protocol_id", OPENAI)
@pytest.mark.parametrize(
    ("model", "policy", "options"),
    [
        ("gpt-5.6", CachePolicy(), None),
        ("gpt-5.6", CachePolicy(retention="30m"), {"ttl": "30m"}),
        ("gpt-5.6", CachePolicy(mode="manual"), {"mode": "explicit"}),
        ("gpt-5.6", CachePolicy(mode="off"), {"mode": "explicit"}),
        ("gpt-5.5", CachePolicy(mode="manual"), None),
        ("gpt-5.5", CachePolicy(mode="off"), None),
    ],
)
def test_the_automatic_breakpoint_is_off_where_the_caller_chose(
    protocol_id: str, model: str, policy: CachePolicy, options: object
) -> None:
    """`manual` caches the caller's prefixes only, and `off` none: writing them costs more."""
    body = body_of(conversation(model, policy), protocol_id)

    assert body.get("prompt_cache_options") == options


@pytest.mark.parametrize(
    ("protocol_id", "model", "lifetime", "sent"),
    [
        ("openai-chat", "gpt-5.6", "30m", True),
        ("openai-chat", "gpt-5.6", "12h", False),
        ("openai-chat", "gpt-5.2", "30m", False),
        ("openai-responses", "gpt-5.6", "30m", True),
        ("openai-responses", "gpt-5.6", "12h", True),
        ("openai-responses", "gpt-5.2", "12h", False),
    ],
)
def test_a_lifetime_of_breakpoints_is_sent_or_reported(
    protocol_id: str, model: str, lifetime: str, *, sent: bool
) -> None:
    """Chat Completions takes the shorter one alone."""
    asked = conversation(model, CachePolicy(retention=lifetime))
    built = protocol_by_id(protocol_id).body.build(asked, False).unwrap()

    options = {"prompt_cache_options": {"ttl": lifetime}} if sent else {}
    assert {k: v for k, v in built.body.items() if k.startswith("prompt_cache_")} == options
    assert ("cache.retention" in [note.path for note in built.diagnostics]) is not sent


@pytest.mark.parametrize("protocol_id", OPENAI)
def test_the_automatic_breakpoint_stays_where_a_mark_was_not_written(protocol_id: str) -> None:
    """Otherwise a prompt whose only marks are on its tools would be cached nowhere."""
    tools: list[Any] = [{"name": "look", "input_schema": {"type": "object"}, "cache_control": {}}]
    tools[0]["cache_control"] = {"type": "ephemeral"}
    native: dict[str, Any] = {
        "model": "m",
        "max_tokens": 9,
        "tools": tools,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    asked = read_as_front("anthropic-messages", native).unwrap()
    asked = request(
        model=Model("gpt-5.6", "openai"),
        messages=asked.messages,
        tools=asked.tools,
        cache=asked.cache,
    )

    assert asked.cache.mode == "manual"
    assert "prompt_cache_options" not in body_of(asked, protocol_id)


@pytest.mark.parametrize(
    ("front", "native"),
    [
        (
            "openai-chat",
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", **MARK}]}]},
        ),
        (
            "openai-responses",
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_text", "text": "Hi", **MARK}]}
                ]
            },
        ),
    ],
)
def test_a_clients_breakpoints_are_built_again(front: str, native: dict[str, Any]) -> None:
    """With the switch of the automatic one."""
    options = {"mode": "explicit", "ttl": "30m"}
    asked = read_as_front(front, {"model": "m", **native, "prompt_cache_options": options}).unwrap()
    asked = request(model=Model("gpt-5.6", "openai"), messages=asked.messages, cache=asked.cache)

    body = body_of(asked, front)

    assert marked(body) == ["Hi"]
    assert body["prompt_cache_options"] == options
