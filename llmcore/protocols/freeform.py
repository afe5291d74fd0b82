"""Old names of `tools`."""

from llmcore.protocols.tools import (
    FREEFORM_FIELD,
    freeform_arguments,
    freeform_description,
    freeform_schema,
    freeform_text,
    freeform_tools,
    note_function,
    object_arguments,
)

__all__ = [
    "FREEFORM_FIELD",
    "freeform_arguments",
    "freeform_description",
    "freeform_schema",
    "freeform_text",
    "freeform_tools",
    "note_function",
    "object_arguments",
]
