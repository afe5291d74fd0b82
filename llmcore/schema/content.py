"""Content parts: the pieces of a message, in order."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import (
    ClassVar,
    Final,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    overload,
)

from attrs import evolve, field, validators

from llmcore.schema import json
from llmcore.schema.changed import copying
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import Hinted, is_text, shown_kind, with_call_hints, with_names_of_others
from llmcore.schema.json import (
    MAX_DEPTH,
    JsonValue,
    ProviderMetadata,
    encodes,
    plain_json,
    plain_metadata,
    tool_arguments,
)
from llmcore.schema.media_sources import path_text, png_of, source_fields, with_source_hints
from llmcore.schema.pydantic_hooks import for_pydantic

ToolCallKind = Literal["function", "custom"]
"""`function` takes JSON arguments, `custom` one freeform string."""

CacheTtl = Literal["5m", "1h"]


def native_metadata() -> ProviderMetadata:
    """Declare the field for opaque provider data, which is sent back unchanged."""
    return field(factory=dict, converter=plain_metadata, kw_only=True)


@with_call_hints()
@for_pydantic
@frozen(kw_only=True)
class Citation:
    """Where a piece of text came from.

    `start_index` and `end_index` count characters of the part's text, end exclusive,
    where the provider places the citation there.
    """

    url: str | None = None
    """The cited web page."""
    title: str | None = None
    """The title of the page or document."""
    cited_text: str | None = None
    """The words that are cited."""
    document_id: str | None = None
    """The cited document, where the provider names one."""
    start_index: int | None = None
    """The index of the first character of the text that cites."""
    end_index: int | None = None
    """The index after the last character of the text that cites."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


@for_pydantic
@frozen(kw_only=True)
class TokenLogprob:
    """One generated token and the natural logarithm of its probability."""

    token: str
    """The token's text."""
    logprob: float
    """The natural logarithm of its probability."""
    top: "tuple[TokenLogprob, ...]" = ()
    """The most likely tokens at this position, if `top_logprobs` was set."""
    data: bytes | None = None
    """The token's own bytes, where the provider has them: a character may span several tokens."""
    id: int | None = None
    """The token's number in the model's vocabulary, where the provider has it."""


@with_call_hints(content="text")
@with_names_of_others()
@for_pydantic
@frozen
class TextPart:
    """A piece of text."""

    text: str
    """The text."""
    citations: tuple[Citation, ...] = field(default=(), kw_only=True)
    """The sources of the text."""
    logprobs: tuple[TokenLogprob, ...] = field(default=(), kw_only=True)
    """The log probability of each token, if requested."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""

    def __attrs_post_init__(self) -> None:
        if type(self.text) is not str and not isinstance(self.text, str):
            raise InvalidRequestError(f"text must be text, not {shown_kind(self.text)}")


@with_call_hints()
@for_pydantic
@frozen
class ReasoningPart:
    """The model's reasoning, with the data that must be sent back for it to continue."""

    text: str = field(validator=is_text)
    """The reasoning, or a summary of it; empty where the provider does not show it."""
    signature: str | None = field(default=None, kw_only=True)
    """The provider's proof of the text, needed to send the reasoning back."""
    encrypted: str | None = field(default=None, kw_only=True)
    """The reasoning in a form that only the provider can read, needed to send it back."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


def size_of(data: bytes | None) -> str:
    """Return the repr of a field of bytes: their number."""
    return f"<{len(data or b'')} bytes>"


@for_pydantic
@frozen(kw_only=True)
class _Media(metaclass=Hinted):
    """Base of media parts: exactly one of a URL (also `data:`), bytes, a local path, a file id.

    A `url` that begins like a local path (`/`, `./`, `../`, `~`, `C:/`) is treated as one. The
    client reads paths when the request is prepared. URLs are never downloaded.
    """

    _instead: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("from_file", "from_path", "from_url", "from_bytes", "from_data", "from_uri"),
        "write .of(...), which takes a path, a URL or bytes",
    )

    url: str | None = None
    """An http(s) or data URL."""
    data: bytes | None = field(default=None, repr=size_of)
    """The content itself."""
    path: str | None = field(default=None, converter=path_text)
    """A local file, which the client reads."""
    file_id: str | None = None
    """The id of a file that the provider stores."""
    file_owner: str | None = None
    """The provider that issued `file_id`, if known; requests to other providers reject it."""
    file_account: str | None = None
    """The account that stores it, if known, as `StoredFile.account` has it; requests of other
    accounts reject it."""
    media_type: str | None = None
    """MIME type, such as `image/png`; if missing, it is detected from the bytes or the name."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""

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
        if not isinstance(self.data, bytes | None):
            kind = type(self.data).__name__
            hint = ": decode it, as with base64.b64decode(...)" * (kind == "str")
            fault = f"the data of {type(self).__name__} must be bytes; got {kind}"
            raise InvalidRequestError(fault + hint)
        for name in ("file_owner", "file_account"):
            if getattr(self, name) is not None and self.file_id is None:
                raise InvalidRequestError(f"{name} can only be set together with file_id")

    @classmethod
    @with_source_hints
    def of(cls, source: object) -> Self:
        """Build a part from a path, a URL or bytes; a part is returned as it is.

        Text that begins like a URL (`https://`, `gs://`, `data:`) is one, any other is a path.
        Raises InvalidRequestError for another type.
        """
        if isinstance(source, cls):
            return source
        given = source_fields(source)
        if given is None:
            kind = type(source).__name__
            raise InvalidRequestError(f"{cls.__name__}.of takes a path, a URL or bytes; got {kind}")
        return cls(**given)


