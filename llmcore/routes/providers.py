"""All providers that come with llmcore, as a table: ids, classes, variables, documents.

The order is that in which `Client.from_env()` looks for them, and the first found is its default:
first the makers of models (OpenAI, Anthropic and Google before the others), then those who host
the models of others, after them the clouds whose variables may be there for other reasons, then
servers that users run, which are found by the variable with their address.

A package of yours can add its own: an entry point in the group `llmcore.providers` that
names a `ProviderEntry`.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final, Protocol, cast

from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest


class ModelSource(Protocol):
    """The interface that a configured provider must have: facades and routes have it."""

    def model(self, model_id: str) -> Model:
        """Return the model *model_id*, with its route."""
        ...


@frozen(kw_only=True)
class ProviderEntry:
    """One provider: where its class is and what configures it."""

    id: str
    """Its id, as in `provider:model`."""
    home: str
    """The class, as `package.module:Class`. It has a class method `configure`, every
    argument of which has a default."""
    docs: str
    """The provider's own documents."""
    key_variables: tuple[str, ...] = ()
    """Variables that may hold the key; the first that is set counts."""
    needs_key: bool = True
    """Whether a key is required."""
    other_switches: tuple[str, ...] = ()
    """Variables that show that there is another way to sign than a key."""
    key_parts: tuple[str, ...] = ()
    """Variables that complete the credentials in one of these."""
    base_url_variable: str | None = None
    """The variable that may hold another base URL."""
    settings: tuple[tuple[str, str], ...] = ()
    """Further arguments of `configure`, each with the variable that it is taken from."""
    protocols: tuple[str, ...] = ("openai-chat",)
    """Ids of its protocols, that of `model` first."""
    read_later: tuple[str, ...] = ()
    """Variables of the address, such as an account, that are read when a request is prepared."""
    chooses_api: bool = False
    """Whether its `model` chooses the API by the model's name."""
    login: str | None = None
    """The command that logs in, where that does instead of a key."""
    note: str = ""
    """Further information for the table in the docs."""
    only_own_models: bool = False
    """Whether it serves no models of other makers."""

    @property
    def switches(self) -> tuple[str, ...]:
        """The variables of which one must be set for the provider to be found."""
        if self.needs_key:
            return self.key_variables + self.other_switches
        return () if self.base_url_variable is None else (self.base_url_variable,)

    @property
    def works_without_variables(self) -> bool:
        """Whether it needs no key, or its own login does instead."""
        return not self.needs_key or self.login is not None

    def is_configured(self, environ: Mapping[str, str]) -> bool:
        """Return whether *environ* sets all that the provider needs."""
        return any(environ.get(name, "").strip() for name in self.switches)

    def load(self) -> Callable[..., ModelSource]:
        """Import the class and return its `configure`; ConfigurationError if it does not exist."""
        module, _, name = self.home.partition(":")
        try:
            configure: Callable[..., ModelSource] = getattr(import_module(module), name).configure
        except (ImportError, AttributeError, ValueError) as error:
            message = f"the provider {self.id!r} has no class with `configure` at {self.home!r}"
            raise ConfigurationError(message, provider=self.id, cause=error) from error
        return configure

    def api_of(self, protocol: str) -> str:
        """Return the API of *protocol*, as in `split_api`; empty if the id alone means it."""
        api = _APIS_OF_PROTOCOLS.get(protocol, "")
        usual = protocol in self.protocols[:1] or protocol not in self.protocols
        return "" if usual or self.chooses_api else api

    def from_environ(self, environ: Mapping[str, str]) -> ModelSource:
        """Return the provider, configured by *environ*. Keys are looked up when they are used.

        Raises ConfigurationError, naming the variables, for invalid values.
        """
        named = dict(self.settings)
        if self.base_url_variable is not None:
            named["base_url"] = self.base_url_variable
        given = {argument: environ.get(name, "").strip() for argument, name in named.items()}
        arguments = {argument: value for argument, value in given.items() if value}
        try:
            return self.load()(**arguments)
        except ConfigurationError as error:
            source = ", ".join(named[argument] for argument in arguments)
            message = f"{error.message} (from {source})" if source else error.message
            raise ConfigurationError(message, provider=self.id, cause=error) from error


def _chat_provider(id: str, name: str, docs: str, *keys: str, **facts: Any) -> ProviderEntry:
    """Return the entry of the class *name* in `chat_providers`, with *keys* as `key_variables`."""
    home = f"llmcore.routes.chat_providers:{name}"
    return ProviderEntry(id=id, home=home, docs=docs, key_variables=keys, **facts)


def _own_server(id: str, name: str, docs: str, key: str) -> ProviderEntry:
    """Return the entry of a server that users run, of the class *name* in `chat_servers`."""
    return ProviderEntry(
        id=id,
        home=f"llmcore.routes.chat_servers:{name}",
        docs=docs,
        key_variables=(key,),
        needs_key=False,
        base_url_variable=f"{id.upper()}_BASE_URL",
        note="your own server",
    )


