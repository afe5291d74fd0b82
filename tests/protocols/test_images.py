"""Images: native bodies, responses, errors; held against the official SDKs."""

import base64
import json
from typing import Any

import httpx
import httpx2
import openai
import pytest
from google import genai
from google.genai import types as google_types
from hypothesis import given
from hypothesis import strategies as st

from llmcore import Anthropic, Azure, Google, ImagePart, Model, OpenAI, OpenAICompatible, OpenRouter
from llmcore.protocols.images import GEMINI, read_images
from llmcore.protocols.protocol import NativeResponse
from llmcore.routes.auth import Auth, AuthContext
from llmcore.routes.chat_providers import Together
from llmcore.routes.media import image_route
from llmcore.routes.route import route_of
from llmcore.routes.vertex import Vertex
from llmcore.routes.xai import XAI
from llmcore.schema.errors import (
    ConfigurationError,
    ContentFilterError,
    InvalidRequestError,
    LLMError,
    StreamError,
)
from llmcore.schema.images import ImageRequest
from tests.support.forms import form_parts
from tests.support.strategies.requests import json_values

KEY: Any = {"api_key": "k"}
PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 9
JPEG = b"\xff\xd8\xff" + b"y" * 9
B64 = base64.b64encode(PNG).decode()
DATA_URL = f"data:image/png;base64,{B64}"
WORDS = {"model": "m", "prompt": "A fox"}
LIKE_OPENAI = WORDS | {
    "n": 2,
    "size": "1024x768",
    "quality": "high",
    "background": "opaque",
    "output_format": "png",
}
VERTEX = Vertex.configure(base_url="https://v/v1", auth=Auth.none())
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"

SENT: dict[str, tuple[Model, str, Any, list[str]]] = {
    "openai": (
        OpenAI.configure(**KEY).model("m"),
        "https://api.openai.com/v1/images/generations",
        LIKE_OPENAI,
        ["aspect_ratio"],
    ),
    "azure": (
        Azure.configure(resource_name="r", **KEY).model("m"),
        "https://r.openai.azure.com/openai/v1/images/generations",
        LIKE_OPENAI,
        ["aspect_ratio"],
    ),
    "azure, dated": (
        Azure.configure(resource_name="r", api_version="2025-04-01", **KEY).model("m"),
        "https://r.openai.azure.com/openai/deployments/m/images/generations?api-version=2025-04-01",
        LIKE_OPENAI,
        ["aspect_ratio"],
    ),
    "compatible": (
        OpenAICompatible.configure(name="acme", base_url="https://acme/v1").model("m"),
        "https://acme/v1/images/generations",
        LIKE_OPENAI,
        ["aspect_ratio"],
    ),
    "xai": (
        XAI.configure(**KEY).model("m"),
        "https://api.x.ai/v1/images/generations",
        WORDS | {"n": 2, "aspect_ratio": "4:3", "quality": "high", "response_format": "b64_json"},
        ["background", "output_format", "size"],
    ),
    "together": (
        Together.configure(**KEY).model("m"),
        "https://api.together.ai/v1/images/generations",
        WORDS
        | {
            "n": 2,
            "output_format": "png",
            "response_format": "base64",
            "width": 1024,
            "height": 768,
        },
        ["aspect_ratio", "quality", "background"],
    ),
    "openrouter": (
        OpenRouter.configure(**KEY).model("m"),
        "https://openrouter.ai/api/v1/images",
        LIKE_OPENAI | {"aspect_ratio": "4:3"},
        [],
    ),
    "google": (
        Google.configure(**KEY).model("m"),
        GEMINI_URL,
        {
            "contents": [{"role": "user", "parts": [{"text": "A fox"}]}],
            "generationConfig": {
                "responseModalities": ["IMAGE"],
                "imageConfig": {"aspectRatio": "4:3"},
            },
        },
        ["quality", "background", "n", "size", "output_format"],
    ),
    "vertex": (
        VERTEX.model("m"),
        "https://v/v1/publishers/google/models/m:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "A fox"}]}],
            "generationConfig": {
                "responseModalities": ["IMAGE"],
                "imageConfig": {
                    "aspectRatio": "4:3",
                    "imageOutputOptions": {"mimeType": "image/png"},
                },
            },
        },
        ["quality", "background", "n", "size"],
    ),
}