_LOCAL: Final = re.compile(r"""/(?!/) | \.\.?[/\\] | ~ | \\\\ | [A-Za-z]:[/\\]""", re.VERBOSE)
_SOURCES = ("url", "data", "path", "file_id")
_FILE_HINT = "a file is ImagePart.of(...), AudioPart.of(...) or DocumentPart.of(...)"


def is_local(url: str) -> bool:
    """Return whether *url* is a path on this machine, by its first characters."""
    return _LOCAL.match(url) is not None


@with_call_hints(
    "write ImagePart.of(...) with a path, a URL or bytes",
    image_url="url",
    mime_type="media_type",
    base64="write ImagePart(data=base64.b64decode(...))",
    image="write ImagePart.of(...)",
)
@frozen(kw_only=True)
class ImagePart(_Media):
    """An image: `ImagePart.of("photo.png")`, or of a URL, bytes or a PIL image."""

    detail: Literal["auto", "low", "high", "original"] | None = None
    """The resolution at which the model sees it, where the provider has this setting."""

    @classmethod
    @with_source_hints
    def of(cls, source: object) -> Self:
        """Build an image from a path, a URL, bytes, a PIL image or a matplotlib figure.

            ImagePart.of("photo.png"), ImagePart.of(Path("photo.png")), ImagePart.of(b"..."),
            ImagePart.of("https://..."), ImagePart.of(PIL.Image.open(...)), ImagePart.of(figure)

        Text that begins like a URL (`https://`, `gs://`, `data:`) is one, any other is a path.
        PIL images and figures are sent as PNG. Raises InvalidRequestError for another type.
        """
        if isinstance(source, cls):
            return source
        given = source_fields(source)
        return cls(**(given or {"data": png_of(source), "media_type": "image/png"}))


@with_call_hints(
    "write AudioPart.of(...) with a path, a URL or bytes",
    audio_url="url",
    mime_type="media_type",
    base64="write AudioPart(data=base64.b64decode(...))",
)
@frozen(kw_only=True)
class AudioPart(_Media):
    """An audio recording: `AudioPart.of("speech.mp3")`, or of a URL or bytes."""

    transcript: str | None = None
    """The spoken text, if a model generated the audio."""