PROVIDERS: Final = (
    ProviderEntry(
        id="openai",
        home="llmcore.routes.openai:OpenAI",
        docs="https://platform.openai.com/docs/api-reference",
        key_variables=("OPENAI_API_KEY",),
        base_url_variable="OPENAI_BASE_URL",
        settings=(("organization", "OPENAI_ORG_ID"), ("project", "OPENAI_PROJECT_ID")),
        protocols=("openai-responses", "openai-chat"),
        only_own_models=True,
    ),
    ProviderEntry(
        id="anthropic",
        home="llmcore.routes.anthropic:Anthropic",
        docs="https://platform.claude.com/docs/en/api/overview",
        key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        base_url_variable="ANTHROPIC_BASE_URL",
        protocols=("anthropic-messages",),
        only_own_models=True,
    ),
    ProviderEntry(
        id="google",
        home="llmcore.routes.google:Google",
        docs="https://ai.google.dev/api",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        base_url_variable="GEMINI_BASE_URL",
        protocols=("gemini",),
        only_own_models=True,
    ),
    ProviderEntry(
        id="mistral",
        home="llmcore.routes.mistral:Mistral",
        docs="https://docs.mistral.ai/api/",
        key_variables=("MISTRAL_API_KEY",),
        protocols=("openai-chat", "openai-responses"),
        only_own_models=True,
    ),
    _chat_provider(
        "deepseek",
        "DeepSeek",
        "https://api-docs.deepseek.com",
        "DEEPSEEK_API_KEY",
        only_own_models=True,
    ),
    ProviderEntry(
        id="xai",
        home="llmcore.routes.xai:XAI",
        docs="https://docs.x.ai",
        key_variables=("XAI_API_KEY",),
        protocols=("openai-chat", "openai-responses"),
        only_own_models=True,
    ),
    _chat_provider(
        "moonshot",
        "Moonshot",
        "https://platform.kimi.ai/docs",
        "MOONSHOT_API_KEY",
        only_own_models=True,
    ),
    _chat_provider(
        "zai",
        "ZAI",
        "https://docs.z.ai",
        "ZAI_API_KEY",
        base_url_variable="ZAI_BASE_URL",
        only_own_models=True,
    ),
    _chat_provider("perplexity", "Perplexity", "https://docs.perplexity.ai", "PERPLEXITY_API_KEY"),
    ProviderEntry(
        id="azure",
        home="llmcore.routes.azure:Azure",
        docs="https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
        key_variables=("AZURE_OPENAI_API_KEY",),
        base_url_variable="AZURE_OPENAI_ENDPOINT",
        settings=(("api_version", "OPENAI_API_VERSION"),),
        protocols=("openai-responses", "openai-chat"),
        note="deployments, and Foundry models",
    ),
    ProviderEntry(
        id="openrouter",
        home="llmcore.routes.openrouter:OpenRouter",
        docs="https://openrouter.ai/docs",
        key_variables=("OPENROUTER_API_KEY",),
        base_url_variable="OPENROUTER_BASE_URL",
        settings=(("referer", "OPENROUTER_HTTP_REFERER"), ("title", "OPENROUTER_X_TITLE")),
        note="a gateway to many",
    ),
    _chat_provider("groq", "Groq", "https://console.groq.com/docs", "GROQ_API_KEY"),
    _chat_provider("together", "Together", "https://docs.together.ai", "TOGETHER_API_KEY"),
    _chat_provider("fireworks", "Fireworks", "https://docs.fireworks.ai", "FIREWORKS_API_KEY"),
    _chat_provider(
        "cerebras", "Cerebras", "https://inference-docs.cerebras.ai", "CEREBRAS_API_KEY"
    ),
    _chat_provider("baseten", "Baseten", "https://docs.baseten.co", "BASETEN_API_KEY"),
    _chat_provider(
        "deepinfra",
        "DeepInfra",
        "https://docs.deepinfra.com",
        "DEEPINFRA_API_KEY",
        "DEEPINFRA_TOKEN",
    ),
    _chat_provider(
        "huggingface", "HuggingFace", "https://huggingface.co/docs/inference-providers", "HF_TOKEN"
    ),
    ProviderEntry(
        id="github-copilot",
        home="llmcore.routes.github_copilot:GithubCopilot",
        docs="https://docs.github.com/en/copilot",
        key_variables=("GITHUB_COPILOT_TOKEN",),
        login="llmcore login github-copilot",
        protocols=("openai-chat", "openai-responses", "anthropic-messages"),
        note="subscriptions",
    ),
    ProviderEntry(
        id="bedrock",
        home="llmcore.routes.amazon_bedrock:AmazonBedrock",
        docs="https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        other_switches=("AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
        key_parts=("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        protocols=("bedrock-converse", "openai-chat", "openai-responses", "anthropic-messages"),
        note="extra `bedrock` for AWS credentials",
        read_later=("AWS_REGION", "AWS_DEFAULT_REGION"),
    ),
    ProviderEntry(
        id="vertex",
        home="llmcore.routes.vertex:Vertex",
        docs="https://docs.cloud.google.com/vertex-ai/generative-ai/docs",
        other_switches=("GOOGLE_CLOUD_PROJECT",),
        protocols=("gemini", "anthropic-messages", "openai-chat", "openai-responses"),
        chooses_api=True,
        note="Gemini, partners' and open models; extra `vertex`",
        read_later=("GOOGLE_CLOUD_LOCATION",),
    ),
    ProviderEntry(
        id="cloudflare-ai-gateway",
        home="llmcore.routes.cloudflare:CloudflareAIGateway",
        docs="https://developers.cloudflare.com/ai-gateway",
        key_variables=("CF_AIG_TOKEN",),
        settings=(("gateway", "CLOUDFLARE_GATEWAY_ID"),),
        note="a gateway to many",
        read_later=("CLOUDFLARE_ACCOUNT_ID",),
    ),
    ProviderEntry(
        id="cloudflare-workers-ai",
        home="llmcore.routes.cloudflare:CloudflareWorkersAI",
        docs="https://developers.cloudflare.com/workers-ai",
        key_variables=("CLOUDFLARE_API_TOKEN",),
        read_later=("CLOUDFLARE_ACCOUNT_ID",),
    ),
    _own_server(
        "ollama", "Ollama", "https://docs.ollama.com/api/openai-compatibility", "OLLAMA_API_KEY"
    ),
    _own_server("vllm", "VLLM", "https://docs.vllm.ai", "VLLM_API_KEY"),
    _own_server("lmstudio", "LMStudio", "https://lmstudio.ai/docs/developer", "LM_API_TOKEN"),
    _own_server(
        "llamacpp",
        "LlamaCpp",
        "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        "LLAMA_API_KEY",
    ),
    ProviderEntry(
        id="local",
        home="llmcore.routes.local:Local",
        docs="https://pypi.org/project/xllamacpp/",
        needs_key=False,
        note="a small model on this machine; extra `local`",
    ),
)
"""Every provider that generates, in the order in which they are looked for."""

RETRIEVAL_PROVIDERS: Final = (
    ProviderEntry(
        id="cohere",
        home="llmcore.routes.retrieval:Cohere",
        docs="https://docs.cohere.com/reference/embed",
        key_variables=("COHERE_API_KEY", "CO_API_KEY"),
        protocols=(),
    ),
    ProviderEntry(
        id="voyage",
        home="llmcore.routes.retrieval:Voyage",
        docs="https://docs.voyageai.com/reference/embeddings-api",
        key_variables=("VOYAGE_API_KEY",),
        protocols=(),
    ),
    ProviderEntry(
        id="jina",
        home="llmcore.routes.retrieval:Jina",
        docs="https://jina.ai/embeddings",
        key_variables=("JINA_API_KEY",),
        protocols=(),
    ),
)
"""Providers of embeddings and rankings alone, which come after those that generate."""

LISTED: Final = {entry.id: entry for entry in (*PROVIDERS, *RETRIEVAL_PROVIDERS)}
"""All of them by their ids."""

_APIS: Final = ("chat", "responses-websocket", "responses", "messages", "invoke")
"""The APIs that the name of a provider may end with; facades have a method for each."""
_APIS_OF_PROTOCOLS: Final = {
    "openai-chat": "chat",
    "openai-responses": "responses",
    "anthropic-messages": "messages",
}


def split_api(name: str) -> tuple[str, str]:
    """Return the provider and the API of *name*, such as `openai-chat`; no API for `openai`."""
    for api in _APIS:
        if name.endswith(f"-{api}"):
            return name.removesuffix(f"-{api}"), api
    return name, ""


def model_over(provider: ModelSource, api: str, model_id: str) -> Model | None:
    """Return the model *model_id* over *api* of `split_api`; None if *provider* lacks that."""
    method = getattr(provider, api.replace("-", "_") or "model", None)
    return None if method is None else cast("Model", method(model_id))


_OPTION_KEYS: Final = LISTED.keys() | {"gemini"}


def unknown_option_keys(request: LLMRequest, *own: str) -> Iterator[Diagnostic]:
    """Yield a note for each id in `provider_options` that is neither in *own* nor a provider's."""
    for key in request.provider_options:
        if key in _OPTION_KEYS or key in own:
            continue
        from difflib import get_close_matches  # hardly ever needed

        near = get_close_matches(key.lower(), {*_OPTION_KEYS, *own}, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"the request goes to {own[0]!r}"
        yield Diagnostic(
            "unknown-provider",
            f"provider_options.{key}",
            action="noted",
            message=f"there is no provider {key!r}, so its options are left out: {hint}",
        )