def prepared(model: Model, **settings: Any) -> Any:
    asked = ImageRequest(model=model, prompt="A fox", **settings)
    route = image_route(route_of(model), model.id)
    return route.prepare(asked, context=AuthContext()).unwrap()


def sent(provider: str, **settings: Any) -> Any:
    return json.loads(prepared(SENT[provider][0], **settings).http.body)


@pytest.mark.parametrize("provider", SENT)
def test_an_image_is_asked_for_as_the_provider_documents(provider: str) -> None:
    """Settings that its API lacks are reported, and are an error if the request is strict."""
    model, url, body, dropped = SENT[provider]
    settings: Any = {"n": 2, "size": "1024x768", "aspect_ratio": "4:3", "quality": "high"}
    settings |= {"background": "opaque", "output_format": "png"}

    call = prepared(model, **settings)
    strict = ImageRequest(model=model, prompt="A fox", strict=True, **settings)
    route = image_route(route_of(model), model.id)

    assert (call.http.method, call.http.url) == ("POST", url)
    assert json.loads(call.http.body) == body
    assert [(note.code, note.path) for note in call.diagnostics] == [
        ("unsupported-parameter", name) for name in dropped
    ]
    refused = route.prepare(strict, context=AuthContext())
    if dropped:
        assert isinstance(refused.failure(), InvalidRequestError)
    else:
        assert refused.unwrap()


@pytest.mark.parametrize(
    ("provider", "where", "written"),
    [
        ("xai", ("resolution",), "2k"),
        ("openrouter", ("resolution",), "2K"),
        ("google", ("generationConfig", "imageConfig", "imageSize"), "2K"),
        ("openai", ("size",), "2K"),
    ],
)
def test_a_size_may_be_a_step(provider: str, where: tuple[str, ...], written: str) -> None:
    found = sent(provider, size="2K")
    for name in where:
        found = found[name]
    assert found == written


@pytest.mark.parametrize(
    ("provider", "images", "added"),
    [
        ("xai", [PNG], {"image": {"type": "image_url", "url": DATA_URL}}),
        (
            "xai",
            ["https://a/b.png", PNG],
            {
                "images": [
                    {"type": "image_url", "url": "https://a/b.png"},
                    {"type": "image_url", "url": DATA_URL},
                ]
            },
        ),
        ("together", ["https://a/b.png"], {"image_url": "https://a/b.png"}),
        ("together", [PNG, "https://a/b"], {"reference_images": [DATA_URL, "https://a/b"]}),
        (
            "openrouter",
            [PNG],
            {"input_references": [{"type": "image_url", "image_url": {"url": DATA_URL}}]},
        ),
    ],
)
def test_images_to_go_by_are_sent_as_the_provider_documents(
    provider: str, images: list[Any], added: Any
) -> None:
    body = sent(provider, images=images)

    assert {name: body[name] for name in added} == added


def test_a_mask_is_sent_as_an_image() -> None:
    body = sent("xai", images=[PNG], mask=PNG)

    assert body["mask"] == {"type": "image_url", "url": DATA_URL}


def test_a_size_that_is_no_number_of_pixels_is_reported() -> None:
    call = prepared(SENT["together"][0], size="2K")

    assert not {"width", "height", "size"} & json.loads(call.http.body).keys()
    assert [note.path for note in call.diagnostics] == ["size"]


def test_gemini_gets_images_as_parts() -> None:
    body = sent("google", images=[PNG, "https://a/b.png"])

    assert body["contents"][0]["parts"] == [
        {"text": "A fox"},
        {"inlineData": {"mimeType": "image/png", "data": B64}},
        {"fileData": {"fileUri": "https://a/b.png", "mimeType": "image/png"}},
    ]


