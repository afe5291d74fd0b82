"""Fields of requests that are beside another one of the same purpose, or that have no effect."""

from typing import Any

import pytest
from attrs import evolve

from llmcore import Client, OpenAI
from llmcore.fronts.front import ClientRequest, Front
from llmcore.fronts.gemini import front as gemini
from llmcore.fronts.openai_chat import front as chat
from llmcore.fronts.openai_responses import front as responses
from llmcore.schema.content import DocumentPart
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from tests.support.upstreams import upstream_of

TEXTS: dict[str, dict[str, Any]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    "responses": {"model": "m", "input": "Hi"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
FRONTS: dict[str, Front[Any]] = {"chat": chat, "responses": responses, "gemini": gemini}
GPT_5: Any = ("openai-responses", "openai", "gpt-5.2")
GPT_6: Any = ("openai-responses", "openai", "gpt-6-astra")
CLAUDE: Any = ("anthropic-messages", "anthropic", "claude-opus-4-6")
FLASH: Any = ("gemini", "google", "gemini-3-flash-preview")


def reported(name: str, body: dict[str, Any], target: Any = GPT_5) -> list[str]:
    """Return the paths of what reading *body* reports."""
    protocol_id, provider, model = target
    upstream = evolve(upstream_of(protocol_id, model), provider=provider)
    request = ClientRequest(body={**TEXTS[name], **body}, path="/v1beta/models/m:generateContent")
    return [one.path for one in FRONTS[name].read(request, upstream).unwrap().diagnostics]


@pytest.mark.parametrize("name", ["chat", "responses"])
def test_a_second_lifetime_of_the_cache_is_reported_where_it_differs(name: str) -> None:
    options = {"prompt_cache_options": {"ttl": "12h"}}

    both = reported(name, {**options, "prompt_cache_retention": "24h"})

    assert both == ["prompt_cache_options.ttl"]
    assert reported(name, {**options, "prompt_cache_retention": "12h"}) == []
    assert reported(name, options) == []


@pytest.mark.parametrize("name", ["chat", "responses"])
@pytest.mark.parametrize(
    ("target", "expected"),
    [(GPT_5, True), (FLASH, True), (GPT_6, False), (CLAUDE, False)],
    ids=["no breakpoints", "gemini", "breakpoints", "marks"],
)
def test_explicit_caching_is_reported_where_the_provider_caches_by_itself(
    name: str, target: Any, expected: bool
) -> None:
    found = reported(name, {"prompt_cache_options": {"mode": "explicit"}}, target)

    assert ("prompt_cache_options.mode" in found) is expected
    assert "prompt_cache_options.mode" not in reported(name, {}, target)


@pytest.mark.parametrize("target", [FLASH, GPT_5], ids=["gemini", "openai"])
def test_a_second_schema_of_a_gemini_client_is_reported_where_it_differs(target: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    config = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    same = {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}

    def found(openapi: Any) -> list[str]:
        return reported(
            "gemini", {"generationConfig": {**config, "responseSchema": openapi}}, target
        )

    assert found({"type": "STRING"}) == ["generationConfig.responseSchema"]
    assert found(same) == []


def test_a_reasoning_item_with_nothing_in_it_is_reported() -> None:
    empty = {"type": "reasoning", "id": "rs_1", "summary": []}
    shown = {**empty, "summary": [{"type": "summary_text", "text": "Hm."}]}
    user = {"role": "user", "content": "Hi"}

    assert reported("responses", {"input": [user, empty]}) == ["input[1]"]
    assert reported("responses", {"input": [user, shown]}) == []


@pytest.mark.parametrize(
    ("part", "paths"),
    [
        (DocumentPart(url="https://a.example/b.pdf", title="B"), ["title"]),
        (DocumentPart(url="https://a.example/b.pdf", name="b.pdf"), ["name"]),
        (DocumentPart(url="https://a.example/b.pdf"), []),
        (DocumentPart(data=b"%PDF", media_type="application/pdf", title="B"), []),
    ],
    ids=["title", "name", "none", "data"],
)
def test_the_name_of_a_document_by_address_is_reported_towards_responses(
    part: DocumentPart, paths: list[str]
) -> None:
    """OpenAI refuses `filename` beside `file_url`."""
    model = OpenAI.configure(api_key="k").model("gpt-5.2")
    request = LLMRequest(model=model, messages=(Message("user", (part,)),))
    prepared = Client().prepare(request).unwrap()

    found = [one.path.rpartition(".")[2] for one in prepared.diagnostics]
    assert found == paths


def test_a_field_of_a_function_that_is_not_known_is_reported() -> None:
    """Nulls are left out, and marks of the cache are read."""
    function = {"name": "f", "parameters": {"type": "object"}, "strict": False}
    usual = {"type": "function", "function": function, "cache_control": None, "other": None}
    flat = {"type": "function", **function}
    odd = {**usual, "function": {**function, "timeout": 3}, "strict": True}

    assert reported("chat", {"tools": [usual]}) == []
    assert reported("chat", {"tools": [flat]}) == []
    assert reported("chat", {"tools": [odd]}) == ["tools[0].strict", "tools[0].function.timeout"]
    assert reported("responses", {"tools": [flat]}) == []
    assert reported("responses", {"tools": [{**flat, "timeout": 3}]}) == ["tools[0].timeout"]
