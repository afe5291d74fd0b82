"""The rules of a target for conversations, and each message without what its target cannot read."""

import re
from collections.abc import Callable
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec
from attrs import evolve

from llmcore.protocols.media import noun_of
from llmcore.protocols.tools import ANY_CALL_ID, CallIdRule
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
    cached,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import without
from llmcore.schema.messages import Message, Origin, Role
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.request import LLMRequest

ITEM_FIELDS: Final = "item_fields"
"""Where `provider_metadata[key]` has the fields of the native item that its protocol does not read,
such as those that the provider has added since: they go back with the item, to it alone."""
PART_FIELDS: Final = "part_fields"
"""Where it has those of a part of the item."""

# -- the rules of a target

_MEDIA: Final = (ImagePart, AudioPart, DocumentPart)
Refused: TypeAlias = tuple[str, str] | None
"""The noun of a part that is left out, and why it is; None for a part that is sent."""


def refused_file(part: ContentPart, _own: bool) -> Refused:
    """Refuse files, where assistant messages cannot contain any."""
    if not isinstance(part, _MEDIA):
        return None
    return noun_of(part), "assistant messages cannot contain any"


class HistoryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a target for conversations."""

    protocol: str
    """The target protocol's id, such as `anthropic-messages`."""
    provider: str
    model: str
    metadata_key: str
    """The key of the target's own data in `provider_metadata`."""
    call_ids: CallIdRule = ANY_CALL_ID
    name_results: bool = False
    """Whether each result must carry its tool's name."""
    alternate: bool = False
    """Whether the two sides must take turns. Neighbours on one side then become one message;
    tool results and the user message after them become one message of role `tool`,
    results first: lower all of its parts. Without it each result has a tool message."""
    starts_with_user: bool = False
    system_messages: Literal["keep", "lift", "demote"] = "keep"
    """Of system and developer messages among the messages: `keep` them where they are; `lift`
    all their text into `Repaired.system`; or `demote`: lift those before the first
    other message, and turn later ones into user text in a `<system>` tag, which leaves
    the cached prefix of a running conversation as it is."""
    developer_role: bool = True
    """Whether the target supports it; if not, developer messages become system messages."""
    empty_text: Literal["keep", "drop_empty", "drop_blank"] = "keep"
    """`drop_empty`: text parts of no characters go, unless they carry the target's own data;
    `drop_blank`: those of nothing but white space go too, whatever they carry."""
    empty_user_text: bool = False
    """Whether a user's message may be an empty text and nothing else."""
    reasoning: Literal["drop", "signed", "own", "any"] = "any"
    """Which reasoning the target takes back: none; only with a signature, encrypted data or
    an item id of its own; or bare text too: of its own API, or of any."""
    reasoning_may_end_turn: bool = True
    """Whether an assistant message may end with reasoning."""
    refused: Callable[[ContentPart, bool], Refused] = lambda _part, _own: None
    """Which parts of responses the API has no place for; the second argument is whether the
    response is the API's own."""
    citations: bool = False
    """Whether the target takes back citations that have its own native form."""
    item_ids: bool = True
    """Whether the ids of the provider's stored items (`provider_metadata[key]["id"]`) are
    sent back. Ids of a message of which reasoning was dropped never are."""
    continues_stored: bool = False
    """Whether the provider holds earlier turns, so that results may answer calls that are
    not among the messages."""

    def same_api(self, origin: Origin | None) -> bool:
        """Return whether the target's API made it, with whatever model; None counts as yes."""
        if origin is None:
            return True
        return origin.provider == self.provider and origin.protocol in (None, self.protocol)

    def keeps_opaque(self, origin: Origin | None) -> bool:
        """Return whether signatures and encrypted data of *origin* are good at the target.

        They are where protocol, provider and model family are the same, and for None:
        a message made by hand is the caller's own responsibility.
        """
        if origin is None:
            return True
        return self.same_api(origin) and same_family(origin.model, self.model)


class LoweringTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The target that messages are lowered for."""

    policy: HistoryPolicy
    keys: frozenset[str]
    """Under which ids native parts are this API's own."""


def native_provider_ids(request: LLMRequest, *ids: str) -> frozenset[str]:
    """Return the ids under which native parts are the target's own: *ids*, and its provider's."""
    return frozenset(filter(None, (*ids, request.provider_id)))


# -- which model ids mean one model


_ROUTING = re.compile(r"^(?:[a-z-]+\.)+(?=[a-z])")
"""Bedrock's region and vendor: `us.anthropic.`."""
_SNAPSHOT = re.compile(
    r"(?:"
    r"@[\w.-]+"  # Vertex AI: @20250929
    r"|:[\w.-]+"  # Bedrock and OpenRouter: :0, :free
    r"|-\d{4}-\d{2}-\d{2}|-\d{2}-\d{4}|-\d{8}|-\d{6}|-\d{4}|-\d{3}"  # dates and revisions
    r"|-latest|-preview|-exp|-experimental"
    r")$"
)


