"""Fields of a request body that a server rejects by name, though no answer depends on them."""

import re
from collections.abc import Iterable
from typing import Final

from llmcore.protocols.native_json import text_or_json
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.json import JsonObject

_SEARCHED: Final = 10_000
"""Characters of an error body that are searched for a name."""


def rejected_field(error: LLMError, body: JsonObject, optional: Iterable[str]) -> str | None:
    """Return which of the *optional* fields of *body* the server rejects; None for another error.

    The request can be sent again without that field. Example of such an error (vLLM, 400):
    `{"message": "Stream options can only be defined when stream=True", "param": "stream_options"}`.
    """
    if not isinstance(error, InvalidRequestError):
        return None
    text = f"{error.message} {error.error_code or ''} {text_or_json(error.raw)[:_SEARCHED]}"
    for name in optional:
        words = re.escape(name).replace("_", "[_ ]")
        if name in body and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
            return name
    return None
