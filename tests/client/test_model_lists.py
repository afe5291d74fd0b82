"""Models at run time: lists of providers, and files of models."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from llmcore import AmazonBedrock, Anthropic, Azure, Client, Google, OpenAI, OpenRouter
from llmcore.catalog.model_info import ModelInfo
from llmcore.catalog.own_models import models_from
from llmcore.protocols.protocol import NativeResponse
from llmcore.protocols.unary import read_models
from llmcore.routes.chat_providers import Perplexity
from llmcore.routes.chat_servers import VLLM, Ollama
from llmcore.routes.vertex import Vertex
from llmcore.schema.errors import (
    ConfigurationError,
    LLMError,
    NetworkError,
    RateLimitError,
    ServerError,
    StreamError,
)
from llmcore.schema.json import JsonObject
from llmcore.testing import scripted
from tests.support.strategies.requests import json_values

pytestmark = pytest.mark.anyio

CLAUDE: JsonObject = {
    "id": "claude-new-9",
    "type": "model",
    "display_name": "Claude New 9",
    "created_at": "2026-10-01T00:00:00Z",
    "max_input_tokens": 2_000_000,
    "max_tokens": 64_000,
}
COPILOT: JsonObject = {
    "id": "gpt-5.2",
    "supported_endpoints": ["/chat/completions", "/responses", 7],
    "capabilities": {"limits": {"max_context_window_tokens": 264_000, "max_output_tokens": 64_000}},
}
LISTS: dict[str, tuple[Any, list[str], list[Any], tuple[Any, ...]]] = {
    "openai": (
        OpenAI.configure(api_key="k"),
        ["https://api.openai.com/v1/models"],
        [{"object": "list", "data": [{"id": "new-1", "created": 1765313051}, {"no": "id"}]}],
        ("new-1", "new-1", None, None, date(2025, 12, 9)),
    ),
    "anthropic": (
        Anthropic.configure(api_key="k"),
        [
            "https://api.anthropic.com/v1/models?limit=1000",
            "https://api.anthropic.com/v1/models?limit=1000&after_id=claude-new-9",
        ],
        [
            {"data": [CLAUDE], "has_more": True, "last_id": "claude-new-9"},
            {"data": [{"id": "claude-other"}], "has_more": False, "last_id": "claude-other"},
        ],
        ("claude-new-9", "Claude New 9", 2_000_000, 64_000, date(2026, 10, 1)),
    ),
    "google": (
        Google.configure(api_key="k"),
        [
            "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000",
            "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000&pageToken=t",
        ],
        [
            {
                "models": [
                    {
                        "name": "models/gemini-9",
                        "displayName": "Gemini 9",
                        "inputTokenLimit": 1_048_576,
                        "outputTokenLimit": 65_536,
                    }
                ],
                "nextPageToken": "t",
            },
            {"models": []},
        ],
        ("gemini-9", "Gemini 9", 1_048_576, 65_536, None),
    ),
    "bedrock": (
        AmazonBedrock.configure(region="us-east-1", api_key="k"),
        ["https://bedrock.us-east-1.amazonaws.com/foundation-models"],
        [{"modelSummaries": [{"modelId": "acme.m-v9:0", "modelName": "M 9"}]}],
        ("acme.m-v9:0", "M 9", None, None, None),
    ),
    "azure": (
        Azure.configure(resource_name="r", api_key="k"),
        ["https://r.openai.azure.com/openai/v1/models"],
        [{"data": [{"id": "my-model"}]}],
        ("my-model", "my-model", None, None, None),
    ),
    "openrouter": (
        OpenRouter.configure(api_key="k"),
        ["https://openrouter.ai/api/v1/models"],
        [{"data": [{"id": "acme/new", "name": "Acme: New", "context_length": 9000}]}],
        ("acme/new", "Acme: New", 9000, None, None),
    ),
    "perplexity": (
        Perplexity.configure(api_key="k"),
        ["https://api.perplexity.ai/v1/models"],
        [{"data": [{"id": "acme/new", "object": "model", "created": 1765313051}]}],
        ("acme/new", "acme/new", None, None, date(2025, 12, 9)),
    ),
    "vllm": (
        VLLM.configure(),
        ["http://localhost:8000/v1/models"],
        [{"data": [{"id": "meta/unknown", "max_model_len": 4096}]}],
        ("meta/unknown", "meta/unknown", 4096, None, None),
    ),
}


@pytest.mark.parametrize("provider", LISTS)
async def test_models_are_listed_page_by_page_with_what_the_provider_states(provider: str) -> None:
    source, urls, answers, first = LISTS[provider]
    transport = scripted(*answers)
    client = Client(providers={provider: source}, transport=transport)

    listed = (await client.list_models(provider)).unwrap()

    found = listed[0]
    assert (
        found.id,
        found.display_name,
        found.context_window,
        found.max_output,
        found.release_date,
    ) == first
    assert found.provider == provider
    assert [request.url for request in transport.requests] == urls
    assert {request.method for request in transport.requests} == {"GET"}
    assert all(request.body == b"" for request in transport.requests)


async def test_a_listed_model_has_what_the_catalog_knows_of_it() -> None:
    own = ModelInfo(id="x", provider="openai", display_name="Own X", context_window=7)
    answer = {"data": [{"id": "gpt-5.2"}, {"id": "x"}]}
    client = Client(
        providers={"openai": OpenAI.configure(api_key="k")},
        default_provider="openai",
        transport=scripted(answer),
        models=[own],
    )

    known, mine = (await client.list_models()).unwrap()

    assert (known.supports_tools, known.input_price) == (True, 1.75)
    assert (mine.display_name, mine.context_window) == ("Own X", 7)


def test_copilots_limits_and_endpoints_are_read() -> None:
    page = read_models(NativeResponse(document={"data": [COPILOT]}))

    assert page.items[0].endpoints == ("/chat/completions", "/responses")
    assert (page.items[0].context_window, page.items[0].max_output) == (264_000, 64_000)


@pytest.mark.parametrize("provider", ["vertex", "nobody"])
async def test_a_provider_without_a_list_is_an_error(provider: str) -> None:
    client = Client(providers={"vertex": Vertex.configure(project="p")}, transport=scripted())

    assert isinstance((await client.list_models(provider)).failure(), ConfigurationError)


@pytest.mark.parametrize(("status", "error"), [(429, RateLimitError), (500, ServerError)])
async def test_an_error_response_that_breaks_off_is_the_error_of_its_status(
    status: int, error: type[LLMError]
) -> None:
    answer: Any = (status, {}, [b'{"error"', NetworkError("cut")])
    client = Client(providers={"openai": OpenAI.configure(api_key="k")}, transport=scripted(answer))

    assert isinstance((await client.list_models("openai")).failure(), error)


async def test_an_empty_list_that_is_null_has_no_models() -> None:
    """Source: https://github.com/ollama/ollama/blob/main/openai/openai.go (`ToListCompletion`)."""
    client = Client(
        providers={"ollama": Ollama.configure()},
        transport=scripted({"object": "list", "data": None}),
    )

    async with client:
        assert (await client.list_models("ollama")).unwrap() == ()


