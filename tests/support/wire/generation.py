"""Chat answers with tool calls, as a scripted transport or a server sends them."""

import json
from typing import Any

from llmcore import Client, Model, OpenAICompatible
from llmcore.testing import ScriptedTransport, scripted
from tests.support.servers.loopback import DONE, chat_chunk, chat_stream, sse

Call = tuple[str, str, Any]
"""Id, name, and arguments: an object, or text that is sent as it is."""

SSE = {"content-type": "text/event-stream"}


def calls_of(*calls: Call, text: str = "", reason: str = "tool_calls") -> list[Any]:
    """Return the script of a streamed response that calls tools."""
    script: list[Any] = []
    if text:
        script.append(chat_chunk(delta={"content": text}))
    for index, (id_, name, arguments) in enumerate(calls):
        spelled = arguments if isinstance(arguments, str) else json.dumps(arguments)
        head = {"index": index, "id": id_, "type": "function"}
        opening = {**head, "function": {"name": name, "arguments": ""}}
        script.append(chat_chunk(delta={"tool_calls": [opening]}))
        rest = {"index": index, "function": {"arguments": spelled}}
        script.append(chat_chunk(delta={"tool_calls": [rest]}))
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
    last = {"id": "chatcmpl-1", "model": "m-1", "choices": [], "usage": usage}
    return [*script, chat_chunk(finish_reason=reason), sse(last), DONE]


def text_of(*texts: str) -> list[Any]:
    """Return the script of a streamed text answer."""
    return [*chat_stream(texts or ("Hel", "lo"))]


def client_of(*scripts: Any) -> tuple[Client, ScriptedTransport]:
    """Return a client whose provider answers with *scripts*, in order."""
    transport = scripted(*scripts)
    return Client(transport=transport), transport


def any_model() -> Model:
    """Return a model of a server that speaks Chat Completions."""
    return model_at("https://x")


def model_at(url: str) -> Model:
    """Return a model of the server at *url*."""
    return OpenAICompatible.configure(name="any", base_url=url, api_key="k").model("m-1")
