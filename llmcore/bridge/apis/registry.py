"""The APIs that the gateway serves; the only place that names each of them.

Paths state the API of a request, and headers do where APIs share a path (`/v1/models`) or the
path is unknown.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from llmcore.bridge.api import Api, Operation, OperationRequest, Outcome, posted
from llmcore.bridge.response_run import ErrorForm, SentResponse
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest, Front, ListedModel, front_by_id
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject

if TYPE_CHECKING:
    from llmcore.bridge.apis.embeddings import Embeddings
    from llmcore.bridge.generation import Generation
    from llmcore.bridge.service import Service

RESPONSES: Final = "openai-responses"
CHAT: Final = "openai-chat"
MESSAGES: Final = "anthropic-messages"
GEMINI: Final = "gemini"

_VERSIONS: Final = ("/v1", "")
_GEMINI_VERSIONS: Final = ("/v1beta", "/v1", "/v1alpha", "/v1beta1", "")
"""The last but one is that of Vertex AI."""
_OPENAI_PREFIXES: Final = ("/v1", "", "/openai/v1", "/openai")
"""The last two are those of Azure's OpenAI, with and without a version."""
_DEPLOYMENT: Final = "/deployments/{deployment:path}"
"""Where Azure's paths name the model: `/openai/deployments/{deployment}/chat/completions`, by
https://learn.microsoft.com/azure/ai-services/openai/reference, read November 2026."""
_MODEL_PREFIXES: Final = (*_GEMINI_VERSIONS, "/openai/v1", "/openai")

_OF_OPENAI: Final = "POST /v1/responses, POST /v1/chat/completions, POST /v1/embeddings"
SERVED: Final[Mapping[str, str]] = {
    RESPONSES: f"{_OF_OPENAI}, GET /v1/models",
    CHAT: f"{_OF_OPENAI}, GET /v1/models",
    MESSAGES: "POST /v1/messages, POST /v1/messages/count_tokens, GET /v1/models",
    GEMINI: "POST /v1beta/models/{model}:generateContent, :streamGenerateContent, :countTokens, "
    ":embedContent and :batchEmbedContents, GET /v1beta/models",
}
"""The main paths in words, for the error of an unknown one, by the API of the request."""
_INSTEAD: Final[Mapping[str, str]] = {
    "conversations": "name the response before by previous_response_id",
    "completions": "send messages to POST /v1/chat/completions",
    "files": "send a file's content within the request",
    "batches": "send each request by itself",
}
"""Advice for paths that are not served, by a segment of them."""

_GEMINI_FORMAT: Final = "generationConfig.responseMimeType"
"""Where requests of the Gemini API ask for structured output."""


