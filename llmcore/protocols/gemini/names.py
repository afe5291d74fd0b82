"""Gemini: its id, and the words that both directions of the protocol use."""

from collections.abc import Mapping
from typing import Final, Required, TypedDict

from llmcore.protocols.tools import ANY_CALL_ID, ToolNameRule
from llmcore.schema.events import FinishReasonKind
from llmcore.schema.json import JsonObject

PROTOCOL_ID: Final = "gemini"
API_NAME: Final = "the Gemini API"
METADATA_KEY: Final = "google"
CALL_IDS: Final = ANY_CALL_ID
"""Any text but the empty one."""
TOOL_NAMES: Final = ToolNameRule(first="a-zA-Z_", rest="a-zA-Z0-9_.-")
"""`FunctionDeclaration.name`: "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or
contain underscores, dots, colons and dashes". Vertex AI takes no colons and 64 characters."""
SIGNED_FROM: Final = "signedFrom"
"""Metadata of a text that was streamed: where its last piece begins, which alone was signed."""


class GeminiBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source: https://ai.google.dev/api/generate-content
    """

    systemInstruction: JsonObject
    contents: Required[list[JsonObject]]
    tools: list[JsonObject]
    toolConfig: JsonObject
    generationConfig: JsonObject
    safetySettings: list[JsonObject]
    cachedContent: str
    serviceTier: str
    labels: JsonObject


CONTINUATION: Final = "CONTINUATION"
"""The finish reason of a response of which one request brings only a part.

It has a `continuationToken`. The same request with that token brings the next part; its
`maxOutputTokens` is for all of them. Sources, read November 2026:
https://ai.google.dev/gemini-api/docs/generate-content/long-decode, and the `google-genai` package,
3.6.1 (`_extra_utils`, `StreamContinuation`).
"""
CONTINUED_FROM: Final = "continuationToken"
"""The field of a candidate, and of a request, that states how far the response has come."""

FINISH_REASONS: Final[Mapping[str, FinishReasonKind]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    CONTINUATION: "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "ESCALATION": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "other",
    "TOO_MANY_TOOL_CALLS": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
}
"""`finishReason` by the common words: `error` if the response cannot be used. With
`UNEXPECTED_TOOL_CALL` the call is complete, and the client can answer it, so it is `other`, as are
all that are not listed (`OTHER`, `NO_IMAGE`, `IMAGE_OTHER`).
Source: https://ai.google.dev/api/generate-content#FinishReason, read November 2026."""

PARAMETERS: Final[Mapping[str, str]] = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
}
"""Fields of `generationConfig`, by those of `GenerationOptions`."""

LEAST: Final[Mapping[str, int]] = {"max_tokens": 1, "top_k": 0}
"""The least values that the API takes."""

SERVICE_TIERS: Final[Mapping[str, str]] = {
    "default": "standard",
    "flex": "flex",
    "priority": "priority",
}
"""`serviceTier`, by that of `GenerationOptions`. Sources, read November 2026:
https://ai.google.dev/gemini-api/docs/priority-inference,
https://ai.google.dev/gemini-api/docs/flex-inference."""

ROLES: Final[Mapping[str, str]] = {"user": "user", "assistant": "model", "tool": "user"}
"""The `role` of a content, by the role of its message."""

GENERATION_FIELDS: Final = frozenset(
    {
        "audioTimestamp", "audioTranscriptionConfig", "candidateCount", "enableAffectiveDialog",
        "enableEnhancedCivicAnswers", "frequencyPenalty", "imageConfig", "logprobs",
        "maxOutputTokens", "mediaResolution", "modelConfig", "modelSelectionConfig",
        "presencePenalty", "responseFormat", "responseJsonSchema", "responseLogprobs",
        "responseMimeType", "responseModalities", "responseSchema", "routingConfig", "seed",
        "speechConfig", "stopSequences", "temperature", "thinkingConfig", "topK", "topP",
        "translationConfig",
    }
)  # fmt: skip
"""The fields of `generationConfig`. Sources: https://ai.google.dev/api/generate-content, read
November 2026, and the `google-genai` package, 3.6.1 (`_GenerateContentConfig_to_vertex`)."""

MODES: Final[Mapping[str, str]] = {"AUTO": "auto", "ANY": "required", "NONE": "none"}
"""`functionCallingConfig.mode` by the mode of a choice. `ANY` with a name is that tool's, and
`VALIDATED` is `AUTO` that holds calls to their schemas."""

RESOLUTIONS: Final[Mapping[str, str]] = {"low": "LOW", "high": "HIGH", "original": "ULTRA_HIGH"}
"""The end of a part's `mediaResolution.level`, by the detail of an image."""

QUOTATIONS: Final = ("citations", "citationSources")
"""The list in `citationMetadata`: of Vertex AI, and of the Gemini API
(https://ai.google.dev/api/generate-content#CitationMetadata)."""
PIECE_FIELDS: Final = ("partialArgs", "willContinue")
"""The fields of a `functionCall` whose arguments come in pieces; requests take whole calls only."""
MEANINGFUL: Final = frozenset({"output", "error"})
"""The fields of a function's response of which one makes it more than the result itself."""
