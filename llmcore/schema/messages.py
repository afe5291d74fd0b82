"""Messages: a role and its content."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, Union, cast, get_args

from attrs import field

from llmcore.schema.changed import copying
from llmcore.schema.chat_form import content_of
from llmcore.schema.content import (
    PARTS,
    ContentPart,
    PartInput,
    ReasoningPart,
    RefusalPart,
    ToolCallPart,
    ToolResultPart,
    parts_of,
    text_of,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import (
    Hinted,
    json_hints,
    shown_kind,
    with_call_hints,
    with_names_of_others,
)
from llmcore.schema.json import ProviderMetadata, plain_metadata
from llmcore.schema.pydantic_hooks import for_pydantic

Role = Literal["system", "user", "assistant", "tool", "developer"]

_ROLES: tuple[Role, ...] = get_args(Role)
_ASSISTANT_ONLY = (ToolCallPart, ReasoningPart, RefusalPart)
_PART_TYPES = frozenset(PARTS)
_OF_ANY_ROLE = _PART_TYPES - {*_ASSISTANT_ONLY, ToolResultPart}
_USUAL: Final[Mapping[Role, frozenset[type[ContentPart]]]] = {
    **dict.fromkeys(_ROLES, _OF_ANY_ROLE),
    "assistant": _PART_TYPES - {ToolResultPart},
    "tool": _OF_ANY_ROLE | {ToolResultPart},
}
"""The parts that the messages of each role can have, whatever is in them."""


@with_call_hints()
@for_pydantic
@frozen(kw_only=True)
class Origin:
    """Which model produced a message.

    Signatures and encrypted reasoning are valid only for the model that made them; history repair
    drops them for others.
    """

    provider: str
    """The provider's id."""
    model: str
    """The model's id."""
    protocol: str | None = None
    """The protocol that the response was read with."""


def _content(value: PartInput) -> tuple[ContentPart, ...]:
    if type(value) is tuple and (
        _PART_TYPES.issuperset(map(type, value)) or all(isinstance(part, PARTS) for part in value)
    ):
        return value
    return parts_of([value])


_without_name: Final = with_call_hints(
    **dict.fromkeys(("content", "text", "parts"), "give it without a name: Message.user('...')"),
    **dict.fromkeys(("tool_calls", "images"), "give its parts: Message.assistant('...', part)"),
)
"""Has methods that build a message of parts explain what is given by name."""


