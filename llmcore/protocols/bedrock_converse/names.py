"""Bedrock Converse: its id, and the words that both directions of the protocol use."""

from typing import Final, Required, TypedDict

from llmcore.schema.json import JsonObject

PROTOCOL_ID: Final = "bedrock-converse"
METADATA_KEY: Final = "bedrock"


class ConverseBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
    """

    messages: Required[list[JsonObject]]
    system: list[JsonObject]
    toolConfig: JsonObject
    inferenceConfig: JsonObject
    outputConfig: JsonObject
    additionalModelRequestFields: JsonObject
    additionalModelResponseFieldPaths: list[str]
    guardrailConfig: JsonObject
    performanceConfig: JsonObject
    requestMetadata: JsonObject
    serviceTier: JsonObject
