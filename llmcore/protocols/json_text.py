"""Values that may be text or JSON: how each is written as text, and read back."""

from llmcore.schema import json
from llmcore.schema.json import JsonValue


def written(value: JsonValue) -> str:
    """Return *value* as JSON; a text as it is."""
    return value if isinstance(value, str) else json.dumps(value).decode()


def parsed(text: str) -> JsonValue:
    """Return what the JSON *text* says; *text* itself where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text
