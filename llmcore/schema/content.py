"""Content parts: what a message is made of, in the order it was said."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, Union, cast

from attrs import evolve, field, frozen

from llmcore.schema import json
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonValue, ProviderMetadata, plain, plain_metadata

ToolCallKind = Literal["function", "custom"]
"""`function` takes JSON arguments, `custom` one freeform string."""

CacheTtl = Literal["5m", "1h"]


def _metadata() -> ProviderMetadata:
    """Declare the field for opaque provider data; a part carries it home unchanged."""
    return field(factory=dict, converter=plain_metadata, kw_only=True)


@frozen(kw_only=True)
class Citation:
    """Where a piece of text came from.

    `start_index` and `end_index` count characters of the part's text, end exclusive,
    where the provider places the citation there.
    """

    url: str | None = None
    title: str | None = None
    cited_text: str | None = None
    document_id: str | None = None
    start_index: int | None = None
    end_index: int | None = None
    provider_metadata: ProviderMetadata = _metadata()


@frozen(kw_only=True)
class TokenLogprob:
    """One generated token and the natural logarithm of its probability."""

    token: str
    logprob: float
    top: "tuple[TokenLogprob, ...]" = ()
    """The most likely tokens at this place, if asked for."""


@frozen
class TextPart:
    """Words."""

    text: str
    citations: tuple[Citation, ...] = field(default=(), kw_only=True)
    logprobs: tuple[TokenLogprob, ...] = field(default=(), kw_only=True)
    provider_metadata: ProviderMetadata = _metadata()


@frozen
class ReasoningPart:
    """The model's thinking, and what must be sent back so that it can go on.

    `text` is empty where the provider shows none. `signature` proves the text,
    `encrypted` is data only the provider can read (redacted or encrypted reasoning).
    """

    text: str
    signature: str | None = field(default=None, kw_only=True)
    encrypted: str | None = field(default=None, kw_only=True)
    provider_metadata: ProviderMetadata = _metadata()


def size_of(data: bytes | None) -> str:
    """Return what a repr says of bytes: how many."""
    return f"<{len(data or b'')} bytes>"


@frozen(kw_only=True)
class _Media:
    """Exactly one of a URL (`data:` included), bytes, a local path, a provider's file id.

    A `url` that looks like a local path (`/`, `./`, `../`, `~`) is taken as one. Paths are read by
    the client when the request is prepared; nothing is ever downloaded.
    """

    url: str | None = None
    data: bytes | None = field(default=None, repr=size_of)
    path: str | None = None
    file_id: str | None = None
    file_owner: str | None = None
    """The provider that `file_id` is of, where that is known: requests to others refuse it."""
    media_type: str | None = None
    """MIME type, such as `image/png`; found from the bytes or the name where missing."""
    provider_metadata: ProviderMetadata = _metadata()

    def __attrs_post_init__(self) -> None:
        if self.path is None and self.url is not None and is_local(self.url):
            object.__setattr__(self, "path", self.url)
            object.__setattr__(self, "url", None)
        given = [name for name in _SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            have = " and ".join(given) or "none"
            raise InvalidRequestError(
                f"{type(self).__name__} needs exactly one of url, data, path or file_id; got {have}"
            )
        if self.file_owner is not None and self.file_id is None:
            raise InvalidRequestError("file_owner goes with file_id, and only with it")


_SOURCES = ("url", "data", "path", "file_id")


def is_local(url: str) -> bool:
    """Return whether *url* is a path on this machine, by its first characters."""
    return url.startswith(("/", "./", "../", "~")) and not url.startswith("//")


@frozen(kw_only=True)
class ImagePart(_Media):
    """A picture."""

    detail: Literal["auto", "low", "high", "original"] | None = None
    """How closely to look, where the provider can choose."""


@frozen(kw_only=True)
class AudioPart(_Media):
    """Sound."""

    transcript: str | None = None
    """The words in it, where a model spoke them."""


@frozen(kw_only=True)
class DocumentPart(_Media):
    """A document, such as a PDF or a text file; video goes here too."""

    name: str | None = None
    title: str | None = None
    context: str | None = None
    """What the reader should know about it, where the provider takes that."""
    citations: bool = False
    """Whether answers should cite it, where the provider can."""


def tool_arguments(value: JsonValue) -> JsonValue:
    """Return a copy of *value*; None, which is how some say that there are none, is `{}`."""
    return {} if value is None else plain(value, "arguments")


def parse_arguments(text: str) -> tuple[JsonValue, str | None]:
    """Return tool arguments as JSON, and what is wrong with them (None: nothing).

    Empty text and `null` mean no arguments: `{}`. Text that is not a JSON object is returned
    unchanged, so that nothing is lost and half an object is never taken for a whole one.
    """
    if not text.strip():
        return {}, None
    try:
        value = json.loads_exact(text)
    except ValueError as error:
        return text, f"not JSON ({error})"
    if value is None:
        return {}, None
    if isinstance(value, dict):
        return value, None
    if isinstance(value, str):  # some servers encode the object twice
        inner, problem = parse_arguments(value)
        if problem is None and isinstance(inner, dict):
            return inner, None
    return text, f"a JSON {type(value).__name__}, not an object"


def _spells(raw: str, arguments: JsonValue) -> bool:
    """Return whether *raw* is a text of *arguments*, to the type of each number."""
    return json.canonical(parse_arguments(raw)[0]) == json.canonical(arguments)


@frozen
class ToolCallPart:
    """The model wants a tool run (or, if `provider_executed`, the provider ran it)."""

    id: str
    name: str
    arguments: JsonValue = field(default=None, converter=tool_arguments)
    """The parsed JSON; the raw string of a `custom` tool, or of JSON that does not parse."""
    kind: ToolCallKind = field(default="function", kw_only=True)
    provider_executed: bool = field(default=False, kw_only=True)
    provider_metadata: ProviderMetadata = _metadata()
    raw_arguments: str | None = field(default=None, eq=False, repr=False, kw_only=True)
    """The text that `arguments` were parsed from, for APIs that send arguments as text: it goes
    back unchanged. None where no text came, and where `arguments` are no longer what it says.
    Not compared: the same arguments can be written in many ways."""

    def __attrs_post_init__(self) -> None:
        if (
            self.kind == "function"
            and isinstance(self.arguments, str)
            and not self.arguments.strip()
        ):
            object.__setattr__(self, "arguments", {})  # no arguments, as some servers write them
        if self.raw_arguments is not None and not _spells(self.raw_arguments, self.arguments):
            object.__setattr__(self, "raw_arguments", None)

    @property
    def arguments_text(self) -> str:
        """The arguments as text: as the model wrote them, else as compact JSON."""
        raw = self.raw_arguments
        if raw is not None and raw.lstrip().startswith("{"):
            return raw
        arguments = self.arguments
        return arguments if isinstance(arguments, str) else json.dumps(arguments).decode()

    @property
    def is_valid(self) -> bool:
        """Whether the arguments are what the tool's kind takes: an object, or a string."""
        if self.kind == "custom":
            return isinstance(self.arguments, str)
        return isinstance(self.arguments, Mapping)


