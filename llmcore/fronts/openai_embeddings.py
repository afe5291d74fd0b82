"""OpenAI's embeddings, as a server speaks them.

Source: https://platform.openai.com/docs/api-reference/embeddings/create, read November 2026. The
`openai` package asks for base64, which is a quarter of the size, unless the caller names a format:

    {"model": "text-embedding-3-small", "input": ["Hello"], "encoding_format": "base64"}

    {"object": "list", "model": "text-embedding-3-small",
     "data": [{"object": "embedding", "index": 0, "embedding": "AAAAPw=="}],
     "usage": {"prompt_tokens": 1, "total_tokens": 1}}
"""

import base64
import struct
from functools import partial
from typing import Final

from llmcore.fronts.errors import invalid
from llmcore.fronts.front import ReadEmbeddings
from llmcore.fronts.reading import read_field, read_texts, required
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.embeddings import EmbeddingRequest, EmbeddingResponse, Vector
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject
from llmcore.schema.model import Model

_MOST_TEXTS: Final = 2048
_FORMATS: Final = ("float", "base64")
_WITH_USER: Final = ("openai", "azure")
"""Providers that take the id of an end user."""


def read_embeddings_request(body: JsonObject, model: Model) -> ReadEmbeddings:
    """Return the request of *body* for *model*; raises FrontError, 400, for an invalid one."""
    encoding = read_field(body, "encoding_format", str) or "float"
    if encoding not in _FORMATS:
        raise invalid('encoding_format must be "float" or "base64".', "encoding_format")
    diagnostics = Diagnostics()
    user = read_field(body, "user", str)
    options: dict[str, JsonObject] = {}
    if user is not None and model.provider in _WITH_USER:
        options[model.provider] = {"user": user}
    elif user is not None:
        diagnostics.at("user").unsupported("the upstream does not accept a user id")
    try:
        request = EmbeddingRequest(
            model=model,
            inputs=_texts(body),
            dimensions=read_field(body, "dimensions", int),
            provider_options=options,
        )
    except InvalidRequestError as error:
        raise invalid(error.message, "input") from error
    return ReadEmbeddings(
        request=request,
        write=partial(write_embeddings, as_base64=encoding == "base64"),
        diagnostics=tuple(diagnostics.entries),
    )


def _texts(body: JsonObject) -> tuple[str, ...]:
    given = body.get("input")
    if isinstance(given, str):
        return (required(body, "input", str),)
    first = given[0] if isinstance(given, list) and given else None
    if isinstance(first, int | list) and not isinstance(first, bool):
        raise invalid(
            "input must be texts: token numbers are one model's own. Clients can send texts "
            "instead (in LangChain: check_embedding_ctx_length=False).",
            "input",
            "invalid_type",
        )
    texts = read_texts(body, "input")
    if len(texts) > _MOST_TEXTS:
        raise invalid(f"input has {len(texts)} texts; the most is {_MOST_TEXTS}.", "input")
    return texts


def write_embeddings(response: EmbeddingResponse, model: str, *, as_base64: bool) -> JsonObject:
    """Return the response's body; *model* is the name that the client asked for."""
    tokens = response.usage.input_tokens or 0
    return {
        "object": "list",
        "data": [
            {
                "object": "embedding",
                "index": number,
                "embedding": _base64(vector) if as_base64 else list(vector),
            }
            for number, vector in enumerate(response.embeddings)
        ],
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _base64(vector: Vector) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
