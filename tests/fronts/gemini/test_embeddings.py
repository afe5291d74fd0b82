"""Embeddings of Google's methods: what requests say, what is lost of them, what responses have."""

from typing import Any

import pytest
from hypothesis import given

from llmcore import Google, Model, OpenAICompatible
from llmcore.fronts.errors import FrontError
from llmcore.fronts.gemini.embeddings import EMBEDDING_METHODS, read_embeddings_request
from llmcore.protocols.embeddings import GEMINI, read_embeddings
from llmcore.protocols.protocol import NativeResponse
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.embeddings import EmbeddingRequest, EmbeddingResponse
from llmcore.schema.usage import Usage
from tests.support.strategies.requests import json_values

OTHER = OpenAICompatible.configure(name="acme", base_url="https://acme/v1").model("m")
GOOGLE = Google.configure(api_key="k").model("m")
HELLO: Any = {"parts": [{"text": "Hello"}]}
SETTINGS: Any = {"taskType": "RETRIEVAL_QUERY", "outputDimensionality": 8}


def lost(diagnostics: tuple[Diagnostic, ...]) -> list[str]:
    return [note.path for note in diagnostics]


@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("embedContent", {"content": HELLO, **SETTINGS}),
        ("embedContent", {"model": "models/m", "content": HELLO, "embedContentConfig": SETTINGS}),
        (
            "embedContent",
            {"content": HELLO, "task_type": "RETRIEVAL_QUERY", "output_dimensionality": 8},
        ),
        ("batchEmbedContents", {"requests": [{"model": "models/m", "content": HELLO, **SETTINGS}]}),
        (
            "batchEmbedContents",
            {"requests": [{"content": HELLO, "embedContentConfig": SETTINGS}]},
        ),
        (
            "predict",
            {
                "instances": [{"content": "Hello", "task_type": "RETRIEVAL_QUERY"}],
                "parameters": {"outputDimensionality": 8},
            },
        ),
    ],
)
def test_each_method_asks_for_the_same(method: str, body: Any) -> None:
    """Settings stand beside the text, in an object, or in one for all texts."""
    read = read_embeddings_request(body, method, OTHER)

    assert read.request == EmbeddingRequest(
        model=OTHER, inputs=("Hello",), dimensions=8, input_type="query"
    )
    assert read.diagnostics == ()


def test_parts_of_a_content_are_one_text() -> None:
    body: Any = {"requests": [{"content": {"parts": [{"text": "a"}, {"text": "b"}]}}]}

    assert read_embeddings_request(body, "batchEmbedContents", OTHER).request.inputs == ("a\n\nb",)


def test_settings_without_a_neutral_word_go_to_gemini_and_are_reported_for_others() -> None:
    """In each of the requests for Gemini, where they came."""
    one = {"content": HELLO, "taskType": "CLUSTERING", "title": "T"}
    body: Any = {"requests": [one, one]}

    native = read_embeddings_request(body, "batchEmbedContents", GOOGLE)
    other = read_embeddings_request(body, "batchEmbedContents", OTHER)

    sent: Any = GEMINI.build(native.request).body
    assert [set(request) for request in sent["requests"]] == [
        {"model", "content", "taskType", "title"}
    ] * 2
    assert sent["requests"][1]["taskType"] == "CLUSTERING"
    assert sent.keys() == {"requests"}
    assert native.diagnostics == ()
    assert lost(other.diagnostics) == ["requests[0].taskType", "requests[0].title"]
    assert other.request.provider_options == {}


@pytest.mark.parametrize(("number", "kind"), [(1, "query"), (2, "document"), (5, None)])
def test_a_task_may_come_as_its_number(number: int, kind: str | None) -> None:
    body: Any = {"content": HELLO, "taskType": number}
    read = read_embeddings_request(body, "embedContent", GOOGLE)

    rest = {} if kind else {"google": {"taskType": "CLUSTERING"}}
    assert (read.request.input_type, read.request.provider_options) == (kind, rest)


@pytest.mark.parametrize("task", ["TASK_TYPE_UNSPECIFIED", 0])
def test_an_unspecified_task_is_none(task: object) -> None:
    body: Any = {"content": HELLO, "taskType": task}
    read = read_embeddings_request(body, "embedContent", GOOGLE)

    assert (read.request.input_type, read.request.provider_options) == (None, {})