@frozen
class RefusalPart:
    """The model's words for why it does not answer."""

    text: str
    provider_metadata: ProviderMetadata = _metadata()


@frozen
class ProviderPart:
    """Anything native that has no neutral form and must be replayed unchanged."""

    provider: str
    data: JsonValue = field(converter=plain)
    provider_metadata: ProviderMetadata = _metadata()


ToolOutputPart: TypeAlias = Union[TextPart, ImagePart, AudioPart, DocumentPart, ProviderPart]
"""What a tool result can hold besides text and JSON."""


def tool_output(value: object) -> "JsonValue | tuple[ToolOutputPart, ...]":
    """Keep parts as a tuple and everything else as plain JSON, so that the two never mix."""
    if isinstance(value, _OUTPUT_PARTS):
        return (value,)
    if isinstance(value, list | tuple) and any(isinstance(item, _OUTPUT_PARTS) for item in value):
        return tuple(_output_part(item) for item in value)
    return () if value == () else plain(value, "tool result")


def _output_part(item: object) -> "ToolOutputPart":
    if isinstance(item, _OUTPUT_PARTS):
        return item
    if isinstance(item, str):
        return TextPart(item)
    raise InvalidRequestError(
        f"a tool result is text, JSON or parts, not parts and a {type(item).__name__}"
    )