def model_family(model_id: str) -> str:
    """Return the model's name without the part that differs between its snapshots.

    Dates, revisions, `latest` and `preview` go, and so do path, region and vendor:
    `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `claude-sonnet-4-5` are one.
    """
    name = _ROUTING.sub("", model_id.strip().lower().rsplit("/", 1)[-1])
    name = re.sub(r"-v\d+:[\w.-]+$", "", name)
    while (shorter := _SNAPSHOT.sub("", name)) != name and shorter:
        name = shorter
    return name


def same_family(id_: str, other: str) -> bool:
    """Return whether both ids mean the same model, as far as names tell.

    A name without any number (`my-deployment`, `gemini-flash-latest`) is an alias that
    does not identify the model behind it, so it is assumed to be the same.
    """
    first, second = model_family(id_), model_family(other)
    return first == second or not (_names_a_version(first) and _names_a_version(second))


def _names_a_version(family: str) -> bool:
    return any(character.isdigit() for character in family)


# -- a message by itself

Place: TypeAlias = tuple[int, int]
"""The position of a part in the caller's messages: the indexes of message and part."""

Placed: TypeAlias = tuple[Place, ContentPart]


def path_of(place: Place) -> str:
    """Return *place* as a Diagnostic names it."""
    return f"messages[{place[0]}].content[{place[1]}]"


class Draft(msgspec.Struct, eq=False):
    """A message under repair: its parts with their original positions."""

    message: Message
    index: int
    role: Role
    parts: list[Placed]
    is_whole: bool = False
    """Whether `parts` are known to be all that the message has."""

    @property
    def path(self) -> str:
        """The message's path in a Diagnostic."""
        return f"messages[{self.index}]"


def clean(message: Message, index: int, policy: HistoryPolicy, diagnostics: Diagnostics) -> Draft:
    """Return *message* without what the target of *policy* cannot read."""
    parts = [((index, number), part) for number, part in enumerate(message.content)]
    if is_plain(message, policy):
        return Draft(message, index, message.role, parts, is_whole=True)
    if message.role == "assistant":
        origin = message.origin
        parts = [kept for entry in parts for kept in _kept(entry, origin, policy, diagnostics)]
    else:
        for place, part in parts:
            if type(part) is not TextPart:
                _check_owner(part, place, policy)
    draft = Draft(message, index, message.role, parts)
    for place, part in parts:
        _report_foreign_fields(part, policy, diagnostics.at(path_of(place)))
    _report_foreign_fields(message, policy, diagnostics.at(draft.path))
    if message.role == "assistant":
        _clean_response(draft, policy, diagnostics)
    if policy.empty_text != "keep" and not (policy.empty_user_text and _is_empty_turn(draft)):
        _drop_empty_text(draft, policy, diagnostics)
    if not draft.parts and draft.role != "user":
        diagnostics.at(draft.path).dropped("empty-message", f"the {draft.role} message is empty")
    return draft


def is_plain(message: Message, policy: HistoryPolicy) -> bool:
    """Return whether every target takes *message* as it is, as nearly all.

    Its parts are texts, calls of the caller's tools and their results, without data of the target.
    """
    key = policy.metadata_key
    if message.provider_metadata and not _is_silent(message, key):
        return False
    for part in message.content:
        if type(part) is TextPart:
            text = part.text
            plain = bool(text) and not (text[0].isspace() and text.isspace())
            plain = plain and not part.citations
        elif isinstance(part, ToolResultPart):
            plain = type(part.content) is str and not part.provider_executed
        else:
            plain = isinstance(part, ToolCallPart) and not part.provider_executed
        if not plain or (part.provider_metadata and not _is_silent(part, key)):
            return False
    return bool(message.content)


def _is_silent(holder: ContentPart | Message, key: str) -> bool:
    """Return whether *holder* has no data of *key*'s own, and none of others to be reported."""
    metadata = holder.provider_metadata
    return key not in metadata and not any(
        ITEM_FIELDS in data or PART_FIELDS in data for data in metadata.values()
    )


def _report_foreign_fields(
    holder: ContentPart | Message, policy: HistoryPolicy, diagnostics: Diagnostics
) -> None:
    """Report fields of another provider's item whose meaning is not known."""
    for key, data in holder.provider_metadata.items():
        names = [*object_or_empty(data.get(ITEM_FIELDS)), *object_or_empty(data.get(PART_FIELDS))]
        if names and key != policy.metadata_key:
            why = f"{', '.join(names)} of {key} mean nothing to {policy.protocol}"
            diagnostics.dropped("opaque-data-dropped", why)