@pytest.mark.parametrize("images", [[PNG], [PNG, JPEG]])
def test_an_edit_is_the_form_that_the_openai_package_sends(images: list[bytes]) -> None:
    seen: list[Any] = []

    def answer(asked: Any) -> Any:
        asked.read()
        seen.append(asked)
        return httpx2.Response(200, json={"created": 1, "data": [{"b64_json": B64}]})

    theirs = openai.OpenAI(
        api_key="k", http_client=httpx2.Client(transport=httpx2.MockTransport(answer))
    )
    files: Any = [
        (f"image.{kind}", data, f"image/{kind}")
        for kind, data in zip(("png", "jpeg"), images, strict=False)
    ]
    theirs.images.edit(
        model="m",
        prompt="A fox",
        image=files if len(files) > 1 else files[0],
        mask=("image.png", PNG, "image/png"),
        n=2,
        size="1024x1024",
    )

    model = SENT["openai"][0]
    http = prepared(model, images=images, mask=PNG, n=2, size="1024x1024").http
    (request,) = seen
    assert http.url == str(request.url)
    ours = form_parts(http.headers, http.body)
    assert set(ours) == set(form_parts(request.headers, request.content))


def test_native_options_are_fields_of_the_form_too() -> None:
    options = {"openai": {"input_fidelity": "high", "flag": True, "svg": {"model": "x"}}}
    http = prepared(SENT["openai"][0], images=PNG, provider_options=options).http

    fields = {part.name: part.content for part in form_parts(http.headers, http.body)}
    assert fields["input_fidelity"] == b"high"
    assert (fields["flag"], fields["svg[model]"]) == (b"true", b"x")


@pytest.mark.parametrize(
    ("provider", "images"),
    [
        ("openai", ImagePart(url="https://a/b.png")),
        ("openai", ImagePart(file_id="f")),
        ("xai", ImagePart(file_id="f")),
    ],
)
def test_an_image_that_the_api_does_not_take_is_an_error(provider: str, images: Any) -> None:
    model = SENT[provider][0]
    asked = ImageRequest(model=model, prompt="A fox", images=images)

    refused = image_route(route_of(model), "m").prepare(asked, context=AuthContext())

    assert isinstance(refused.failure(), InvalidRequestError)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prompt": ""}, "prompt is empty"),
        ({"prompt": 3}, "prompt is of the type int"),
        ({"prompt": "x", "n": 0}, "n is a number"),
        ({"prompt": "x", "mask": PNG}, "a mask needs the image"),
        ({"prompt": "x", "images": [object()]}, "takes a path"),
    ],
)
def test_an_invalid_request_is_an_error_that_names_the_field(given: Any, said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        ImageRequest(model="m", **given)


def test_a_provider_without_images_is_an_error_before_sending() -> None:
    route = route_of(Anthropic.configure(**KEY).model("claude-sonnet-4-5"))

    with pytest.raises(ConfigurationError, match="'anthropic' has no images"):
        image_route(route, "m")


# -- responses

ASKED = ImageRequest(model=Model("m", "p"), prompt="A fox")


@pytest.mark.parametrize(
    ("document", "image", "tokens"),
    [
        (
            {
                "data": [{"b64_json": B64, "revised_prompt": "A red fox"}],
                "usage": {"input_tokens": 9, "output_tokens": 272, "total_tokens": 281},
            },
            ImagePart(data=PNG, media_type="image/png"),
            (9, 272),
        ),
        (
            {
                "data": [{"b64_json": base64.b64encode(b"<svg/>").decode()}],
                "output_format": "svg",
            },
            ImagePart(data=b"<svg/>", media_type="image/svg+xml"),
            (None, None),
        ),
        ({"data": [{"b64_json": DATA_URL}]}, ImagePart(data=PNG, media_type="image/png"), None),
        ({"data": [{"url": "https://a/b.png"}]}, ImagePart(url="https://a/b.png"), None),
        ({"data": [{"url": DATA_URL}]}, ImagePart(url=DATA_URL), None),
        (
            {
                "data": [{"b64_json": "QQ==", "media_type": "image/webp"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.25},
            },
            ImagePart(data=b"A", media_type="image/webp"),
            (3, 4),
        ),
    ],
)
def test_an_image_is_read_with_its_type_and_usage(document: Any, image: Any, tokens: Any) -> None:
    response = read_images(NativeResponse(document=document), ASKED)

    assert response.images == (image,)
    assert response.image == image
    assert response.revised_prompt == document["data"][0].get("revised_prompt")
    assert response.raw == document
    if tokens is not None:
        assert (response.usage.input_tokens, response.usage.output_tokens) == tokens
    assert response.usage.cost_usd == document.get("usage", {}).get("cost")


@pytest.mark.parametrize(
    "document",
    [None, {}, {"data": []}, {"data": [{}]}, {"data": [{"url": "/etc/passwd"}]}],
)
def test_a_response_without_an_image_is_an_error(document: Any) -> None:
    """A URL that would name a local file is not an image."""
    with pytest.raises(StreamError, match="no image"):
        read_images(NativeResponse(document=document), ASKED)


GEMINI_ANSWER: dict[str, Any] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"inlineData": {"mimeType": "image/png", "data": "QQ=="}, "thought": True},
                    {"text": "Here"},
                    {"inlineData": {"mimeType": "image/png", "data": B64}},
                ],
            },
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1290, "totalTokenCount": 1299},
    "modelVersion": "gemini-3.1-flash-image",
}


