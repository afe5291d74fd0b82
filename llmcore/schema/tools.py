"""Definitions of tools, and tool choice."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, Self, TypeAlias, Union, runtime_checkable

from attrs import field

from llmcore.schema.chat_form import function_of
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import is_text, shown_kind, with_call_hints, with_names_of_others
from llmcore.schema.json import (
    JsonObject,
    JsonValue,
    ProviderMetadata,
    plain_metadata,
    plain_object,
    present,
)
from llmcore.schema.pydantic_hooks import for_pydantic
from llmcore.schema.secret_names import redacted_json

MAX_TOOL_NAME_LENGTH = 512
"""In characters. APIs allow fewer; names that an API rejects are replaced in its requests."""


def check_tool_name(name: str) -> str:
    """Return *name*. Raises InvalidRequestError unless it is text of 1 to 512 characters."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_TOOL_NAME_LENGTH:
        raise InvalidRequestError(
            f"tool name {name!r} must be text of 1 to {MAX_TOOL_NAME_LENGTH} characters"
        )
    return name


def _parameters(schema: object) -> JsonObject:
    """Return a copy of *schema*, checked to have an object at its root; None: no parameters."""
    copy = plain_object(schema, "parameters")
    if not copy:
        return {"type": "object", "properties": {}}
    root = copy
    seen: set[str] = set()
    while isinstance(reference := root.get("$ref"), str) and reference not in seen:
        seen.add(reference)
        target = _resolve(copy, reference)
        if target is None:
            raise InvalidRequestError(
                f"parameters contain a reference to {reference[:100]!r}, which they do not define"
            )
        root = target
    if root.get("type") != "object":
        raise InvalidRequestError(
            f"parameters must be a JSON Schema of type 'object', not {root.get('type')!r}: write "
            "{'type': 'object', 'properties': {...}}"
        )
    return copy


def _resolve(schema: JsonObject, reference: str) -> JsonObject | None:
    """Return the schema that a local reference (`#/$defs/Name`) points to; None if missing."""
    target: JsonValue = schema
    for step in reference.removeprefix("#").strip("/").split("/"):
        if not isinstance(target, Mapping):
            return None
        target = target.get(step.replace("~1", "/").replace("~0", "~"))
    return target if isinstance(target, Mapping) else None


@with_call_hints(
    input_schema="parameters", schema="parameters", parameters_json_schema="parameters"
)
@for_pydantic
@frozen
class ToolDefinition:
    """A function the model may call with JSON arguments, and that your program runs."""

    name: str = field(converter=check_tool_name)
    """The name that the model calls it by."""
    description: str = field(default="", validator=is_text)
    """Its description for the model."""
    parameters: JsonObject = field(default=None, converter=_parameters)
    """The JSON Schema of its arguments, whose root is an object; None or `{}` for no arguments."""
    strict: bool | None = field(default=None, kw_only=True)
    """Whether the provider enforces the schema; None is the provider's default."""
    cache: Literal["5m", "1h"] | None = field(default=None, kw_only=True)
    """Marks the end of a prefix of tools to be cached for this time."""
    provider_metadata: ProviderMetadata = field(
        factory=dict, converter=plain_metadata, kw_only=True
    )
    """Fields of one provider's definitions only, such as `defer_loading` of Anthropic's."""


@with_call_hints()
@for_pydantic
@frozen(kw_only=True)
class Grammar:
    """A grammar that a freeform tool's input must match."""

    syntax: Literal["lark", "regex"]
    """The notation of the definition."""
    definition: str
    """The grammar."""


@with_call_hints()
@for_pydantic
@frozen
class CustomTool:
    """A tool whose input is one freeform string, constrained by *grammar* if given."""

    name: str = field(converter=check_tool_name)
    """The name that the model calls it by."""
    description: str = field(default="", validator=is_text)
    """Its description for the model."""
    grammar: Grammar | None = field(default=None, kw_only=True)
    """The grammar of its input; None allows any text."""
    provider_metadata: ProviderMetadata = field(
        factory=dict, converter=plain_metadata, kw_only=True
    )
    """Fields of one provider's definitions only, such as `async` of OpenAI's."""


HostedToolKind = Literal[
    "web_search",
    "web_fetch",
    "file_search",
    "code_execution",
    "computer_use",
    "mcp",
    "shell",
    "text_editor",
    "image_generation",
    "tool_search",
    "memory",
    "maps",
    "raw",
]


