"""Operations that an upstream, or the gateway, does not have: errors of requests, never a 500."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from llmcore.testing import scripted
from tests.support.servers.bridge_service import asked, settings_for
from tests.support.servers.loopback import Answer
from tests.support.servers.pooled_gateway import Scene, pooled_gateway, says

pytestmark = pytest.mark.anyio

M = "m-1"
SAID = [{"role": "user", "content": "Hi"}]
TURNS = [{"role": "user", "parts": [{"text": "Hi"}]}]
GOOGLE = f"/v1beta/models/{M}"
GENERATING: Mapping[str, tuple[str, Any]] = {
    "responses": ("/v1/responses", {"model": M, "input": "Hi", "store": False}),
    "compaction": ("/v1/responses/compact", {"model": M, "input": "Hi"}),
    "chat": ("/v1/chat/completions", {"model": M, "messages": SAID}),
    "messages": ("/v1/messages", {"model": M, "messages": SAID, "max_tokens": 9}),
    "gemini": (f"{GOOGLE}:generateContent", {"contents": TURNS}),
    "gemini streamed": (f"{GOOGLE}:streamGenerateContent?alt=sse", {"contents": TURNS}),
}
EMBEDDING: Mapping[str, tuple[str, Any]] = {
    "embeddings": ("/v1/embeddings", {"model": M, "input": "Hi"}),
    "embedContent": (f"{GOOGLE}:embedContent", {"content": {"parts": [{"text": "Hi"}]}}),
    "batchEmbedContents": (
        f"{GOOGLE}:batchEmbedContents",
        {"requests": [{"model": f"models/{M}", "content": {"parts": [{"text": "Hi"}]}}]},
    ),
    "predict": (
        f"/v1beta1/publishers/google/models/{M}:predict",
        {"instances": [{"content": "Hi"}]},
    ),
}
COUNTING: Mapping[str, tuple[str, Any]] = {
    "input_tokens": ("/v1/responses/input_tokens", {"model": M, "input": "Hi"}),
    "count_tokens": ("/v1/messages/count_tokens", {"model": M, "messages": SAID}),
    "countTokens": (f"{GOOGLE}:countTokens", {"contents": TURNS}),
}
NOT_SERVED: Mapping[str, tuple[str, Any]] = {
    "images": ("/v1/images/generations", {"model": M, "prompt": "A cat"}),
    "predict images": (f"{GOOGLE}:predict", {"instances": [{"prompt": "A cat"}]}),
    "speech": ("/v1/audio/speech", {"model": M, "input": "Hi", "voice": "alloy"}),
    "transcription": ("/v1/audio/transcriptions", {"model": M}),
    "rerank": ("/v1/rerank", {"model": M, "query": "Hi", "documents": ["a"]}),
    "batches": ("/v1/batches", {"input_file_id": "f"}),
    "batches of messages": ("/v1/messages/batches", {"requests": []}),
    "batches of Gemini": (f"{GOOGLE}:batchGenerateContent", {"batch": {}}),
    "files": ("/v1/files", {}),
    "files of Gemini": ("/upload/v1beta/files", {}),
    "moderations": ("/v1/moderations", {"input": "Hi"}),
    "completions": ("/v1/completions", {"model": M, "prompt": "Hi"}),
}
KEYS: Mapping[str, Mapping[str, str]] = {
    "openai": {"OPENAI_API_KEY": "k"},
    "anthropic": {"ANTHROPIC_API_KEY": "k"},
    "google": {"GEMINI_API_KEY": "k"},
    "bedrock": {
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "k",
    },
    "cohere": {"COHERE_API_KEY": "k"},
    "voyage": {"VOYAGE_API_KEY": "k"},
    "jina": {"JINA_API_KEY": "k"},
    "groq": {"GROQ_API_KEY": "k"},
}
REFUSED = (400, {"content-type": "application/json"}, '{"error": {"message": "refused there"}}')
ALL = {**GENERATING, **EMBEDDING, **COUNTING, **NOT_SERVED}


async def ask(upstream: str, operation: str) -> tuple[int, str, str]:
    """Return the status and the text of an answer, and what the upstream was sent."""
    environ = dict(KEYS[upstream])
    settings = evolve(
        settings_for("http://127.0.0.1:9"),
        upstream=upstream,
        upstream_base_url=None,
        environ=environ,
    )
    path, body = ALL[operation]
    network = scripted(*[REFUSED] * 9)
    async with asked(settings, network) as client:
        answer = await client.post(path, json=body)
    return answer.status_code, answer.text, json.dumps(network.bodies)


@pytest.mark.parametrize("operation", ALL)
@pytest.mark.parametrize("upstream", KEYS)
async def test_no_operation_is_a_fault_of_the_gateway_over_any_upstream(
    upstream: str, operation: str
) -> None:
    status, text, sent = await ask(upstream, operation)

    known = (200, 400) if operation in COUNTING else (400, 404)
    assert status in known or "UNIMPLEMENTED" in text, text  # Google's own word, 501
    if operation in NOT_SERVED:
        assert sent == "[]"
    if status != 200:
        error = json.loads(text)["error"]
        assert len(error["message"]) > 10
        if operation in ("messages", "batches of messages"):
            assert error["type"] in ("invalid_request_error", "not_found_error")
        elif "google" in ALL[operation][0] or "v1beta" in ALL[operation][0]:
            assert error["status"] in ("INVALID_ARGUMENT", "NOT_FOUND", "UNIMPLEMENTED")
        else:
            assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize("operation", EMBEDDING)
async def test_embeddings_that_the_upstream_lacks_are_an_error_that_says_which_has_them(
    operation: str,
) -> None:
    status, text, sent = await ask("anthropic", operation)

    assert (status, sent) == (400, "[]")
    assert "the provider 'anthropic' has no embeddings" in text
    assert "add an upstream that can embed, such as OpenAI" in text


@pytest.mark.parametrize("operation", GENERATING)
async def test_text_from_an_upstream_of_embeddings_alone_is_an_error_of_the_request(
    operation: str,
) -> None:
    status, text, sent = await ask("voyage", operation)

    assert (status, sent) == (400, "[]")
    assert "voyage generates no text here" in text


CLAUDE = """
[[upstreams]]
name = "claude"
provider = "anthropic"
key = "k"
[models.m]
targets = ["claude/x"]
[models.both]
targets = ["claude/x", "a/up"]
"""


def embed(scene: Scene, model: str) -> Any:
    import httpx

    return httpx.post(f"{scene.url}/embeddings", json={"model": model, "input": "Hi"})


def test_an_error_of_embeddings_names_the_upstreams_that_have_them() -> None:
    with pooled_gateway(CLAUDE, a=says("Hi")) as scene:
        answer = embed(scene, "m")

    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "message": "the provider 'anthropic' has no embeddings: of the upstreams here, a can embed",
        "type": "invalid_request_error",
        "param": None,
        "code": "unsupported_operation",
    }


def test_the_next_target_embeds_where_the_first_one_cannot() -> None:
    vectors = json.dumps({"data": [{"index": 0, "embedding": [0.5]}]}).encode()
    answering = Answer([vectors], 200, {"content-type": "application/json"}, len(vectors))
    with pooled_gateway(CLAUDE, a=lambda _received: answering) as scene:
        answer = embed(scene, "both")
        count = scene.asked("a")

    assert answer.status_code == 200, answer.text
    assert answer.headers["x-openbridge-failed"] == "claude/x unsupported_operation"
    assert count == 1
