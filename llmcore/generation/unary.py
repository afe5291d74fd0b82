"""The settings that all unary calls of models have, and the retries of such a call."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypedDict, TypeVar

from llmcore.client.byte_stream import ByteStream
from llmcore.client.client import Client
from llmcore.generation.default_client import AnyClient, client_or_default
from llmcore.generation.retry import RetryPolicy, retry
from llmcore.generation.setting_checks import INSTEAD_IN_CALLS, check_timeout, refuse_unknown
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import LLMError
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
    **INSTEAD_IN_CALLS,
    "response_format": "output_format",
    **dict.fromkeys(
        ("extra_body", "options", "encoding_format"), "write provider_options={PROVIDER: {...}}"
    ),
}


def request_fields(
    function: str, known: type[UnarySettings], settings: UnarySettings
) -> dict[str, Any]:
    """Return the settings that are fields of the request.

    *known* declares the settings of *function*; TypeError for one that it does not have.
    InvalidRequestError for a timeout of another type.
    """
    refuse_unknown(function, settings, tuple(known.__annotations__), _INSTEAD)
    check_timeout(settings.get("timeout"))
    return {name: value for name, value in settings.items() if name not in _OF_THE_CALL}


def client_of(settings: UnarySettings) -> Client:
    """Return the client of *settings*, or the default one."""
    return client_or_default(settings.get("client"))


async def retried(
    send: Callable[..., Awaitable[Result[_Response, LLMError]]],
    request: UnaryRequest,
    settings: UnarySettings,
) -> Result[_Response, LLMError]:
    """Return the response of *send*, a method of the client, to *request*; errors are retried."""
    limits = client_of(settings).timeouts_for(request, settings.get("timeout"))
    policy = RetryPolicy(max_retries=settings.get("max_retries", 2))
    return await retry(lambda: send(request, timeouts=limits), policy)
