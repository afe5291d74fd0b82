"""Tool types of the operator's own, read from a JSON file.

The file is a list of objects, each a `llmcore.fronts.policy.RegisteredTool`:

    [{"type": "ticket_search", "description": "Searches tickets.",
      "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}]
"""

from pathlib import Path

from llmcore.bridge.configuration.document import data_of
from llmcore.fronts.policy import RegisteredTool
from llmcore.schema import json
from llmcore.schema.codec import from_json
from llmcore.schema.errors import ConfigurationError, LLMError


def read_tools(path: Path | None) -> tuple[RegisteredTool, ...]:
    """Return the tools in the file *path*; none without one.

    Raises ConfigurationError, naming the place in the file, for invalid entries.
    """
    if path is None:
        return ()
    data = data_of(path, "the tools file")
    try:
        value = json.loads(data)
        if not isinstance(value, list):
            raise ConfigurationError("it is not a list of tools")
        tools = tuple(from_json(RegisteredTool, item) for item in value)
        return _each_type_once(tools)
    except (ValueError, LLMError) as error:
        raise ConfigurationError(f"the tools file {path}: {error}", cause=error) from error


def _each_type_once(tools: tuple[RegisteredTool, ...]) -> tuple[RegisteredTool, ...]:
    types = [tool.type for tool in tools]
    for type_ in types:
        if types.count(type_) > 1:
            raise ConfigurationError(f"there are two tools of the type {type_!r}")
    return tools
