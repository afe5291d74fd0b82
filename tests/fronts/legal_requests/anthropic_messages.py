"""Requests of the Messages API, as its reference allows them.

Sources, read November 2026: https://platform.claude.com/docs/en/api/messages/create, and the types
of the `anthropic` package (`types`, `types/beta`).
"""

from typing import Any, Final

from tests.fronts.legal_requests.shared import PDF_DATA, PIXEL, SCHEMA, WIDE_SCHEMA

_USER: Final = {"role": "user", "content": "Hi"}
_LOOK: Final = {"name": "look", "description": "Look.", "input_schema": SCHEMA}
_PIXEL: Final = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
}
_PDF: Final = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF_DATA},
}


def _ask(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 2000, "messages": list(messages or (_USER,)), **fields}


def _use(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": arguments}


def _result(call_id: str, content: Any = None, **fields: Any) -> dict[str, Any]:
    given = {} if content is None else {"content": content}
    return {"type": "tool_result", "tool_use_id": call_id, **given, **fields}


def _loop(*results: dict[str, Any]) -> dict[str, Any]:
    return _ask(
        _USER,
        {"role": "assistant", "content": [_use(one["tool_use_id"], at="a") for one in results]},
        {"role": "user", "content": list(results)},
        tools=[_LOOK],
    )


REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "sampling": _ask(
        temperature=0.3,
        top_k=5,
        stop_sequences=["END", "\n\n", "\u2028", "STOP", "FIVE"],
        metadata={"user_id": "u-1"},
        service_tier="standard_only",
    ),
    "whole numbers for fractions": _ask(temperature=1, max_tokens=1),
    "system in blocks": _ask(
        system=[
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
            {
                "type": "text",
                "text": "Be kind.",
                "cache_control": {"type": "ephemeral", "ttl": "1h"},
            },
        ]
    ),
    "system in the middle": _ask(
        _USER,
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "Go on."},
        {"role": "system", "content": "Now in French."},
        system="Be brief.",
    ),
    "several of one role in a row": _ask(
        _USER,
        {"role": "user", "content": [{"type": "text", "text": "And again."}]},
        {"role": "assistant", "content": "One."},
        {"role": "assistant", "content": [{"type": "text", "text": "Two."}]},
        {"role": "user", "content": "Three?"},
    ),
    "assistant last": _ask(_USER, {"role": "assistant", "content": "Dear reader,"}),
    "media of every kind": _ask(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What are these?"},
                {**_PIXEL, "cache_control": {"type": "ephemeral"}},
                {**_PDF, "title": "A paper", "context": "Of last year."},
            ],
        }
    ),
    "documents of every kind": _ask(
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "It rains."},
                    "title": "Weather",
                    "citations": {"enabled": True},
                },
                {
                    "type": "document",
                    "source": {
                        "type": "content",
                        "content": [{"type": "text", "text": "It snows."}],
                    },
                    "citations": {"enabled": True},
                },
                {
                    "type": "document",
                    "source": {"type": "content", "content": "It hails."},
                },
                {
                    "type": "search_result",
                    "source": "https://a.example/w",
                    "title": "Found",
                    "content": [{"type": "text", "text": "It thaws."}],
                    "citations": {"enabled": True},
                },
                {"type": "text", "text": "What is the weather?"},
            ],
        }
    ),
    "media at addresses": _ask(
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "url", "url": "https://a.example/p.png"}},
                {"type": "document", "source": {"type": "url", "url": "https://a.example/a.pdf"}},
            ],
        }
    ),
    "stored files": _ask(
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
                {"type": "document", "source": {"type": "file", "file_id": "file_2"}},
            ],
        }
    ),
    "parallel calls and results": _ask(
        _USER,
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                _use("toolu_a", at="a"),
                _use("toolu_b", at="日本語🙂"),
                _use("toolu_c"),
            ],
        },
        {
            "role": "user",
            "content": [
                _result("toolu_b", "seen b"),
                _result("toolu_a", [{"type": "text", "text": "seen a"}]),
                _result("toolu_c"),
                {"type": "text", "text": "And?"},
            ],
        },
        tools=[_LOOK],
        tool_choice={"type": "auto", "disable_parallel_tool_use": False},
    ),
    "media in a result": _loop(
        _result("toolu_a", [{"type": "text", "text": "Here."}, _PIXEL, _PDF])
    ),
    "failed tool": _loop(
        _result("toolu_a", "no such place", is_error=True),
        _result("toolu_b", [{"type": "text", "text": "gone"}], is_error=True),
        _result("toolu_c", "", is_error=False),
        _result("toolu_d", []),
    ),
    "search results from a tool": _loop(
        _result(
            "toolu_a",
            [
                {
                    "type": "search_result",
                    "source": "https://a.example/w",
                    "title": "Found",
                    "content": [{"type": "text", "text": "It thaws."}],
                    "citations": {"enabled": True},
                }
            ],
        )
    ),
    "text before the results": _ask(
        _USER,
        {"role": "assistant", "content": [_use("toolu_a", at="a")]},
        {"role": "user", "content": [{"type": "text", "text": "So:"}, _result("toolu_a", "seen")]},
        tools=[_LOOK],
    ),
    "result that is missing": _ask(
        _USER,
        {"role": "assistant", "content": [_use("toolu_a", at="a"), _use("toolu_b")]},
        {"role": "user", "content": [_result("toolu_a", "seen")]},
        tools=[_LOOK],
    ),
    "wide schemas": _ask(
        tools=[
            {"name": "wide", "input_schema": WIDE_SCHEMA, "type": "custom"},
            {"name": "none", "input_schema": {"type": "object"}},
            {
                "name": "strict-one",
                "description": "S.",
                "input_schema": SCHEMA,
                "strict": True,
                "cache_control": {"type": "ephemeral"},
                "input_examples": [{"at": "a"}],
                "eager_input_streaming": True,
            },
        ],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
    ),
    "choice of one tool": _ask(tools=[_LOOK], tool_choice={"type": "tool", "name": "look"}),
    "choice of none": _ask(tools=[_LOOK], tool_choice={"type": "none"}),
    "tools of Anthropic's that the client runs": _ask(
        tools=[
            {"type": "bash_20250124", "name": "bash"},
            {
                "type": "text_editor_20250728",
                "name": "str_replace_based_edit_tool",
                "max_characters": 100,
            },
            {"type": "memory_20250818", "name": "memory"},
            {
                "type": "computer_20250124",
                "name": "computer",
                "display_width_px": 800,
                "display_height_px": 600,
                "display_number": 1,
            },
        ]
    ),
    "hosted tools": _ask(
        tools=[
            {
                "type": "web_search_20250305",
                "name": "web_search",
                "max_uses": 2,
                "allowed_domains": ["a.example"],
                "user_location": {"type": "approximate", "city": "Riga", "country": "LV"},
            },
            {
                "type": "web_fetch_20250910",
                "name": "web_fetch",
                "max_uses": 2,
                "citations": {"enabled": True},
                "max_content_tokens": 100,
            },
            {"type": "code_execution_20250825", "name": "code_execution"},
        ]
    ),
    "MCP server": _ask(
        mcp_servers=[
            {
                "type": "url",
                "name": "dice",
                "url": "https://dice.example/mcp",
                "authorization_token": "t",
            }
        ],
        tools=[
            {
                "type": "mcp_toolset",
                "mcp_server_name": "dice",
                "default_config": {"enabled": False},
                "configs": {"roll": {"enabled": True}},
            }
        ],
    ),
    "search among tools": _ask(
        tools=[
            {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
            {**_LOOK, "defer_loading": True},
            {**_LOOK, "name": "listen"},
        ]
    ),
    "thinking with a budget": _ask(
        thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=5000
    ),
    "thinking that adapts": _ask(
        thinking={"type": "adaptive", "display": "omitted"},
        output_config={"effort": "high"},
        max_tokens=5000,
    ),
    "thinking turned off": _ask(thinking={"type": "disabled"}, temperature=0),
    "thinking in the history": _ask(
        _USER,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I look.", "signature": "RXFv"},
                {"type": "redacted_thinking", "data": "RW1v"},
                _use("toolu_a", at="a"),
            ],
        },
        {"role": "user", "content": [_result("toolu_a", "seen")]},
        tools=[_LOOK],
        thinking={"type": "enabled", "budget_tokens": 1024},
        max_tokens=5000,
    ),
    "structured output": _ask(
        output_config={"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"}
    ),
    "citations and searches in the history": _ask(
        _USER,
        {
            "role": "assistant",
            "content": [
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_1",
                    "name": "web_search",
                    "input": {"query": "rain"},
                },
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": [
                        {
                            "type": "web_search_result",
                            "url": "https://a.example",
                            "title": "A",
                            "encrypted_content": "RW5j",
                            "page_age": None,
                        }
                    ],
                },
                {
                    "type": "text",
                    "text": "It rains.",
                    "citations": [
                        {
                            "type": "web_search_result_location",
                            "url": "https://a.example",
                            "title": "A",
                            "encrypted_index": "RW5j",
                            "cited_text": "rain",
                        }
                    ],
                },
            ],
        },
        {"role": "user", "content": "Sure?"},
    ),
    "management of the context": _ask(
        context_management={
            "edits": [
                {
                    "type": "clear_tool_uses_20250919",
                    "trigger": {"type": "input_tokens", "value": 30000},
                    "keep": {"type": "tool_uses", "value": 3},
                }
            ]
        },
        container="container_1",
        inference_geo="eu",
        cache_control={"type": "ephemeral"},
        speed="fast",
    ),
    "empty contents": _ask(
        {"role": "user", "content": [{"type": "text", "text": ""}]},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": []},
        {"role": "user", "content": " "},
    ),
    "thinking that is bound, and shown as it goes": _ask(
        thinking={
            "type": "enabled",
            "budget_tokens": 1024,
            "display": "updates",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        },
    ),
    "tools that only code calls": _ask(
        tools=[
            {**_LOOK, "allowed_callers": ["code_execution_20260120"]},
            {
                "type": "bash_20250124",
                "name": "bash",
                "allowed_callers": ["code_execution_20260120"],
            },
        ],
    ),
    "call of a toolset, and of code": _ask(
        _USER,
        {
            "role": "assistant",
            "content": [
                {**_use("t1", at="a"), "toolset_name": "browser"},
                {
                    **_use("t2", at="b"),
                    "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"},
                },
            ],
        },
        {
            "role": "user",
            "content": [_result("t1", "A."), _result("t2", "B.")],
        },
        tools=[_LOOK],
    ),
    "server without a toolset": _ask(
        mcp_servers=[
            {
                "type": "url",
                "name": "s",
                "url": "https://mcp.example/",
                "tool_configuration": {"enabled": True, "allowed_tools": ["look"]},
            }
        ]
    ),
    "pictures in a document, and how to make them smaller": _ask(
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "source": {"type": "content", "content": [_PIXEL]},
                    "title": "A page",
                },
                {**_PIXEL, "transformations": {"oversized_image": "error"}},
            ],
        }
    ),
    "search that was paused": _ask(
        _USER,
        {
            "role": "assistant",
            "content": [
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_1",
                    "name": "web_search",
                    "input": {"query": "rain"},
                }
            ],
        },
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
