"""A gateway in front of a scripted server of any protocol, asked by the vendors' own clients."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import anthropic
import openai
from attrs import frozen
from google import genai
from google.genai import types as genai_types

from llmcore import Client, Model
from llmcore.bridge.configuration.settings import GatewaySettings, StateSettings
from llmcore.bridge.http import server
from llmcore.bridge.http.app import make_app
from llmcore.bridge.model_map import ModelMap
from llmcore.bridge.service import Service
from llmcore.bridge.state.stores import store_for
from llmcore.bridge.upstream import Upstreams
from tests.support.servers.asgi import serving

MODEL: Final = "the-model"
"""The name that clients use; it is mapped to the upstream's."""


@frozen
class _Source:
    """A provider with one model."""

    one: Model

    def model(self, model_id: str) -> Model:
        return self.one


def service_for(
    model: Model,
    model_map: ModelMap | None = None,
    *,
    others: Mapping[str, Model] | None = None,
    **changes: Any,
) -> Service:
    """Return the service of a gateway whose upstream `up` is *model*; *others* have names too."""
    fields: dict[str, Any] = {
        "upstream": "up",
        "state": StateSettings(backend="memory"),
        "retries": 0,
        "check_stream": True,
        "structured_output": "degrade",
        **changes,
    }
    settings = GatewaySettings(**fields)
    return Service(
        settings,
        model_map=model_map or ModelMap(upstream="up"),
        upstreams=Upstreams(
            Client(
                providers={
                    name: _Source(one) for name, one in {"up": model, **(others or {})}.items()
                }
            )
        ),
        store=store_for(settings),
    )


@contextmanager
def gateway(model: Model, **changes: Any) -> Iterator[str]:
    """Run a gateway in front of *model* for the block; its URL, without a path."""
    service = service_for(model, **changes)
    with served(service) as url:
        yield url
    assert violations(service) == 0


def violations(service: Service) -> float:
    """Return how many events of all streams so far broke the grammar of their API."""
    shown = service.metrics.exposition().decode()
    return float(shown.partition("\nopenbridge_stream_violations_total ")[2].partition("\n")[0])


@contextmanager
def served(service: Service) -> Iterator[str]:
    """Serve *service* on loopback for the block; its URL, without a path."""
    listener = server.listening("127.0.0.1", 0, send_s=60)
    with serving(server.uvicorn_config(make_app(service), service.settings), [listener]):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


# -- the vendors' clients


@frozen(kw_only=True)
class Heard:
    """The parts of a response, as a vendor's client reads them."""

    text: str
    calls: tuple[tuple[str, Any], ...] = ()
    finish: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


Ask = Callable[..., Heard]
"""Asks a gateway: its URL, the prompt, whether to stream, and further native fields."""


def chat(url: str, prompt: str, *, stream: bool, **fields: Any) -> Heard:
    """Ask with OpenAI's client for Chat Completions."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="sk-any", max_retries=0) as client:
        return _ask_chat(client, prompt, stream=stream, **fields)


def _ask_chat(client: Any, prompt: str, *, stream: bool, **fields: Any) -> Heard:
    fields = {"messages": [{"role": "user", "content": prompt}], **fields}
    if not stream:
        whole = client.chat.completions.create(model=MODEL, **fields)
        return _chat(whole.model_dump())
    options = {"include_usage": True}
    chunks = client.chat.completions.create(
        model=MODEL, stream=True, stream_options=options, **fields
    )
    message: dict[str, Any] = {"content": "", "tool_calls": {}}
    whole_: dict[str, Any] = {"usage": None}
    finish = None
    for chunk in chunks:
        whole_["usage"] = chunk.usage.model_dump() if chunk.usage else whole_["usage"]
        for choice in chunk.choices:
            message["content"] += choice.delta.content or ""
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or ():
                kept = message["tool_calls"].setdefault(call.index, {"name": "", "arguments": ""})
                kept["name"] += call.function.name or ""
                kept["arguments"] += call.function.arguments or ""
    calls = [{"function": one} for one in message["tool_calls"].values()]
    choice_ = {"message": {**message, "tool_calls": calls}, "finish_reason": finish}
    return _chat({**whole_, "choices": [choice_]})


def _chat(body: Mapping[str, Any]) -> Heard:
    choice, usage = body["choices"][0], body["usage"] or {}
    functions = [call["function"] for call in choice["message"]["tool_calls"] or ()]
    return Heard(
        text=choice["message"]["content"] or "",
        calls=tuple((one["name"], json.loads(one["arguments"] or "{}")) for one in functions),
        finish=choice["finish_reason"],
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
    )


def responses(url: str, prompt: str, *, stream: bool, **fields: Any) -> Heard:
    """Ask with OpenAI's client for Responses."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="sk-any", max_retries=0) as client:
        return _ask_responses(client, prompt, stream=stream, **fields)


