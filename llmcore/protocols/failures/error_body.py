"""Reads error bodies of all shapes, also a response in the format of another API.

The shapes, each from its provider's document:

- OpenAI and most others: `{"error": {"message", "type", "code", "param"}}`, the code a
  word, a number or a numeral; some put these fields at the top, some a plain string in `error`;
  on a WebSocket with `status` and `headers` beside it (`responses_websocket` of openai/codex)
- Anthropic: `{"type": "error", "error": {"type", "message", "details"}, "request_id"}`
- Google: `{"error": {"code", "message", "status", "details"}}`, also as a list of one
- AWS: `{"message" | "Message", "__type"}`; in a stream `{"throttlingException": {"message"}}`; of a
  model that failed also `originalStatusCode` and `originalMessage`
- Azure: OpenAI's, with `innererror.code`; its gateway: `{"statusCode", "message"}`
- OpenRouter: `{"error": {"code": 429, "message", "metadata": {"raw", "error_type", "headers"}}}`,
  where `raw` is the body of the provider behind it, often as text, `headers` state limits, and
  `flagged_input` is what moderation refused; in the other APIs' form with `error_type` beside the
  error (https://openrouter.ai/docs/api/reference/errors-and-debugging)
- Mistral and other FastAPI servers: `{"object": "error", "message": {"detail": [...]}}`,
  `{"detail": "..."}`, `{"detail": [{"loc", "msg"}]}`, `{"detail": {"error": "..."}}` (DeepInfra)
- Baidu, Databricks, Cloudflare: `{"error_code", "error_msg"}`, `{"error_code", "message"}`,
  `{"success": false, "errors": [{"code", "message"}]}`
- Novita: `{"code": 403, "reason": "NOT_ENOUGH_BALANCE", "message"}`
- llama.cpp: OpenAI's, with `n_ctx` and `n_prompt_tokens`
- MiniMax: `{"base_resp": {"status_code": 1004, "status_msg"}}`, also with the status 200; without
  an error the code is 0 (https://platform.minimax.io/docs/api-reference/errorcode)
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, field

from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.failures.limits import SEARCHED_CHARS
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema import json
from llmcore.schema.errors import StreamError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue, NativeObject
from llmcore.schema.native_json import str_or_none

_DEPTH = 4
"""How deep bodies may be wrapped in one another, and messages in objects."""
_MARKERS = frozenset({"", "error", "errors", "failed", "failure"})
"""Values of `type`, `object` and `status` that only state that this is an error."""

_Fields = Mapping[str, JsonValue]


@frozen(kw_only=True)
class ErrorFacts:
    """The facts of an error body."""

    message: str = ""
    """The provider's message, complete; with that of the provider behind it, if any."""
    code: str | None = None
    """The provider's code or type, as it spells it."""
    codes: tuple[str, ...] = ()
    """All codes and types, most specific first, folded by `folded`."""
    status: int | None = None
    """The HTTP status that the body names."""
    request_id: str | None = None
    limit_tokens: int | None = None
    actual_tokens: int | None = None
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    """Headers that the body states, such as those of a limit."""
    upstream: JsonValue = field(default=None, repr=False)
    """The body of the provider behind this one."""

    @property
    def wording(self) -> str:
        """The part of the message that is searched for words that classify the error.

        It ends where the message repeats a value of the request, which may be about anything.
        """
        text = self.message[:SEARCHED_CHARS]
        repeated = _REPEATED_VALUE.search(text)
        return text[: repeated.start()] if repeated else text


_REPEATED_VALUE = re.compile(
    r"""['"]input['"]: |\binput_value="""  # pydantic, also as vLLM and FastAPI print its errors
    r"""|\bInvalid value[^'\n]{0,80} at '[^'\n]{0,300}' \([^)\n]{0,300}\), """  # Google
    r"""|\bInvalid value: '"""  # OpenAI
)


def folded(code: str) -> str:
    """Return *code* in lower case without punctuation: `RATE_LIMIT` and `RateLimit` are one."""
    return re.sub(r"[^a-z0-9]+", "", code.lower())


def read_error(body: JsonValue) -> ErrorFacts:
    """Return the facts in *body*. Total: an unknown shape gives as many as can be found."""
    return _read(body, _DEPTH)


# -- the envelope


