"""Lists of the models that an account can use, as the providers' APIs give them.

Documents, read November 2026: https://platform.openai.com/docs/api-reference/models/list (and the
servers that imitate it), https://platform.claude.com/docs/en/api/models-list,
https://ai.google.dev/api/models#method:-models.list,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_ListFoundationModels.html,
https://docs.cohere.com/reference/list-models. One entry of each:

    {"id": "gpt-5.2", "object": "model", "created": 1765313051, "owned_by": "system"}
    {"id": "claude-sonnet-5", "type": "model", "display_name": "Claude Sonnet 5",
     "created_at": "2026-02-04T00:00:00Z", "max_input_tokens": 1000000, "max_tokens": 64000}
    {"name": "models/gemini-3-pro", "displayName": "Gemini 3 Pro", "inputTokenLimit": 1048576,
     "outputTokenLimit": 65536, "supportedGenerationMethods": ["generateContent"]}
    {"modelId": "amazon.nova-pro-v1:0", "modelName": "Nova Pro"}
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Final, Generic, TypeVar

from attrs import field, frozen

from llmcore.protocols.protocol import NativeRequest, NativeResponse, UnaryProtocol
from llmcore.schema.errors import StreamError
from llmcore.schema.json import JsonObject, JsonValue, object_or_empty, objects, texts

Item = TypeVar("Item")


@frozen(kw_only=True)
class PageRequest:
    """The request for one page of a list."""

    after: str | None = None
    """The mark that the page before gave; None for the first page."""


@frozen(kw_only=True)
class Page(Generic[Item]):
    """One page of a list."""

    items: tuple[Item, ...]
    """The items, in the provider's order."""
    after: str | None = None
    """The mark of the next page; None after the last one."""


@frozen(kw_only=True)
class LiveModel:
    """One model, as its provider describes it."""

    id: str
    """The id that requests name it by."""
    display_name: str | None = None
    """The name for people."""
    context_window: int | None = None
    """Tokens of input, or of input and output together, whichever is stated."""
    max_output: int | None = None
    """The most tokens of one response."""
    created: date | None = None
    """When it was released."""
    endpoints: tuple[str, ...] = ()
    """The paths of the APIs that serve it, where the list names them."""
    raw: JsonObject = field(factory=dict, eq=False, repr=False)
    """The provider's own entry."""


_LISTS: Final = ("data", "models", "modelSummaries")
_IDS: Final = ("id", "modelId", "name")
_NAMES: Final = ("display_name", "displayName", "modelName", "name")
_WINDOWS: Final = (
    "context_window",
    "context_length",
    "max_context_length",
    "max_model_len",
    "max_input_tokens",
    "inputTokenLimit",
)
"""By Groq; OpenRouter, Together, Fireworks and Cohere; Mistral; vLLM; Anthropic; Gemini."""
_OUTPUTS: Final = ("max_completion_tokens", "outputTokenLimit", "max_tokens")


def paged(
    id: str, path: str, *, size: str | None = None, mark: str = ""
) -> UnaryProtocol[PageRequest, Page[LiveModel]]:
    """Return the protocol of a list at *path*, in pages if *mark* names their parameter.

    *size* is the parameter of a page's size, which is then 1000 models.
    """

    def build(page: PageRequest) -> NativeRequest:
        given = {size: "1000"} if size else {}
        if page.after is not None:
            given[mark] = page.after
        return NativeRequest(path=path, method="GET", query=given)

    return UnaryProtocol(id=id, build=build, read=lambda response, _asked: read_models(response))


def read_models(response: NativeResponse) -> Page[LiveModel]:
    """Return the models that a document lists; entries without an id are passed over.

    Raises StreamError for a document without a list.
    """
    document = response.document
    found: JsonValue = document  # Together returns the bare list
    if isinstance(document, dict):
        found = next((document[name] for name in _LISTS if name in document), None)
    if not isinstance(found, list):
        raise StreamError("the response is not a list of models", retryable=False)
    models = tuple(model for entry in objects(found) if (model := _model(entry)) is not None)
    return Page(items=models, after=_after(object_or_empty(document)))


def _after(document: JsonObject) -> str | None:
    marks = [document.get("nextPageToken"), document.get("next_page_token")]
    if document.get("has_more") is True:
        marks.append(document.get("last_id"))
    return next((mark for mark in marks if isinstance(mark, str) and mark), None)


def _model(entry: JsonObject) -> LiveModel | None:
    model_id = _first_text(entry, _IDS)
    if model_id is None:
        return None
    capabilities = object_or_empty(entry.get("capabilities"))
    limits = object_or_empty(capabilities.get("limits"))  # GitHub Copilot
    window = _first_count((entry, limits), (*_WINDOWS, "max_context_window_tokens"))
    name = _first_text(entry, _NAMES)
    return LiveModel(
        id=model_id.removeprefix("models/"),
        display_name=None if name == model_id else name,
        context_window=window,
        max_output=_first_count((entry, limits), (*_OUTPUTS, "max_output_tokens")),
        created=_date(entry.get("created_at", entry.get("created"))),
        endpoints=tuple(texts(entry.get("supported_endpoints"))),  # GitHub Copilot
        raw=entry,
    )


def _first_text(entry: JsonObject, names: Iterable[str]) -> str | None:
    found = (entry.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), None)


def _first_count(sources: Iterable[JsonObject], names: Iterable[str]) -> int | None:
    named = tuple(names)
    found = (source.get(name) for source in sources for name in named)
    counts = (value for value in found if isinstance(value, int) and not isinstance(value, bool))
    return next((value for value in counts if value > 0), None)


def _date(value: JsonValue) -> date | None:
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value).date()
        if isinstance(value, int) and value > 0:
            return datetime.fromtimestamp(value, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None
    return None
