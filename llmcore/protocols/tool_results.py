"""What tools returned, for an API that takes it as text and cannot be told of failures."""

from llmcore.protocols.json_text import written
from llmcore.schema.content import ToolResultPart


def result_text(part: ToolResultPart) -> str:
    """Return a result that is no list of parts as text, which says so if the tool failed."""
    text = written(part.content)  # type: ignore[arg-type]
    return f"Error: {text}" if part.is_error and not _says_error(text) else text


def _says_error(text: str) -> bool:
    """Return whether a result tells by itself that something went wrong."""
    return "error" in text[:40].lower()