@frozen
class ToolResultPart:
    """What a tool returned: text, JSON, or (a tuple of) parts such as images."""

    tool_call_id: str
    content: JsonValue | tuple[ToolOutputPart, ...] = field(default="", converter=tool_output)
    name: str | None = field(default=None, kw_only=True)
    is_error: bool = field(default=False, kw_only=True)
    kind: ToolCallKind = field(default="function", kw_only=True)
    provider_executed: bool = field(default=False, kw_only=True)
    provider_metadata: ProviderMetadata = _metadata()

    @property
    def parts(self) -> "tuple[ToolOutputPart, ...]":
        """The content's parts; empty where the content is text or JSON."""
        content = self.content
        return cast("tuple[ToolOutputPart, ...]", content) if isinstance(content, tuple) else ()


_OUTPUT_PARTS = (TextPart, ImagePart, AudioPart, DocumentPart, ProviderPart)

ContentPart: TypeAlias = Union[
    TextPart,
    ReasoningPart,
    ImagePart,
    AudioPart,
    DocumentPart,
    ToolCallPart,
    ToolResultPart,
    RefusalPart,
    ProviderPart,
]
"""One piece of a message."""

PartInput: TypeAlias = Union[str, ContentPart, Sequence[Union[str, ContentPart]]]
"""What constructors take where parts are wanted: text, a part, or a sequence of them."""


PARTS = (
    TextPart,
    ReasoningPart,
    ImagePart,
    AudioPart,
    DocumentPart,
    ToolCallPart,
    ToolResultPart,
    RefusalPart,
    ProviderPart,
)
"""The classes of `ContentPart`."""


def parts_of(values: Iterable[PartInput]) -> tuple[ContentPart, ...]:
    """Return *values* as one flat tuple of parts; strings become text parts.

    Raises InvalidRequestError for what is neither.
    """
    parts: list[ContentPart] = []
    for value in values:
        if isinstance(value, str):
            parts.append(TextPart(value))
        elif isinstance(value, PARTS):
            parts.append(value)
        elif isinstance(value, Sequence) and not isinstance(value, bytes):
            parts.extend(parts_of(value))
        else:
            raise InvalidRequestError(
                f"content is made of text and content parts, not of a {type(value).__name__}"
            )
    return tuple(parts)


def text_of(parts: Iterable[object]) -> str:
    """Return the text of all text parts among *parts*, joined with nothing between."""
    return "".join(part.text for part in parts if isinstance(part, TextPart))


_CACHE_KEY = "cache"


def cached(part: ContentPart, *, ttl: CacheTtl = "5m") -> ContentPart:
    """Return *part* marked as the end of a prefix worth caching for *ttl*.

    Providers that cache by themselves need no mark and get none.
    """
    return evolve(part, provider_metadata={**part.provider_metadata, _CACHE_KEY: {"ttl": ttl}})


def cache_ttl(part: object) -> CacheTtl | None:
    """Return how long the prefix that ends with *part* is to be cached; None if unmarked.

    A native mark (a provider's `cache_control`) counts too.
    """
    metadata: ProviderMetadata = getattr(part, "provider_metadata", {})
    native = (data.get("cache_control") for data in metadata.values())
    mark = metadata.get(_CACHE_KEY) or next(filter(None, native), None)
    if not mark:
        return None
    return "1h" if isinstance(mark, Mapping) and mark.get("ttl") == "1h" else "5m"