@with_call_hints(
    "write DocumentPart.of(...) with a path, a URL or bytes",
    document_url="url",
    filename="name",
    file_name="name",
    mime_type="media_type",
    base64="write DocumentPart(data=base64.b64decode(...))",
)
@frozen(kw_only=True)
class DocumentPart(_Media):
    """A document such as a PDF, a text file or a video: `DocumentPart.of("report.pdf")`."""

    name: str | None = None
    """The file name, which some providers show to the model."""
    title: str | None = None
    """The title that citations give."""
    context: str | None = None
    """Background on the document for the model, where the provider has such a field."""
    citations: bool = False
    """Whether responses should cite it, where the provider supports citations."""


@with_call_hints(args="arguments", input="arguments")
@with_names_of_others(function="write `.name` and `.arguments`", args="write `.arguments`")
@for_pydantic
@frozen
class ToolCallPart:
    """A tool call by the model; the caller runs it unless `provider_executed` is set."""

    id: str = field(validator=is_text)
    """The id that the result refers to."""
    name: str = field(validator=is_text)
    """The tool's name."""
    arguments: JsonValue = field(default=None, converter=tool_arguments)
    """The parsed JSON; a string for a `custom` tool and for invalid JSON."""
    kind: ToolCallKind = field(default="function", kw_only=True)
    """Whether the arguments are a JSON object (`function`) or text (`custom`)."""
    provider_executed: bool = field(default=False, kw_only=True)
    """Whether the provider runs the tool itself."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""
    raw_arguments: str | None = field(default=None, eq=False, repr=False, kw_only=True)
    """The text that `arguments` were parsed from, which APIs that send arguments as text get back
    unchanged. None if the provider sent no text, or if it does not match `arguments`.
    Not compared, since the same arguments can be written in many ways."""

    def __attrs_post_init__(self) -> None:
        if (
            self.kind == "function"
            and isinstance(self.arguments, str)
            and not self.arguments.strip()
        ):
            object.__setattr__(self, "arguments", {})  # no arguments, as some servers write them
        if self.raw_arguments is not None and not encodes(self.raw_arguments, self.arguments):
            object.__setattr__(self, "raw_arguments", None)

    @property
    def arguments_text(self) -> str:
        """The arguments as the model wrote them, or as compact JSON if that text is missing."""
        raw = self.raw_arguments
        if raw is not None and raw.lstrip().startswith("{"):
            return raw
        return json.text_or_json(self.arguments)

    @property
    def is_valid(self) -> bool:
        """Whether the arguments have the type of the tool's kind: an object, or a string."""
        if self.kind == "custom":
            return isinstance(self.arguments, str)
        return type(self.arguments) is dict or isinstance(self.arguments, Mapping)


@with_call_hints()
@for_pydantic
@frozen
class RefusalPart:
    """The text with which the model declines to answer."""

    text: str = field(validator=is_text)
    """The model's explanation."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


@with_call_hints()
@for_pydantic
@frozen
class ProviderPart:
    """Native data without a neutral form that must be replayed unchanged."""

    provider: str
    """The provider that understands it."""
    data: JsonValue = field(converter=plain_json)
    """The native content."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


ToolOutputPart: TypeAlias = Union[TextPart, ImagePart, AudioPart, DocumentPart, ProviderPart]
"""The parts that a tool result can contain, apart from text and JSON."""


def tool_output(value: object) -> "JsonValue | tuple[ToolOutputPart, ...]":
    """Return parts as a tuple, anything else as plain JSON; InvalidRequestError for a mixture."""
    if type(value) is str:
        return value
    if isinstance(value, _OUTPUT_PARTS):
        return (value,)
    if isinstance(value, list | tuple) and any(isinstance(item, _OUTPUT_PARTS) for item in value):
        return tuple(_output_part(item) for item in value)
    return () if isinstance(value, tuple) and not value else plain_json(value, "tool result")


def _output_part(item: object) -> "ToolOutputPart":
    if isinstance(item, _OUTPUT_PARTS):
        return item
    if isinstance(item, str):
        return TextPart(item)
    raise InvalidRequestError(
        f"a tool result must be text, JSON or parts; got parts and {shown_kind(item)}"
    )


