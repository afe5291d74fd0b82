"""A model and the route that reaches it."""

from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, Unpack

from attrs import field

from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_names_of_others

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    from llmcore.generation.results import GenerateResult
    from llmcore.generation.settings import Settings
    from llmcore.generation.stream import StreamResult

    Body_co = DefaultTypeVar(
        "Body_co", covariant=True, bound=Mapping[str, Any], default=Mapping[str, Any]
    )
    """The type of a native request body. A `Model` whose API is not known to the type checker
    has a mapping for it, so that the type argument can be omitted."""
else:
    Body_co = TypeVar("Body_co", covariant=True)


def checked_model_id(given: object) -> str:
    """Return *given* if it can be the id of a model; ConfigurationError otherwise."""
    if not isinstance(given, str):
        raise ConfigurationError(f"a model's id is text, not {shown_kind(given)}")
    stripped = given.strip()
    if not stripped:
        raise ConfigurationError("the model's id is empty: give one, such as 'gpt-5.2'")
    if stripped != given:
        raise ConfigurationError(
            f"the model's id {given!r} begins or ends with whitespace: write {stripped!r}"
        )
    return given


class ConfiguredRoute(Protocol[Body_co]):
    """The attributes of a route that the schema uses; `llmcore.routes.Route` has them."""

    @property
    def id(self) -> str:
        """The route's id, such as `openai-chat`."""
        ...

    @property
    def provider(self) -> str:
        """The provider's id, such as `openai`."""
        ...


@with_names_of_others(
    **dict.fromkeys(
        (
            "invoke",
            "ainvoke",
            "complete",
            "acomplete",
            "run",
            "ask",
            "chat",
            "prompt",
            "create",
            "predict",
            "run_sync",
        ),
        "write `await model.generate(prompt)`, or `llmcore.sync.generate(model, prompt)`",
    ),
    generate_object="write llmcore.generate_object(model, prompt, schema=...)",
    with_structured_output="write llmcore.generate_object(model, prompt, schema=...)",
    bind_tools="write llmcore.generate(model, prompt, tools=[...])",
    batch="write llmcore.generate_many(model, prompts)",
    name="write `.id`",
    count_tokens="write client.count_tokens(request(model=..., prompt=...))",
    embed="write llmcore.embed(model, text)",
    **dict.fromkeys(
        ("info", "context_window", "prices", "capabilities"),
        "write get_model_info(model.id, model.provider), of llmcore.catalog",
    ),
)
@frozen
class Model(Generic[Body_co]):
    """A model id, its provider's id, and the configured route that reaches it.

    Its parameter is the type of the native body that its route sends: a `Model[MessagesBody]`
    prepares a `PreparedRequest[MessagesBody]`.

    The route holds credentials, so it is not part of the value's JSON, repr or equality;
    a model read back from JSON is resolved by the client's configured providers.
    """

    id: str
    """The provider's id of the model."""
    provider: str
    """The provider's id."""
    route: ConfiguredRoute[Body_co] | None = field(default=None, eq=False, repr=False, kw_only=True)
    """How requests reach the model; None for a model that is only named."""

    def generate(
        self, prompt: str | None = None, **settings: "Unpack[Settings]"
    ) -> "Coroutine[Any, Any, GenerateResult[None]]":
        """Ask the model: `llmcore.generate(model, prompt, ...)`, whose arguments it takes.

        result = await model.generate("Where is Oslo?", temperature=0)
        """
        from llmcore.generation.generate import generate

        return generate(self, prompt, **settings)

    def stream(self, prompt: str | None = None, **settings: "Unpack[Settings]") -> "StreamResult":
        """Stream the response of the model: `llmcore.stream(model, prompt, ...)`.

        async with model.stream("Where is Oslo?") as stream:
            async for text in stream.text_stream:
                print(text, end="")
        """
        from llmcore.generation.stream import stream

        return stream(self, prompt, **settings)