async def test_a_response_that_is_not_a_list_is_an_error() -> None:
    client = Client(
        providers={"openai": OpenAI.configure(api_key="k")},
        transport=scripted({"hello": 1}, "<html>"),
    )

    for _ in range(2):
        assert isinstance((await client.list_models("openai")).failure(), StreamError)


@given(json_values())
def test_any_list_is_read_or_raises_an_llm_error(document: Any) -> None:
    try:
        page = read_models(NativeResponse(document=document))
    except StreamError:
        return
    assert all(model.id for model in page.items)


# -- files of models


HOUSE = {
    "id": "house-1",
    "provider": "house",
    "context_window": 32_000,
    "aliases": ["house"],
    "prices": {"input": 0.2, "output": 0.8},
}


async def test_models_are_loaded_from_a_file_and_replace_those_of_their_id(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    old = ModelInfo(id="house-1", provider="house", display_name="old")
    other = ModelInfo(id="other", provider="house", display_name="other")
    client = Client(models=[old, other])

    path.write_text(json.dumps({"models": [HOUSE]}))
    loaded = (await client.load_models(path)).unwrap()

    assert [model.id for model in client.models] == ["house-1", "other"]
    assert (loaded[0].display_name, loaded[0].input_price) == ("house-1", 0.2)


async def test_models_are_loaded_from_a_url_without_any_key() -> None:
    transport = scripted({"models": [HOUSE]})
    client = Client(
        providers={"openai": OpenAI.configure(api_key="sk-secret")}, transport=transport
    )

    await client.load_models("https://example.com/models.json?v=2")

    assert client.models[0].id == "house-1"
    assert transport.requests[0].url == "https://example.com/models.json?v=2"
    assert "authorization" not in transport.requests[0].headers


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], 'expected an object with a list "models"'),
        ({"models": [3]}, r"models\[0\] is not an object"),
        ({"models": [{"provider": "p"}]}, "has no id"),
        ({"models": [{**HOUSE, "price": 1}]}, "does not have: price"),
        ({"models": [{**HOUSE, "context_window": "big"}]}, "context_window is not valid: 'big'"),
        ({"models": [{**HOUSE, "supports_tools": "yes"}]}, "supports_tools is not valid: 'yes'"),
        ({"models": [{**HOUSE, "prices": {"input": -1, "output": 1}}]}, "prices is not valid"),
        ({"models": [{**HOUSE, "prices": {"input": 1}}]}, "is not valid"),
        ({"models": [{**HOUSE, "release_date": "soon"}]}, "is not valid"),
    ],
)
def test_an_invalid_file_names_the_entry(document: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        models_from(document, "models.json")


@given(json_values())
def test_any_document_gives_models_or_a_configuration_error(document: Any) -> None:
    for wrapped in (document, {"models": [document]}):
        try:
            models = models_from(wrapped, "f")
        except ConfigurationError:
            continue
        assert all(isinstance(model, ModelInfo) for model in models)


async def test_a_missing_file_changes_nothing(tmp_path: Path) -> None:
    client = Client(models=[ModelInfo(id="x", provider="p", display_name="x")])

    found = await client.load_models(tmp_path / "none.json")

    assert isinstance(found.failure(), ConfigurationError)
    assert [model.id for model in client.models] == ["x"]


async def test_without_a_default_provider_the_error_names_no_model() -> None:
    error = (await Client(environ={}).list_models()).failure()

    assert isinstance(error, ConfigurationError)
    assert error.message.startswith("there is no default provider (configured: none)")