def _ask_responses(client: Any, prompt: str, *, stream: bool, **fields: Any) -> Heard:
    if not stream:
        return _responses(client.responses.create(model=MODEL, input=prompt, **fields))
    last: Any = None
    for event in client.responses.create(model=MODEL, input=prompt, stream=True, **fields):
        if event.type == "response.failed":
            message = event.response.error.message if event.response.error else ""
            raise openai.APIError(message, request=None, body=None)  # type: ignore[arg-type]
        last = getattr(event, "response", None)
    return _responses(last)


def _responses(response: Any) -> Heard:
    calls = [item for item in response.output if item.type == "function_call"]
    finish = response.incomplete_details.reason if response.incomplete_details else "completed"
    return Heard(
        text=response.output_text,
        calls=tuple((one.name, json.loads(one.arguments or "{}")) for one in calls),
        finish=finish,
        input_tokens=response.usage.input_tokens if response.usage else None,
        output_tokens=response.usage.output_tokens if response.usage else None,
    )


def messages(url: str, prompt: str, *, stream: bool, **fields: Any) -> Heard:
    """Ask with Anthropic's client."""
    with anthropic.Anthropic(base_url=url, api_key="sk-any", max_retries=0) as client:
        return _ask_messages(client, prompt, stream=stream, **fields)


def _ask_messages(client: Any, prompt: str, *, stream: bool, **fields: Any) -> Heard:
    asked: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 4000,
        "messages": [{"role": "user", "content": prompt}],
        **fields,
    }
    if stream:
        with client.messages.stream(**asked) as events:
            answer: Any = events.get_final_message()
    else:
        answer = client.messages.create(**asked)
    usage = answer.usage
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return Heard(
        text="".join(block.text for block in answer.content if block.type == "text"),
        calls=tuple(
            (block.name, block.input) for block in answer.content if block.type == "tool_use"
        ),
        finish=answer.stop_reason,
        input_tokens=usage.input_tokens + cached,
        output_tokens=usage.output_tokens,
    )


def gemini(url: str, prompt: str, *, stream: bool, **fields: Any) -> Heard:
    """Ask with Google's client."""
    options = genai_types.HttpOptions(base_url=url)
    with genai.Client(api_key="sk-any", http_options=options) as client:
        return _ask_gemini(client, prompt, stream=stream, **fields)


def _ask_gemini(client: Any, prompt: str, *, stream: bool, **fields: Any) -> Heard:
    config = genai_types.GenerateContentConfig(**fields) if fields else None
    if stream:
        chunks = list(
            client.models.generate_content_stream(model=MODEL, contents=prompt, config=config)
        )
    else:
        chunks = [client.models.generate_content(model=MODEL, contents=prompt, config=config)]
    parts = [
        part
        for chunk in chunks
        for candidate in chunk.candidates or ()
        if candidate.content
        for part in candidate.content.parts or ()
    ]
    reasons = [one.finish_reason for chunk in chunks for one in chunk.candidates or ()]
    finish = next((reason for reason in reversed(reasons) if reason), None)
    usage: Any = next((chunk.usage_metadata for chunk in reversed(chunks)), None)
    thoughts = (usage.thoughts_token_count or 0) if usage else 0
    return Heard(
        text="".join(part.text or "" for part in parts if not part.thought),
        calls=tuple(
            (part.function_call.name or "", part.function_call.args or {})
            for part in parts
            if part.function_call
        ),
        finish=finish.value if finish else None,
        input_tokens=usage.prompt_token_count if usage else None,
        output_tokens=(usage.candidates_token_count or 0) + thoughts if usage else None,
    )


ASKERS: Final[Mapping[str, Ask]] = {
    "openai-responses": responses,
    "openai-chat": chat,
    "anthropic-messages": messages,
    "gemini": gemini,
}
"""By the front that they speak to."""

SCHEMA: Final = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
_DECLARED: Final = {"name": "weather", "description": "Weather.", "parameters": SCHEMA}
WEATHER: Final[Mapping[str, Mapping[str, Any]]] = {
    "openai-responses": {"tools": [{"type": "function", **_DECLARED}]},
    "openai-chat": {"tools": [{"type": "function", "function": _DECLARED}]},
    "anthropic-messages": {
        "tools": [{"name": "weather", "description": "Weather.", "input_schema": SCHEMA}]
    },
    "gemini": {
        "tools": [
            {
                "function_declarations": [
                    {
                        "name": "weather",
                        "description": "Weather.",
                        "parameters_json_schema": SCHEMA,
                    }
                ]
            }
        ]
    },
}
"""The fields that offer the tool `weather`."""

ERRORS: Final[Mapping[str, type[Exception]]] = {
    "openai-responses": openai.APIError,
    "openai-chat": openai.APIError,
    "anthropic-messages": anthropic.APIError,
    "gemini": genai.errors.APIError,
}
"""The class that the vendor's client raises."""
