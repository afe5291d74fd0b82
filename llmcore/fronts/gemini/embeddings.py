"""Embeddings, as the Gemini API and Vertex AI have them.

    POST /v1beta/models/m:embedContent
    {"content": {"parts": [{"text": "Hello"}]}, "taskType": "RETRIEVAL_QUERY"}
    {"embedding": {"values": [0.1]}, "usageMetadata": {"promptTokenCount": 1, ...}}

    POST /v1beta/models/m:batchEmbedContents
    {"requests": [{"model": "models/m", "content": {"parts": [{"text": "Hello"}]}}]}
    {"embeddings": [{"values": [0.1]}], "usageMetadata": {"promptTokenCount": 1, ...}}

    POST /v1beta1/publishers/google/models/m:predict
    {"instances": [{"content": "Hello", "task_type": "RETRIEVAL_QUERY"}], "parameters": {}}
    {"predictions": [{"embeddings": {"values": [0.1], "statistics": {"truncated": false}}}]}

The second is what client libraries send to the Gemini API, the others to Vertex AI, where the
settings of the first two may be in `embedContentConfig`. Sources, read November 2026:
https://ai.google.dev/api/embeddings, https://docs.cloud.google.com/vertex-ai/generative-ai/docs/
model-reference/text-embeddings-api, and the `google-genai` package, 3.6.1 (`models`).
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, TypeAlias

from llmcore.fronts.errors import invalid
from llmcore.fronts.front import ReadEmbeddings
from llmcore.fronts.gemini.content import camel_keys, enum_name
from llmcore.fronts.reading import read_field, read_objects, report_lost, report_unknown, required
from llmcore.protocols.embeddings import TASK_TYPES
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.embeddings import EmbeddingRequest, EmbeddingResponse, InputType
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject, JsonValue, NativeObject
from llmcore.schema.model import Model

_LISTS: Final[Mapping[str, str]] = {
    "embedContent": "",
    "batchEmbedContents": "requests",
    "predict": "instances",
}
"""Where the body of a method has its texts; empty if the body is that of one text."""
EMBEDDING_METHODS: Final = tuple(_LISTS)

_Entry: TypeAlias = tuple[str, NativeObject]
"""Where a text is in the body, and its fields there, with settings for all texts."""

_INPUT_TYPES: Final[Mapping[object, InputType]] = {name: kind for kind, name in TASK_TYPES.items()}
_TASKS: Final = (
    "TASK_TYPE_UNSPECIFIED", "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY",
    "CLASSIFICATION", "CLUSTERING", "QUESTION_ANSWERING", "FACT_VERIFICATION",
)  # fmt: skip
"""The tasks by their numbers, as in `google.ai.generativelanguage_v1beta.types.TaskType`."""
_NOT_SETTINGS: Final = ("model", "content")
_SAME: Final = ("taskType", "outputDimensionality")
"""Settings that a request of the upstream has once, for all texts."""
_NATIVE: Final = "google"
"""The provider whose requests have other settings of the texts by the same names."""

# -- requests


def read_embeddings_request(body: JsonObject, method: str, model: Model) -> ReadEmbeddings:
    """Return the request of *body* to *method* for *model*; FrontError, 400, for an invalid one.

    Kinds of task without a neutral word, titles and other settings go to the Gemini API as they
    came, and are reported for other upstreams.
    """
    diagnostics = Diagnostics()
    entries = _entries(camel_keys(body), method, diagnostics)
    path = entries[0][0] if entries else ""
    settings = _settings(entries, diagnostics)
    dimensions = read_field(settings, "outputDimensionality", int, path)
    input_type = _INPUT_TYPES.get(read_field(settings, "taskType", str, path))
    known = {"outputDimensionality"} | ({"taskType"} if input_type else set())
    if settings.get("taskType") == _TASKS[0]:
        known.add("taskType")
    options = {name: value for name, value in settings.items() if name not in known}
    if model.provider != _NATIVE:
        place = diagnostics.at(path.rstrip("."))
        report_lost(list(options), "the upstream has no such setting", place)
        options = {}
    try:
        request = EmbeddingRequest(
            model=model,
            inputs=tuple(_text(entry, method) for entry in entries),
            dimensions=dimensions,
            input_type=input_type,
            provider_options={_NATIVE: options} if options else {},
        )
    except InvalidRequestError as error:
        raise invalid(error.message, _LISTS[method] or "content") from error
    return ReadEmbeddings(
        request=request,
        write=partial(write_embeddings, method=method),
        diagnostics=tuple(diagnostics.entries),
    )


def _entries(fields: NativeObject, method: str, diagnostics: Diagnostics) -> list[_Entry]:
    """Return the texts of a body with their settings."""
    name = _LISTS[method]
    if not name:
        return [("", _flat(fields))]
    report_unknown(fields, frozenset({"model", "parameters", name}), diagnostics)
    shared = camel_keys(fields.get("parameters"))
    return [
        (f"{name}[{number}].", {**shared, **_flat(camel_keys(item))})
        for number, item in enumerate(read_objects(fields, name))
    ]


def _flat(fields: NativeObject) -> NativeObject:
    """Return *fields* with those of `embedContentConfig` beside them, and the task by its name."""
    inner = camel_keys(fields.pop("embedContentConfig", None))
    flat = {**fields, **inner}
    if "taskType" in flat:
        flat["taskType"] = enum_name(flat["taskType"], _TASKS)
    return flat


def _settings(entries: list[_Entry], diagnostics: Diagnostics) -> NativeObject:
    """Return the settings that all texts have. Others are reported; FrontError if they must be."""
    settings: NativeObject = {}
    for path, fields in entries:
        given = {name: value for name, value in fields.items() if name not in _NOT_SETTINGS}
        if path == entries[0][0]:
            settings = given
        for name in [name for name in {**settings, **given} if name in _SAME]:
            if settings.get(name) != given.get(name):
                raise invalid(f"{path}{name} must be that of the other texts.", f"{path}{name}")
        own = [name for name, value in given.items() if settings.get(name) != value]
        place = diagnostics.at(path.rstrip("."))
        report_lost(own, "it is not the same for all texts", place)
        settings = {name: value for name, value in settings.items() if given.get(name) == value}
    return settings


def _text(entry: _Entry, method: str) -> str:
    """Return the text of an entry, whose parts are joined as paragraphs."""
    path, fields = entry
    if method == "predict":
        return required(fields, "content", str, path)
    content = camel_keys(required(fields, "content", dict, path))
    parts = read_objects(content, "parts", f"{path}content.")
    texts: list[str] = []
    for number, part in enumerate(map(camel_keys, parts)):
        place = f"{path}content.parts[{number}]"
        if "text" not in part:
            raise invalid(f"{place} must be a text: only texts are embedded here.", place)
        texts.append(required(part, "text", str, f"{place}."))
    return "\n\n".join(texts)


# -- responses


def write_embeddings(response: EmbeddingResponse, _model: str, *, method: str) -> JsonObject:
    """Return the response's body, in the form of *method*."""
    vectors = [list(vector) for vector in response.embeddings]
    if method == "predict":
        return {
            "predictions": [
                {"embeddings": {"values": vector, "statistics": _statistics(response, number)}}
                for number, vector in enumerate(vectors)
            ]
        }
    usage: dict[str, JsonValue] = {}
    tokens = response.usage.input_tokens
    if tokens is not None:
        usage["usageMetadata"] = {"promptTokenCount": tokens, "totalTokenCount": tokens}
    if method == "batchEmbedContents":
        return {"embeddings": [{"values": vector} for vector in vectors], **usage}
    return {"embedding": {"values": vectors[0]}, **_statistics(response, 0, counted=False), **usage}


def _statistics(
    response: EmbeddingResponse, number: int, *, counted: bool = True
) -> dict[str, JsonValue]:
    """Return whether the text was cut, and its tokens where they are not those of several."""
    cut = any(note.path == f"inputs[{number}]" for note in response.diagnostics)
    statistics: dict[str, JsonValue] = {"truncated": cut}
    if counted and len(response.embeddings) == 1 and response.usage.input_tokens is not None:
        statistics["token_count"] = response.usage.input_tokens
    return statistics