@with_call_hints()
@for_pydantic
@frozen(kw_only=True)
class HostedTool:
    """A tool that the provider defines and usually runs.

    Each kind has a constructor with the options that providers share; `options` has the
    others by their native names. A protocol without such a tool reports a Diagnostic. `raw` sends
    a native definition unchanged.
    """

    kind: HostedToolKind
    """The tool, such as `web_search`; `raw` for a native definition."""
    options: JsonObject = field(
        factory=dict, converter=plain_object, repr=lambda options: repr(redacted_json(options))
    )
    """The tool's settings."""
    provider: str | None = None
    """For `raw`: the provider of the definition; it is omitted for other providers."""

    @classmethod
    @with_call_hints()
    def web_search(
        cls,
        *,
        max_uses: int | None = None,
        allowed_domains: tuple[str, ...] = (),
        blocked_domains: tuple[str, ...] = (),
        user_location: JsonObject | None = None,
        **options: JsonValue,
    ) -> Self:
        """Search the web."""
        return cls._of(
            "web_search",
            options,
            max_uses=max_uses,
            allowed_domains=list(allowed_domains) or None,
            blocked_domains=list(blocked_domains) or None,
            user_location=user_location,
        )

    @classmethod
    @with_call_hints()
    def web_fetch(cls, *, max_uses: int | None = None, **options: JsonValue) -> Self:
        """Read web pages by URL."""
        return cls._of("web_fetch", options, max_uses=max_uses)

    @classmethod
    @with_call_hints()
    def file_search(
        cls,
        *,
        vector_store_ids: tuple[str, ...] = (),
        max_results: int | None = None,
        **options: JsonValue,
    ) -> Self:
        """Search stored files."""
        return cls._of(
            "file_search",
            options,
            vector_store_ids=list(vector_store_ids) or None,
            max_results=max_results,
        )

    @classmethod
    @with_call_hints()
    def code_execution(cls, *, container: JsonValue = None, **options: JsonValue) -> Self:
        """Run code in the provider's sandbox."""
        return cls._of("code_execution", options, container=container)

    @classmethod
    @with_call_hints()
    def computer_use(
        cls,
        *,
        display_width: int,
        display_height: int,
        environment: str | None = None,
        **options: JsonValue,
    ) -> Self:
        """Operate a computer by screenshots, mouse and keyboard; the caller runs the actions."""
        return cls._of(
            "computer_use",
            options,
            display_width=display_width,
            display_height=display_height,
            environment=environment,
        )

    @classmethod
    @with_call_hints()
    def mcp(
        cls,
        *,
        server_label: str,
        server_url: str | None = None,
        authorization: str | None = None,
        allowed_tools: tuple[str, ...] = (),
        **options: JsonValue,
    ) -> Self:
        """Use the tools of a remote MCP server, which the provider calls."""
        return cls._of(
            "mcp",
            options,
            server_label=server_label,
            server_url=server_url,
            authorization=authorization,
            allowed_tools=list(allowed_tools) or None,
        )

    @classmethod
    @with_call_hints()
    def shell(cls, **options: JsonValue) -> Self:
        """Run shell commands; the caller runs them if the provider does not."""
        return cls._of("shell", options)

    @classmethod
    @with_call_hints()
    def text_editor(cls, **options: JsonValue) -> Self:
        """View and edit files; the caller runs the edits."""
        return cls._of("text_editor", options)

    @classmethod
    @with_call_hints()
    def image_generation(cls, **options: JsonValue) -> Self:
        """Generate images."""
        return cls._of("image_generation", options)

    @classmethod
    @with_call_hints()
    def tool_search(cls, **options: JsonValue) -> Self:
        """Search among many tools, of which the model sees only those found."""
        return cls._of("tool_search", options)

    @classmethod
    @with_call_hints()
    def memory(cls, **options: JsonValue) -> Self:
        """Keep notes between conversations."""
        return cls._of("memory", options)

    @classmethod
    @with_call_hints()
    def maps(cls, *, user_location: JsonObject | None = None, **options: JsonValue) -> Self:
        """Look up places on a map, near a `latitude` and `longitude` if given."""
        return cls._of("maps", options, user_location=user_location)

    @classmethod
    @with_call_hints()
    def raw(cls, provider: str, definition: JsonObject) -> Self:
        """Send the native *definition* to *provider* unchanged."""
        return cls(kind="raw", options=definition, provider=provider)

    @classmethod
    def _of(cls, kind: HostedToolKind, options: JsonObject, **shared: JsonValue) -> Self:
        return cls(kind=kind, options={**present(shared), **options})