def _read(body: JsonValue, depth: int) -> ErrorFacts:
    envelope = _first_object(body)
    if envelope is None:
        return ErrorFacts(message=_words(body, _DEPTH))
    outer = _fields(envelope)
    inner = _error_in(envelope) or outer
    facts = ErrorFacts(
        message=_message(inner, outer),
        code=_shown_code(inner) or _shown_code(outer),
        codes=tuple(dict.fromkeys(map(folded, _codes(inner, outer)))),
        status=_status(inner) or _status(outer),
        request_id=str_or_none(outer.get("requestid")) or str_or_none(inner.get("requestid")),
        limit_tokens=_count(inner.get("nctx")),
        actual_tokens=_count(inner.get("nprompttokens")),
        headers=_stated_headers(inner, outer),
    )
    return _with_upstream(facts, inner, depth) if depth else facts


def _stated_headers(inner: _Fields, outer: _Fields) -> dict[str, str]:
    """Return the headers that the body states: in the error's metadata, the error, or beside it."""
    metadata = inner.get("metadata")
    within = metadata.get("headers") if isinstance(metadata, Mapping) else None
    headers = within or inner.get("headers") or outer.get("headers")
    if not isinstance(headers, Mapping):
        return {}
    return {name: str(value) for name, value in headers.items() if isinstance(value, str | int)}


def _first_object(body: JsonValue) -> Mapping[str, JsonValue] | None:
    candidates = body if isinstance(body, list) else [body]
    return next((item for item in candidates if isinstance(item, Mapping)), None)


def _error_in(envelope: Mapping[str, JsonValue]) -> _Fields | None:
    """Return the fields of the error object inside *envelope*, if there is one.

    It has a name for errors, or is the only field.
    """
    for name, value in envelope.items():
        if folded(name) in {"error", "errors", "baseresp"}:
            error = _first_object(value)
            if error is not None:
                return _fields(error if folded(name) != "baseresp" else _base_resp(error))
        elif name.endswith(("Exception", "exception")) and isinstance(value, Mapping):
            return {"type": name, **_fields(value)}
    (*others, last) = envelope.values() or [None]
    return _fields(last) if not others and isinstance(last, Mapping) else None