def _kept(
    entry: Placed, origin: Origin | None, policy: HistoryPolicy, diagnostics: Diagnostics
) -> list[Placed]:
    """Return a part of a response as the target has a place for it; nothing, reported, without one.

    A file that a response of another provider made there has none: the caller did not choose it, so
    that it must not stop the conversation. The transcript of audio replaces it.
    """
    place, part = entry
    here = diagnostics.at(path_of(place))
    owner = part.file_owner if isinstance(part, _MEDIA) else None
    if owner not in (None, policy.provider):
        here.dropped("file-dropped", f"the file belongs to {owner}, which created it")
        return []
    refused = policy.refused(part, policy.same_api(origin))
    if refused is None:
        return [entry]
    if isinstance(part, AudioPart) and part.transcript:
        here.changed("unsupported-content", f"the transcript of audio is sent: {refused[1]}")
        return [(place, TextPart(part.transcript))]
    here.left_out(*refused)
    return []


def _check_owner(part: object, place: Place, policy: HistoryPolicy, inner: str = "") -> None:
    """Raise InvalidRequestError for a file id of another provider."""
    if isinstance(part, ToolResultPart) and isinstance(part.content, tuple):
        for number, item in enumerate(part.content):
            _check_owner(item, place, policy, f".content[{number}]")
    if not isinstance(part, _MEDIA) or part.file_owner is None:
        return
    if part.file_owner != policy.provider:
        raise InvalidRequestError(
            f"{path_of(place)}{inner} names the file {part.file_id!r} of {part.file_owner}, which "
            f"{policy.provider or 'the target'} does not have: set its data, or its id there"
        )


# -- what only the model that made it can read