def test_geminis_images_are_read_without_those_of_its_thoughts() -> None:
    response = GEMINI.read(NativeResponse(document=GEMINI_ANSWER), ASKED)

    assert response.images == (ImagePart(data=PNG, media_type="image/png"),)
    assert response.model == "gemini-3.1-flash-image"
    assert response.usage.output_tokens == 1290


@pytest.mark.parametrize(
    ("document", "error", "said"),
    [
        ({"promptFeedback": {"blockReason": "OTHER"}}, ContentFilterError, "OTHER"),
        (
            {"candidates": [{"finishReason": "IMAGE_SAFETY", "finishMessage": "Try again"}]},
            ContentFilterError,
            "IMAGE_SAFETY, Try again",
        ),
        ({"candidates": [{"finishReason": "NO_IMAGE"}]}, StreamError, "NO_IMAGE"),
        (None, StreamError, "no reason"),
    ],
)
def test_an_image_that_gemini_withholds_is_an_error(document: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        GEMINI.read(NativeResponse(document=document), ASKED)


@given(json_values(), st.sampled_from(["data", "candidates", "usage", "output_format"]))
def test_reading_images_fails_in_no_other_way(value: Any, name: str) -> None:
    whole = {"data": [{"b64_json": B64}], **GEMINI_ANSWER}
    part = {"candidates": [{"content": {"parts": [{"inlineData": value}]}}]}
    for document in (value, {name: value}, whole | {name: value}, {"data": [value]}, part):
        for read in (read_images, GEMINI.read):
            try:
                assert read(NativeResponse(document=document), ASKED).images
            except LLMError:
                continue


def test_the_google_package_sends_and_reads_the_same() -> None:
    seen: list[Any] = []

    def answer(asked: Any) -> Any:
        asked.read()
        seen.append(asked)
        return httpx.Response(200, json=GEMINI_ANSWER)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    content: Any = ["A fox", google_types.Part.from_bytes(data=PNG, mime_type="image/png")]
    theirs = genai.Client(
        api_key="k", http_options=google_types.HttpOptions(httpx_client=http)
    ).models.generate_content(
        model="m",
        contents=content,
        config=google_types.GenerateContentConfig(
            response_modalities=["IMAGE"],
            image_config=google_types.ImageConfig(aspect_ratio="4:3", image_size="2K"),
        ),
    )

    ours = prepared(SENT["google"][0], images=PNG, aspect_ratio="4:3", size="2K").http
    (request,) = seen
    assert str(request.url).rpartition("/models/")[2] == ours.url.rpartition("/models/")[2]
    # both spellings are read: https://protobuf.dev/programming-guides/json
    assert json.loads(request.content.replace(b"mime_type", b"mimeType")) == json.loads(ours.body)
    read = GEMINI.read(NativeResponse(document=GEMINI_ANSWER), ASKED)
    (part,) = [one for one in theirs.parts or [] if one.inline_data and not one.thought]
    assert part.inline_data is not None
    assert read.image.data == part.inline_data.data
