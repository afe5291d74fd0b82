"""Requests of Gemini's generateContent, as its reference allows them.

Sources, read November 2026: https://ai.google.dev/api/generate-content,
https://ai.google.dev/api/caching (`Content`, `Tool`, `ToolConfig`), and the types of the
`google-genai` package.
"""

from typing import Any, Final

from tests.fronts.legal_requests.shared import MP3, PDF_DATA, PIXEL, SCHEMA, WIDE_SCHEMA

_USER: Final = {"role": "user", "parts": [{"text": "Hi"}]}
_OPENAPI: Final = {
    "type": "OBJECT",
    "properties": {
        "at": {"type": "STRING", "nullable": True, "enum": ["a", "b"]},
        "n": {"type": "INTEGER", "format": "int64", "minimum": 0},
    },
    "required": ["at"],
    "propertyOrdering": ["at", "n"],
}
_LOOK: Final = {"name": "look", "description": "Look.", "parameters": _OPENAPI}


def _ask(*contents: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"contents": list(contents or (_USER,)), **fields}


def _call(name: str = "look", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"at": "a"}, **fields}}


def _response(response: Any, name: str = "look", **fields: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **fields}}


def _loop(*responses: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"functionCall": {"name": one["functionResponse"]["name"], "args": {"at": "a"}}}
        for one in responses
    ]
    return _ask(
        _USER,
        {"role": "model", "parts": calls},
        {"role": "user", "parts": list(responses)},
        tools=[{"functionDeclarations": [_LOOK]}],
    )


REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "sampling": _ask(
        generationConfig={
            "temperature": 0.3,
            "topP": 0.9,
            "topK": 5,
            "seed": 7,
            "maxOutputTokens": 300,
            "presencePenalty": 0.5,
            "frequencyPenalty": -0.5,
            "stopSequences": ["END", "\n\n", "\u2028", "STOP", "FIVE"],
            "candidateCount": 1,
        }
    ),
    "snake case": {
        "contents": [{"parts": [{"inline_data": {"mime_type": "image/png", "data": PIXEL}}]}],
        "system_instruction": {"parts": [{"text": "Be brief."}]},
        "generation_config": {"max_output_tokens": 300, "stop_sequences": ["END"], "top_k": 5.0},
        "tools": [{"function_declarations": [_LOOK]}],
        "tool_config": {"function_calling_config": {"mode": "auto"}},
    },
    "log probabilities": _ask(generationConfig={"responseLogprobs": True, "logprobs": 3}),
    "contents without roles": _ask({"parts": [{"text": "Hi"}]}, {"parts": {"text": "Again"}}),
    "system of several parts": _ask(
        systemInstruction={"role": "user", "parts": [{"text": "Be brief."}, {"text": "Be kind."}]}
    ),
    "system as a text": _ask(systemInstruction="Be brief."),
    "model first": _ask({"role": "model", "parts": [{"text": "Welcome!"}]}, _USER),
    "model last": _ask(_USER, {"role": "model", "parts": [{"text": "Dear reader, "}]}),
    "several of one role in a row": _ask(
        _USER,
        {"role": "user", "parts": [{"text": "And again."}, {"text": "More."}]},
        {"role": "model", "parts": [{"text": "One."}]},
        {"role": "model", "parts": [{"text": "Two."}]},
        {"role": "user", "parts": [{"text": "Three?"}]},
    ),
    "media of every kind": _ask(
        {
            "role": "user",
            "parts": [
                {"text": "What are these?"},
                {
                    "inlineData": {"mimeType": "image/png", "data": PIXEL},
                    "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
                },
                {
                    "inlineData": {
                        "mimeType": "application/pdf",
                        "data": PDF_DATA,
                        "displayName": "a.pdf",
                    }
                },
            ],
        }
    ),
    "sound and film": _ask(
        {
            "role": "user",
            "parts": [
                {"inlineData": {"mimeType": "audio/mp3", "data": MP3}},
                {
                    "fileData": {
                        "mimeType": "video/mp4",
                        "fileUri": "https://www.youtube.com/watch?v=a",
                    },
                    "videoMetadata": {"startOffset": "1s", "endOffset": "2s", "fps": 1},
                },
            ],
        }
    ),
    "stored file": _ask(
        {
            "role": "user",
            "parts": [
                {
                    "fileData": {
                        "mimeType": "application/pdf",
                        "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc",
                    }
                }
            ],
        }
    ),
    "parallel calls and results": _ask(
        _USER,
        {
            "role": "model",
            "parts": [
                {"text": "Let me look."},
                {**_call(id="a"), "thoughtSignature": "QUJD"},
                _call(id="b"),
                {"functionCall": {"name": "look"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                _response({"output": "seen b"}, id="b"),
                _response({"output": {"deep": [1, None, 2**60]}}, id="a"),
                _response({}),
                {"text": "And?"},
            ],
        },
        tools=[{"functionDeclarations": [_LOOK]}],
        toolConfig={"functionCallingConfig": {"mode": "VALIDATED"}},
    ),
    "results by name and order": _ask(
        _USER,
        {"role": "model", "parts": [_call("look"), _call("listen"), _call("look")]},
        {
            "role": "function",
            "parts": [
                _response({"result": "one"}, "look"),
                _response({"result": [1, 2]}, "listen"),
                _response({"error": "none"}, "look"),
            ],
        },
        tools=[{"functionDeclarations": [_LOOK, {**_LOOK, "name": "listen"}]}],
    ),
    "media in a result": _loop(
        {
            "functionResponse": {
                "name": "look",
                "response": {"output": "Here."},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}],
            }
        }
    ),
    "parts of a video in a result": _loop(
        {
            "functionResponse": {
                "name": "look",
                "response": {"output": "Here."},
                "parts": [
                    {
                        "inlineData": {"mimeType": "image/png", "data": PIXEL},
                        "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
                        "videoMetadata": {"fps": 0.5, "startOffset": "1s"},
                    }
                ],
            }
        }
    ),
    "failed function": _loop(
        _response({"error": "no such place"}),
        _response({"error": {"code": 7}, "output": "x"}),
        _response({"output": "done", "error": None}),
    ),
    "result that is missing": _ask(
        _USER,
        {"role": "model", "parts": [_call(), _call("listen")]},
        {"role": "user", "parts": [_response({"output": "seen"})]},
        tools=[{"functionDeclarations": [_LOOK]}],
    ),
    "wide schemas": _ask(
        tools=[
            {
                "functionDeclarations": [
                    {"name": "wide", "description": "W.", "parametersJsonSchema": WIDE_SCHEMA},
                    {"name": "none_at_all", "description": "N."},
                    {
                        "name": "dotted.name:x-1",
                        "description": "D.",
                        "parameters": {
                            "type": "object",
                            "properties": {
                                "any": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]},
                                "list": {
                                    "type": "ARRAY",
                                    "items": {"type": "BOOLEAN"},
                                    "minItems": "1",
                                    "maxItems": "3",
                                },
                            },
                        },
                        "response": {"type": "STRING"},
                    },
                ]
            },
            {"functionDeclarations": [_LOOK]},
        ],
        toolConfig={"functionCallingConfig": {"mode": "ANY"}},
    ),
    "choice of one function": _ask(
        tools=[{"functionDeclarations": [_LOOK, {**_LOOK, "name": "listen"}]}],
        toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
    ),
    "choice among several": _ask(
        tools=[
            {
                "functionDeclarations": [
                    _LOOK,
                    {**_LOOK, "name": "listen"},
                    {**_LOOK, "name": "smell"},
                ]
            }
        ],
        toolConfig={
            "functionCallingConfig": {
                "mode": "ANY",
                "allowedFunctionNames": ["look", "listen"],
            }
        },
    ),
    "choice of none": _ask(
        tools=[{"functionDeclarations": [_LOOK]}],
        toolConfig={"functionCallingConfig": {"mode": "NONE"}},
    ),
    "structured output": _ask(
        generationConfig={
            "responseMimeType": "application/json",
            "responseSchema": _OPENAPI,
            "thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True},
        }
    ),
    "structured output by JSON Schema": _ask(
        generationConfig={
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
            "thinkingConfig": {"thinkingBudget": 0},
        }
    ),
    "any JSON": _ask(generationConfig={"responseMimeType": "application/json"}),
    "thinking that adapts": _ask(
        generationConfig={
            "thinkingConfig": {"thinkingBudget": -1, "includeThoughts": False},
            "maxOutputTokens": 5000,
        }
    ),
    "thinking in the history": _ask(
        _USER,
        {
            "role": "model",
            "parts": [
                {"text": "I look.", "thought": True},
                {**_call(), "thoughtSignature": "QUJD"},
            ],
        },
        {"role": "user", "parts": [_response({"output": "seen"})]},
        tools=[{"functionDeclarations": [_LOOK]}],
    ),
    "hosted tools": _ask(
        tools=[{"googleSearch": {}}, {"urlContext": {}}, {"codeExecution": {}}],
    ),
    "search with its options": _ask(
        tools=[
            {
                "googleSearch": {
                    "timeRangeFilter": {
                        "startTime": "2026-01-01T00:00:00Z",
                        "endTime": "2026-02-01T00:00:00Z",
                    }
                }
            },
            {"googleMaps": {"enableWidget": True}},
        ],
        toolConfig={
            "retrievalConfig": {"latLng": {"latitude": 56.9, "longitude": 24.1}},
        },
    ),
    "code that ran before": _ask(
        _USER,
        {
            "role": "model",
            "parts": [
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
                {"text": "It is 1."},
            ],
        },
        {"role": "user", "parts": [{"text": "Sure?"}]},
        tools=[{"codeExecution": {}}],
    ),
    "safety, labels and storage": _ask(
        safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_ONLY_HIGH"}],
        labels={"team": "a"},
        store=True,
        serviceTier="flex",
        generationConfig={
            "mediaResolution": "MEDIA_RESOLUTION_LOW",
            "enableEnhancedCivicAnswers": True,
            "audioTimestamp": True,
        },
    ),
    "text alone": _ask(generationConfig={"responseModalities": ["TEXT"]}),
    "empty contents": _ask(
        {"role": "user", "parts": [{"text": ""}]},
        {"role": "model", "parts": [{"text": ""}]},
        {"role": "user", "parts": []},
        {"role": "user", "parts": [{"text": " "}]},
    ),
    "calls in pieces": _ask(
        _USER,
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {
                        "id": "c1",
                        "name": "look",
                        "args": {"at": "a"},
                        "partialArgs": [{"jsonPath": "$.at", "stringValue": "a"}],
                        "willContinue": False,
                    }
                }
            ],
        },
        _response({"output": "seen"}, id="c1"),
        tools=[{"functionDeclarations": [_LOOK]}],
        toolConfig={
            "functionCallingConfig": {"mode": "AUTO", "streamFunctionCallArguments": True},
            "retrievalConfig": {"latLng": {"latitude": 56.9, "longitude": 24.1}},
        },
    ),
    "detail of a part": _ask(
        {
            "role": "user",
            "parts": [
                {
                    "inlineData": {"mimeType": "application/pdf", "data": PDF_DATA},
                    "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"},
                }
            ],
        }
    ),
    "what may come": _ask(
        {"role": "user", "parts": [{"text": "Hi", "future": {"a": 1}}], "weight": 1},
        futureField={"deep": [1, {"er": None}]},
        another=2**70,
        generationConfig={"futureSetting": 1},
    ),
}
"""By what is odd about them."""
