"""One more try without the beta features that an upstream of the Messages API refuses.

Claude Code names all that Anthropic has; Vertex AI, Amazon Bedrock and servers that imitate the API
have some of them, and refuse a request for one name:

    {"type": "error", "error": {"type": "invalid_request_error", "message":
     "Unexpected value(s) `context-1m-2025-08-07` for the `anthropic-beta` header. ..."}}

Bedrock answers `invalid beta flag` and names none. A feature has a name in the header and fields in
the body; servers that are older than a field refuse it:

    {"type": "error", "error": {"type": "invalid_request_error", "message":
     "tools.3.custom.input_examples: Extra inputs are not permitted"}}

Both halves of a feature are left out together: with one of them alone, the request would be
refused. Sources, read November 2026: https://platform.claude.com/docs/en/api/beta-headers,
https://code.claude.com/docs/en/llm-gateway-protocol.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from attrs import evolve

from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.protocol import BodyBuilder, Built, Protocol
from llmcore.routes.route import Route
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.json import text_or_json
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result

HEADER: Final = "anthropic-beta"
_REFUSAL: Final = re.compile(r"anthropic[-_]beta|beta (flag|header|feature)", re.IGNORECASE)
_EXTRA: Final = re.compile(r"([\w.]+): Extra inputs are not permitted")
_BETAS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "allowed_callers": ("advanced-tool-use",),
    "context_management": ("context-management", "compact"),
    "defer_loading": ("advanced-tool-use", "tool-search-tool"),
    "eager_input_streaming": ("fine-grained-tool-streaming",),
    "effort": ("effort",),
    "input_examples": ("advanced-tool-use", "tool-examples"),
    "scope": ("prompt-caching-scope",),
    "speed": ("fast-mode",),
    "task_budget": ("task-budgets",),
}
"""For each field of the body, the beginnings of the names of the features that it belongs to."""
_QUIET: Final = frozenset(_BETAS_OF) - {"effort", "speed", "task_budget"}
"""Fields that do not change the response: if a server refuses one, all of them are left out."""


def without_rejected_betas(
    request: LLMRequest, error: LLMError
) -> tuple[LLMRequest, Diagnostic] | None:
    """Return *request* without the features that *error* refuses; None if it refuses none.

    If the error names no feature, all of them are left out.
    """
    if not isinstance(error, InvalidRequestError):
        return None
    words = f"{error.message} {text_or_json(error.raw)}"
    extra = {path.rpartition(".")[2] for path in _EXTRA.findall(words)} & _BETAS_OF.keys()
    if extra:
        return _without_fields(request, extra | _QUIET)
    betas = _betas(request)
    if not betas or _REFUSAL.search(words) is None:
        return None
    named = [name for name in betas if _is_named(name, words)]
    refused = named or betas
    kept = [name for name in betas if name not in refused]
    why = "the upstream refuses these features; the request was sent again without them"
    note = Diagnostic(
        "parameter-removed", HEADER, action="dropped", message=f"{', '.join(refused)}: {why}"
    )
    fields = {
        name for name, begins in _BETAS_OF.items() if any(b.startswith(begins) for b in refused)
    }
    rejected_prefixes = tuple(named) or ("",)
    return _rebuilt(_with_betas(request, kept), fields, rejected_prefixes), note


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


# -- fields of the body


def _without_fields(
    request: LLMRequest, fields: AbstractSet[str]
) -> tuple[LLMRequest, Diagnostic] | None:
    """Return *request* without *fields* in its native body; None if it has none of them."""
    route = _route(request)
    built = None if route is None else route.protocol.body.build(request, False).value_or(None)
    body = {} if built is None else built.body
    rejected = sorted(name for name in fields if _stripped(body, {name}) != body)
    if not rejected:
        return None
    why = "the upstream does not know these fields; the request was sent again without them"
    note = Diagnostic("parameter-removed", ", ".join(rejected), action="dropped", message=why)
    return _rebuilt(request, fields, ()), note


def _route(request: LLMRequest) -> Route[Any] | None:
    """Return the route of *request* to a server of the Messages API."""
    route = request.model.route if isinstance(request.model, Model) else None
    return route if isinstance(route, Route) and route.protocol.id == PROTOCOL_ID else None


def _rebuilt(
    request: LLMRequest, fields: AbstractSet[str], prefixes: tuple[str, ...]
) -> LLMRequest:
    """Return *request* with a body without *fields*.

    The header leaves out the features of these fields and those that begin with one of *prefixes*.
    """
    route = _route(request)
    if route is None or not isinstance(request.model, Model):
        return request
    builder = route.protocol.body
    unnamed = prefixes + tuple(prefix for name in fields for prefix in _BETAS_OF[name])

    def build(request: LLMRequest, streaming: bool) -> Result[Built[Any], LLMError]:
        return builder.build(request, streaming).map(
            lambda built: changed(
                built,
                body=_stripped(built.body, fields),
                headers=_without_betas(built.headers, unnamed),
            )
        )

    protocol: Protocol[Any, Any, Any] = changed(route.protocol, body=BodyBuilder(build=build))
    model = changed(request.model, route=changed(route, protocol=protocol))
    return evolve(request, model=model)


def _without_betas(headers: Mapping[str, str], prefixes: tuple[str, ...]) -> Mapping[str, str]:
    """Return *headers* without the features whose names begin with one of *prefixes*."""
    names = [name.strip() for name in headers.get(HEADER, "").split(",")]
    kept = [name for name in names if name and not name.startswith(prefixes)]
    others = {name: value for name, value in headers.items() if name != HEADER}
    return {**others, HEADER: ",".join(kept)} if kept else others


def _stripped(body: Mapping[str, Any], fields: AbstractSet[str]) -> dict[str, Any]:
    """Return a native body without *fields* of its own, of `output_config`, of tools and marks."""
    stripped: dict[str, Any] = _less(body, fields)
    config = body.get("output_config")
    if isinstance(config, Mapping):
        stripped["output_config"] = _less(config, fields)
        if not stripped["output_config"]:
            del stripped["output_config"]
    if isinstance(body.get("tools"), list):
        stripped["tools"] = [_less(tool, fields) for tool in body["tools"]]
    for name in ("system", "tools", "messages"):
        if name in stripped:
            stripped[name] = _with_marks(stripped[name], fields)
    return stripped


def _less(native: Any, fields: AbstractSet[str]) -> Any:
    if not isinstance(native, Mapping):
        return native
    return {name: value for name, value in native.items() if name not in fields}


def _with_marks(blocks: Any, fields: AbstractSet[str]) -> Any:
    """Return *blocks*, and the blocks inside them, with *fields* removed from their cache marks."""
    if isinstance(blocks, list):
        return [_with_marks(block, fields) for block in blocks]
    if not isinstance(blocks, Mapping):
        return blocks
    inner = {"cache_control": _less, "content": _with_marks}
    return {
        name: inner[name](value, fields) if name in inner else value
        for name, value in blocks.items()
    }