@frozen
class Apis:
    """The APIs that are served."""

    all: Sequence[Api]
    """Groups of operations; several may be of one API, as the lists of models are."""

    def of(self, path: str, headers: Mapping[str, str]) -> Api:
        """Return the API that a request speaks, as far as its path and headers show."""
        api_id = api_of_request(path, headers)
        return next(api for api in self.all if api.id == api_id)

    def error_form(
        self, path: str, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> ErrorForm:
        """Return the form of errors that the client of a request reads."""
        request = ClientRequest(body={}, path=path, query=query, headers=headers)
        return self.of(path, headers).error_form(request)

    def is_free(self, path: str) -> bool:
        """Return whether requests of *path* do not count against the rate: they count tokens."""
        return path.endswith(_COUNTING)


_COUNTING: Final = ("/count_tokens", ":countTokens", "/input_tokens")
_MESSAGES_PATH: Final = re.compile(r"/(messages|complete|skills)(/|$)")
_GEMINI_PATH: Final = re.compile(
    r"^(/upload)?/v1(beta|alpha)|/(cachedContents|tunedModels)(/|$)"
    r"|:((stream)?[gG]enerate|count|embed|batch|predict)[A-Za-z]*$"
)


def api_of_request(path: str, headers: Mapping[str, str]) -> str:
    """Return the id of the API that a request speaks; OpenAI's where nothing shows it."""
    if "/responses" in path:
        return RESPONSES
    if "/chat/completions" in path:
        return CHAT
    if _MESSAGES_PATH.search(path):
        return MESSAGES
    if _GEMINI_PATH.search(path) or not headers.keys().isdisjoint(_GEMINI_HEADERS):
        return GEMINI
    return MESSAGES if "anthropic-version" in headers else RESPONSES


_GEMINI_HEADERS: Final = frozenset({"x-goog-api-key", "x-goog-api-client"})


def unknown_path(error: FrontError, api_id: str, path: str) -> FrontError:
    """Return *error*, of a path that leads nowhere, with what to send instead."""
    hints = [f": {_INSTEAD[segment]}" for segment in path.split("/") if segment in _INSTEAD]
    hint = hints[0] if hints else ""
    return evolve(error, message=f"{error.message}{hint}. The gateway serves {SERVED[api_id]}.")


def apis(service: "Service") -> Apis:
    """Return every API, over *service*."""
    from llmcore.bridge.accounts.admin import own_key
    from llmcore.bridge.apis.responses import responses_api

    openai = front_by_id(RESPONSES)
    return Apis(
        (
            responses_api(service, _OPENAI_PREFIXES),
            _chat(service),
            _messages(service),
            _gemini(service),
            _api(openai, _MODEL_PREFIXES, *_model_operations(service)),
            _api(openai, _VERSIONS, own_key(service.accounts)),
        )
    )


def _api(front: Front[Any], prefixes: tuple[str, ...], *operations: Operation) -> Api:
    return Api(id=front.id, prefixes=prefixes, operations=operations, error_form=front.error_form)


def _chat(service: "Service") -> Api:
    """Return Chat Completions and OpenAI's embeddings, also below the deployments of Azure."""
    from llmcore.bridge.apis.chat import ChatCompletions
    from llmcore.bridge.apis.embeddings import Embeddings
    from llmcore.fronts.openai_embeddings import read_embeddings_request

    chat = ChatCompletions(service)
    embeddings = Embeddings(
        chat, service, lambda call, model: read_embeddings_request(call.body, model)
    )
    operations = (
        posted(name, first + path, handle)
        for first in ("", _DEPLOYMENT)
        for name, path, handle in (
            ("chat_completions", "/chat/completions", chat.generate),
            ("embeddings", "/embeddings", embeddings.create),
        )
    )
    return _api(chat.front, _OPENAI_PREFIXES, *operations)


def _messages(service: "Service") -> Api:
    from llmcore.bridge.generation import Generation

    calls = Generation(front_by_id(MESSAGES), service, format_field="output_config.format")
    return _api(
        calls.front,
        _VERSIONS,
        posted("messages", "/messages", calls.generate),
        posted("count_tokens", "/messages/count_tokens", calls.count),
    )


def _gemini(service: "Service") -> Api:
    from llmcore.bridge.apis.embeddings import Embeddings
    from llmcore.bridge.generation import Generation
    from llmcore.fronts.gemini.embeddings import read_embeddings_request
    from llmcore.fronts.gemini.models import publisher_model, publisher_models

    calls = Generation(front_by_id(GEMINI), service, format_field=_GEMINI_FORMAT)
    embeddings = Embeddings(
        calls,
        service,
        lambda call, model: read_embeddings_request(call.body, _method(call), model),
    )
    vertex = evolve(calls.front, models=publisher_models, model=publisher_model)
    return _api(
        calls.front,
        _GEMINI_VERSIONS,
        *_gemini_operations(calls, embeddings),
        *_vertex_operations(ModelLists(vertex, service)),
    )


@frozen
class ModelLists:
    """The operations that list models, for one front. Raises FrontError."""

    front: Front[Any]
    _service: "Service"

    async def models(self, call: OperationRequest) -> JsonObject:
        """Return the list of models: the names of the map, and the upstream's own."""
        names = self._service.names
        listed = [self._listed(name) for name in await names.all() if call.caller.allows(name)]
        if self.front.lists_claude_names:
            listed = [evolve(model, id=names.prefixed(model.id)) for model in listed]
        return self.front.models(listed, call.query)

    async def model(self, call: OperationRequest) -> JsonObject:
        """Return one model; 404 if no provider has it, or the key does not allow it."""
        name = call.path["model_id"]
        self._service.names.pool_for(call.caller, name)
        return self.front.model(self._listed(name))

    def _listed(self, name: str) -> ListedModel:
        return ListedModel(id=name, owner=self._service.names.owner(name))


def _model_operations(service: "Service") -> tuple[Operation, ...]:
    """Return the operations that list models, in the form of the API that asks."""
    openai = ModelLists(front_by_id(RESPONSES), service)
    lists = {
        RESPONSES: openai,
        CHAT: openai,
        MESSAGES: ModelLists(front_by_id(MESSAGES), service),
        GEMINI: ModelLists(front_by_id(GEMINI), service),
    }

    def asked(call: OperationRequest) -> ModelLists:
        return lists[api_of_request(call.request.path, call.headers)]

    async def models(call: OperationRequest) -> JsonObject:
        return await asked(call).models(call)

    async def model(call: OperationRequest) -> JsonObject:
        return await asked(call).model(call)

    return (
        Operation(name="models", method="GET", path="/models", handle=models),
        Operation(name="model", method="GET", path="/models/{model_id:path}", handle=model),
    )


def _method(call: OperationRequest) -> str:
    """Return the method that ends a path of Gemini's."""
    return call.request.path.rstrip("/").rpartition(":")[2]


def _gemini_operations(calls: "Generation[Any]", embeddings: "Embeddings") -> tuple[Operation, ...]:
    """Return the operations whose path names the model and the method.

    `POST /v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse`, as
    https://ai.google.dev/api/generate-content documents it, read November 2026. Client libraries
    in Vertex AI's mode send `/v1beta1/projects/{project}/locations/{location}/publishers/google/`
    `models/...`, and with an API key `/v1beta1/publishers/google/models/...`.
    """
    from llmcore.fronts.gemini.embeddings import EMBEDDING_METHODS
    from llmcore.fronts.gemini.request import unsupported_method

    async def handle(call: OperationRequest) -> JsonObject | Outcome | SentResponse:
        method = _method(call)
        if method in ("generateContent", "streamGenerateContent"):
            return await calls.generate(call)
        if method == "countTokens":
            return await calls.count(call)
        if method in EMBEDDING_METHODS:
            return await embeddings.create(call)
        error = unsupported_method(method)
        raise error if ":" in call.request.path else evolve(error, status=404)

    def posted(path: str) -> Operation:
        return Operation(
            name="generate_content", method="POST", path=path, handle=handle, takes_body=True
        )

    return tuple(
        posted(f"/{first}/{{rest:path}}") for first in ("models", "projects", "publishers")
    )


def _vertex_operations(lists: ModelLists) -> tuple[Operation, ...]:
    """Return the operations that list models at the paths of Vertex AI."""
    place = "/projects/{project}/locations/{location}"
    published = "/publishers/{publisher}/models"
    return tuple(
        Operation(name=name, method="GET", path=first + path, handle=handle)
        for first in ("", place)
        for name, path, handle in (
            ("models", published, lists.models),
            ("model", f"{published}/{{model_id:path}}", lists.model),
        )
    )