@with_call_hints(
    "write Message.user(...), Message.assistant(...) or Message.system(...)",
    text="content",
    parts="content",
    tool_calls="put ToolCallPart values into content",
)
@with_names_of_others(
    **json_hints("message"),
    **dict.fromkeys(("parts", "contents"), "write `.content`"),
    get="read its attributes, such as `.text`",
)
@for_pydantic
@frozen
class Message(metaclass=Hinted):
    """A role and an ordered tuple of parts: `Message.user("Hi")`, `Message.system("Be brief.")`.

    Raises InvalidRequestError for a part that the role cannot have: tool calls, reasoning and
    refusals need the role `assistant`, tool results the role `tool` (or `assistant`, if the
    provider ran the tool).
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "human": "write Message.user(...)",
        "ai": "write Message.assistant(...)",
        "model": "write Message.assistant(...)",
        **dict.fromkeys(
            ("from_string", "from_text", "from_user"),
            "write Message.user(...), or the method of another role",
        ),
        "from_dict": "give the dict itself, where a message is wanted",
    }

    role: Role
    """The author of the message."""
    content: tuple[ContentPart, ...] = field(converter=_content)
    """The parts, in order."""
    name: str | None = field(default=None, kw_only=True)
    """The speaker's name, where the provider takes one."""
    origin: Origin | None = field(default=None, kw_only=True)
    """The model that generated the message; None for messages written by hand."""
    provider_metadata: ProviderMetadata = field(
        factory=dict, converter=plain_metadata, kw_only=True
    )
    """Native data of the provider that is kept for later requests, by provider."""

    def __attrs_post_init__(self) -> None:
        if self.role not in _ROLES:
            raise InvalidRequestError(f"role {self.role!r} is not one of {', '.join(_ROLES)}")
        if _USUAL[self.role].issuperset(map(type, self.content)):
            return
        for part in self.content:
            if not _allowed(self.role, part):
                raise InvalidRequestError(
                    f"a {self.role} message cannot contain {shown_kind(part)}"
                )

    @classmethod
    @_without_name
    def system(cls, *content: PartInput) -> Self:
        """Build a message with the application's instructions."""
        return cls._of_parts("system", content)

    @classmethod
    @_without_name
    def developer(cls, *content: PartInput) -> Self:
        """Build a message with instructions that rank below the system's."""
        return cls._of_parts("developer", content)

    @classmethod
    @_without_name
    def user(cls, *content: PartInput, name: str | None = None) -> Self:
        """Build the user's message: text, images, audio, documents."""
        return cls._of_parts("user", content, name)

    @classmethod
    def _of_parts(cls, role: Role, content: Sequence[PartInput], name: str | None = None) -> Self:
        parts = parts_of(content)
        if cls is Message and _OF_ANY_ROLE.issuperset(map(type, parts)):  # nothing is left to check
            return cast("Self", _made(_EMPTY, role, parts, name, {}))
        return cls(role, parts, name=name)

    @classmethod
    @_without_name
    def assistant(cls, *content: PartInput, origin: Origin | None = None) -> Self:
        """Build the model's message: text, reasoning, tool calls."""
        return cls("assistant", parts_of(content), origin=origin)

    @classmethod
    @with_call_hints(id="tool_call_id", result="content", output="content")
    def tool(
        cls,
        tool_call_id: str,
        content: object = "",
        *,
        name: str | None = None,
        is_error: bool = False,
    ) -> Self:
        """Build a message with one tool result: text, JSON, or parts such as images."""
        part = ToolResultPart(tool_call_id, content, name=name, is_error=is_error)
        return cls("tool", (part,))

    @classmethod
    def from_openai(cls, message: Mapping[str, Any]) -> "Message":
        """Build a message from a dict in the form of Chat Completions.

            Message.from_openai({"role": "user", "content": "Hi"})

        Raises InvalidRequestError, naming it, for a field or part that such messages do not have.
        """
        return as_message(message)

    @property
    def text(self) -> str:
        """The message's texts, joined without a separator; empty if it has none."""
        return text_of(self.content)

    @property
    def reasoning(self) -> str | None:
        """The reasoning texts, joined; None without a reasoning part."""
        parts = [part.text for part in self.content if isinstance(part, ReasoningPart)]
        return "".join(parts) if parts else None

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The tool calls that the caller must run, without those that the provider ran."""
        return tuple(
            part
            for part in self.content
            if isinstance(part, ToolCallPart) and not part.provider_executed
        )


_EMPTY: Final = Message("user", ())
_made: Final = copying(Message, "role", "content", "name", "provider_metadata")

MessageInput: TypeAlias = Union[Message, Mapping[str, Any]]
"""A message, or a dict in the form of Chat Completions."""


def as_message(value: MessageInput) -> Message:
    """Return *value* as a Message. Raises InvalidRequestError for another type or form."""
    if isinstance(value, Message):
        return value
    if isinstance(value, Mapping):
        content = content_of(value)
        name = None if value["role"] == "tool" else value.get("name")
        return Message(value["role"], content, name=name)
    raise InvalidRequestError(
        f"messages must be Message values, such as Message.user('Hi'), or dicts; "
        f"got {shown_kind(value)}{': give its messages' * hasattr(value, 'messages')}"
    )


def _allowed(role: str, part: ContentPart) -> bool:
    if isinstance(part, ToolResultPart):
        return role == "tool" or (role == "assistant" and part.provider_executed)
    if isinstance(part, _ASSISTANT_ONLY):
        return role == "assistant"
    return True