def test_titles_of_their_own_are_reported() -> None:
    """A request of the upstream has its settings once; other texts stay as they are."""
    body: Any = {
        "requests": [{"content": HELLO, "title": "A"}, {"content": HELLO, "title": "B"}],
        "extra": 1,
    }
    read = read_embeddings_request(body, "batchEmbedContents", GOOGLE)

    assert lost(read.diagnostics) == ["extra", "requests[1].title"]
    assert (len(read.request.inputs), read.request.provider_options) == (2, {})


@pytest.mark.parametrize(
    ("method", "body", "said"),
    [
        ("embedContent", {}, "content: Field required"),
        ("embedContent", {"content": {"parts": []}}, "inputs[0] is empty"),
        (
            "embedContent",
            {"content": {"parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]}},
            "content.parts[0] must be a text",
        ),
        ("batchEmbedContents", {}, "inputs is empty"),
        ("batchEmbedContents", {"requests": [1]}, "requests[0] must be a JSON object"),
        (
            "batchEmbedContents",
            {"requests": [{"content": HELLO}, {"content": HELLO, "taskType": "CLUSTERING"}]},
            "requests[1].taskType must be that of the other texts",
        ),
        (
            "batchEmbedContents",
            {"requests": [{"content": HELLO, "outputDimensionality": "8"}]},
            "requests[0].outputDimensionality must be a whole number",
        ),
        ("predict", {"instances": [{"prompt": "a cat"}]}, "instances[0].content: Field required"),
    ],
)
def test_an_invalid_request_is_an_error_that_names_its_place(
    method: str, body: Any, said: str
) -> None:
    with pytest.raises(FrontError) as caught:
        read_embeddings_request(body, method, OTHER)

    assert caught.value.status == 400
    assert said in caught.value.message


@pytest.mark.parametrize("method", EMBEDDING_METHODS)
def test_what_is_written_is_read_as_the_same_response(method: str) -> None:
    """By our own reader: vectors, tokens, and that a text was cut."""
    model = Model("m", "p")
    response = EmbeddingResponse(
        provider="p",
        model="m",
        embeddings=((0.1, -2.0),),
        usage=Usage.make(input_tokens=3, output_tokens=0),
        diagnostics=(Diagnostic("input-truncated", "inputs[0]", action="changed", message="cut"),),
    )
    body: Any = {"embedContent": {"content": HELLO}, "predict": {"instances": [{"content": "a"}]}}
    asked = body.get(method, {"requests": [{"content": HELLO}]})

    written = read_embeddings_request(asked, method, OTHER).write(response, "m")

    again = read_embeddings(
        NativeResponse(document=written), EmbeddingRequest(model=model, inputs=("a",))
    )
    assert (again.embeddings, again.usage.input_tokens) == (response.embeddings, 3)
    cut = [note.code for note in again.diagnostics]
    assert cut == ([] if method == "batchEmbedContents" else ["input-truncated"])


def test_the_tokens_of_several_texts_are_not_those_of_one() -> None:
    response = EmbeddingResponse(
        provider="p",
        model="m",
        embeddings=((0.1,), (0.2,)),
        usage=Usage.make(input_tokens=3, output_tokens=0),
    )
    body: Any = {"instances": [{"content": "a"}, {"content": "b"}]}

    written: Any = read_embeddings_request(body, "predict", OTHER).write(response, "m")

    statistics = [one["embeddings"]["statistics"] for one in written["predictions"]]
    assert statistics == [{"truncated": False}, {"truncated": False}]


@given(json_values())
def test_any_body_is_read_or_is_a_front_error(value: Any) -> None:
    for method, body in (
        ("embedContent", {"content": value, "embedContentConfig": value}),
        ("embedContent", {"content": {"parts": value}, "taskType": value}),
        ("batchEmbedContents", {"requests": value}),
        ("batchEmbedContents", {"requests": [{"content": HELLO, "outputDimensionality": value}]}),
        ("predict", {"instances": value, "parameters": value}),
    ):
        try:
            read = read_embeddings_request(body, method, OTHER)
        except FrontError:
            continue
        assert read.request.inputs
