"""Constraints in words, for targets that have no keyword for them."""

from llmcore.schema import json
from llmcore.schema.json import JsonValue

_SENTENCES = {
    "minimum": "At least {}.",
    "maximum": "At most {}.",
    "exclusiveMinimum": "Greater than {}.",
    "exclusiveMaximum": "Less than {}.",
    "multipleOf": "A multiple of {}.",
    "minLength": "At least {} characters.",
    "maxLength": "At most {} characters.",
    "pattern": "Matches the pattern {}.",
    "format": "Format: {}.",
    "minItems": "At least {} items.",
    "maxItems": "At most {} items.",
    "minProperties": "At least {} properties.",
    "maxProperties": "At most {} properties.",
    "const": "Always {}.",
    "enum": "One of {}.",
    "default": "Default: {}.",
    "example": "Example: {}.",
    "examples": "Examples: {}.",
    "prefixItems": "Items in order: {}.",
    "additionalProperties": "Other keys are allowed; their values: {}.",
    "patternProperties": "Keys that match a pattern, and their values: {}.",
    "propertyNames": "Keys: {}.",
    "contains": "At least one item: {}.",
    "not": "Not: {}.",
    "if": "If: {}.",
    "then": "Then: {}.",
    "else": "Else: {}.",
    "anyOf": "At least one of: {}.",
    "oneOf": "Exactly one of: {}.",
    "allOf": "All of: {}.",
    "dependentRequired": "Keys that need other keys: {}.",
    "dependentSchemas": "Keys that ask for more: {}.",
    "dependencies": "Keys that ask for more: {}.",
    "contentEncoding": "Encoding: {}.",
    "contentMediaType": "Media type: {}.",
}
_QUOTED = frozenset({"format", "contentEncoding", "contentMediaType"})
_LONGEST = 400
"""Characters of JSON in a sentence."""


def is_constraint(keyword: str) -> bool:
    """Whether *keyword* tells the model something it should know."""
    return keyword in _SENTENCES or keyword == "uniqueItems"


def sentence(keyword: str, value: JsonValue) -> str:
    """Return what *keyword* says, as a short sentence; empty if it says nothing."""
    if keyword == "uniqueItems":
        return "No item twice." if value is True else ""
    if keyword == "additionalProperties" and isinstance(value, bool):
        return "Other keys are allowed." if value else ""
    if keyword == "default" and value is None:
        return ""
    if keyword in _QUOTED and isinstance(value, str):
        return _SENTENCES[keyword].format(value)
    text = json.dumps(value).decode()
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    return _SENTENCES[keyword].format(text)


def joined(description: object, sentences: list[str]) -> str:
    """Return *description* followed by *sentences*."""
    start = description if isinstance(description, str) else ""
    if sentences and start and not start.rstrip().endswith((".", "!", "?", ":")):
        start = f"{start.rstrip()}."
    return " ".join([start, *sentences] if start else sentences)