def _clean_response(draft: Draft, policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
    """Drop and strip what the target's API, or its model, did not make."""
    trusted = policy.keeps_opaque(draft.message.origin)
    if not trusted:
        draft.message = _stripped(draft.message, policy, diagnostics.at(draft.path))
    kept: list[Placed] = []
    lost_reasoning = False
    for place, part in draft.parts:
        if trusted and type(part) is TextPart and not part.citations:
            kept.append((place, part))
            continue
        cleaned = _clean_part(
            part, draft.message, policy, diagnostics.at(path_of(place)), trusted=trusted
        )
        if cleaned is not None:
            kept.append((place, cleaned))
        elif isinstance(part, ReasoningPart):
            lost_reasoning = True
    draft.parts = kept
    if lost_reasoning or not policy.item_ids:
        _drop_item_ids(draft, policy, diagnostics)
    if lost_reasoning:
        draft.parts = [
            (place, part)
            for place, part in draft.parts
            if not isinstance(part, ReasoningPart)
            or _clean_reasoning(part, policy, diagnostics.at(path_of(place)), trusted=True)
            is not None
        ]


def _clean_part(
    part: ContentPart,
    message: Message,
    policy: HistoryPolicy,
    diagnostics: Diagnostics,
    *,
    trusted: bool,
) -> ContentPart | None:
    """Return *part* in a form that the target can read; None if there is none."""
    if isinstance(part, ReasoningPart):
        own = policy.same_api(message.origin)
        return _clean_reasoning(part, policy, diagnostics, trusted=trusted, own=own)
    native = policy.same_api(message.origin)
    own = native and message.origin is not None  # its API never takes those back
    if isinstance(part, TextPart) and part.citations and not (policy.citations or own):
        why = "the API does not take those of earlier responses"
        diagnostics.at("citations").left_out("citations", why)
    if isinstance(part, ProviderPart):
        if native and part.provider in (policy.provider, policy.metadata_key, policy.protocol):
            return part
        why = f"data native to {part.provider} means nothing to {policy.protocol}"
        diagnostics.dropped("provider-part-dropped", why)
        return None
    if isinstance(part, ToolCallPart | ToolResultPart) and part.provider_executed:
        if native:
            return part
        why = "a tool that another provider ran itself cannot be shown to this one"
        diagnostics.dropped("hosted-tool-dropped", why)
        return None
    return part if trusted else _stripped(part, policy, diagnostics)


def _clean_reasoning(
    part: ReasoningPart,
    policy: HistoryPolicy,
    diagnostics: Diagnostics,
    *,
    trusted: bool,
    own: bool = True,
) -> ReasoningPart | None:
    """Return reasoning in the form that the target accepts; None if it accepts none."""
    cleaned = part if trusted else _without_proof(part, policy)
    backed = _is_backed(cleaned, policy)
    more_than_an_id = cleaned.provider_metadata.get(policy.metadata_key, {}).keys() - {"id"}
    if policy.reasoning == "drop" or (policy.reasoning == "own" and not own):
        whose = " of other providers" if policy.reasoning == "own" else ""
        why = f"the target accepts no reasoning from earlier responses{whose}"
    elif not (cleaned.text or backed or more_than_an_id):
        why = "the target cannot read any of it"
    elif policy.reasoning == "signed" and not backed:
        why = "the target accepts only reasoning with a valid signature"
    else:
        if cleaned is not part:
            why = "its signature or encrypted data is valid only for the model that made it"
            diagnostics.dropped("opaque-data-dropped", why)
        return cleaned
    diagnostics.dropped("reasoning-dropped", why)
    return None


def _is_backed(part: ReasoningPart, policy: HistoryPolicy) -> bool:
    """Return whether *part* has a signature, encrypted data or the id of a stored item."""
    if part.signature or part.encrypted:
        return True
    return policy.item_ids and "id" in part.provider_metadata.get(policy.metadata_key, {})


def _without_proof(part: ReasoningPart, policy: HistoryPolicy) -> ReasoningPart:
    if (
        part.signature is None
        and part.encrypted is None
        and policy.metadata_key not in part.provider_metadata
    ):
        return part
    metadata = without(part.provider_metadata, policy.metadata_key)
    return evolve(part, signature=None, encrypted=None, provider_metadata=metadata)


_Holder = TypeVar("_Holder", bound=ContentPart | Message)


def _stripped(holder: _Holder, policy: HistoryPolicy, diagnostics: Diagnostics) -> _Holder:
    """Return *holder* without the data that only the target's own model could have put there."""
    if policy.metadata_key not in holder.provider_metadata:
        return holder
    why = "its opaque data is valid only for the model that made it"
    diagnostics.dropped("opaque-data-dropped", why)
    metadata = without(holder.provider_metadata, policy.metadata_key)
    return evolve(holder, provider_metadata=metadata)


def _drop_item_ids(draft: Draft, policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
    """Remove the ids of stored items from all parts: the provider needs all of a group or none."""
    key = policy.metadata_key
    dropped = False
    for position, (place, part) in enumerate(draft.parts):
        data = part.provider_metadata.get(key, {})
        if "id" in data:
            dropped = True
            metadata = {**part.provider_metadata, key: without(data, "id")}
            draft.parts[position] = (place, evolve(part, provider_metadata=metadata))
    if dropped and policy.item_ids:
        why = "ids of stored items go with the reasoning that was dropped"
        diagnostics.at(draft.path).dropped("item-ids-dropped", why)


# -- empty text


def _drop_empty_text(draft: Draft, policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
    """Drop text parts the target refuses; a cache mark moves to the part before."""
    if all(type(part) is TextPart and part.text[:1].strip() for _, part in draft.parts):
        return
    kept: list[Placed] = []
    for place, part in draft.parts:
        if isinstance(part, TextPart | RefusalPart) and _is_empty(part, policy):
            moved = _move_cache_mark(part, kept)
            diagnostics.at(path_of(place)).dropped("empty-text", f"the text is empty{moved}")
        elif isinstance(part, ToolResultPart) and isinstance(part.content, tuple):
            kept.append((place, _clean_result(part, policy, diagnostics.at(path_of(place)))))
        else:
            kept.append((place, part))
    draft.parts = kept


def _is_empty_turn(draft: Draft) -> bool:
    """Return whether a user's message is an empty text and nothing else."""
    parts = [part for _, part in draft.parts]
    return draft.role == "user" and parts == [TextPart("")]


def _is_empty(part: TextPart | RefusalPart, policy: HistoryPolicy) -> bool:
    if policy.empty_text == "drop_blank":
        return not part.text.strip()
    return not part.text and policy.metadata_key not in part.provider_metadata


def _move_cache_mark(part: ContentPart, kept: list[Placed]) -> str:
    """Put the cache mark of *part* on the last part of *kept*; return what to report."""
    ttl = cache_ttl(part)
    if ttl is None:
        return ""
    if not kept or isinstance(kept[-1][1], ReasoningPart):
        return ", and its cache mark went with it"
    place, before = kept[-1]
    if cache_ttl(before) is None:
        kept[-1] = (place, cached(before, ttl=ttl))
    return ", and its cache mark moved to the part before"


def _clean_result(
    part: ToolResultPart, policy: HistoryPolicy, diagnostics: Diagnostics
) -> ToolResultPart:
    """Return *part* without empty text among its content's parts."""
    kept = tuple(
        item for item in part.parts if not (isinstance(item, TextPart) and _is_empty(item, policy))
    )
    if len(kept) == len(part.parts):
        return part
    diagnostics.at("content").dropped("empty-text", "empty text in the tool's result")
    return evolve(part, content=kept or "")
