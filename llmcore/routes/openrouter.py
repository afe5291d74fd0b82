"""OpenRouter, a gateway to the models of others.

Documents, read November 2026:
https://openrouter.ai/docs/api/api-reference/chat/create-a-chat-completion,
https://openrouter.ai/docs/guides/routing/provider-selection, https://openrouter.ai/docs/guides/
routing/model-fallbacks, https://openrouter.ai/docs/guides/best-practices/reasoning-tokens,
https://openrouter.ai/docs/use-cases/usage-accounting (always on, and with it the cost),
https://openrouter.ai/docs/app-attribution, https://openrouter.ai/docs/features/prompt-caching.
Key: OPENROUTER_API_KEY.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, get_args

from attrs import asdict, evolve, field

from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.routes.auth import Auth
from llmcore.routes.chat_provider import ChatProvider, Profile
from llmcore.routes.defaults import RouteDefaults, checked_headers
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_checked_arguments
from llmcore.schema.json import JsonObject, present
from llmcore.schema.options import merge_json

PROVIDER: Final = "openrouter"
DIALECT = ChatDialect(
    valid_arguments=True,
    audio_formats=frozenset({"wav", "mp3", "flac", "m4a", "ogg", "aiff", "aac", "pcm16", "pcm24"}),
    file_urls=True,
    videos=True,
    tool_result_images=True,
    custom_tools=False,
    unsupported=frozenset({"prompt_cache_retention"}),
    stream_usage=False,  # "has no effect. Full usage details are always included."
    reasoning_effort="reasoning",
    reasoning_field="reasoning_details",
    reasoning_replay="accepted",
    cache_control=True,
    auto_cache_models=r"~?anthropic/.*",
)

# -- routing

Sort = Literal["price", "throughput", "latency", "exacto"]
DataCollection = Literal["allow", "deny"]


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ConfigurationError(f"give a sequence such as [{names!r}], and not a text")
    return tuple(names)


def _one_of(choices: Any) -> Any:
    known = get_args(choices)

    def check(_instance: object, attribute: Any, value: object) -> None:
        if value is not None and value not in known:
            raise ConfigurationError(f"{attribute.name} {value!r} is none of {', '.join(known)}")

    return check


@with_checked_arguments()
@frozen(kw_only=True)
class OpenRouterRouting:
    """Which of OpenRouter's providers may serve a request, and in which order.

    Providers are named by their slugs, such as `anthropic` or `deepinfra/turbo`. What is unset
    is left to OpenRouter.
    """

    order: tuple[str, ...] = field(default=(), converter=_names)
    """The upstream providers that are tried first, in this order."""
    only: tuple[str, ...] = field(default=(), converter=_names)
    """The upstream providers that may answer."""
    ignore: tuple[str, ...] = field(default=(), converter=_names)
    """The upstream providers that may not."""
    allow_fallbacks: bool | None = None
    """Whether others are tried where these fail."""
    require_parameters: bool | None = None
    """Whether a provider must take every parameter of the request."""
    data_collection: DataCollection | None = field(default=None, validator=_one_of(DataCollection))
    """Whether providers may keep prompts, and train on them."""
    zdr: bool | None = None
    """Whether only providers with zero data retention may answer."""
    enforce_distillable_text: bool | None = None
    """Whether only models may answer whose text may be used for training other models."""
    quantizations: tuple[str, ...] = field(default=(), converter=_names)
    """The quantizations that are allowed, such as `fp8`."""
    sort: Sort | None = field(default=None, validator=_one_of(Sort))
    """The property to sort by; without it, choice is random, weighted by price and outages."""
    max_price: Mapping[str, float] = field(factory=dict)
    """The most to pay, in dollars per million tokens: `prompt`, `completion`; or for each
    `request` and `image`."""

    def to_json(self) -> JsonObject:
        """Return the native object, what is unset left out."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value not in (None, (), {})
        }


# -- the facade


class OpenRouter(ChatProvider):
    """OpenRouter: `OpenRouter().model("anthropic/claude-sonnet-4.5")` is a model.

    The key is `api_key`, or else that of OPENROUTER_API_KEY. Documents: https://openrouter.ai/docs.
    """

    profile = Profile.of_listed(
        PROVIDER,
        base_url="https://openrouter.ai/api/v1",
        dialect=DIALECT,
    )

    def __init__(
        self,
        *,
        api_key: str | None = None,
        auth: Auth | None = None,
        base_url: str | None = None,
        routing: OpenRouterRouting | None = None,
        fallback_models: Sequence[str] = (),
        plugins: Sequence[JsonObject] = (),
        referer: str | None = None,
        title: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure OpenRouter; everything has a default.

        `fallback_models` are tried, in order, where the request's own model fails; `plugins` are
        native objects such as `{"id": "web"}`. Both, like `routing`, are what a request's
        `provider_options["openrouter"]` is laid over. `referer` (the address) and `title` name
        your application in OpenRouter's rankings.
        """
        named = {"http-referer": referer, "x-openrouter-title": title}
        app_headers = present(named)
        super().__init__(
            api_key=api_key,
            auth=auth,
            base_url=base_url,
            headers={**app_headers, **checked_headers(headers)},
            query=query,
            defaults=_with_options(
                defaults or RouteDefaults(), _options(routing, fallback_models, plugins)
            ),
        )


def _options(
    routing: OpenRouterRouting | None, models: Sequence[str], plugins: Sequence[JsonObject]
) -> JsonObject:
    given: dict[str, Any] = {
        "provider": {} if routing is None else routing.to_json(),
        "models": list(_names(models)),
        "plugins": list(plugins),
    }
    return {name: value for name, value in given.items() if value}


def _with_options(defaults: RouteDefaults, options: JsonObject) -> RouteDefaults:
    """Return *defaults* with *options* below those that they hold already."""
    if not options:
        return defaults
    above = defaults.provider_options.get(PROVIDER, {})
    merged = {**defaults.provider_options, PROVIDER: merge_json(options, above, keep_none=True)}
    return evolve(defaults, provider_options=merged)
