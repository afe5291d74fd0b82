"""Requests of Chat Completions, as its reference allows them.

Sources, read November 2026: https://developers.openai.com/api/reference/resources/chat (create),
and the types of the `openai` package (`types/chat`).
"""

from typing import Any, Final

from tests.fronts.legal_requests.shared import MP3, PDF, PNG, SCHEMA, WAV, WIDE_SCHEMA

_USER: Final = {"role": "user", "content": "Hi"}
_LOOK: Final = {
    "type": "function",
    "function": {"name": "look", "description": "Look.", "parameters": SCHEMA},
}


def _call(call_id: str, arguments: str, name: str = "look") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _ask(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages or (_USER,)), **fields}


REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "sampling": _ask(
        temperature=0.3,
        top_p=0.9,
        seed=7,
        presence_penalty=0.5,
        frequency_penalty=-0.5,
        max_completion_tokens=300,
        stop=["END", "\n\n", "\u2028", "STOP"],
        logit_bias={"50256": -100},
        user="u-1",
    ),
    "whole numbers for fractions": _ask(temperature=1, top_p=1, max_tokens=300, stop="END"),
    "log probabilities": _ask(logprobs=True, top_logprobs=20, max_tokens=50),
    "log probabilities of the chosen alone": _ask(logprobs=True, top_logprobs=0),
    "system, developer and names": _ask(
        {"role": "system", "content": "Be brief.", "name": "house"},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "user", "content": "Hi", "name": "Ann"},
        {"role": "assistant", "content": "Yes?", "name": "helper"},
        {"role": "developer", "content": "Now in French."},
        {"role": "user", "content": "Go on.", "name": "Bob"},
    ),
    "system message last": _ask(_USER, {"role": "system", "content": "Answer in verse."}),
    "system message alone": _ask({"role": "system", "content": "Say hello."}),
    "assistant first": _ask({"role": "assistant", "content": "Welcome!"}, _USER),
    "assistant last": _ask(_USER, {"role": "assistant", "content": "Dear reader, "}),
    "several of one role in a row": _ask(
        _USER,
        {"role": "user", "content": "And again."},
        {"role": "assistant", "content": "One."},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": "Three?"},
    ),
    "media of every kind": _ask(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What are these?"},
                {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
            ],
        }
    ),
    "sound": _ask(
        {
            "role": "user",
            "content": [
                {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
                {"type": "input_audio", "input_audio": {"data": MP3, "format": "mp3"}},
            ],
        }
    ),
    "picture at an address": _ask(
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "https://a.example/p.png"}},
                {"type": "text", "text": "What is it?"},
            ],
        }
    ),
    "stored file": _ask(
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-abc"}}]}
    ),
    "parallel calls and results": _ask(
        _USER,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                _call("call_a", '{"at": "a"}'),
                _call("call_b", '{"at": "b"}'),
                _call("call_c", "{}"),
            ],
        },
        {"role": "tool", "tool_call_id": "call_b", "content": "seen b"},
        {"role": "tool", "tool_call_id": "call_a", "content": [{"type": "text", "text": "seen a"}]},
        {"role": "tool", "tool_call_id": "call_c", "content": ""},
        tools=[_LOOK],
        tool_choice="auto",
        parallel_tool_calls=True,
    ),
    "text and calls in one message": _ask(
        _USER,
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Let me "}, {"type": "text", "text": "look."}],
            "refusal": None,
            "tool_calls": [_call("call_a", '{"at": "日本語🙂"}')],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "gesehen \u0000 \ud83d\ude42"},
        {"role": "user", "content": "And?"},
        tools=[_LOOK],
    ),
    "result that is missing": _ask(
        _USER,
        {"role": "assistant", "tool_calls": [_call("c1", "{}"), _call("c2", "{}")]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "user", "content": "Never mind the other."},
        tools=[_LOOK],
    ),
    "arguments that are no object": _ask(
        _USER,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [_call("c1", ""), _call("c2", '{"at": '), _call("c3", "[1]")],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": "2"},
        {"role": "tool", "tool_call_id": "c3", "content": "3"},
        tools=[_LOOK],
    ),
    "picture in a result": _ask(
        _USER,
        {"role": "assistant", "content": None, "tool_calls": [_call("c1", '{"at": "a"}')]},
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": [
                {"type": "text", "text": "Here it is."},
                {"type": "image_url", "image_url": {"url": PNG}},
            ],
        },
        tools=[_LOOK],
    ),
    "wide schemas": _ask(
        tools=[
            {
                "type": "function",
                "function": {"name": "wide", "parameters": WIDE_SCHEMA, "strict": False},
            },
            {"type": "function", "function": {"name": "none_at_all"}},
            {"type": "function", "function": {"name": "empty", "parameters": {}}},
            {
                "type": "function",
                "function": {"name": "strict-one", "parameters": SCHEMA, "strict": True},
            },
        ],
        tool_choice="required",
        parallel_tool_calls=False,
    ),
    "choice of one function": _ask(
        tools=[_LOOK], tool_choice={"type": "function", "function": {"name": "look"}}
    ),
    "choice of none": _ask(tools=[_LOOK], tool_choice="none"),
    "choice among several": _ask(
        tools=[_LOOK, {"type": "function", "function": {"name": "listen", "parameters": SCHEMA}}],
        tool_choice={
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "required",
                "tools": [{"type": "function", "function": {"name": "look"}}],
            },
        },
    ),
    "freeform tools": _ask(
        _USER,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "+ a\n- b"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        tools=[
            {
                "type": "custom",
                "custom": {
                    "name": "patch",
                    "description": "Patches.",
                    "format": {
                        "type": "grammar",
                        "grammar": {"syntax": "lark", "definition": 'start: "a"'},
                    },
                },
            }
        ],
        tool_choice={"type": "custom", "custom": {"name": "patch"}},
    ),
    "functions as before tools": _ask(
        _USER,
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "look", "arguments": '{"at": "a"}'},
        },
        {"role": "function", "name": "look", "content": "seen"},
        functions=[{"name": "look", "description": "Look.", "parameters": SCHEMA}],
        function_call={"name": "look"},
    ),
    "structured output": _ask(
        response_format={
            "type": "json_schema",
            "json_schema": {
                "name": "answer",
                "description": "An answer.",
                "schema": SCHEMA,
                "strict": True,
            },
        },
        reasoning_effort="high",
        verbosity="low",
        max_completion_tokens=5000,
    ),
    "any JSON": _ask(
        {"role": "user", "content": "Say it in JSON."}, response_format={"type": "json_object"}
    ),
    "refusal and audio in the history": _ask(
        _USER,
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": None, "refusal": "I will not."},
        {"role": "user", "content": "Fine."},
    ),
    "caching": _ask(
        {
            "role": "system",
            "content": [
                {"type": "text", "text": "Long.", "prompt_cache_breakpoint": {"mode": "explicit"}}
            ],
        },
        _USER,
        prompt_cache_key="tenant-1",
        prompt_cache_retention="24h",
        safety_identifier="s-1",
        service_tier="flex",
        store=True,
        metadata={"run": "1"},
    ),
    "web search": _ask(
        web_search_options={
            "search_context_size": "high",
            "user_location": {
                "type": "approximate",
                "approximate": {"country": "LV", "city": "Riga", "timezone": "Europe/Riga"},
            },
        }
    ),
    "prediction": _ask(prediction={"type": "content", "content": "The same text."}),
    "usage and padding of a stream": _ask(
        stream=True, stream_options={"include_usage": True, "include_obfuscation": False}
    ),
    "empty contents": _ask(
        {"role": "system", "content": ""},
        {"role": "user", "content": ""},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}]},
        {"role": "user", "content": " "},
    ),
    "thinking in the history": _ask(
        _USER,
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "I look.",
            "tool_calls": [_call("c1", '{"at": "a"}')],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        tools=[_LOOK],
        reasoning_effort="low",
    ),
    "what may come": _ask(
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hi", "future": {"a": 1}}],
            "weight": 1,
        },
        future_field={"deep": [1, {"er": None}]},
        another=2**70,
    ),
}
"""By what is odd about them."""
