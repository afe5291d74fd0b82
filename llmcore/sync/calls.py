"""`generate`, `stream`, `generate_object`, `stream_object` and `retry`, blocking."""

import inspect
import random
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, Unpack, cast, overload

from llmcore.client.client import Client as AsyncClient
from llmcore.generation import objects
from llmcore.generation import settings as call_settings
from llmcore.generation.generate import generate as asynchronous_generate
from llmcore.generation.results import GenerateResult
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.retry import retry as asynchronous_retry
from llmcore.generation.settings import RunSettings, Settings
from llmcore.generation.stream import stream as asynchronous_stream
from llmcore.schema.model import Model
from llmcore.sync.background import background
from llmcore.sync.client import Client
from llmcore.sync.streams import StreamObjectResult, StreamResult

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., object])


class SyncSettings(RunSettings, total=False):
    """Everything the blocking `generate` and `stream` take besides the model and the prompt."""

    client: Client | AsyncClient | None
    """None takes the default client, which is that of the asynchronous functions too."""


def _settings(given: SyncSettings) -> Settings:
    client = given.get("client")
    plain = {**given, "client": client.asynchronous if isinstance(client, Client) else client}
    return cast("Settings", plain)


def _signed_as(twin: Callable[..., object]) -> Callable[[_F], _F]:
    """Give a function the signature of its asynchronous *twin*, with its own client and result."""

    def sign(function: _F) -> _F:
        own = inspect.signature(function).return_annotation
        known = SyncSettings.__annotations__["client"]
        spelled = inspect.signature(twin)
        parameters = [
            one.replace(annotation=known) if one.name == "client" else one
            for one in spelled.parameters.values()
        ]
        function.__signature__ = spelled.replace(  # type: ignore[attr-defined]
            parameters=parameters, return_annotation=own
        )
        return function

    return sign


@_signed_as(asynchronous_generate)
def generate(
    model: Model | str | None = None, prompt: str | None = None, **settings: Unpack[SyncSettings]
) -> GenerateResult[None]:
    """Ask *model*, run the tools it calls, tell it their results, and return its answer.

    `llmcore.generate`, blocking: the same arguments, the same errors. Ctrl-C cancels the call.
    """
    given = _settings(settings)
    return background().run(lambda: asynchronous_generate(model, prompt, **given))


@_signed_as(asynchronous_stream)
def stream(
    model: Model | str | None = None, prompt: str | None = None, **settings: Unpack[SyncSettings]
) -> StreamResult:
    """Return the events of what `generate` would do with the same arguments.

    `llmcore.stream`, blocking. What is wrong with the arguments is raised here; everything else
    while reading.
    """
    return StreamResult(asynchronous_stream(model, prompt, **_settings(settings)))


@overload
def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: type[_T],
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> GenerateResult[_T]: ...


@overload
def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> GenerateResult[Any]: ...


@_signed_as(objects.generate_object)
def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> GenerateResult[Any]:
    """Do what `generate` does, and return the answer as an object, in `output`.

    `llmcore.generate_object`, blocking.
    """
    given = _settings(settings)
    return background().run(
        lambda: objects.generate_object(
            model,
            prompt,
            schema=schema,
            schema_name=schema_name,
            schema_description=schema_description,
            **given,
        )
    )


@overload
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: type[_T],
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> StreamObjectResult[_T]: ...


@overload
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> StreamObjectResult[Any]: ...


@_signed_as(objects.stream_object)
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> StreamObjectResult[Any]:
    """Return the object that `generate_object` would, while it arrives.

    `llmcore.stream_object`, blocking.
    """
    made = objects.stream_object(
        model,
        prompt,
        schema=schema,
        schema_name=schema_name,
        schema_description=schema_description,
        **_settings(settings),
    )
    return StreamObjectResult(made)


def set_default_client(client: Client | AsyncClient | None) -> None:
    """Let calls that name no client use *client*, blocking and asynchronous ones alike.

    None makes a new one when it is needed. The one before stays its owner's to close.
    """
    call_settings.set_default_client(client.asynchronous if isinstance(client, Client) else client)


def retry(
    call: Callable[[], _T],
    policy: RetryPolicy | None = None,
    *,
    rng: random.Random | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> _T:
    """Run *call* again while its failure may pass; return, or raise, what came last.

    `llmcore.retry` for a blocking call, in this thread.
    """

    async def attempt() -> _T:
        return call()

    async def pause(seconds: float) -> None:
        sleep(seconds)

    return _result_of(asynchronous_retry(attempt, policy, rng=rng, sleep=pause))


def _result_of(steps: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that waits for nothing."""
    try:
        steps.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    finally:
        steps.close()
    raise RuntimeError("a coroutine that waits needs an event loop")
