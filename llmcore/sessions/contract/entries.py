"""Entries: a stored conversation, in the frozen form of the message contract.

The values of `llmcore.schema.messages` hold all that providers need; an entry is the smaller form
that applications store, exchange and can still read in ten years. `meta` holds what the parts
cannot express.
"""

import json
from collections.abc import Iterable
from typing import ClassVar, Final, Literal, TypeAlias, Union, get_args

from attrs import field

from llmcore.schema.content import is_local
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, plain_object
from llmcore.sessions.contract.errors import (
    ContractError,
    MalformedError,
    RolePartError,
    ToolResultCountError,
    UnknownKindError,
)

CONTRACT_VERSION: Final = 1
"""The version of the contract, which every entry and delta states in JSON."""

EntryRole = Literal["system", "user", "assistant", "tool"]


@frozen
class EntryText:
    """Visible text."""

    kind: ClassVar[str] = "text"
    text: str
    """The text."""


@frozen
class EntryThinking:
    """The visible part of the model's reasoning."""

    kind: ClassVar[str] = "thinking"
    text: str
    """The reasoning."""


@frozen
class EntryToolCall:
    """A call of one of the caller's tools."""

    kind: ClassVar[str] = "tool_call"
    tool_call_id: str
    """The id, unique in the run."""
    tool_name: str
    """The tool's name."""
    arguments: JsonObject = field(converter=plain_object)
    """The parsed arguments; empty if they are not a JSON object."""
    raw_args_text: str | None = field(default=None, kw_only=True)
    """The text of arguments that are not a JSON object."""


@frozen(kw_only=True)
class EntryImage:
    """An image: its bytes in base64, or its URL."""

    kind: ClassVar[str] = "image"
    mime_type: str
    """`image/*` if the type is not known."""
    data: str | None = field(default=None, repr=lambda data: f"<{len(data or '')} characters>")
    """The content in base64."""
    url: str | None = None
    """The URL of the image."""

    def __attrs_post_init__(self) -> None:
        if (self.data is None) == (self.url is None):
            raise MalformedError("an image has either data or url, and not both")
        if self.url is not None and is_local(self.url):
            raise MalformedError("an image's url cannot be a path: name local files in a file_ref")


@frozen
class EntryFileRef:
    """A file, by its path on the machine where the entry was written."""

    kind: ClassVar[str] = "file_ref"
    path: str
    """The path of the file."""
    mime_type: str | None = field(default=None, kw_only=True)
    """The media type; None if unknown."""
    size: int | None = field(default=None, kw_only=True)
    """The size in bytes."""


ResultPart: TypeAlias = Union[EntryText, EntryThinking, EntryImage, EntryFileRef]
"""The parts that a tool's result can hold. Calls and results are entries of their own, so that the
rules of the run apply to them."""

ResultContent: TypeAlias = Union[str, JsonObject, tuple[ResultPart, ...]]


def _result_content(value: object) -> ResultContent:
    if isinstance(value, str):
        return value
    if not isinstance(value, list | tuple):
        return plain_object(value)
    for part in value:
        if not isinstance(part, get_args(ResultPart)):
            raise RolePartError(f"a tool_result cannot hold a {_kind_of(part)} part")
    return tuple(value)


@frozen
class EntryToolResult:
    """The result of a tool: text, a JSON object, or parts."""

    kind: ClassVar[str] = "tool_result"
    tool_call_id: str
    """The id of the call."""
    content: ResultContent = field(converter=_result_content)
    """The result."""
    is_error: bool = field(default=False, kw_only=True)
    """Whether the tool failed."""


EntryPart: TypeAlias = Union[
    EntryText, EntryThinking, EntryToolCall, EntryToolResult, EntryImage, EntryFileRef
]
"""A part of an entry, named by its `kind` in JSON."""

PARTS_OF_ROLE: Final[dict[EntryRole, tuple[type[EntryPart], ...]]] = {
    "system": (EntryText, EntryThinking),
    "user": (EntryText, EntryImage, EntryFileRef),
    "assistant": (EntryText, EntryThinking, EntryToolCall),
    "tool": (EntryToolResult,),
}
"""The parts that each role can hold; a tool entry holds exactly one."""


def _parts(value: Iterable[EntryPart]) -> tuple[EntryPart, ...]:
    return tuple(value)


@frozen(kw_only=True)
class MessageEntry:
    """One stored message. The order of its parts is meaning.

    Raises a ContractError for what its role cannot hold.
    """

    run_id: str
    """The conversation it belongs to."""
    role: EntryRole
    """The author of the message."""
    parts: tuple[EntryPart, ...] = field(converter=_parts)
    """The parts, in order."""
    timestamp: str
    """The time of the message, as ISO 8601 text."""
    meta: JsonObject = field(factory=dict, converter=plain_object)
    """Usage, traces, approvals, and under `llmcore` what the parts cannot express."""

    def __attrs_post_init__(self) -> None:
        error = self._fault()
        if error is not None:
            raise error

    def _fault(self) -> ContractError | None:
        if self.role not in PARTS_OF_ROLE:
            roles = ", ".join(PARTS_OF_ROLE)
            return UnknownKindError(f"role {self.role!r} is not one of {roles}", run_id=self.run_id)
        for part in self.parts:
            if not isinstance(part, PARTS_OF_ROLE[self.role]):
                message = f"a {self.role} entry cannot hold a {_kind_of(part)} part"
                return RolePartError(message, run_id=self.run_id)
        if self.role == "tool" and len(self.parts) != 1:
            return ToolResultCountError(
                f"a tool entry holds exactly one tool_result, not {len(self.parts)}",
                run_id=self.run_id,
            )
        return None

    @property
    def text(self) -> str:
        """All text of the entry, joined with nothing between."""
        return "".join(part.text for part in self.parts if isinstance(part, EntryText))

    @property
    def tool_calls(self) -> tuple[EntryToolCall, ...]:
        """The calls in it, in order."""
        return tuple(part for part in self.parts if isinstance(part, EntryToolCall))

    @property
    def tool_result(self) -> EntryToolResult | None:
        """The result that a tool entry holds; None for other roles."""
        part = self.parts[0] if self.role == "tool" else None
        return part if isinstance(part, EntryToolResult) else None


def _kind_of(part: object) -> str:
    return str(getattr(part, "kind", type(part).__name__))


def readable(part: EntryPart) -> str:
    """Return *part* as readable text."""
    match part:
        case EntryText(text=text):
            return text
        case EntryThinking(text=text):
            return f"[thinking: {text}]" if text else ""
        case EntryToolCall(tool_name=name):
            return (
                f"→ {name}({part.raw_args_text or json.dumps(part.arguments, ensure_ascii=False)})"
            )
        case EntryToolResult(content=content):
            mark = "failed: " if part.is_error else ""
            if isinstance(content, str):
                return f"{mark}{content}"
            if isinstance(content, tuple):
                return mark + " ".join(map(readable, content))
            return f"{mark}{json.dumps(content, ensure_ascii=False)}"
        case EntryImage():
            return f"[{part.mime_type}: {part.url or 'image'}]"
        case EntryFileRef(path=path):
            return f"[file: {path}]"
