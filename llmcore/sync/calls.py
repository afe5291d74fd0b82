"""The calls of `llmcore`, blocking: each takes the arguments of its asynchronous twin.

`generate`, `embed` and the others return and raise what the twin does. `client` may be a blocking
client or an asynchronous one; calls without it share the default client. Ctrl-C cancels a call.
"""

import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, Unpack, overload

from llmcore.generation import batch, many, media, objects, retrieval
from llmcore.generation import generate as generation
from llmcore.generation.results import GenerateResult
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.retry import retry as asynchronous_retry
from llmcore.generation.settings import Settings
from llmcore.generation.signatures import with_settings_documented
from llmcore.generation.stream import stream as asynchronous_stream
from llmcore.schema.model import Model
from llmcore.sync.background import blocking, with_parameters_of
from llmcore.sync.streams import ByteStream, StreamObjectResult, StreamResult

_T = TypeVar("_T")

generate = blocking(generation.generate, __name__)
"""Call a model, run the tools it calls, send their results, and return the result."""
generate_many = blocking(many.generate_many, __name__)
"""Return what `generate` returns for each of many prompts, in their order."""
run_batch = blocking(batch.run_batch, __name__)
"""Run requests by ids of your own, and return how many succeeded."""
embed = blocking(retrieval.embed, __name__)
"""Return the vector of a text."""
embed_many = blocking(retrieval.embed_many, __name__)
"""Return the vectors of texts, in their order."""
rerank = blocking(retrieval.rerank, __name__)
"""Return documents in the order of how well they answer a query, the best first."""
generate_image = blocking(media.generate_image, __name__)
"""Return the image that a prompt describes."""
transcribe = blocking(media.transcribe, __name__)
"""Return the text of a recording."""
generate_speech = blocking(media.generate_speech, __name__)
"""Return the speech of a text."""
_open_speech = blocking(media.stream_speech, __name__)
_generate_object = blocking(objects.generate_object, __name__)


@with_parameters_of(media.stream_speech)
def stream_speech(*args: Any, **settings: Any) -> ByteStream:
    """Return the speech of a text, piece by piece."""
    return ByteStream(_open_speech(*args, **settings))


@with_settings_documented
@with_parameters_of(asynchronous_stream)
def stream(*args: Any, **settings: Any) -> StreamResult:
    """Return the events of what `generate` would do with the same arguments.

    Invalid arguments raise here; all other errors are raised while reading.
    """
    return StreamResult(asynchronous_stream(*args, **settings))


@overload
def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: type[_T],
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> GenerateResult[_T]: ...


@overload
def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> GenerateResult[Any]: ...


def generate_object(*args: Any, **settings: Any) -> GenerateResult[Any]:
    """Do what `generate` does, and return the response parsed and validated in `output`."""
    return _generate_object(*args, **settings)


@overload
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: type[_T],
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> StreamObjectResult[_T]: ...


@overload
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> StreamObjectResult[Any]: ...


def stream_object(*args: Any, **settings: Any) -> StreamObjectResult[Any]:
    """Stream the object that `generate_object` would return."""
    return StreamObjectResult(objects.stream_object(*args, **settings))


for _function, _twin in (
    (generate_object, objects.generate_object),
    (stream_object, objects.stream_object),
):
    with_parameters_of(_twin)(_function)
    with_settings_documented(_function)


def retry(
    call: Callable[[], _T],
    policy: RetryPolicy | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> _T:
    """Repeat *call* while it raises retryable errors; return its value or raise the last error.

    `llmcore.generation.retry.retry` for a blocking call, in this thread.
    """

    async def attempt() -> _T:
        return call()

    async def pause(seconds: float) -> None:
        sleep(seconds)

    return _result_of(asynchronous_retry(attempt, policy, sleep=pause))


def _result_of(steps: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of a coroutine that never suspends."""
    try:
        steps.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    finally:
        steps.close()
    raise RuntimeError("a coroutine that waits needs an event loop")