@with_call_hints(output="content", call_id="tool_call_id", tool_use_id="tool_call_id")
@for_pydantic
@frozen
class ToolResultPart:
    """The result of a tool call: text, JSON, or a tuple of parts such as images."""

    tool_call_id: str = field(validator=is_text)
    """The id of the call."""
    content: JsonValue | tuple[ToolOutputPart, ...] = field(default="", converter=tool_output)
    """The result: text, parts or JSON."""
    name: str | None = field(default=None, kw_only=True, validator=validators.optional(is_text))
    """The tool's name."""
    is_error: bool = field(default=False, kw_only=True)
    """Whether the tool failed."""
    kind: ToolCallKind = field(default="function", kw_only=True)
    """The kind of the call."""
    provider_executed: bool = field(default=False, kw_only=True)
    """Whether the provider ran the tool itself."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""

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
"""The input of constructors of messages: text, a part, or a sequence of them."""

PARTS: Final[tuple[type[ContentPart], ...]] = get_args(ContentPart)
"""The classes of `ContentPart`."""
_NO_TEXT: Final = TextPart("")
_text: Final = copying(TextPart, "text", "provider_metadata")


def parts_of(values: Iterable[PartInput], *, levels: int = MAX_DEPTH) -> tuple[ContentPart, ...]:
    """Return *values* as one flat tuple of parts; strings become text parts.

    Raises InvalidRequestError for what is neither, and for lists nested deeper than *levels*.
    """
    if not levels:
        raise InvalidRequestError(f"content is nested more than {MAX_DEPTH} levels deep")
    parts: list[ContentPart] = []
    for value in values:
        if isinstance(value, str):
            parts.append(_text(_NO_TEXT, value, {}))
        elif isinstance(value, PARTS):
            parts.append(value)
        elif isinstance(value, Sequence) and not isinstance(value, bytes):
            parts.extend(parts_of(value, levels=levels - 1))
        else:
            hint = "give the whole message as a dict" if isinstance(value, Mapping) else _FILE_HINT
            got = f"got {shown_kind(value)}: {hint}"
            raise InvalidRequestError(f"content must be text or content parts; {got}")
    return tuple(parts)


def text_of(parts: Iterable[object]) -> str:
    """Return the texts of all text parts among *parts*, joined without a separator."""
    return "".join(part.text for part in parts if isinstance(part, TextPart))


_CACHE_KEY = "cache"
_Part = TypeVar("_Part", bound=ContentPart)


@overload
def cached(part: str, *, ttl: CacheTtl = "5m") -> TextPart: ...
@overload
def cached(part: _Part, *, ttl: CacheTtl = "5m") -> _Part: ...
@with_call_hints()
def cached(part: ContentPart | str, *, ttl: CacheTtl = "5m") -> ContentPart:
    """Return *part*, or text as one, marked as the end of a prefix worth caching for *ttl*.

    Providers that cache automatically are sent no mark.
    """
    if ttl not in get_args(CacheTtl):
        raise InvalidRequestError(f"ttl must be '5m' or '1h', not {ttl!r}")
    if isinstance(part, str):
        part = TextPart(part)
    return evolve(part, provider_metadata={**part.provider_metadata, _CACHE_KEY: {"ttl": ttl}})


def uncached(part: ContentPart) -> ContentPart:
    """Return *part* without the mark of `cached`."""
    if _CACHE_KEY not in part.provider_metadata:
        return part
    kept = {key: data for key, data in part.provider_metadata.items() if key != _CACHE_KEY}
    return evolve(part, provider_metadata=kept)


def cache_ttl(part: object) -> CacheTtl | None:
    """Return how long to cache the prefix that ends with *part*; None if it is not marked.

    A native mark (a provider's `cache_control`) counts too.
    """
    metadata: ProviderMetadata = getattr(part, "provider_metadata", {})
    native = (data.get("cache_control") for data in metadata.values())
    mark = metadata.get(_CACHE_KEY) or next(filter(None, native), None)
    if not mark:
        return None
    return "1h" if isinstance(mark, Mapping) and mark.get("ttl") == "1h" else "5m"
