"""The embedded model: llama.cpp's server and a small model, run by the client itself.

Needs no key and no network. `llmcore local install` puts the default model, SmolLM2-135M, into
place; `pip install 'llmcore-routes[local]'` brings the server.
"""

from pathlib import Path

from attrs import evolve

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import Profile
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route
from llmcore.routes.transport_spec import Embedded
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.model import Model

MAX_TOKENS = 1024
"""The limit where the request states none: small models may never stop."""

DIALECT = evolve(
    COMPATIBLE,
    counts_tokens=True,
    images=False,
    strict_tools=False,
    parallel_tool_calls=False,
    constrained_tools=True,  # small models call tools of their own accord only by luck
    reasoning_effort="none",
)
PROFILE = Profile.of_listed("local", base_url="http://local/v1", dialect=DIALECT)


@frozen(init=False)
class Local(ConfigurableProvider):
    """The embedded model, without a key or a network: `Local().model()` is a model.

    The client starts it on first use and stops it.
    """

    chat_route: Route
    """The route of all models."""

    def __init__(
        self,
        *,
        model_path: str | Path | None = None,
        context_tokens: int = 4096,
        threads: int = 1,
        parallel: int = 1,
    ) -> None:
        """Configure the embedded server.

        `model_path` is a GGUF file (default: the installed SmolLM2), `context_tokens` what
        prompt and response share, `parallel` how many requests run at once.
        """
        counts = {"context_tokens": context_tokens, "threads": threads, "parallel": parallel}
        for name, count in counts.items():
            if count < 1:
                raise ConfigurationError(f"{name} must be at least 1, not {count}")
        server = Embedded(
            model_path=None if model_path is None else Path(model_path),
            context_tokens=context_tokens,
            threads=threads,
            parallel=parallel,
        )
        limit = min(MAX_TOKENS, max(context_tokens // 2, 1))
        profile = evolve(PROFILE, dialect=evolve(DIALECT, default_max_tokens=limit))
        self._set_fields(chat_route=profile.route().with_(transport=server))

    def chat(self, model_id: str = "smollm2-135m-instruct") -> Model:
        """Return the embedded model; its id is a label."""
        return self.chat_route.model(model_id)

    def model(self, model_id: str = "smollm2-135m-instruct") -> Model:
        """Return the embedded model; its id is a label."""
        return self.chat_route.model(model_id)