def _base_resp(state: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return MiniMax's error with its number as a word: others' numbers mean something else."""
    return {**state, "details": {"code": f"base_resp_{state.get('status_code')}"}}


def _fields(value: Mapping[str, JsonValue]) -> _Fields:
    """Return the fields of *value* by folded name: `__type` and `type` are one."""
    fields: dict[str, JsonValue] = {}
    for name, item in value.items():
        if item is not None:
            fields.setdefault(folded(name), item)
    return fields


# -- errors that a gateway passes on


def _with_upstream(facts: ErrorFacts, inner: _Fields, depth: int) -> ErrorFacts:
    metadata = inner.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if raw:
        return _joined(facts, _document(raw), depth, also=True)
    document = _document(facts.message)
    return facts if document is facts.message else _joined(facts, document, depth, also=False)


def _document(value: JsonValue) -> JsonValue:
    """Return the JSON document that the string *value* holds, else *value*."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _joined(facts: ErrorFacts, document: JsonValue, depth: int, *, also: bool) -> ErrorFacts:
    """Return *facts* with those of the wrapped *document*, whose message comes second or alone."""
    under = _read(document, depth - 1)
    message = under.message or facts.message
    if also and message not in facts.message:
        message = f"{facts.message}: {message}" if facts.message else message
    elif also:
        message = facts.message
    return evolve(
        facts,
        message=message,
        code=facts.code or under.code,
        codes=tuple(dict.fromkeys((*facts.codes, *under.codes))),
        status=facts.status or under.status,
        limit_tokens=facts.limit_tokens or under.limit_tokens,
        actual_tokens=facts.actual_tokens or under.actual_tokens,
        upstream=document,
    )


# -- bodies that are errors without an `error`

_ERROR_NAMES = (
    *("message", "detail", "msg", "errors", "error_msg", "error_message", "error_code"),
    "error_type",
)


def has_error_fields(document: Mapping[str, Any]) -> bool:
    """Return whether *document*, which holds no response, has the fields of an error body."""
    if document.get("object") == "error" or any(map(document.get, _ERROR_NAMES)):
        return True
    return states_failure(document)


def states_failure(document: Mapping[str, Any]) -> bool:
    """Return whether the `base_resp` of *document* states an error, as with MiniMax."""
    state = document.get("base_resp")
    return state is not None and isinstance(state, Mapping) and bool(state.get("status_code"))


# -- the message

_MESSAGE_NAMES = (
    *("message", "detail", "errormessage", "errordescription", "errormsg", "msg", "description"),
    "statusmsg",
)


def _message(inner: _Fields, outer: _Fields) -> str:
    for fields in (inner, outer):
        for name in (*_MESSAGE_NAMES, "error", "errors", "title"):
            words = _words(fields.get(name), _DEPTH)
            if words.strip():
                more = str_or_none(fields.get("originalmessage"))
                return f"{words}: {more}" if more and more not in words else words
    return ""


def _words(value: JsonValue, depth: int) -> str:
    """Return the text in a message: a string, a list of them, FastAPI's `{"loc", "msg"}`."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth:
        return "; ".join(filter(None, (_words(item, depth - 1) for item in value)))
    if not isinstance(value, Mapping) or not depth:
        return ""
    fields = _fields(value)
    names = (name for name in (*_MESSAGE_NAMES, "error") if name in fields)
    words = next(filter(None, (_words(fields[name], depth - 1) for name in names)), "")
    loc = fields.get("loc")
    return f"{'.'.join(map(str, loc))}: {words}" if isinstance(loc, list) and words else words


# -- codes and status

_CODE_NAMES = ("code", "errorcode", "status", "statuscode", "type", "errortype", "reason")
_STATUS_NAMES = (
    *("code", "status", "statuscode", "rawstatuscode", "httpstatus", "httpstatuscode"),
    "originalstatuscode",
)


def _codes(inner: _Fields, outer: _Fields) -> Iterator[str]:
    beside = None if inner is outer else _code(outer.get("errortype"))
    if beside is not None:  # OpenRouter's: the error has what the API has for it
        yield beside
    for fields in (inner, outer):
        yield from _finer_codes(fields)
        yield from _own_codes(fields)
    error = outer.get("error")
    if isinstance(error, str) and error != _message(inner, outer):
        yield error


def _own_codes(fields: _Fields) -> Iterator[str]:
    for name in _CODE_NAMES:
        code = _code(fields.get(name))
        if code is not None:
            yield code


def _finer_codes(fields: _Fields) -> Iterator[str]:
    """Yield the codes that are more specific than the error's own."""
    for name in ("innererror", "details", "metadata"):
        value = fields.get(name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                details = _fields(item)
                named = (details.get(n) for n in ("code", "reason", "errorcode", "errortype"))
                yield from filter(None, map(_code, (*named, details.get("limitsource"))))
                if "flaggedinput" in details:
                    yield "content_filter"


def _code(value: JsonValue) -> str | None:
    """Return *value* as a code: a word, or a number that is not an HTTP status."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value) if isinstance(value, str) or abs(value) < 10**9 else ""
    text = text.rpartition("#")[2].strip()  # AWS may put a namespace before it
    return None if text.lower() in _MARKERS or _as_status(text) else text


def _shown_code(fields: _Fields) -> str | None:
    status = _as_status(fields.get("code"))
    return next(_own_codes(fields), None) or (str(status) if status else None)


def _status(fields: _Fields) -> int | None:
    return next(filter(None, (_as_status(fields.get(name)) for name in _STATUS_NAMES)), None)


def _as_status(value: JsonValue) -> int | None:
    """Return *value*, a number or a numeral, if it is the HTTP status of an error."""
    if isinstance(value, str) and re.fullmatch(r"[45][0-9]{2}", value, re.ASCII):
        return int(value)
    plain = isinstance(value, int) and not isinstance(value, bool)
    return value if plain and 400 <= value <= 599 else None  # type: ignore[operator,return-value]


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


# -- responses in the language of another API


def foreign_document(document: NativeObject, api: str) -> StreamError | None:
    """Return the error for a frame or a body that is not of *api*, but of another known API.

    None for one that is not recognized. Asking such a server again would change nothing, so the
    error is not retryable.
    """
    for other in map(protocol_by_id, PROTOCOL_IDS):
        if other.api != api and other.is_own(document):
            message = f"this server answers as {other.api}, not as {api}: {other.advice}"
            return StreamError(f"{message}, or check base_url", retryable=False, raw=document)
    return None
