"""Requests of the Responses API, as its reference allows them.

Sources, read November 2026: https://developers.openai.com/api/reference/resources/responses
(create), and the types of the `openai` package (`types/responses`).
"""

from typing import Any, Final

from tests.fronts.legal_requests.shared import PDF, PNG, SCHEMA, WIDE_SCHEMA

_LOOK: Final = {
    "type": "function",
    "name": "look",
    "description": "Look.",
    "parameters": SCHEMA,
    "strict": True,
}
_CALL: Final = {
    "type": "function_call",
    "call_id": "c1",
    "name": "look",
    "arguments": '{"at": "a"}',
}


def _ask(given: Any = "Hi", **fields: Any) -> dict[str, Any]:
    return {"model": "m", "input": given, **fields}


def _user(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(parts)}]


REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "sampling": _ask(
        temperature=0.3,
        top_p=0.9,
        max_output_tokens=300,
        top_logprobs=3,
        include=["message.output_text.logprobs"],
        truncation="auto",
        user="u-1",
    ),
    "instructions and developer": _ask(
        [
            {"role": "developer", "content": "Be kind."},
            {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"role": "user", "content": "Hi", "type": "message"},
            {"role": "assistant", "content": "Yes?"},
            {"role": "developer", "content": "Now in French."},
            {"role": "user", "content": "Go on."},
        ],
        instructions="You are a poet.",
    ),
    "developer message alone": _ask([{"role": "developer", "content": "Say hello."}]),
    "assistant last": _ask(
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Dear reader, "}]
    ),
    "answer of before, as it came": _ask(
        [
            {"role": "user", "content": "Hi"},
            {
                "id": "msg_1",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "phase": "final_answer",
                "content": [
                    {
                        "type": "output_text",
                        "text": "See there.",
                        "logprobs": [],
                        "annotations": [
                            {
                                "type": "url_citation",
                                "url": "https://a.example",
                                "title": "A",
                                "start_index": 0,
                                "end_index": 3,
                            },
                            {
                                "type": "file_citation",
                                "file_id": "file-1",
                                "filename": "a.txt",
                                "index": 1,
                            },
                        ],
                    },
                    {"type": "refusal", "refusal": "No more."},
                ],
            },
            {"role": "user", "content": "Go on."},
        ]
    ),
    "media of every kind": _ask(
        _user(
            {"type": "input_text", "text": "What are these?"},
            {"type": "input_image", "image_url": PNG, "detail": "low"},
            {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
        )
    ),
    "media at addresses": _ask(
        _user(
            {"type": "input_image", "image_url": "https://a.example/p.png", "detail": "auto"},
            {"type": "input_file", "file_url": "https://a.example/a.pdf"},
        )
    ),
    "stored files": _ask(
        _user(
            {"type": "input_image", "file_id": "file-1", "detail": "high"},
            {"type": "input_file", "file_id": "file-2"},
        )
    ),
    "parallel calls and results": _ask(
        [
            {"role": "user", "content": "Hi"},
            {**_CALL, "id": "fc_1", "status": "completed"},
            {**_CALL, "call_id": "c2", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c2", "output": "seen b"},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [{"type": "input_text", "text": "seen a"}],
                "status": "completed",
            },
        ],
        tools=[_LOOK],
        parallel_tool_calls=True,
        max_tool_calls=5,
    ),
    "media in a result": _ask(
        [
            {"role": "user", "content": "Hi"},
            _CALL,
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [
                    {"type": "input_text", "text": "Here."},
                    {"type": "input_image", "image_url": PNG},
                    {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
                ],
            },
        ],
        tools=[_LOOK],
    ),
    "arguments that are no object": _ask(
        [
            {"role": "user", "content": "Hi"},
            {**_CALL, "arguments": ""},
            {**_CALL, "call_id": "c2", "arguments": '{"at": '},
            {"type": "function_call_output", "call_id": "c1", "output": ""},
            {"type": "function_call_output", "call_id": "c2", "output": "two"},
        ],
        tools=[_LOOK],
    ),
    "result that is missing": _ask(
        [{"role": "user", "content": "Hi"}, _CALL, {"role": "user", "content": "Never mind."}],
        tools=[_LOOK],
    ),
    "result without its call": _ask(
        [
            {"role": "user", "content": "Hi"},
            {"type": "function_call_output", "call_id": "c9", "output": "late"},
        ],
        tools=[_LOOK],
    ),
    "wide schemas": _ask(
        tools=[
            {"type": "function", "name": "wide", "parameters": WIDE_SCHEMA, "strict": False},
            {"type": "function", "name": "none", "parameters": None, "strict": None},
            {"type": "function", "name": "strict-one", "parameters": SCHEMA, "strict": True},
        ],
        tool_choice="required",
        parallel_tool_calls=False,
    ),
    "choice of one function": _ask(tools=[_LOOK], tool_choice={"type": "function", "name": "look"}),
    "choice of none": _ask(tools=[_LOOK], tool_choice="none"),
    "choice among several": _ask(
        tools=[_LOOK, {**_LOOK, "name": "listen"}],
        tool_choice={
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": "look"}],
        },
    ),
    "freeform tools": _ask(
        [
            {"role": "user", "content": "Hi"},
            {
                "type": "custom_tool_call",
                "call_id": "c1",
                "name": "patch",
                "input": "+ a\n- b",
            },
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"},
        ],
        tools=[
            {
                "type": "custom",
                "name": "patch",
                "description": "Patches.",
                "format": {"type": "grammar", "syntax": "regex", "definition": "^a$"},
            }
        ],
        tool_choice={"type": "custom", "name": "patch"},
    ),
    "tools in namespaces": _ask(
        tools=[
            {
                "type": "namespace",
                "name": "files",
                "description": "Of files.",
                "tools": [{"type": "function", "name": "read", "parameters": SCHEMA}],
            }
        ]
    ),
    "shell and patches of the client": _ask(
        [
            {"role": "user", "content": "Hi"},
            {
                "type": "shell_call",
                "call_id": "s1",
                "action": {"commands": ["ls"], "timeout_ms": 1000, "max_output_length": 100},
                "status": "completed",
            },
            {
                "type": "shell_call_output",
                "call_id": "s1",
                "output": [
                    {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
                ],
                "max_output_length": 100,
            },
            {
                "type": "apply_patch_call",
                "call_id": "p1",
                "status": "completed",
                "operation": {"type": "create_file", "path": "a", "diff": "+a"},
            },
            {
                "type": "apply_patch_call_output",
                "call_id": "p1",
                "status": "failed",
                "output": "no space",
            },
        ],
        tools=[{"type": "shell"}, {"type": "apply_patch"}],
    ),
    "calls of a program, and of a shell with skills": _ask(
        [
            {"role": "user", "content": "Hi"},
            {
                "type": "shell_call",
                "call_id": "s1",
                "action": {"commands": ["ls"]},
                "environment": {
                    "type": "local",
                    "skills": [{"name": "maps", "path": "/maps", "description": "Draws maps."}],
                },
                "caller": {"type": "program", "caller_id": "p1"},
                "status": "completed",
            },
            {
                "type": "shell_call_output",
                "call_id": "s1",
                "output": [
                    {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
                ],
            },
            {**_CALL, "async": True, "caller": {"type": "program", "caller_id": "p1"}},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": "b",
            },
        ],
        tools=[{"type": "shell"}, _LOOK],
    ),
    "structured output": _ask(
        text={
            "format": {
                "type": "json_schema",
                "name": "answer",
                "description": "An answer.",
                "schema": SCHEMA,
                "strict": True,
            },
            "verbosity": "low",
        },
        reasoning={"effort": "high", "summary": "detailed"},
        max_output_tokens=5000,
    ),
    "any JSON": _ask("Say it in JSON.", text={"format": {"type": "json_object"}}),
    "plain text": _ask(text={"format": {"type": "text"}, "verbosity": "high"}),
    "thinking of another gateway": _ask(
        [
            {"role": "user", "content": "Hi"},
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "I look."}],
                "content": [{"type": "reasoning_text", "text": "Looking."}],
                "encrypted_content": "gAAAAA",
            },
            _CALL,
            {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        ],
        tools=[_LOOK],
        include=["reasoning.encrypted_content"],
        store=False,
    ),
    "hosted tools": _ask(
        tools=[
            {
                "type": "web_search",
                "search_context_size": "high",
                "filters": {"allowed_domains": ["a.example"]},
                "user_location": {"type": "approximate", "city": "Riga", "country": "LV"},
            },
            {"type": "code_interpreter", "container": {"type": "auto"}},
        ],
        include=["web_search_call.action.sources"],
    ),
    "tools that another server ran": _ask(
        [
            {"role": "user", "content": "Hi"},
            {
                "type": "image_generation_call",
                "id": "ig_1",
                "status": "completed",
                "result": "iVBORw0KGgo=",
                "size": "1024x1024",
                "quality": "high",
                "background": "opaque",
                "output_format": "png",
                "revised_prompt": "A cat.",
                "action": "generate",
            },
            {
                "type": "code_interpreter_call",
                "id": "ci_1",
                "status": "completed",
                "code": "print(1)",
                "container_id": "cntr_1",
                "outputs": [{"type": "logs", "logs": "1"}],
            },
            {
                "type": "mcp_call",
                "id": "mcp_1",
                "name": "look",
                "arguments": "{}",
                "server_label": "eyes",
                "output": "seen",
            },
            {"role": "user", "content": "Go on."},
        ]
    ),
    "a screenshot": _ask(
        [
            {"role": "user", "content": "Hi"},
            {
                "type": "computer_call",
                "id": "cu_1",
                "call_id": "c1",
                "status": "completed",
                "action": {"type": "screenshot"},
                "pending_safety_checks": [{"id": "sc_1", "code": "odd", "message": "Careful."}],
            },
            {
                "type": "computer_call_output",
                "call_id": "c1",
                "output": {
                    "type": "computer_screenshot",
                    "image_url": "data:image/png;base64,iVBORw0KGgo=",
                    "file_id": "file_1",
                },
                "acknowledged_safety_checks": [
                    {"id": "sc_1", "code": "odd", "message": "Careful."}
                ],
            },
        ]
    ),
    "files and pictures made by the provider": _ask(
        tools=[
            {"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 3},
            {"type": "image_generation", "size": "1024x1024"},
        ]
    ),
    "MCP server": _ask(
        tools=[
            {
                "type": "mcp",
                "server_label": "dice",
                "server_url": "https://dice.example/mcp",
                "require_approval": "never",
                "headers": {"x-a": "b"},
                "allowed_tools": ["roll"],
            }
        ]
    ),
    "search of before": _ask(
        [
            {"role": "user", "content": "Hi"},
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {
                    "type": "search",
                    "query": "rain",
                    "sources": [{"type": "url", "url": "https://a.example"}],
                },
            },
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "It rains.", "annotations": []}],
            },
            {"role": "user", "content": "Sure?"},
        ]
    ),
    "caching": _ask(
        prompt_cache_key="tenant-1",
        prompt_cache_retention="24h",
        safety_identifier="s-1",
        service_tier="flex",
        metadata={"run": "1"},
        store=False,
    ),
    "stream and its padding": _ask(stream=True, stream_options={"include_obfuscation": False}),
    "empty contents": _ask(
        [
            {"role": "user", "content": ""},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": []},
            {"role": "user", "content": [{"type": "input_text", "text": ""}]},
            {"role": "user", "content": " "},
        ]
    ),
    "options that are new": _ask(
        [
            *_user(
                {
                    "type": "input_text",
                    "text": "Hi",
                    "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"},
                },
                {"type": "input_file", "file_data": PDF, "filename": "a.pdf", "detail": "low"},
            ),
            {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "call_1",
                "output": [
                    {
                        "type": "input_text",
                        "text": "seen",
                        "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"},
                    }
                ],
            },
        ],
        background_options={"completion_window": "2h", "continuation_id": "c"},
        prompt_cache_options={"ttl": "30m", "comparison_response_id": "resp_1", "prewarm": True},
        reasoning={"effort": "low", "future": 1},
        text={"verbosity": "low", "future": 1},
    ),
    "skills, and tools that only code calls": _ask(
        tools=[
            {
                "type": "shell",
                "allowed_callers": ["programmatic"],
                "environment": {
                    "type": "local",
                    "skills": [{"name": "sum", "description": "Adds.", "path": "/skills/sum"}],
                },
            },
            {"type": "apply_patch", "allowed_callers": ["programmatic"]},
            {
                "type": "code_interpreter",
                "container": {"type": "auto"},
                "allowed_callers": ["programmatic"],
            },
        ]
    ),
    "what may come": _ask(
        _user({"type": "input_text", "text": "Hi", "future": {"a": 1}}),
        future_field={"deep": [1, {"er": None}]},
        another=2**70,
    ),
}
"""By what is odd about them."""
