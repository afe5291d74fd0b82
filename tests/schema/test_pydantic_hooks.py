"""Values in models of pydantic and in endpoints of FastAPI."""

import json
from typing import Any

import attrs
import pydantic
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import llmcore
from llmcore import (
    GenerateResult,
    ImagePart,
    LLMResponse,
    Message,
    Model,
    TextPart,
    Usage,
    generate,
    generate_object,
)
from llmcore.generation.results import StepResult
from llmcore.schema.codec import from_json, to_json
from llmcore.testing import FakeModel


class Person(pydantic.BaseModel):
    name: str


class Chat(pydantic.BaseModel):
    messages: list[Message]
    usage: Usage | None = None


def _app() -> FastAPI:
    app = FastAPI()

    @app.get("/result")
    async def result() -> GenerateResult:
        fake = FakeModel("Hello")
        return await generate(fake.model, "Hi", client=fake.client)

    @app.get("/object")
    async def of_type() -> GenerateResult[Person]:
        fake = FakeModel('{"name": "Ada"}')
        return await generate_object(fake.model, "Hi", client=fake.client, schema=Person)

    @app.post("/chat")
    async def chat(chat: Chat) -> LLMResponse:
        fake = FakeModel("Hello")
        answer = await generate(fake.model, messages=chat.messages, client=fake.client)
        return answer.response

    @app.post("/parts")
    async def parts(parts: list[TextPart | ImagePart]) -> list[TextPart | ImagePart]:
        return parts

    @app.get("/unannotated")
    async def unannotated():  # type: ignore[no-untyped-def]  # noqa: ANN202  (the case)
        return Message.user("Hi")

    return app


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(_app())


def test_an_endpoint_returns_a_result_as_its_json(client: TestClient) -> None:
    answer = client.get("/result")

    assert answer.status_code == 200
    assert from_json(GenerateResult, answer.json()).text == "Hello"


def test_an_endpoint_returns_a_result_with_a_model_of_pydantic(client: TestClient) -> None:
    assert client.get("/object").json()["output"] == {"name": "Ada"}


def test_an_endpoint_takes_messages_and_returns_a_response(client: TestClient) -> None:
    answer = client.post("/chat", json={"messages": [to_json(Message.user("Hi"))]})

    assert from_json(LLMResponse, answer.json()).text == "Hello"


def test_an_endpoint_tells_parts_apart(client: TestClient) -> None:
    given = [to_json(TextPart("a")), to_json(ImagePart(url="https://example.com/a.png"))]

    assert client.post("/parts", json=given).json() == given


def test_an_endpoint_refuses_an_invalid_message_with_its_path(client: TestClient) -> None:
    answer = client.post("/chat", json={"messages": [{"role": "usr", "content": []}]})

    (fault,) = answer.json()["detail"]
    assert answer.status_code == 422
    assert fault["loc"] == ["body", "messages", 0]
    assert "'usr' is not one of system, user, assistant, tool, developer @ $.role" in fault["msg"]


def test_an_endpoint_takes_messages_in_the_form_of_chat_completions(client: TestClient) -> None:
    answer = client.post("/chat", json={"messages": [{"role": "user", "content": "Hi"}]})

    assert from_json(LLMResponse, answer.json()).text == "Hello"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "path": "/etc/passwd"},
        {"type": "image", "url": "/etc/passwd"},
        {"type": "document", "url": "~/.ssh/id_rsa"},
        {"type": "image_url", "image_url": {"url": "/etc/passwd"}},
        {
            "type": "tool_result",
            "tool_call_id": "1",
            "content": {"parts": [{"type": "image", "path": "/etc/passwd"}]},
            "provider_executed": True,
        },
    ],
)
def test_an_endpoint_does_not_read_files_of_its_machine(client: TestClient, part: Any) -> None:
    role = "assistant" if part["type"] == "tool_result" else "user"
    answer = client.post("/chat", json={"messages": [{"role": role, "content": [part]}]})

    assert answer.status_code == 422


def test_a_value_of_the_program_itself_may_have_a_file() -> None:
    message = Message.user(ImagePart.of("photo.png"))

    assert Chat(messages=[message]).messages == [message]


def test_the_endpoints_are_described_as_objects(client: TestClient) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]

    items = schemas["Chat"]["properties"]["messages"]["items"]
    assert items == {"type": "object", "title": "Message"}


def test_an_endpoint_without_an_annotation_says_what_to_write(client: TestClient) -> None:
    hint = "FastAPI writes it if the endpoint is annotated `-> Message`"
    with pytest.raises(ValueError, match=hint):
        client.get("/unannotated")


def _values() -> list[type]:
    named = (getattr(llmcore, name) for name in llmcore.__all__)
    classes = [kind for kind in named if isinstance(kind, type) and attrs.has(kind)]
    of_schema = [kind for kind in classes if kind.__module__.startswith("llmcore.schema.")]
    without_errors = [kind for kind in of_schema if not issubclass(kind, Exception)]
    return [kind for kind in without_errors if kind is not Model] + [GenerateResult, StepResult]


@pytest.mark.parametrize("kind", _values(), ids=lambda kind: kind.__name__)
def test_each_value_at_the_front_door_is_a_type_of_pydantic(kind: Any) -> None:
    assert pydantic.TypeAdapter(kind).json_schema() == {"type": "object", "title": kind.__name__}


def test_a_value_is_kept_and_read_back_by_a_model() -> None:
    chat = Chat(messages=[Message.user("Hi")], usage=Usage(input_tokens=3))

    written = chat.model_dump_json()

    assert Chat.model_validate_json(written) == chat
    assert json.loads(written)["usage"] == {"input_tokens": 3}
