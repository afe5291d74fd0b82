"""Requests in the form that real clients send, written by hand after what they do send."""

from typing import Any

GRAMMAR = "start: begin_patch hunk+ end_patch"

CODEX_TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "name": "exec_command",
        "description": "Runs a command in a PTY.",
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {"cmd": {"type": "string"}, "workdir": {"type": "string"}},
            "required": ["cmd"],
            "additionalProperties": False,
        },
    },
    {
        "type": "custom",
        "name": "apply_patch",
        "description": "Edits files.",
        "format": {"type": "grammar", "syntax": "lark", "definition": GRAMMAR},
    },
    {
        "type": "namespace",
        "name": "multi_agent",
        "description": "Tools for agents.",
        "tools": [
            {
                "type": "function",
                "name": "spawn-agent",
                "description": "Starts one.",
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {"task": {"type": "string", "encrypted": True}},
                },
            }
        ],
    },
    {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}},
    {"type": "web_search", "external_web_access": False, "search_content_types": ["text"]},
]

CODEX: dict[str, Any] = {
    "model": "gpt-5.5",
    "stream": True,
    "input": [
        {
            "type": "message",
            "id": "msg_a",
            "role": "developer",
            "content": [{"type": "input_text", "text": "You are Codex."}],
        },
        {
            "type": "message",
            "id": "msg_b",
            "role": "user",
            "content": [{"type": "input_text", "text": "Fix it."}],
        },
        {
            "type": "reasoning",
            "id": "rs_a",
            "summary": [{"type": "summary_text", "text": "Look first."}],
            "content": None,
            "encrypted_content": "gAAAAA-of-another-server",
        },
        {
            "type": "message",
            "id": "msg_c",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Looking."}],
        },
        {
            "type": "function_call",
            "name": "exec_command",
            "arguments": '{"cmd":"ls"}',
            "call_id": "call_a",
        },
        {
            "type": "function_call",
            "name": "spawn-agent",
            "namespace": "multi_agent",
            "arguments": "{}",
            "call_id": "call_b",
        },
        {
            "type": "custom_tool_call",
            "name": "apply_patch",
            "input": "*** Begin Patch",
            "call_id": "call_c",
            "status": "completed",
        },
        {"type": "function_call_output", "id": "fco_a", "call_id": "call_a", "output": "a.py"},
        {
            "type": "function_call_output",
            "id": "fco_b",
            "call_id": "call_b",
            "output": [
                {"type": "input_text", "text": "shot"},
                {
                    "type": "input_image",
                    "image_url": "data:image/png;base64,cG5n",
                    "detail": "original",
                },
            ],
        },
        {"type": "custom_tool_call_output", "call_id": "call_c", "output": "Done"},
    ],
    "tools": CODEX_TOOLS,
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "thread-1",
    "client_metadata": {"x-codex-installation-id": "1"},
    "text": {"verbosity": "low"},
}

CODEX_LITE: dict[str, Any] = {
    "model": "gpt-6.1-sol",
    "stream": True,
    "input": [
        {
            "type": "additional_tools",
            "role": "developer",
            "tools": [
                {
                    "type": "namespace",
                    "name": "functions",
                    "description": "",
                    "tools": [
                        {"type": "custom", "name": "exec", "description": "Runs JavaScript."},
                        {"type": "function", "name": "wait", "parameters": {"type": "object"}},
                    ],
                },
            ],
        },
        {
            "type": "message",
            "id": "msg_a",
            "role": "user",
            "content": [{"type": "input_text", "text": "Go."}],
        },
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "reasoning": {"context": "all_turns", "effort": "medium"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
}

COMPACTION: dict[str, Any] = {**CODEX, "tools": [], "parallel_tool_calls": False}

AI_SDK: dict[str, Any] = {
    "model": "gpt-5.5",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "item_reference", "id": "rs_1"},
        {"type": "item_reference", "id": "msg_1"},
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "weather",
            "arguments": '{"city":"Oslo"}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": '{"c":3}'},
    ],
    "tools": [
        {
            "type": "function",
            "name": "weather",
            "strict": False,
            "parameters": {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"city": {"type": "string"}},
            },
        }
    ],
    "tool_choice": "auto",
    "text": {"verbosity": "high"},
    "max_tool_calls": 3,
    "metadata": {"a": "b"},
    "user": "u1",
    "service_tier": "flex",
    "safety_identifier": "s1",
    "truncation": "auto",
}

PYTHON: dict[str, Any] = {
    "model": "gpt-5.5",
    "input": [{"role": "user", "content": "Give me a point."}],
    "text": {
        "format": {
            "type": "json_schema",
            "name": "Point",
            "strict": True,
            "schema": {
                "title": "Point",
                "type": "object",
                "properties": {"x": {"title": "X", "type": "integer"}},
                "required": ["x"],
                "additionalProperties": False,
            },
        }
    },
}
