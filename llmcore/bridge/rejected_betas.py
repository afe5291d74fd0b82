"""One more try without the beta features that an upstream of the Messages API refuses.

Claude Code names all that Anthropic has; Vertex AI, Amazon Bedrock and servers that imitate the API
have some of them, and refuse a request for one name:

    {"type": "error", "error": {"type": "invalid_request_error", "message":
     "Unexpected value(s) `context-1m-2025-08-07` for the `anthropic-beta` header. ..."}}

Bedrock answers `invalid beta flag` and names none. Source, read November 2026:
https://platform.claude.com/docs/en/api/beta-headers.
"""

import re
from typing import Any, Final

from attrs import evolve

from llmcore.protocols.anthropic_messages.names import METADATA_KEY
from llmcore.protocols.native_json import text_or_json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.request import LLMRequest

HEADER: Final = "anthropic-beta"
_REFUSAL: Final = re.compile(r"anthropic[-_]beta|beta (flag|header|feature)", re.IGNORECASE)


def without_rejected_betas(
    request: LLMRequest, error: LLMError
) -> tuple[LLMRequest, Diagnostic] | None:
    """Return *request* without the features that *error* refuses; None if it refuses none.

    All of them go where the error names none.
    """
    if not isinstance(error, InvalidRequestError):
        return None
    words = f"{error.message} {text_or_json(error.raw)}"
    betas = _betas(request)
    if not betas or _REFUSAL.search(words) is None:
        return None
    refused = [name for name in betas if _is_named(name, words)] or betas
    kept = [name for name in betas if name not in refused]
    why = "the upstream refuses these features; the request was sent again without them"
    note = Diagnostic(
        "parameter-removed", HEADER, action="dropped", message=f"{', '.join(refused)}: {why}"
    )
    return _with_betas(request, kept), note


def _is_named(beta: str, words: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(beta)}(?![\w-])", words) is not None


def _betas(request: LLMRequest) -> list[str]:
    """Return the client's features: of the header that is forwarded, or of the request's fields."""
    named = request.provider_options.get(METADATA_KEY, {}).get("betas")
    listed: list[Any] = list(named) if isinstance(named, list | tuple) else []
    header = request.http.headers.get(HEADER, "")
    names = [*header.split(","), *map(str, listed)]
    return list(dict.fromkeys(name.strip() for name in names if name.strip()))


def _with_betas(request: LLMRequest, kept: list[str]) -> LLMRequest:
    headers = {name: value for name, value in request.http.headers.items() if name != HEADER}
    if kept and HEADER in request.http.headers:
        headers[HEADER] = ",".join(kept)
    options = dict(request.provider_options)
    if "betas" in options.get(METADATA_KEY, {}):
        options[METADATA_KEY] = {**options[METADATA_KEY], "betas": kept}
    return evolve(request, http=evolve(request.http, headers=headers), provider_options=options)
