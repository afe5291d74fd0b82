"""The key of the response cache: a hash of everything that determines a response."""

import hashlib
import re
from collections.abc import Mapping

from attrs import evolve

from llmcore.client.middleware.target import ModelChoice
from llmcore.routes.route import Route
from llmcore.schema import json
from llmcore.schema.codec import to_json
from llmcore.schema.json import JsonObject
from llmcore.schema.options import HttpOverlay
from llmcore.schema.request import LLMRequest
from llmcore.schema.secret_names import holds_credential

_FORMAT = 1
"""Increased when the stored form changes, so that older entries are not found."""

_OF_ONE_CALL = re.compile(
    r"(x-)?idempotency-key|traceparent|tracestate|baggage|x-(client-)?request-id", re.IGNORECASE
)
"""Headers and query fields that identify a call and do not affect its response."""


def cache_key(request: LLMRequest, target: ModelChoice, route: Route, scope: str) -> str:
    """Return the hash of *request*, whose files are in it, as *route* would send it.

    Provider, model, route, base URL and all content of the request are part of it, whether
    it is streamed is not, and neither are credentials.
    """
    effective = route.defaults.applied_to(request)
    overlay = HttpOverlay(
        headers=_relevant({**route.defaults.headers, **effective.http.headers}),
        query=_relevant({**route.endpoint.query, **effective.http.query}),
        body=effective.http.body,
    )
    document: JsonObject = {
        "format": _FORMAT,
        "scope": scope,
        "provider": target.provider,
        "model": target.model,
        "route": [route.id, route.protocol.id, target.base_url],
        "request": to_json(evolve(effective, model="", provider=None, http=overlay)),
    }
    text = json.canonical(document)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _relevant(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the *fields* that can affect the response, with names in lower case."""
    return {
        name.lower(): value
        for name, value in fields.items()
        if not (holds_credential(name) or _OF_ONE_CALL.fullmatch(name))
    }
