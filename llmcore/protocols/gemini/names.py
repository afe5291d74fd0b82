"""Gemini: its id, and the words that both directions of the protocol use."""

from typing import Final, Required, TypedDict

from llmcore.schema.json import JsonObject

PROTOCOL_ID: Final = "gemini"
METADATA_KEY: Final = "google"


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
    labels: JsonObject