ToolSpec: TypeAlias = Union[ToolDefinition, CustomTool, HostedTool]
"""Anything a request can offer the model as a tool."""


@runtime_checkable
class HasDefinition(Protocol):
    """A tool that is more than its definition, such as `llmcore.Tool`."""

    @property
    def definition(self) -> ToolSpec:
        """The definition that the model sees."""
        ...


ToolSpecInput: TypeAlias = Union[ToolSpec, HasDefinition, Mapping[str, Any]]
"""A tool, a value that has a definition, or a dict in the form of Chat Completions."""


def as_tool_spec(value: ToolSpecInput) -> ToolSpec:
    """Return *value* as a tool of a request. Raises InvalidRequestError for another type."""
    if isinstance(value, ToolDefinition | CustomTool | HostedTool):
        return value
    if isinstance(value, Mapping):
        function = function_of(value)
        return ToolDefinition(
            name=function["name"],
            description=function.get("description") or "",
            parameters=function.get("parameters"),
            strict=function.get("strict"),
            cache=function.get("cache"),
        )
    if isinstance(value, HasDefinition) and not isinstance(value, type):
        return value.definition
    raise InvalidRequestError(
        "tools must be functions, ToolDefinition, CustomTool or HostedTool values, dicts, or "
        "connected McpServers; "
        f"got {shown_kind(value)}"
    )


@with_call_hints()
@with_names_of_others(
    **dict.fromkeys(("tool", "function", "specific", "name"), "write ToolChoice.named(...)"),
    **dict.fromkeys(("any", "force"), "write ToolChoice.required()"),
)
@for_pydantic
@frozen
class ToolChoice:
    """Whether the model may, must or must not call tools, or which tool it must call.

    `ToolChoice.auto()`, `.required()`, `.none()` or `.named("get_weather")`.
    """

    mode: Literal["auto", "none", "required", "named"]
    """Whether the model may, must or must not call tools, or must call one."""
    tool_name: str | None = None
    """The tool that must be called, for the mode `tool`."""

    def __attrs_post_init__(self) -> None:
        if self.mode not in ("auto", "none", "required", "named"):
            modes = "'auto', 'none', 'required' or 'named'"
            raise InvalidRequestError(
                f"the mode of a tool choice must be {modes}, not {self.mode!r}"
            )
        if (self.mode == "named") != (self.tool_name is not None):
            raise InvalidRequestError("tool_name must be set for the mode 'named', and only for it")

    @classmethod
    def auto(cls) -> Self:
        """Let the model decide."""
        return cls("auto")

    @classmethod
    def none(cls) -> Self:
        """Forbid tool calls; the model still sees the tools."""
        return cls("none")

    @classmethod
    @with_call_hints("write ToolChoice.named(...)")
    def required(cls) -> Self:
        """Require at least one call."""
        return cls("required")

    @classmethod
    @with_call_hints(name="tool_name", tool="tool_name")
    def named(cls, tool_name: str) -> Self:
        """Require a call of this tool."""
        return cls("named", tool_name)


ToolChoiceInput: TypeAlias = Union[
    ToolChoice, Literal["auto", "none", "required"], Mapping[str, object]
]
"""A tool choice, its mode where it names no tool, or a `tool_choice` of the Chat Completions API
that names a function."""


def as_tool_choice(value: ToolChoiceInput | None) -> ToolChoice | None:
    """Return *value* as a tool choice: a mode, or a function as the Chat Completions API names it.

    Raises InvalidRequestError for another word or mapping.
    """
    match value:
        case {"type": "function", "function": {"name": str(name)}}:
            return ToolChoice.named(name)
        case "any" | {"type": "any"}:
            raise InvalidRequestError("tool_choice: write 'required' if any tool must be called")
        case Mapping():
            raise InvalidRequestError(
                "tool_choice must be a ToolChoice, such as ToolChoice.named('get_weather'), or "
                '{"type": "function", "function": {"name": ...}}'
            )
    if not isinstance(value, str):
        return value
    if value not in ("auto", "none", "required"):
        raise InvalidRequestError(
            "tool_choice must be 'auto', 'none', 'required' or a ToolChoice, such as "
            f"ToolChoice.named({value!r})"
        )
    return ToolChoice(value)
