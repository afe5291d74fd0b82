"""The settings that all unary calls of models have, and the retries of such a call."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypedDict, TypeVar

from attrs import evolve

from llmcore.client.byte_stream import ByteStream
from llmcore.client.client import Client
from llmcore.generation.default_client import AnyClient, client_or_default
from llmcore.generation.retry import RetryPolicy, retry
from llmcore.routes.transport import Timeouts
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.hints import hint_for, shown_kind
from llmcore.schema.json import JsonObject
from llmcore.schema.result import Result
from llmcore.schema.unary import UnaryRequest, UnaryResponse

_Response = TypeVar("_Response", bound=UnaryResponse | ByteStream)


class UnarySettings(TypedDict, total=False):
    """The settings of every unary call, such as `embed` and `generate_image`."""

    provider: str | None
    """The provider of a model that only an id names."""
    provider_options: Mapping[str, JsonObject]
    """Native fields of the body, by provider."""
    strict: bool
    """Whether a setting that the API lacks is an error and not a Diagnostic."""
    max_retries: int
    """Attempts of each request after the first one; 2 if not set."""
    timeout: float | Timeouts | None
    """Seconds for each request, or all limits; None takes the client's."""
    client: AnyClient | None
    """None uses the default client, which blocking and asynchronous calls share."""


_OF_THE_CALL: Final = frozenset({"max_retries", "timeout", "client"})
_INSTEAD: Final = {
    **dict.fromkeys(("num_retries", "retries", "max_attempts"), "max_retries"),
    **dict.fromkeys(("timeouts", "request_timeout"), "timeout"),
    **dict.fromkeys(("extra_body", "options"), "write provider_options={PROVIDER: {...}}"),
    **dict.fromkeys(
        ("api_key", "base_url", "api_base"),
        "configure the provider, such as OpenAI(api_key=..., base_url=...).model('ID')",
    ),
    **dict.fromkeys(("http_client", "proxy"), "give it to the client: Client(http=...)"),
}
"""The names that settings have in other libraries, with the setting or what to do instead."""


def request_fields(
    function: str, known: type[UnarySettings], settings: UnarySettings
) -> dict[str, Any]:
    """Return the settings that are fields of the request.

    *known* declares the settings of *function*; TypeError for one that it does not have.
    InvalidRequestError for a timeout of another type.
    """
    unknown = next((name for name in settings if name not in known.__annotations__), None)
    if unknown is not None:
        names = tuple(known.__annotations__)
        hint = hint_for(unknown, names, _INSTEAD) or f"its settings are {', '.join(names)}"
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown!r}: {hint}")
    _check_timeout(settings.get("timeout"))
    return {name: value for name, value in settings.items() if name not in _OF_THE_CALL}


def _check_timeout(given: object) -> None:
    if given is not None and not isinstance(given, int | float | Timeouts):
        raise InvalidRequestError(f"timeout must be seconds or a Timeouts, not {shown_kind(given)}")


def client_of(settings: UnarySettings) -> Client:
    """Return the client of *settings*, or the default one."""
    return client_or_default(settings.get("client"))


async def retried(
    send: Callable[..., Awaitable[Result[_Response, LLMError]]],
    request: UnaryRequest,
    settings: UnarySettings,
) -> Result[_Response, LLMError]:
    """Return what *send*, a method of the client, returns for *request*; errors are retried."""
    limits = limits_of(settings.get("timeout"), client_of(settings))
    policy = RetryPolicy(max_retries=settings.get("max_retries", 2))
    return await retry(lambda: send(request, timeouts=limits), policy)


def limits_of(timeout: float | Timeouts | None, client: Client) -> Timeouts | None:
    """Return the limits of each request, of which a number sets `total`; None for the client's."""
    _check_timeout(timeout)
    if timeout is None or isinstance(timeout, Timeouts):
        return timeout
    return evolve(client.timeouts, total=timeout)
